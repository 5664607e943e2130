"""scenarios: files line by line, as programs read them."""

from __future__ import annotations

import io
import json
import zlib
from collections.abc import Callable
from typing import Any

from bench.inputs import Inputs
from bench.libraries import PLAIN
from bench.row import EACH_ENGINE, Given, Job, Row
from bench.rows.io import SOURCES

MIB = 1 << 20
TEXT: dict[str, Any] = {"mode": "rt", "encoding": "utf-8"}
BINARY: dict[str, Any] = {"mode": "rb"}
TUNED = TEXT | {"newline": "\n", "chunk_size": MIB}


def records(inputs: Inputs, point: int) -> Given:
    return inputs.records(16_000_000)


def sources(inputs: Inputs, point: int) -> Given:
    return inputs.sources(SOURCES)


def lines(inputs: Inputs, point: int) -> Given:
    return inputs.members(inputs.count(50_000, 10), 0)


def open_sync(lib: Any, job: Job, mode: str, chunk_size: int = 0, **more: Any) -> Any:
    """The same with the larger buffer that a chunk size means, if one is given."""
    if not chunk_size:
        return lib.open(job.given["gz"], mode, **more)
    buffer = io.BufferedReader(lib.open(job.given["gz"], "rb"), chunk_size)
    return io.TextIOWrapper(buffer, **more) if "t" in mode else buffer


def _lines_sync(**how: Any) -> Callable[[Any, Job], Any]:
    def run(lib: Any, job: Job) -> Any:
        n_lines = length = crc = 0
        with job.clock(), open_sync(lib, job, **how) as stream:
            for line in stream:
                n_lines += 1
                length += len(line)
        if job.thorough:
            with open_sync(lib, job, **how) as stream:
                for line in stream:
                    crc = zlib.crc32(line if isinstance(line, bytes) else line.encode(), crc)
        return n_lines, length, crc

    return run


def _lines(**how: Any) -> Callable[[Any, Job], Any]:
    async def run(lib: Any, job: Job) -> Any:
        n_lines = length = crc = 0
        with job.clock():
            async with lib.open(job.given["gz"], **how) as stream:
                async for line in stream:
                    n_lines += 1
                    length += len(line)
        if job.thorough:
            async with lib.open(job.given["gz"], **how) as stream:
                async for line in stream:
                    crc = zlib.crc32(line if isinstance(line, bytes) else line.encode(), crc)
        return n_lines, length, crc

    return run


def parse_sync(lib: Any, job: Job) -> Any:
    n_lines = total = 0
    with job.clock(), open_sync(lib, job, **TEXT) as stream:
        for line in stream:
            record = json.loads(line)
            n_lines += 1
            total += record["line"] + len(record["parts"])
    return n_lines, total


async def parse(lib: Any, job: Job) -> Any:
    n_lines = total = 0
    with job.clock():
        async with lib.open(job.given["gz"], **TEXT) as stream:
            async for line in stream:
                record = json.loads(line)
                n_lines += 1
                total += record["line"] + len(record["parts"])
    return n_lines, total


def parse_batches_sync(lib: Any, job: Job) -> Any:
    n_lines = total = 0
    with job.clock(), open_sync(lib, job, **TEXT) as stream:
        while batch := stream.readlines(MIB):
            for line in batch:
                record = json.loads(line)
                n_lines += 1
                total += record["line"] + len(record["parts"])
    return n_lines, total


async def parse_batches(lib: Any, job: Job) -> Any:
    n_lines = total = 0
    with job.clock():
        async with lib.open(job.given["gz"], **TEXT) as stream:
            while batch := await stream.readlines(MIB):
                for line in batch:
                    record = json.loads(line)
                    n_lines += 1
                    total += record["line"] + len(record["parts"])
    return n_lines, total


def _row(
    name: str,
    title: str,
    given: Any,
    sync: Any,
    aio: Any,
    target: float,
    contenders: frozenset[str] = EACH_ENGINE,
) -> Row:
    return Row(
        name=name,
        title=title,
        category="scenarios",
        given=given,
        sync=sync,
        aio=aio,
        target=target,
        contenders=contenders,
    )


def _by_line(name: str, title: str, given: Any, how: dict[str, Any], target: float) -> Row:
    return _row(name, title, given, _lines_sync(**how), _lines(**how), target)


ROWS = [
    _by_line("json-tuned", "JSON Lines, async for, tuned", records, TUNED, 4.5),
    _by_line("json-lines", "JSON Lines, async for, defaults", records, TEXT, 4.5),
    _by_line("source-lines", "Python sources, async for, defaults", sources, TEXT, 3.3),
    _by_line("json-binary", "JSON Lines, binary async for", records, BINARY, 5.0),
    _row("json-parse", "JSON Lines, json.loads", records, parse_sync, parse, 1.2, PLAIN),
    _row(
        "json-batches",
        "the same by readlines(1 MiB)",
        records,
        parse_batches_sync,
        parse_batches,
        1.25,
        PLAIN,
    ),
    _by_line("member-lines", "50,000 members of one line, lines", lines, TEXT, 3.0),
]
