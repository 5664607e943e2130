"""latency: the longest time for which a task that only yields did not run, meanwhile."""

from __future__ import annotations

import asyncio
from typing import Any

from bench.inputs import Inputs
from bench.row import ASYNCHRONOUS, Given, Job, Row, bytes_of, digest
from bench.rows.io import sources
from bench.rows.scenarios import TEXT
from bench.rows.streaming import supply

MIB = 1 << 20


async def idle(lib: Any, job: Job) -> Any:
    async with job.silence():
        await asyncio.sleep(job.given["seconds"])
    return True


async def write(lib: Any, job: Job) -> Any:
    data, path = bytes_of(job.given["raw"]), job.out()
    async with job.silence(), lib.open(path, "wb") as stream:
        await stream.write(data)
    return job.written(path)


async def read(lib: Any, job: Job) -> Any:
    async with job.silence(), lib.open(job.given["gz"], "rb") as stream:
        data = await stream.read()
    return digest(data)


async def item(lib: Any, job: Job) -> Any:
    data, nbytes = bytes_of(job.given["gz"]), 0
    async with job.silence():
        async for chunk in lib.decompress_chunks(supply([data])):
            nbytes += len(chunk)
    return nbytes


async def lines(lib: Any, job: Job) -> Any:
    n_lines = 0
    async with job.silence(), lib.open(job.given["gz"], **TEXT) as stream:
        async for _ in stream:
            n_lines += 1
    return n_lines


def _row(name: str, title: str, given: Any, aio: Any, target: float | None = 1.0) -> Row:
    return Row(
        name=name,
        title=title,
        category="latency",
        given=given,
        aio=aio,
        target=target,
        unit="ms",
        contenders=ASYNCHRONOUS,
    )


def _text(inputs: Inputs, point: int) -> Given:
    return inputs.text(32 * MIB)


ROWS = [
    _row(
        "gap-idle", "idle", lambda inputs, point: {"seconds": inputs.count(300) / 1e3}, idle, None
    ),
    _row("gap-write", "write of 32 MB", lambda inputs, p: inputs.records(32_000_000), write),
    _row("gap-read", "read of 32 MiB", _text, read),
    _row("gap-item", "one item that holds 32 MiB", _text, item),
    _row("gap-raw-item", "one item of 32 MiB", lambda inputs, p: inputs.random(32 * MIB), item),
    _row("gap-lines", "line loop over the sources", sources, lines),
    _row(
        "gap-equal",
        "line loop over a million equal lines of 41 bytes",
        lambda inputs, p: inputs.equal(b"a" * 40 + b"\n", 1_000_000),
        lines,
    ),
]
