"""micro: one call, many times."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from bench.inputs import Inputs
from bench.libraries import PLAIN
from bench.row import ASYNCHRONOUS, Given, Job, Row, bytes_of, digest
from bench.rows.scenarios import TEXT

PIECE = 10


def lines(inputs: Inputs, point: int) -> Given:
    """100,000 of them."""
    n_lines = inputs.count(100_000, 10)
    return inputs.file(
        f"lines-{n_lines}",
        lambda: b"".join(inputs.prose(16_000_000).splitlines(True)[:n_lines]),
    )


def _pieces(job: Job) -> list[bytes]:
    data = bytes_of(job.given["raw"])
    return [data[i : i + PIECE] for i in range(0, len(data), PIECE)]


def write_pieces_sync(lib: Any, job: Job) -> Any:
    pieces, path = _pieces(job), job.out()
    with job.clock(), lib.open(path, "wb") as stream:
        for piece in pieces:
            stream.write(piece)
    return job.written(path)


async def write_pieces(lib: Any, job: Job) -> Any:
    pieces, path = _pieces(job), job.out()
    with job.clock():
        async with lib.open(path, "wb") as stream:
            for piece in pieces:
                await stream.write(piece)
    return job.written(path)


def one_file_sync(lib: Any, job: Job) -> Any:
    with job.clock():
        for _ in range(job.given["times"]):
            with lib.open(job.given["gz"], "rb") as stream:
                data = stream.read()
    return digest(data)


async def one_file(lib: Any, job: Job) -> Any:
    with job.clock():
        for _ in range(job.given["times"]):
            async with lib.open(job.given["gz"], "rb") as stream:
                data = await stream.read()
    return digest(data)


def readline_sync(lib: Any, job: Job) -> Any:
    n_lines = length = 0
    with job.clock(), lib.open(job.given["gz"], **TEXT) as stream:
        while line := stream.readline():
            n_lines += 1
            length += len(line)
    return n_lines, length


async def readline(lib: Any, job: Job) -> Any:
    n_lines = length = 0
    with job.clock():
        async with lib.open(job.given["gz"], **TEXT) as stream:
            while line := await stream.readline():
                n_lines += 1
                length += len(line)
    return n_lines, length


def readlines_sync(lib: Any, job: Job) -> Any:
    with job.clock(), lib.open(job.given["gz"], **TEXT) as stream:
        lines = stream.readlines()
    return len(lines), digest("".join(lines))


async def readlines(lib: Any, job: Job) -> Any:
    with job.clock():
        async with lib.open(job.given["gz"], **TEXT) as stream:
            lines = await stream.readlines()
    return len(lines), digest("".join(lines))


_IMPORT = """\
import asyncio, time
start = time.perf_counter()
import {}
print(time.perf_counter() - start)
"""


async def import_it(lib: Any, job: Job) -> Any:
    command = [sys.executable, "-c", _IMPORT.format(lib.__name__)]
    job.value = float(subprocess.run(command, capture_output=True, check=True).stdout) * 1e3
    return True


def _once(inputs: Inputs, point: int) -> Given:
    return inputs.text(2000, scaled=False) | {"times": inputs.count(200, 2)}


def _row(name: str, title: str, given: Any, sync: Any, aio: Any, target: float, **more: Any) -> Row:
    return Row(
        name=name,
        title=title,
        category="micro",
        given=given,
        sync=sync,
        aio=aio,
        target=target,
        **more,
    )


ROWS = [
    _row(
        "write-pieces",
        "writes of 10 bytes, same bytes",
        lambda inputs, point: inputs.records(2_000_000),
        write_pieces_sync,
        write_pieces,
        5.0,
        same_bytes=True,
        contenders=PLAIN,
    ),
    _row(
        "one-file",
        "one file of 2 KB opened, read, closed, 200 times",
        _once,
        one_file_sync,
        one_file,
        1.3,
    ),
    _row("readline", "readline() loop, 100,000 lines", lines, readline_sync, readline, 3.2),
    _row("readlines", "readlines(), 100,000 lines", lines, readlines_sync, readlines, 3.3),
    _row(
        "import",
        "import, over import asyncio",
        lambda inputs, point: {"python": str(Path(sys.executable))},
        None,
        import_it,
        8.0,
        unit="ms",
        contenders=ASYNCHRONOUS - {"agz uvloop", "aiogzip-ng uvloop"},
    ),
]
