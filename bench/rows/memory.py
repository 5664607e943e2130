"""memory: the peak of a process over the interpreter with asyncio, the library included."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, ExitStack
from typing import Any

from bench.inputs import Inputs
from bench.row import FEW, Given, Job, Row, digest
from bench.rows.concurrency import _paths
from bench.rows.scenarios import TEXT

KIB, MIB = 1 << 10, 1 << 20


def stream_sync(lib: Any, job: Job) -> Any:
    nbytes = 0
    with job.memory(), lib.open(job.given["gz"], "rb") as stream:
        while piece := stream.read(64 * KIB):
            nbytes += len(piece)
    return nbytes


async def stream(lib: Any, job: Job) -> Any:
    nbytes = 0
    with job.memory():
        async with lib.open(job.given["gz"], "rb") as stream:
            while piece := await stream.read(64 * KIB):
                nbytes += len(piece)
    return nbytes


def lines_sync(lib: Any, job: Job) -> Any:
    n_lines = 0
    with job.memory(), lib.open(job.given["gz"], **TEXT) as stream:
        for _ in stream:
            n_lines += 1
    return n_lines


async def lines(lib: Any, job: Job) -> Any:
    n_lines = 0
    with job.memory():
        async with lib.open(job.given["gz"], **TEXT) as stream:
            async for _ in stream:
                n_lines += 1
    return n_lines


def write_sync(lib: Any, job: Job) -> Any:
    path, nbytes = job.out(), 0
    with job.memory(), open(job.given["raw"], "rb") as raw, lib.open(path, "wb") as stream:
        while piece := raw.read(64 * KIB):
            nbytes += stream.write(piece)
    return nbytes, job.written(path)


async def write(lib: Any, job: Job) -> Any:
    path, nbytes = job.out(), 0
    with job.memory(), open(job.given["raw"], "rb") as raw:
        async with lib.open(path, "wb") as stream:
            while piece := raw.read(64 * KIB):
                nbytes += await stream.write(piece)
    return nbytes, job.written(path)


def read_all_sync(lib: Any, job: Job) -> Any:
    with job.memory(job.given["nbytes"]), lib.open(job.given["gz"], "rb") as stream:
        data = stream.read()
    return digest(data)


async def read_all(lib: Any, job: Job) -> Any:
    with job.memory(job.given["nbytes"]):
        async with lib.open(job.given["gz"], "rb") as stream:
            data = await stream.read()
    return digest(data)


def read_one_sync(lib: Any, job: Job) -> Any:
    with job.memory(), lib.open(job.given["gz"], "rb") as stream:
        data = stream.read(1)
    return digest(data)


async def read_one(lib: Any, job: Job) -> Any:
    with job.memory():
        async with lib.open(job.given["gz"], "rb") as stream:
            data = await stream.read(1)
    return digest(data)


def open_sync(lib: Any, job: Job) -> Any:
    with ExitStack() as stack, job.memory(per=job.given["n_files"]):
        opened = [stack.enter_context(lib.open(path, **TEXT)) for path in _paths(job)]
    return len(opened)


async def opened(lib: Any, job: Job) -> Any:
    async with AsyncExitStack() as stack:
        with job.memory(per=job.given["n_files"]):
            for path in _paths(job):
                await stack.enter_async_context(lib.open(path, **TEXT))
    return job.given["n_files"]


def one_line_sync(lib: Any, job: Job) -> Any:
    with ExitStack() as stack, job.memory(per=job.given["n_files"]):
        streams = [stack.enter_context(lib.open(path, **TEXT)) for path in _paths(job)]
        length = sum(len(stream.readline()) for stream in streams)
    return length


async def one_line(lib: Any, job: Job) -> Any:
    async with AsyncExitStack() as stack:
        with job.memory(per=job.given["n_files"]):
            streams = [await stack.enter_async_context(lib.open(p, **TEXT)) for p in _paths(job)]
            found = await asyncio.gather(*(stream.readline() for stream in streams))
    return sum(map(len, found))


def _row(name: str, title: str, given: Any, sync: Any, aio: Any, target: Any, **more: Any) -> Row:
    return Row(
        name=name,
        title=title,
        category="memory",
        given=given,
        sync=sync,
        aio=aio,
        target=target,
        unit="KiB",
        contenders=FEW,
        fresh=True,
        rounds=3,
        **more,
    )


def _files(inputs: Inputs, point: int) -> Given:
    return inputs.small(inputs.count(point or 1000), 256 * KIB)


def _text(inputs: Inputs, point: int) -> Given:
    return inputs.text(point * MIB)


ROWS = [
    _row(
        "memory-read",
        "read(65536) of so many MiB",
        _text,
        stream_sync,
        stream,
        16 * KIB,
        points=(8, 32, 128),
        axis="MiB",
        growth=0.5,
        sentence="Memory for reading does not grow with the file.",
    ),
    _row("memory-lines", "lines of 32 MiB", lambda i, p: _text(i, 32), lines_sync, lines, 16 * KIB),
    _row("memory-write", "16 MiB written", lambda i, p: _text(i, 16), write_sync, write, 16 * KIB),
    _row(
        "memory-all",
        "read(-1) of 32 MiB, over the result",
        lambda i, p: _text(i, 32),
        read_all_sync,
        read_all,
        8 * KIB,
    ),
    _row(
        "memory-bomb",
        "read(1) of a bomb of 260 KB",
        lambda inputs, point: inputs.equal(bytes(1 << 10), 256 << 10),
        read_one_sync,
        read_one,
        2 * KIB,
    ),
    _row(
        "memory-open",
        "1,000 files open, not yet read, each",
        _files,
        open_sync,
        opened,
        16,
    ),
    _row(
        "memory-line",
        "1,000 files open, one line read, each",
        _files,
        one_line_sync,
        one_line,
        320,
    ),
    _row(
        "memory-files",
        "so many files open, one line read, each",
        _files,
        one_line_sync,
        one_line,
        None,
        points=(1, 10, 100, 1000),
        axis="files",
        growth=0.0,
        sentence="Memory a file, the library included: the more files, the less each.",
    ),
]
