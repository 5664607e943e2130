"""A thousand files at once, for minutes: written, appended to, read by lines and pieces, sought in,
verified; every byte that comes back is held against what was written.

python -m bench.load                            ten minutes
python -m bench.load --minutes 1 --files 100 --loop uvloop

It fails if anything was wrong, and prints what else there is to know: the memory after each
tenth of the time, and by how much a timer of a millisecond came late. A part of that may be other
programs', and a part the interpreter's: a second line leaves out how long this thread waited for
a processor, a third the garbage collector too.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import random
import resource
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import agz

PIECE = 16 * 1024  # a client's own work without a turn for others is no more than this


def make_plain() -> bytes:
    """Lines of JSON, 8 MB of them; each file is a slice."""
    draw = random.Random(1)
    words = [draw.randbytes(draw.randrange(2, 9)).hex() for _ in range(2000)]
    lines: list[str] = []
    size = 0
    while size < 8_000_000:
        told = " ".join(draw.choices(words, k=draw.randrange(1, 20)))
        line = f'{{"n": {len(lines)}, "at": {draw.random():.9f}, "told": "{told}"}}\n'
        lines.append(line)
        size += len(line)
    return "".join(lines).encode()


PLAIN = make_plain()
TEXT = PLAIN.decode()


class Load:
    """What all clients share: the end, and the counts."""

    def __init__(self, folder: Path, seconds: float) -> None:
        self.folder = folder
        self.begin = time.monotonic()
        self.end = self.begin + seconds
        self.calls: Counter[str] = Counter()
        self.nbytes = 0
        self.errors: list[str] = []
        self.memory: list[tuple[float, int]] = []
        self.late: list[Counter[int]] = [Counter(), Counter(), Counter()]  # in 10 µs

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self.end


class Client:
    """One file: written anew, then read in this way and that, over and over."""

    def __init__(self, load: Load, number: int) -> None:
        self.load = load
        self.draw = random.Random(number)
        self.path = load.folder / f"{number}.gz"
        self.start = self.size = self.members = 0

    async def run(self) -> None:
        ways: list[Callable[[], Awaitable[None]]] = [
            self.lines,
            self.text_lines,
            self.pieces,
            self.seeks,
            self.whole,
            self.verify,
            self.inspect,
            self.chunks,
            self.append,
        ]
        try:
            while not self.load.is_over:
                await self.write("wb")
                for way in self.draw.choices(ways, k=6):
                    self.load.calls[way.__name__] += 1
                    await way()
                    if self.load.is_over:
                        return
        except Exception:
            self.load.errors.append(f"{self.path.name}: {traceback.format_exc()}")

    def is_right(self, at: int, data: bytes | str) -> None:
        """This is what stands in the file there."""
        plain: Any = TEXT if isinstance(data, str) else PLAIN
        self.load.nbytes += len(data)
        assert at + len(data) <= self.size, "more than was written"
        assert plain.startswith(data, self.start + at), f"other bytes at {at}"

    async def write(self, mode: str) -> None:
        self.load.calls["write"] += 1
        size = int(2 ** self.draw.uniform(10, 18))
        if mode == "wb":
            self.start = self.draw.randrange(len(PLAIN) - 1_000_000)
            self.size = self.members = 0
        level = self.draw.choice([1, 1, 6, 6, 9])
        file: Any = agz.open(self.path, mode, compresslevel=level)
        async with file:
            end = self.size + size
            while self.size < end:
                at = self.start + self.size
                n = min(self.draw.randrange(1, PIECE), end - self.size)
                if self.draw.random() < 0.8:
                    assert await file.write(PLAIN[at : at + n]) == n
                else:
                    await file.writelines(PLAIN[at : at + n].splitlines(keepends=True))
                self.size += n
                if self.draw.random() < 0.05:
                    await file.flush()
        self.members += 1

    async def append(self) -> None:
        if self.size < 600_000:
            await self.write("ab")

    async def lines(self) -> None:
        at = 0
        async with agz.open(self.path) as file:
            async for line in file:
                self.is_right(at, line)
                at += len(line)
        assert at == self.size

    async def text_lines(self) -> None:
        at = 0
        async with agz.open(self.path, "rt") as file:
            async for line in file:
                self.is_right(at, line)
                at += len(line)
        assert at == self.size

    async def pieces(self) -> None:
        at = 0
        async with agz.open(self.path) as file:
            while data := await file.read(self.draw.randrange(1, PIECE)):
                self.is_right(at, data)
                at += len(data)
        assert at == self.size

    async def seeks(self) -> None:
        async with agz.open(self.path) as file:
            for _ in range(4):
                at = self.draw.randrange(self.size)
                assert await file.seek(at) == at
                data = await file.read(1000)
                assert len(data) == min(1000, self.size - at)
                self.is_right(at, data)
            assert await file.seek(0, 2) == self.size

    async def whole(self) -> None:
        data = await agz.read(self.path)
        assert len(data) == self.size
        self.is_right(0, data)

    async def verify(self) -> None:
        result = await agz.verify(self.path)
        assert (result.uncompressed_size, result.member_count) == (self.size, self.members)

    async def inspect(self) -> None:
        info = await agz.inspect(self.path)
        assert sum(member.uncompressed_size for member in info.members) == self.size
        assert info.compressed_size == self.path.stat().st_size

    async def chunks(self) -> None:
        async def packed() -> AsyncIterator[bytes]:
            for at in range(0, self.size, PIECE):
                yield PLAIN[self.start + at : self.start + min(at + PIECE, self.size)]

        at = 0
        async for data in agz.decompress_chunks(agz.compress_chunks(packed(), compresslevel=1)):
            self.is_right(at, data)
            at += len(data)
        assert at == self.size


# ---- watching -----------------------------------------------------------------------------


def resident() -> int:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def waited() -> float:
    """Seconds that this thread was ready to run and did not."""
    with open("/proc/thread-self/schedstat") as stat:
        return int(stat.read().split()[1]) / 1e9


class Collector:
    """Seconds that the garbage collector has taken."""

    def __init__(self) -> None:
        self.taken = self._begin = 0.0
        gc.callbacks.append(self._note)

    def _note(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            self._begin = time.thread_time()
        else:
            self.taken += time.thread_time() - self._begin


async def watch(load: Load) -> None:
    """How late each tick of a millisecond is, and the memory each second."""
    next_look, collector = load.begin, Collector()
    while not load.is_over:
        due, waited_before, taken_before = time.perf_counter() + 0.001, waited(), collector.taken
        await asyncio.sleep(0.001)
        late = time.perf_counter() - due
        ours = late - (waited() - waited_before)
        without = ours - (collector.taken - taken_before)
        for counts, value in zip(load.late, (late, ours, without), strict=True):
            counts[max(0, int(value * 1e5))] += 1
        if time.monotonic() >= next_look:
            load.memory.append((time.monotonic() - load.begin, resident()))
            next_look += 1


async def main(load: Load, files: int) -> None:
    clients = [Client(load, number) for number in range(files)]
    async with asyncio.TaskGroup() as group:
        group.create_task(watch(load))
        for client in clients:
            group.create_task(client.run())


# ---- telling ------------------------------------------------------------------------------


def percentile(counts: Counter[int], share: float) -> float:
    """Of what was counted in 10 µs, in ms."""
    left = counts.total() * share
    for value in sorted(counts):
        left -= counts[value]
        if left <= 0:
            break
    return value / 100


def report(load: Load, files: int) -> str:
    done = time.monotonic() - load.begin
    step = max(1, len(load.memory) // 10)
    memory = " ".join(f"{rss / 2**20:.0f}" for _, rss in load.memory[step - 1 :: step])
    calls = ", ".join(f"{count} {name}" for name, count in load.calls.most_common())
    lines = [
        f"{files} files at once, {done:.0f} s, load average {os.getloadavg()[0]:.1f} "
        f"on {os.cpu_count()} processors",
        f"{sum(load.calls.values())} calls ({calls})",
        f"{load.nbytes / 1e6:.0f} MB held against what was written, {len(load.errors)} errors",
        f"memory after each tenth of the time, MiB: {memory}",
        "",
        f"{'ms late of a tick':<22}{'50 %':>8}{'99 %':>8}{'99.9 %':>8}{'most':>8}",
    ]
    for i, title in enumerate(("in all", "less the others'", "less the collector's")):
        shares = "".join(
            f"{percentile(load.late[i], share):8.2f}" for share in (0.5, 0.99, 0.999, 1)
        )
        lines.append(f"{title:<22}{shares}")
    return "\n".join(lines)


def run(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench.load",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--loop", choices=["asyncio", "uvloop"], default="asyncio")
    options = parser.parse_args(arguments)
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    new = asyncio.new_event_loop
    if options.loop == "uvloop":
        import uvloop

        new = uvloop.new_event_loop
    seconds = options.minutes * 60
    with tempfile.TemporaryDirectory(prefix="agz-load-") as folder:
        load = Load(Path(folder), seconds)
        gc.collect()
        gc.freeze()  # as servers do
        with asyncio.Runner(loop_factory=new) as runner:
            runner.run(main(load, options.files))
    print(report(load, options.files))
    for error in load.errors[:3]:
        print(error, file=sys.stderr)
    return 1 if load.errors else 0


if __name__ == "__main__":
    sys.exit(run())
