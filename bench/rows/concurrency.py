"""concurrency: many files at once, and cost as they or the threads become more."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from contextlib import AsyncExitStack, ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from bench.inputs import Inputs
from bench.row import FEW, Given, Job, Row, bytes_of, digest, threads
from bench.rows.scenarios import TEXT

LATENCY = 0.01
KIB = 1 << 10


def _paths(job: Job) -> list[str]:
    folder = job.given["folder"]
    return [f"{folder}/{i:05}.gz" for i in range(job.given["n_files"])]


# ---- written, a wait, read -----------------------------------------------------------------


def _outs(job: Job) -> list[Path]:
    return [job.out(f"{i}.gz") for i in range(job.given["n_files"])]


def there_and_back_sync(lib: Any, job: Job) -> Any:
    data, paths = bytes_of(job.given["raw"]), _outs(job)
    results = []
    with job.clock():
        for path in paths:
            with lib.open(path, "wb") as stream:
                stream.write(data)
            time.sleep(LATENCY)
            with lib.open(path, "rb") as stream:
                results.append(stream.read())
    return [digest(result) for result in results], job.written(paths[-1])


async def there_and_back(lib: Any, job: Job) -> Any:
    data, paths = bytes_of(job.given["raw"]), _outs(job)

    async def one(path: Path) -> bytes:
        async with lib.open(path, "wb") as stream:
            await stream.write(data)
        await asyncio.sleep(LATENCY)
        async with lib.open(path, "rb") as stream:
            result: bytes = await stream.read()
        return result

    with job.clock():
        results = await asyncio.gather(*map(one, paths))
    return [digest(result) for result in results], job.written(paths[-1])


# ---- many files read ---------------------------------------------------------------------


def files_sync(lib: Any, job: Job) -> Any:
    results = []
    with job.clock():
        for path in _paths(job):
            with lib.open(path, "rb") as stream:
                results.append(stream.read())
    return digest(b"".join(results))


async def _read(lib: Any, path: str) -> bytes:
    async with lib.open(path, "rb") as stream:
        result: bytes = await stream.read()
    return result


async def files_at_once(lib: Any, job: Job) -> Any:
    with job.clock():
        results = await asyncio.gather(*(_read(lib, path) for path in _paths(job)))
    return digest(b"".join(results))


async def files_in_turn(lib: Any, job: Job) -> Any:
    with job.clock():
        results = [await _read(lib, path) for path in _paths(job)]
    return digest(b"".join(results))


# ---- open all at once ----------------------------------------------------------------------


def open_files_sync(lib: Any, job: Job) -> Any:
    n_lines = 0
    with job.clock(), ExitStack() as stack:
        streams = [stack.enter_context(lib.open(path, **TEXT)) for path in _paths(job)]
        for stream in streams:
            stream.readline()
        for stream in streams:
            n_lines += sum(1 for line in stream)
    return n_lines


async def open_files(lib: Any, job: Job) -> Any:
    with job.clock():
        n_lines = await _open_files(lib, job)
    return n_lines


async def _open_files(lib: Any, job: Job) -> int:
    """A line of each, then the rest of each, all of them open."""
    async with AsyncExitStack() as stack:
        opened = [await stack.enter_async_context(lib.open(p, **TEXT)) for p in _paths(job)]
        await asyncio.gather(*(stream.readline() for stream in opened))
        return sum(await asyncio.gather(*map(_count, opened)))


async def _count(stream: Any) -> int:
    n_lines = 0
    async for _ in stream:
        n_lines += 1
    return n_lines


async def open_threads(lib: Any, job: Job) -> Any:
    n_lines = await _open_files(lib, job)
    job.value = threads()
    return n_lines


# ---- threads -----------------------------------------------------------------------------


async def busiest(lib: Any, job: Job) -> Any:
    """The part of all work that the busiest thread does, by its processor time."""
    results = await asyncio.gather(*(_read(lib, path) for path in _paths(job)))
    tasks = Path("/proc/self/task")
    work = [
        int((tasks / name / "schedstat").read_text().split()[0])
        for name in os.listdir(tasks)
        if int(name) != threading.get_native_id()
    ]
    job.value = max(work) / sum(work)
    return digest(b"".join(results))


# ---- the rows ----------------------------------------------------------------------------


def _row(name: str, title: str, given: Any, sync: Any, aio: Any, **more: Any) -> Row:
    return Row(
        name=name, title=title, category="concurrency", given=given, sync=sync, aio=aio, **more
    )


def _ten(inputs: Inputs, point: int) -> Given:
    return inputs.text(1_000_000) | {"n_files": 10}


def _small(n_files: int, nbytes: int) -> Any:
    return lambda inputs, point: inputs.small(inputs.count(n_files, 4), nbytes)


def _open(inputs: Inputs, x: int) -> Given:
    return inputs.small(inputs.count(x), 16 * KIB)


_growing = partial(_row, contenders=FEW, rounds=3)

_threads = partial(
    _row,
    rounds=3,
    fresh=True,
    axis="threads",
    environment=lambda point: {"AGZ_THREADS": str(point)},
)

ROWS = [
    _row(
        "ten-files",
        "ten files of 1 MB written, 10 ms of latency, read",
        _ten,
        there_and_back_sync,
        there_and_back,
        target=2.3,
    ),
    _row(
        "files-64k",
        "200 files of 64 KiB read at once",
        _small(200, 64 * KIB),
        files_sync,
        files_at_once,
        target=3.3,
    ),
    _row(
        "files-2k-turn",
        "1,000 files of 2 KB read, in turn",
        _small(1000, 2000),
        files_sync,
        files_in_turn,
        target=1.2,
    ),
    _row(
        "files-2k-once",
        "1,000 files of 2 KB read, at once",
        _small(1000, 2000),
        files_sync,
        files_at_once,
        target=2.0,
    ),
    _growing(
        "open-files",
        "time for so many files open at once, 16 KiB each, by lines",
        _open,
        open_files_sync,
        open_files,
        points=(1, 10, 100, 300, 1000),
        axis="files",
        sentence="From one to 1,000 open files the time grows with their number and no faster.",
    ),
    _growing(
        "open-files-threads",
        "threads for so many files open at once",
        _open,
        None,
        open_threads,
        unit="threads",
        fresh=True,
        growth=0.1,
        points=(1, 10, 100, 300, 1000),
        axis="files",
        contenders=frozenset({"aiogzip-ng", "agz"}),
        sentence="From one to 1,000 open files agz has the same few threads.",
    ),
    _threads(
        "threads-time",
        "200 files of 64 KiB read at once, by threads",
        _small(200, 64 * KIB),
        files_sync,
        files_at_once,
        contenders=frozenset({"gzip", "agz"}),
        points=(1, 2),
        growth=0.0,
        sentence="Two threads take less time than one, as far as there are two processors.",
    ),
    _threads(
        "threads-work",
        "the busiest thread's part of the work",
        _small(1000, 64 * KIB),
        None,
        busiest,
        contenders=frozenset({"agz"}),
        unit="part",
        points=(1, 2, 4, 8, 16, 32, 64),
        growth=0.0,
        sentence="The more threads, the less each one has to do.",
    ),
]
