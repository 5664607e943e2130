"""A row: one piece of work that all contenders do, and what is measured of it.

A row has a function for synchronous libraries and one for asynchronous ones. Both get a
library and a job. What is to be measured stands inside one of the job's contexts, so that
getting ready and checking cost nothing; what they return has to be the same for all.
"""

from __future__ import annotations

import asyncio
import gc
import gzip
import os
import time
import zlib
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.inputs import Inputs
from bench.libraries import AGZ, PLAIN

CATEGORIES = ("io", "scenarios", "concurrency", "streaming", "micro", "memory", "latency")

Given = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Row:
    name: str
    title: str
    category: str
    given: Callable[[Inputs, int], Given]  # makes the input; the number is the point
    sync: Callable[[Any, Job], Any] | None = None
    aio: Callable[[Any, Job], Coroutine[Any, Any, Any]] | None = None
    unit: str = "s"  # of what is measured; less is always better
    target: float | None = None  # "s": times as fast as gzip, at least; else at most so many units
    contenders: frozenset[str] = PLAIN
    same_bytes: bool = False  # whoever writes other bytes than zlib does not count
    larger: float | None = None  # whoever writes so much more than gzip does not count
    fresh: bool = False  # a process of its own each time
    rounds: int | None = None  # at most
    points: tuple[int, ...] = (0,)
    axis: str = ""  # what the points are
    growth: float = 1.0  # the power of the axis by which it may grow
    sentence: str = ""  # what the chart of the points shows
    environment: Callable[[int], dict[str, str]] = lambda point: {}


def resident(field: str) -> int:
    """VmRSS, what is in memory now, or VmHWM, the most there ever was."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status has no {field}")


@dataclass
class Job:
    """One measurement in a worker."""

    given: Given
    folder: Path  # to write into
    thorough: bool  # the first of the rounds: read a second time, and look at every byte
    baseline: int  # memory of the process before it loaded the library
    value: float = 0.0
    size: int | None = None
    same: bool | None = None

    @contextmanager
    def clock(self, per: int = 1) -> Iterator[None]:
        """Seconds; `per` is the number of things of which each is to be counted."""
        gc.collect()
        start = time.perf_counter()
        yield
        self.value = (time.perf_counter() - start) / per

    @asynccontextmanager
    async def silence(self) -> AsyncIterator[None]:
        """Milliseconds: the longest time for which a task that only yields did not run."""
        longest, last = 0.0, time.perf_counter()

        def look() -> None:
            nonlocal longest, last
            now = time.perf_counter()
            longest, last = max(longest, now - last), now

        async def watch() -> None:
            while True:
                look()
                await asyncio.sleep(0)

        gc.collect()
        watcher = asyncio.create_task(watch())
        await asyncio.sleep(0.01)
        longest = 0.0
        try:
            yield
            look()
        finally:
            watcher.cancel()
        self.value = longest * 1e3

    @contextmanager
    def memory(self, result: int = 0, per: int = 1) -> Iterator[None]:
        """KiB at the peak over the interpreter with asyncio; less `result`, for each of `per`."""
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
        yield
        self.value = (resident("VmHWM") - self.baseline - result) / per / 1024

    def out(self, name: str = "out.gz") -> Path:
        path = self.folder / name
        path.unlink(missing_ok=True)
        return path

    def written(self, path: Path) -> list[int]:
        """What sync gzip reads of a file that was written: length and CRC-32.

        Looks too whether it is byte for byte what zlib makes of the input, but for the header.
        (Of text gzip itself writes five bytes more: it flushes before it closes.)
        """
        wire, zlibs = path.read_bytes(), bytes_of(self.given["gz"])
        self.size = len(wire)
        self.same = wire[_header_nbytes(wire) :] == zlibs[_header_nbytes(zlibs) :]
        return digest(gzip.decompress(wire))


def _header_nbytes(wire: bytes) -> int:
    """Of a header without fields, or with a name only, as all of these write it."""
    return wire.index(b"\0", 10) + 1 if wire[3] & 8 else 10


def digest(data: bytes | str) -> list[int]:
    data = data.encode() if isinstance(data, str) else data
    return [len(data), zlib.crc32(data)]


def bytes_of(path: str) -> bytes:
    return Path(path).read_bytes()


def text_of(path: str) -> str:
    return bytes_of(path).decode()


def threads() -> int:
    return len(os.listdir("/proc/self/task"))


ASYNCHRONOUS = frozenset({"aiogzip", "aiogzip-ng", "agz", "aiogzip-ng uvloop", "agz uvloop"})
FEW = frozenset({"gzip", "aiogzip", "aiogzip-ng", "agz"})
EACH_ENGINE = PLAIN | AGZ
