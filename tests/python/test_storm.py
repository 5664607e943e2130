"""A storm: thousands of tasks on many files at once, each a call that is cancelled at a random
suspension, or some turns of the loop after it began. Every call that was let be gives what is
right, a file goes on where it stood, with nothing lost and nothing twice; and after it all
there are no more threads, descriptors, tasks and objects than before.

AGZ_STORM_TASKS: how many (1500); AGZ_STORM_SEED: other ones."""

import asyncio
import contextlib
import gzip
import io
import itertools
import os
import random
import zlib
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import agz
import agz._agz
import pytest
from support import CancelAt, Collect, Pieces, Seekable

TASKS = int(os.environ.get("AGZ_STORM_TASKS", "1500"))
SEED = int(os.environ.get("AGZ_STORM_SEED", "1"))
AT_ONCE = 40

LINES = [f"{i} {'é' if i % 50 == 7 else 'e'} {'x' * (i * 7 % 90)}\n" for i in range(2000)]
TEXT = "".join(LINES)
ENCODINGS = ["utf-8", "cp1252", "utf-16"]
DATA = TEXT.encode()
PACKED = gzip.compress(DATA[: len(DATA) // 3], 6) + gzip.compress(DATA[len(DATA) // 3 :], 1)

Call = Callable[[], Awaitable[Any]]


class Silent(Pieces):
    tell = None  # type: ignore[assignment]


class Storm:
    """What is left of the tasks, and what became of those that were started."""

    def __init__(self, seed: int, tasks: int, whole: bool = False) -> None:
        """A whole one goes on until each call has ended once, and was cancelled if it can be."""
        self.draw = random.Random(seed)
        self.left, self.whole = tasks, whole
        self.ended: Counter[str] = Counter()
        self.cancelled: Counter[str] = Counter()

    def goes_on(self) -> bool:
        if not self.whole:
            return self.left > 0
        all_ended = self.ended.keys() >= MUST_WAIT | NEED_NOT
        return self.left > 0 or not (all_ended and self.cancelled.keys() >= MUST_WAIT)

    async def call(self, name: str, make: Call) -> tuple[bool, Any]:
        """In a task of its own: whether that was cancelled, and what else it gave."""
        self.left -= 1
        draw, how = self.draw, self.draw.random()
        at = 1 + int(draw.expovariate(0.5)) if how < 0.5 else 0

        async def main() -> Any:
            return await CancelAt(_later(make), at)

        task = asyncio.create_task(main())
        if how > 0.75:
            _cancel_after(task, int(draw.expovariate(0.3)))
        try:
            result = await task
        except asyncio.CancelledError:
            assert task.cancelled()
            self.cancelled[name] += 1
            return True, None
        self.ended[name] += 1
        return False, result


async def _later(make: Call) -> Any:
    return await make()


def _cancel_after(task: asyncio.Task[Any], turns: int) -> None:
    """By the loop's turns, so that it meets a task that was just woken too."""
    if turns > 0:
        task.get_loop().call_soon(_cancel_after, task, turns - 1)
    else:
        task.cancel()


# ---- reading ------------------------------------------------------------------------------


class Reader:
    """A file and where it must be: `at` counts bytes, or characters."""

    def __init__(self, storm: Storm, file: Any, plain: Any) -> None:
        self.storm, self.file, self.plain, self.at = storm, file, plain, 0
        self.or_at = 0  # where a seek that was cancelled may have gone all the same
        self.text = isinstance(plain, str)
        self.places = {0: 0}  # what tell() said, where

    async def step(self) -> None:
        name = self.storm.draw.choice(TEXT_READS if self.text else READS)
        await getattr(self, name)()
        # Where it is now is certain, and tell() may be cancelled as well.
        cancelled, place = await self.storm.call("tell", self.file.tell)
        if cancelled:
            place = await self.file.tell()
        at = self.places.setdefault(place, self.at) if self.text else place
        assert at in (self.at, self.or_at)
        self.at = self.or_at = at

    def gone(self, got: Any, upto: int) -> None:
        assert got == self.plain[self.at : upto]
        self.at += len(got)
        self.or_at = self.at

    def line_end(self) -> int:
        newline = self.plain.find("\n" if self.text else b"\n", self.at)
        return len(self.plain) if newline < 0 else newline + 1

    async def read(self) -> None:
        size = self.storm.draw.choice([1, 100, 5000, 70_000, -1])
        cancelled, got = await self.storm.call("read", lambda: self.file.read(size))
        if not cancelled:
            self.gone(got, len(self.plain) if size < 0 else self.at + size)

    async def read1(self) -> None:
        size = self.storm.draw.choice([1, 5000, -1])
        cancelled, got = await self.storm.call("read1", lambda: self.file.read1(size))
        if not cancelled:
            assert got or self.at == len(self.plain)
            self.gone(got, self.at + len(got))

    async def readinto(self) -> None:
        room = bytearray(self.storm.draw.choice([1, 5000, 70_000]))
        cancelled, count = await self.storm.call("readinto", lambda: self.file.readinto(room))
        if not cancelled:
            assert count or self.at == len(self.plain)
            self.gone(room[:count], self.at + count)

    async def peek(self) -> None:
        cancelled, got = await self.storm.call("peek", lambda: self.file.peek(100))
        if not cancelled:
            assert got or self.at == len(self.plain)
            assert self.plain.startswith(got, self.at)

    async def readline(self) -> None:
        cancelled, got = await self.storm.call("readline", self.file.readline)
        if not cancelled:
            self.gone(got, self.line_end())

    async def readlines(self) -> None:
        hint = self.storm.draw.choice([1, 5000, 70_000, -1])
        cancelled, got = await self.storm.call("readlines", lambda: self.file.readlines(hint))
        if not cancelled:
            left = len(self.plain) - self.at
            assert sum(map(len, got)) >= min(hint if hint >= 0 else left, left)
            for line in got:
                self.gone(line, self.line_end())

    async def lines(self) -> None:
        """Those that came before the cancellation have come."""
        count, got = self.storm.draw.choice([1, 50, 1000]), []

        async def loop() -> None:
            async for line in self.file:
                got.append(line)
                if len(got) == count:
                    break

        await self.storm.call("async for", loop)
        for line in got:
            self.gone(line, self.line_end())

    async def batches(self) -> None:
        hint, got = self.storm.draw.choice([100, 20_000]), []

        async def loop() -> None:
            async for batch in self.file.iter_batches(hint):
                got.extend(batch)
                if len(got) > 800:
                    break

        await self.storm.call("iter_batches", loop)
        for line in got:
            self.gone(line, self.line_end())

    async def seek(self) -> None:
        place, at = self.storm.draw.choice(list(self.places.items()))
        if not self.text:
            place = at = self.storm.draw.randrange(len(self.plain))
        cancelled, reached = await self.storm.call("seek", lambda: self.file.seek(place))
        self.or_at = at
        if not cancelled:
            assert reached == place
            self.at = at

    async def seek_end(self) -> None:
        cancelled, _ = await self.storm.call("seek", lambda: self.file.seek(0, 2))
        self.or_at = len(self.plain)
        self.at = self.at if cancelled else self.or_at

    async def rewind(self) -> None:
        cancelled, _ = await self.storm.call("rewind", self.file.rewind)
        self.or_at = 0
        self.at = self.at if cancelled else 0

    async def truncate(self) -> None:
        async def call() -> None:
            with pytest.raises(io.UnsupportedOperation):
                self.file.truncate()

        await self.storm.call("truncate", call)

    async def end(self) -> None:
        assert await self.file.read() == self.plain[self.at :]
        assert await self.file.seek(0) == 0
        assert await self.file.read() == self.plain
        await close(self.storm, self.file)


TEXT_READS = [
    *("read", "readline", "readlines", "lines", "batches", "seek", "seek_end", "truncate"),
]
READS = [
    *("read", "read1", "readinto", "peek", "readline", "readlines", "lines"),
    *("seek", "seek_end", "rewind", "truncate"),
]


async def close(storm: Storm, file: Any) -> None:
    """Whatever a close that was cancelled had done by then, another one does the rest."""
    await storm.call("close", file.close)
    with contextlib.suppress(OSError):
        await file.close()
    assert file.closed


async def opened(storm: Storm, file: Any) -> Any:
    """An open that was cancelled can be tried again."""
    while (await storm.call("open", file.open))[0]:
        assert not file.closed
    return file


async def a_reader(storm: Storm, folder: Path) -> None:
    draw = storm.draw
    encoding = draw.choice(["", *ENCODINGS])
    plain: Any = TEXT if encoding else DATA
    packed = gzip.compress(TEXT.encode(encoding), 1) if encoding else PACKED
    options: dict[str, Any] = {"encoding": encoding, "newline": ""} if encoding else {}
    options["chunk_size"] = draw.choice([200, 5000, 1 << 20])
    source = None
    path = folder / f"r{encoding}.gz"
    if draw.random() < 0.5:
        kind = draw.choice([Pieces, Seekable, Silent])
        source = kind(packed, draw.choice([200, 3000, 1 << 20]))
    elif not path.exists():
        path.write_bytes(packed)
    file = agz.open(
        None if source else path,
        "rt" if encoding else "rb",
        fileobj=source,
        closefd=True,
        **options,
    )
    reader = Reader(storm, await opened(storm, file), plain)
    for _ in range(draw.randrange(1, 12)):
        await reader.step()
    await reader.end()
    assert source is None or source.closed >= 1


# ---- writing ------------------------------------------------------------------------------


class Writer:
    """A file and what it has accepted, told by how far tell() went on."""

    def __init__(self, storm: Storm, file: Any, encode: Callable[[str], bytes]) -> None:
        self.storm, self.file, self.encode = storm, file, encode
        self.bytes = file.buffer if isinstance(file, agz.AsyncGzipTextFile) else file
        self.accepted = self.tried = b""

    def item(self) -> Any:
        size = self.storm.draw.choice([1, 100, 60_000])
        start = self.storm.draw.randrange(len(TEXT))
        return TEXT[start : start + size]

    async def accept(self, parts: list[str], cancelled: bool) -> None:
        """All of them, or if cancelled the first few, each of them whole."""
        count = await self.bytes.tell() - len(self.accepted)
        want = [self.encode(part) for part in parts]
        sums = [0, *itertools.accumulate(map(len, want))]
        assert count in (sums if cancelled else sums[-1:])
        self.tried = self.accepted + b"".join(want)
        self.accepted = self.tried[: len(self.accepted) + count]

    def given(self, item: str) -> Any:
        return item if self.bytes is not self.file else item.encode()

    async def write(self) -> None:
        item = self.item()
        cancelled, count = await self.storm.call("write", lambda: self.file.write(self.given(item)))
        assert cancelled or count == len(self.given(item))
        await self.accept([item], cancelled)

    async def writelines(self) -> None:
        items = [self.item() for _ in range(self.storm.draw.randrange(1, 30))]
        cancelled, _ = await self.storm.call(
            "writelines", lambda: self.file.writelines([self.given(item) for item in items])
        )
        await self.accept(items, cancelled)

    async def flush(self) -> None:
        await self.storm.call("flush", self.file.flush)

    async def seek(self) -> None:
        """Forward, by zeros; cancelled, as far as it has come."""
        ahead = self.storm.draw.choice([0, 10, 300_000])
        place = len(self.accepted) + ahead
        cancelled, at = await self.storm.call("write seek", lambda: self.bytes.seek(place))
        reached = await self.bytes.tell()
        assert len(self.accepted) <= reached <= place
        assert cancelled or at == reached == place
        self.tried = self.accepted + bytes(ahead)
        self.accepted = self.tried[:reached]

    async def tell(self) -> None:
        cancelled, at = await self.storm.call("write tell", self.bytes.tell)
        assert cancelled or at == len(self.accepted)


async def a_writer(storm: Storm, folder: Path) -> None:
    """On a path all that was accepted is written. A sink may have taken any part of a block
    when it was cancelled: that stream is broken, says so, and stays a prefix."""
    draw = storm.draw
    encoding = draw.choice(["", "utf-8", "cp1252"])
    sink = Collect(draw.choice([50_000, 1 << 30])) if draw.random() < 0.5 else None
    path = folder / f"w{draw.getrandbits(64)}.gz"
    file = agz.open(
        None if sink else path,
        "wt" if encoding else "wb",
        fileobj=sink,
        closefd=True,
        compresslevel=draw.choice([0, 1, 6]),
        chunk_size=draw.choice([1000, 1 << 20]),
        **({"encoding": encoding, "newline": ""} if encoding else {}),
    )
    if sink is not None:
        await file.open()
    writer = Writer(
        storm,
        await opened(storm, file) if sink is None else file,
        lambda text: text.encode(encoding or "utf-8"),
    )
    steps = ["write", "writelines", "flush", "tell"] + ["seek"] * (not encoding)
    for _ in range(draw.randrange(1, 12)):
        if writer.bytes._state == "broken":
            with pytest.raises(OSError, match="broken"):
                await file.flush()
            break
        await getattr(writer, draw.choice(steps))()
    await close(storm, file)
    if sink is None:
        assert gzip.decompress(path.read_bytes()) == writer.accepted
        path.unlink()
        return
    assert sink.closed >= 1
    unpacker = zlib.decompressobj(31)
    whole = unpacker.decompress(sink.data)
    assert writer.tried.startswith(whole)
    assert not unpacker.eof or whole == writer.accepted


# ---- whole files and chunks ---------------------------------------------------------------


async def whole_files(storm: Storm, folder: Path) -> None:
    draw = storm.draw
    path = folder / "r.gz"
    if not path.exists():
        path.write_bytes(PACKED)
    size = draw.choice([200, 3000, 1 << 20])
    for name in draw.choices(["read", "verify", "inspect", "write"], k=5):
        source = Pieces(PACKED, size) if draw.random() < 0.5 else None
        where = None if source else path
        if name == "write":
            target = folder / f"w{draw.getrandbits(64)}.gz"
            cancelled, _ = await storm.call("agz.write", lambda to=target: agz.write(to, DATA))
            if not cancelled:
                assert gzip.decompress(target.read_bytes()) == DATA
            target.unlink(missing_ok=True)
            continue
        call = getattr(agz, name)
        cancelled, got = await storm.call(
            f"agz.{name}", lambda at=where, f=source, call=call: call(at, fileobj=f)
        )
        if not cancelled:
            assert name == "read" or got.uncompressed_size == len(DATA)
            assert name != "read" or got == DATA


class Items:
    def __init__(self, data: bytes, size: int) -> None:
        self.pieces = Pieces(data, size)
        self.open = 0

    async def __aiter__(self) -> Any:
        self.open += 1
        try:
            while item := await self.pieces.read(1 << 30):
                yield item
        finally:
            self.open -= 1


async def chunks(storm: Storm, folder: Path) -> None:
    """What had come by then is a beginning of it; the source is closed."""
    draw = storm.draw
    for name in draw.choices(["compress_chunks", "decompress_chunks"], k=5):
        data = DATA if name == "compress_chunks" else PACKED
        items = Items(data, draw.choice([500, 20_000]))
        got = bytearray()

        async def loop(chunks: Any, got: bytearray) -> None:
            async for chunk in chunks:
                got += chunk

        chunks = getattr(agz, name)(items, output_chunk_size=draw.choice([100, 1 << 18]))
        cancelled, _ = await storm.call(name, lambda made=chunks, got=got: loop(made, got))
        assert items.open == 0
        if name == "compress_chunks":
            assert DATA.startswith(zlib.decompressobj(31).decompress(got))
            assert cancelled or gzip.decompress(got) == DATA
        else:
            assert DATA.startswith(got)
            assert cancelled or got == DATA


# ---- the storm ----------------------------------------------------------------------------

# Each of these can be suspended.
MUST_WAIT = {
    *("open", "read", "read1", "readinto", "peek", "readline", "readlines", "async for"),
    *("iter_batches", "seek", "write", "writelines", "flush", "agz.read", "agz.write"),
    *("agz.verify", "agz.inspect", "compress_chunks", "decompress_chunks", "close"),
}
NEED_NOT = {"tell", "rewind", "truncate", "write tell", "write seek"}


async def weather(storm: Storm, folder: Path) -> None:
    kinds = [a_reader, a_reader, a_writer, a_writer, whole_files, chunks]

    async def worker() -> None:
        while storm.goes_on():
            await storm.draw.choice(kinds)(storm, folder)

    await asyncio.gather(*[worker() for _ in range(AT_ONCE)])
    assert asyncio.all_tasks() == {asyncio.current_task()}


def threads() -> int:
    return len(os.listdir("/proc/self/task"))


def test_a_storm(tmp_path: Path, run: Any) -> None:
    """Descriptors and objects are counted by the ledger, which every test is under."""
    before = threads()
    storm = Storm(SEED, TASKS, whole=True)
    run(weather(storm, tmp_path))
    assert storm.ended.keys() == MUST_WAIT | NEED_NOT
    assert threads() <= max(before, 1 + agz._agz.threads())
