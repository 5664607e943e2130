"""One file, one loop, many tasks: every call cancelled wherever it is suspended, two calls at
once, awaitables in all the hands of asyncio, and loops over what is ready that would starve the
others. Nothing is lost, nothing comes twice. FIFOs, gates and counts make the order certain."""

import array
import asyncio
import collections
import collections.abc
import contextlib
import fcntl
import gc
import gzip
import inspect
import os
import random
import termios
import zlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import agz
import pytest
from support import (
    SLOWNESS,
    Collect,
    Fifo,
    Gate,
    Pieces,
    Seekable,
    cancelled_at,
    source_text,
    suspended,
)

LINES = [b"%d %s\n" % (i, b"x" * (i * 7 % 90)) for i in range(3000)]
DATA = b"".join(LINES)
PACKED = gzip.compress(DATA, 6)

Call = Callable[[Any], Awaitable[Any]]

READS: dict[str, Call] = {
    "read": lambda file: file.read(),
    "read(1000)": lambda file: file.read(1000),
    "read(100000)": lambda file: file.read(100_000),
    "read1": lambda file: file.read1(),
    "readinto": lambda file: file.readinto(bytearray(50_000)),
    "peek": lambda file: file.peek(),
    "readline": lambda file: file.readline(),
    "readlines": lambda file: file.readlines(),
    "readlines(9999)": lambda file: file.readlines(9999),
    "anext": lambda file: anext(file),
    "seek forward": lambda file: file.seek(70_000),
    "seek to the end": lambda file: file.seek(0, 2),
    "seek back": lambda file: file.seek(1),
}
TEXT_READS = {
    name: call
    for name, call in READS.items()
    if name in ("read", "read(1000)", "read(100000)", "readline", "readlines", "anext")
}


async def rest_is_right(file: Any, at: int, text: bool = False) -> None:
    """To its end, by lines, then again from its start."""
    got = [line async for line in file]
    if text:
        got = [line.encode() for line in got]
    assert b"".join(got) == DATA[at:]
    assert await file.seek(0) == 0
    whole = await file.read()
    assert (whole.encode() if text else whole) == DATA


# ---- cancelled reads ----------------------------------------------------------------------


async def cancel_each(make: Callable[[], Any], call: Call, text: bool = False) -> int:
    """The call cancelled at its first, second, ... suspension; how many there were."""
    n = 0
    while True:
        n += 1
        async with make() as file:
            line = await file.readline()
            assert line in (LINES[0], LINES[0].decode())
            before = await file.tell()
            cancelled, _ = await cancelled_at(lambda file=file: call(file), n)
            if not cancelled:
                return n - 1
            at = len(line)
            if call in SEEKS:
                at = await file.tell()
            else:
                assert await file.tell() == before
            await rest_is_right(file, at, text)


SEEKS = [call for name, call in READS.items() if name.startswith("seek")]


@pytest.mark.parametrize("name", READS)
def test_cancelled_at_each_suspension_of_a_source(run: Any, name: str) -> None:
    def make() -> Any:
        return agz.open(None, fileobj=Pieces(PACKED, 2000))

    count = run(cancel_each(make, READS[name]))
    # A read of all that follows has to ask the source again and again.
    if name in ("read", "readlines", "seek to the end"):
        assert count > 5


@pytest.mark.parametrize("name", TEXT_READS)
@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "cp1252"])
def test_cancelled_text_reads(run: Any, name: str, encoding: str) -> None:
    def make() -> Any:
        return agz.open(None, "rt", fileobj=Pieces(PACKED, 2000), encoding=encoding)

    run(cancel_each(make, READS[name], text=True))


@pytest.mark.parametrize("name", READS)
def test_cancelled_at_each_suspension_on_a_path(tmp_path: Path, run: Any, name: str) -> None:
    """How often a call waits for the worker is not certain; what it leaves is."""
    path = tmp_path / "f.gz"
    path.write_bytes(PACKED)
    for chunk in (100, 1 << 20):

        def make(chunk: int = chunk) -> Any:
            return agz.open(path, chunk_size=chunk)

        run(cancel_each(make, READS[name]))


@pytest.mark.parametrize(
    ("mode", "name"),
    # What is there already answers peek(), and a seek back.
    [("rb", name) for name in READS if name not in ("peek", "seek back")]
    + [("rt", name) for name in TEXT_READS],
)
def test_cancelled_while_the_worker_waits(tmp_path: Path, run: Any, mode: str, name: str) -> None:
    """The other end of the FIFO gives nothing before the call was cancelled."""

    async def main() -> None:
        with Fifo(tmp_path) as fifo:
            half = len(PACKED) // 50
            fifo.feed(PACKED[:half])
            async with agz.open(fifo.path, mode) as file:
                first = await file.readline()
                assert len(first) == len(LINES[0])
                got = len(first)
                # What can be had by now, line by line, until a call has to wait.
                while (task := await suspended(READS[name](file))).done():
                    at = await file.tell()
                    assert at > got or name == "readinto"
                    got = at
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                fifo.feed(PACKED[half:])
                fifo.close()
                at = await file.tell()
                # A seek that was cancelled may have come to its end all the same.
                assert at == got or "seek" in name
                rest = await file.read()
                assert (rest.encode() if mode == "rt" else rest) == DATA[at:]

    run(main())


class Halting(Pieces):
    """Gives its bytes up to `halt`; from there on it waits to be let on."""

    def __init__(self, data: bytes, size: int, halt: int) -> None:
        super().__init__(data, size)
        self.halt, self.reached, self.on = halt, asyncio.Event(), asyncio.Event()

    async def read(self, size: int = -1) -> bytes:
        if self.pos >= self.halt:
            self.reached.set()
            await self.on.wait()
        return await super().read(size)


@pytest.mark.parametrize("call", ["read", "read(2900000)"])
def test_a_cancelled_large_read_is_read_by_the_next(run: Any, call: str) -> None:
    """The worker fills the result itself: what it has by then goes back in front."""
    data = random.Random(3).randbytes(3_000_000)
    packed = gzip.compress(data, 1)

    async def main() -> None:
        source = Halting(packed, 100_000, len(packed) // 2)
        async with agz.open(None, fileobj=source, chunk_size=100_000) as file:
            assert await file.read(5) == data[:5]
            for _ in range(3):
                source.reached.clear()
                task = asyncio.create_task(file.read(2_900_000) if "(" in call else file.read())
                await source.reached.wait()
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                assert await file.tell() == 5
            source.on.set()
            assert await file.readline() == data[5 : data.index(b"\n", 5) + 1]
            at = await file.tell()
            assert await file.read() == data[at:]

    run(main())


def test_cancelled_open(tmp_path: Path, run: Any) -> None:
    path = tmp_path / "f.gz"
    path.write_bytes(PACKED)

    async def main() -> None:
        for mode in ("rb", "rt", "ab"):
            file: Any = agz.open(path, mode)
            n = 0
            while (await cancelled_at(file.open, n := n + 1))[0]:
                assert not file.closed
            await file.close()
        assert gzip.decompress(path.read_bytes())[: len(DATA)] == DATA

    run(main())


@pytest.mark.parametrize("name", READS)
def test_a_source_that_cannot_say_where_it_is(run: Any, name: str) -> None:
    """Cancelled in the middle of its read(): that goes on, and what it gives is not lost."""

    class Silent(Pieces):
        tell = None  # type: ignore[assignment]

    def make() -> Any:
        return agz.open(None, fileobj=Silent(PACKED, 2000))

    run(cancel_each(make, READS[name]))


def test_cancelled_when_the_source_has_just_given(run: Any) -> None:
    """Its read() is over, and the call that waits for it not yet woken."""

    class Last:
        """Nothing but read(); a gift of data cancels the task that asked."""

        def __init__(self) -> None:
            self.at, self.task = 0, asyncio.current_task()

        async def read(self, size: int = -1) -> bytes:
            await asyncio.sleep(0)  # it is waited for
            piece = PACKED[self.at : self.at + 5000]
            self.at += len(piece)
            if self.task is not None:
                asked, self.task = self.task, None
                this = asyncio.current_task()
                assert this is not None
                this.add_done_callback(lambda _: asked.cancel())
            return piece

    async def main() -> None:
        source = Last()
        async with agz.open(None, fileobj=source) as file:
            for _ in range(3):
                task = asyncio.create_task(file.read())
                source.task = task
                with pytest.raises(asyncio.CancelledError):
                    await task
            assert await file.read() == DATA

    run(main())


@pytest.mark.parametrize("target", [0, 70_000])
@pytest.mark.parametrize("n", range(1, 6))
def test_a_cancelled_seek_whose_source_is_back_already(run: Any, n: int, target: int) -> None:
    """The reader follows it, before anything else, though a worker lets that wait."""

    class Busy(agz.AsyncGzipBinaryFile):
        refusals = 3

        def _restart(self) -> bool:
            self.refusals -= 1
            return self.refusals < 0 and super()._restart()

    async def main() -> None:
        async with Busy(None, fileobj=Pieces(PACKED, 2000)) as file:
            assert await file.seek(100_000) == 100_000
            cancelled, _ = await cancelled_at(lambda: file.seek(target), n)
            at = await file.tell()
            assert at == (100_000 if cancelled else target)
            assert await file.read() == DATA[at:]

    run(main())


@pytest.mark.parametrize("source", [False, True])
@pytest.mark.parametrize("to", [(0, 2), (200_000,)])
def test_a_fault_that_a_cancelled_seek_would_meet(
    tmp_path: Path, run: Any, source: bool, to: tuple[int, ...]
) -> None:
    """It is nobody's: the file is where it was, before that fault."""
    packed = PACKED[:-8] + bytes(8)
    path = tmp_path / "f.gz"
    path.write_bytes(packed)

    async def main() -> None:
        n, cancelled = 0, True
        while cancelled:
            n += 1
            fileobj = Seekable(packed, 2000) if source else None
            async with agz.open(None if source else path, fileobj=fileobj) as file:
                assert await file.readline() == LINES[0]
                try:
                    cancelled, _ = await cancelled_at(lambda file=file: file.seek(*to), n)
                except gzip.BadGzipFile:
                    break
                assert cancelled
                assert await file.tell() == len(LINES[0])
                assert await file.seek(5) == 5
                assert await file.read(5000) == DATA[5:5005]
                with pytest.raises(gzip.BadGzipFile):
                    await file.read()
        assert n > 1

    run(main())


def test_a_cancelled_seek_in_decoded_text(run: Any) -> None:
    """To a place within what the decoder makes of some bytes: it is there, or where it was."""
    text = DATA.decode()

    async def main() -> None:
        n, cancelled = 0, True
        while cancelled:
            n += 1
            source = Seekable(gzip.compress(text.encode("utf-16")), 2000)
            async with agz.open(None, "rt", fileobj=source, encoding="utf-16") as file:
                places = {}
                at = 0
                for size in (1, 50_000, 7):
                    at += len(await file.read(size))
                    places[await file.tell()] = at
                _, target, before = places
                cancelled, _ = await cancelled_at(lambda file=file, to=target: file.seek(to), n)
                reached = await file.tell()
                assert reached == target or (cancelled and reached == before)
                assert await file.read() == text[places[reached] :]
                await file.seek(target)
                assert await file.read() == text[places[target] :]
        assert n > 1

    run(main())


# ---- cancelled writes ---------------------------------------------------------------------

# A writer takes four of these before it has to wait, and the worker cannot be done with one.
SIZE = 1_000_000
NOISE = [random.Random(i).randbytes(SIZE) for i in range(8)]


async def fill(call: Callable[[bytes], Awaitable[Any]]) -> tuple[int, Any]:
    """Calls until one has to wait, as nobody takes what is written: how many went, and it."""
    for i, noise in enumerate(NOISE):
        task = await suspended(call(noise))
        for _ in range(3):  # so that it is not just a turn for others
            await asyncio.sleep(0)
        if not task.done():
            return i, task
        await task
    raise AssertionError("all writes found room where nobody reads")


@pytest.mark.parametrize("name", ["write", "writelines"])
@pytest.mark.parametrize("after", ["close", "flush", "write"])
@pytest.mark.parametrize("kind", [bytes, bytearray])  # given, or copied
def test_a_cancelled_write_on_a_path(
    tmp_path: Path, run: Any, name: str, after: str, kind: Any
) -> None:
    """Accepted whole or not at all, and what was accepted is written."""

    async def main() -> None:
        with Fifo(tmp_path) as fifo:
            file = await agz.open(fifo.path, "wb", compresslevel=0).open()

            def call(noise: bytes) -> Awaitable[Any]:
                if name == "write":
                    return file.write(kind(noise))
                return file.writelines([kind(noise[:400_000]), kind(noise[400_000:])])

            count, task = await fill(call)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            accepted = await file.tell()
            want = b"".join(NOISE)[:accepted]
            assert accepted >= count * SIZE
            assert accepted % SIZE in ((0,) if name == "write" else (0, 400_000))
            drain = fifo.drain()
            if after == "write":
                assert await file.write(b"the last") == 8
                want += b"the last"
            elif after == "flush":
                await file.flush()
            await file.close()
            assert gzip.decompress(drain.all()) == want

    run(main())


def test_a_cancelled_flush_on_a_path(tmp_path: Path, run: Any) -> None:
    async def main() -> None:
        with Fifo(tmp_path) as fifo:
            file = await agz.open(fifo.path, "wb", compresslevel=0).open()
            await file.write(NOISE[0])
            task = await suspended(file.flush())
            assert not task.done()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            drain = fifo.drain()
            await file.write(b"more")
            await file.flush()
            await file.close()
            assert gzip.decompress(drain.all()) == NOISE[0] + b"more"

    run(main())


def test_a_cancelled_close_completes_the_file(tmp_path: Path, run: Any) -> None:
    """It waits for the end all the same: a file is never left half closed."""

    async def main() -> None:
        with Fifo(tmp_path) as fifo:
            file = await agz.open(fifo.path, "wb", compresslevel=0).open()
            await file.write(NOISE[0])
            task = await suspended(file.close())
            second = await suspended(file.close())
            assert not task.done()
            task.cancel()
            drain = fifo.drain()
            with pytest.raises(asyncio.CancelledError):
                await task
            await second
            assert file.closed
            assert gzip.decompress(drain.all()) == NOISE[0]

    run(main())


def test_a_cancelled_write_to_a_sink(run: Any) -> None:
    """A sink may have taken any part of a block: that stream is broken, and says so."""

    async def main() -> None:
        for call in ("write", "flush", "writelines"):
            sink = Gate()
            sink.opened.set()
            file = await agz.open(None, "wb", fileobj=sink, compresslevel=0).open()
            await file.write(b"before")
            await file.flush()
            sink.opened.clear()
            if call == "flush":
                await file.write(b"a few")
                task = await suspended(file.flush())
            else:
                task = await suspended(file.write(bytearray(8 * SIZE)))
            await sink.entered.wait()
            assert not task.done()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            sink.opened.set()
            for later in (lambda file=file: file.write(b"x"), file.flush):
                with pytest.raises(OSError, match="broken"):
                    await later()
            with contextlib.suppress(OSError):
                await file.close()
            assert file.closed
            assert zlib.decompressobj(31).decompress(sink.taken) == b"before"

    run(main())


def test_a_write_cancelled_before_the_sink_gets_it(run: Any) -> None:
    """While the worker has it: it is written, and counts."""

    async def main() -> None:
        n, cancelled = 0, True
        while cancelled:
            n += 1
            sink = Collect()
            file = await agz.open(None, "wb", fileobj=sink, compresslevel=1).open()
            cancelled, _ = await cancelled_at(lambda file=file: file.write(NOISE[0]), n)
            if file._state == "broken":
                await asyncio.wait([asyncio.ensure_future(file.close())])
                continue
            accepted = await file.tell()
            assert accepted in (0, SIZE)
            assert await file.write(b"more") == 4
            assert await file.tell() == accepted + 4
            await file.close()
            assert gzip.decompress(sink.data) == NOISE[0][:accepted] + b"more"

    run(main())


# ---- two calls at once --------------------------------------------------------------------

OTHERS: dict[str, Call] = {
    "read": lambda file: file.read(),
    "read1": lambda file: file.read1(),
    "readinto": lambda file: file.readinto(bytearray(5)),
    "peek": lambda file: file.peek(),
    "readline": lambda file: file.readline(),
    "readlines": lambda file: file.readlines(),
    "anext": lambda file: anext(file),
    "seek": lambda file: file.seek(0),
    "rewind": lambda file: file.rewind(),
    "close": lambda file: file.close(),
}


@pytest.mark.parametrize("name", ["read", "readline", "readlines", "anext", "read1", "readinto"])
def test_overlapping_reads(tmp_path: Path, run: Any, name: str) -> None:
    async def main() -> None:
        with Fifo(tmp_path) as fifo:
            async with agz.open(fifo.path) as file:
                task = await suspended(READS[name](file))
                for other in OTHERS.values():
                    with pytest.raises(agz.ConcurrentOperationError, match="read call"):
                        await other(file)
                assert not task.done()
                fifo.feed(PACKED)
                fifo.close()
                got = await task
                assert not file.closed
                at = await file.tell()
                assert at == {"readline": len(LINES[0]), "anext": len(LINES[0])}.get(name, at)
                if isinstance(got, bytes):
                    assert got == DATA[:at]
                assert await file.read() == DATA[at:]

    run(main())


def test_overlapping_text_reads(run: Any) -> None:
    async def main() -> None:
        gate = Gate(PACKED)
        async with agz.open(None, "rt", fileobj=gate) as file:
            task = await suspended(file.readlines())
            for name in TEXT_READS:
                with pytest.raises(agz.ConcurrentOperationError):
                    await READS[name](file)
            for call in (lambda: file.seek(0), file.buffer.read, file.close):
                with pytest.raises(agz.ConcurrentOperationError):
                    await call()
            gate.opened.set()
            assert await task == DATA.decode().splitlines(keepends=True)

    run(main())


def test_overlapping_writes(tmp_path: Path, run: Any) -> None:
    async def main() -> None:
        with Fifo(tmp_path) as fifo:
            file = await agz.open(fifo.path, "wb", compresslevel=0).open()
            count, task = await fill(file.write)
            others: list[Callable[[], Awaitable[Any]]] = [
                lambda: file.write(b"x"),
                lambda: file.writelines([b"x"]),
                lambda: file.flush(),
                lambda: file.seek(10**9),
                lambda: file.close(),
            ]
            for call in others:
                with pytest.raises(agz.ConcurrentOperationError, match="write or flush"):
                    await call()
            drain = fifo.drain()
            assert await task == SIZE
            await file.close()
            assert gzip.decompress(drain.all()) == b"".join(NOISE[: count + 1])

    run(main())


def test_two_calls_made_before_either_runs(tmp_path: Path, run: Any) -> None:
    async def main() -> None:
        with Fifo(tmp_path) as fifo:
            async with agz.open(fifo.path) as file:
                both = asyncio.gather(file.readline(), file.readline(), return_exceptions=True)
                await asyncio.sleep(0)
                fifo.feed(PACKED)
                first, second = await both
                assert first == LINES[0]
                assert isinstance(second, agz.ConcurrentOperationError)
                # All is there: each is answered, in the order of the calls.
                assert await asyncio.gather(*[file.readline() for _ in range(9)]) == LINES[1:10]

    run(main())


# ---- awaitables ---------------------------------------------------------------------------


def opened_and_ready() -> Any:
    """A file over a source that gives all at once, so that all is decoded by the first line."""
    return agz.open(None, fileobj=Pieces(gzip.compress(b"".join(LINES[:200])), 1 << 20))


def test_awaitables_in_all_hands(run: Any) -> None:
    async def main() -> None:
        async with opened_and_ready() as file:
            assert await file.readline() == LINES[0]
            ready = file.readline()
            assert inspect.isawaitable(ready)
            assert isinstance(ready, collections.abc.Coroutine)
            assert await ready == LINES[1]
            with pytest.raises(RuntimeError, match="already awaited"):
                await ready
            assert await asyncio.create_task(file.readline()) == LINES[2]
            assert await asyncio.wait_for(file.readline(), 60) == LINES[3]
            assert await asyncio.ensure_future(file.readline()) == LINES[4]
            assert await asyncio.shield(file.readline()) == LINES[5]
            assert await asyncio.gather(file.readline(), file.readline()) == LINES[6:8]
            async with asyncio.timeout(60):
                assert await file.readline() == LINES[8]
            async with asyncio.TaskGroup() as group:
                task = group.create_task(file.readline())
            assert task.result() == LINES[9]
            done, _ = await asyncio.wait([asyncio.create_task(file.readline())])
            assert done.pop().result() == LINES[10]
            assert await asyncio.wait_for(anext(file), 60) == LINES[11]
            with pytest.raises(TypeError):
                await asyncio.create_task(file.readline(1.5))
            assert asyncio.run_coroutine_threadsafe(file.tell(), asyncio.get_running_loop())
            assert await asyncio.create_task(file.readlines(1)) == [LINES[12]]

    run(main())


def by_hand(answer: Any, step: Callable[[Any], Any]) -> Any:
    """Its value; it may let others run first."""
    try:
        while True:
            assert step(answer) is None
    except StopIteration as stop:
        return stop.value


def test_by_hand(run: Any) -> None:
    """What send(), throw() and close() do, for those who drive coroutines themselves."""

    async def main() -> None:
        async with opened_and_ready() as file:
            await file.readline()
            assert by_hand(file.readline(), lambda answer: answer.send(None)) == LINES[1]
            assert by_hand(file.readline().__await__(), next) == LINES[2]
            with pytest.raises(KeyError, match="thrown"):
                file.readline().throw(KeyError("thrown"))
            file.readline().close()
            assert await file.readline() == LINES[3]

    run(main())


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")
@pytest.mark.parametrize("how", ["dropped", "closed", "cancelled first", "wait_for 0"])
@pytest.mark.parametrize("name", ["readline", "read(1000)", "readlines(9999)", "anext", "read1"])
def test_a_ready_answer_that_nobody_takes_is_not_lost(run: Any, how: str, name: str) -> None:
    async def main() -> None:
        async with opened_and_ready() as file:
            assert await file.readline() == LINES[0]
            answer: Any = READS[name](file)
            if how == "dropped":
                del answer
                gc.collect()
            elif how == "closed":
                answer.__await__().close() if name == "anext" else answer.close()
            elif how == "cancelled first":
                task = asyncio.ensure_future(answer)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            else:
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(answer, 0)
            assert await file.tell() == len(LINES[0])
            assert await file.read() == b"".join(LINES[1:200])

    run(main())


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")
def test_a_call_that_is_never_awaited_takes_nothing(run: Any) -> None:
    async def main() -> None:
        async with agz.open(None, fileobj=Pieces(PACKED, 2000)) as reader:
            await reader.readline()
            reader.readlines()
            gc.collect()
            assert await reader.readline() == LINES[1]

    run(main())


# ---- fairness -----------------------------------------------------------------------------


async def turns_while(work: Awaitable[Any]) -> int:
    """How often another task ran."""
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    task = asyncio.create_task(other())
    await asyncio.sleep(0)
    await work
    task.cancel()
    return turns


MILLION = 1_000_000 // SLOWNESS
ALL = gzip.compress(b"a line\n" * MILLION)


def all_there(mode: str) -> Any:
    """A source that never suspends."""

    class Now:
        def __init__(self) -> None:
            self.pieces = [ALL]

        async def read(self, size: int = -1) -> bytes:
            return self.pieces.pop() if self.pieces else b""

    return agz.open(None, mode, fileobj=Now())


WAYS = ["async for", "readline", "read", "readlines", "anext"]


@pytest.mark.parametrize(
    ("mode", "way"),
    [(mode, way) for mode in ("rb", "rt") for way in WAYS]
    + [("rb", "read1"), ("rt", "iter_batches")],
)
def test_a_million_lines_let_others_run(run: Any, mode: str, way: str) -> None:
    async def read() -> None:
        async with all_there(mode) as file:
            count: float = 0
            if way == "async for":
                async for _ in file:
                    count += 1
            elif way == "iter_batches":
                async for batch in file.iter_batches(100_000):
                    count += len(batch)
            elif way == "readlines":
                count = len(await file.readlines())
            elif way == "anext":
                while await anext(file, None):
                    count += 1
            else:
                call = getattr(file, way)
                size = 0
                while got := await (call() if way == "readline" else call(7)):
                    size += len(got)
                count = size / 7
            assert count == MILLION

    assert run(turns_while(read())) >= 20


def test_writers_let_others_run(tmp_path: Path, run: Any) -> None:
    path = tmp_path / "f.gz"

    async def write() -> None:
        async with agz.open(path, "wb", compresslevel=1) as file:
            for _ in range(200_000 // SLOWNESS):
                await file.write(b"a line\n")
            await file.writelines([b"a line\n"] * (300_000 // SLOWNESS))

    async def copy() -> None:
        async with agz.open(path, "rt") as source, agz.open(tmp_path / "g.gz", "wt") as target:
            async for line in source:
                await target.write(line)

    assert run(turns_while(write())) >= 5
    assert run(turns_while(copy())) >= 20


# ---- many files ---------------------------------------------------------------------------


def test_many_files_at_once(tmp_path: Path, run: Any) -> None:
    """More than the pool has threads, read and written in one go."""

    async def one(i: int) -> None:
        path = tmp_path / f"{i}.gz"
        lines = [b"%d %d\n" % (i, n) for n in range(2000)]
        async with agz.open(path, "wb") as file:
            for line in lines:
                await file.write(line)
        async with agz.open(path) as file:
            assert [line async for line in file] == lines

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            for i in range(60):
                group.create_task(one(i))

    run(main())


def test_many_waiting_fifos_hold_nobody_up(tmp_path: Path, run: Any) -> None:
    """Ninety readers wait for what does not come; a file is read meanwhile."""
    path = tmp_path / "f.gz"
    path.write_bytes(gzip.compress(source_text(300_000)))

    async def main() -> None:
        fifos, files, tasks = [], [], []
        for i in range(90):
            (tmp_path / str(i)).mkdir()
            fifos.append(Fifo(tmp_path / str(i)))
            files.append(await agz.open(fifos[i].path).open())
            tasks.append(await suspended(files[i].readline()))
        assert await agz.read(path) == source_text(300_000)
        for i, fifo in enumerate(fifos):
            fifo.feed(gzip.compress(b"%d\n" % i))
            fifo.close()
        assert await asyncio.gather(*tasks) == [b"%d\n" % i for i in range(90)]
        for file in files:
            await file.close()

    run(main())


def fifo_is_full(file: Any) -> bool:
    """Whether a byte waits in the FIFO that it reads."""
    room = array.array("i", [0])
    fcntl.ioctl(file.fileno(), termios.FIONREAD, room)
    return room[0] > 0


def test_many_that_are_woken_at_once_go_on_by_turns(tmp_path: Path, run: Any) -> None:
    """A loop runs all tasks that are awake before it looks at anything else: so only a few
    are woken in each of its runs, and all of them in the end."""

    async def main() -> None:
        loop, turn, woken = asyncio.get_running_loop(), 0, collections.Counter[int]()

        def count() -> None:
            nonlocal turn
            turn += 1
            if woken.total() < 60:
                loop.call_soon(count)

        async def line(file: Any) -> None:
            assert await file.readline() == b"a line\n"
            woken[turn] += 1

        fifos, files, tasks = [], [], []
        for i in range(60):
            (tmp_path / str(i)).mkdir()
            fifos.append(Fifo(tmp_path / str(i)))
            files.append(await agz.open(fifos[i].path).open())
            tasks.append(await suspended(line(files[i])))
        for fifo in fifos:
            fifo.feed(gzip.compress(b"a line\n"))
            fifo.close()
        # The loop stands still until the workers have read what all of them need.
        while any(fifo_is_full(file) for file in files):
            pass
        count()
        await asyncio.gather(*tasks)
        assert woken.total() == 60
        assert max(woken.values()) <= 17
        for file in files:
            await file.close()

    run(main())


def test_closed_with_a_read_in_flight(tmp_path: Path, run: Any) -> None:
    """An exception in the body: the call ends with an error, the file is closed, no one hangs."""

    async def main() -> None:
        with Fifo(tmp_path) as fifo:
            with pytest.raises(KeyError, match="body"):
                async with agz.open(fifo.path) as file:
                    task = await suspended(file.readline())
                    raise KeyError("body")
            with pytest.raises((OSError, asyncio.CancelledError)):
                await task
            assert file.closed

    run(main())


def test_data_is_not_held_back(tmp_path: Path, run: Any) -> None:
    """Each flushed line can be read before the next is written."""

    async def main() -> None:
        with Fifo(tmp_path) as fifo:
            packer = zlib.compressobj(6, zlib.DEFLATED, 31)
            async with agz.open(fifo.path, "rt") as file:
                for line in LINES[:50]:
                    fifo.feed(packer.compress(line) + packer.flush(zlib.Z_SYNC_FLUSH))
                    async with asyncio.timeout(120):
                        assert await file.readline() == line.decode()
                fifo.feed(packer.flush())
                fifo.close()
                assert await file.readline() == ""

    run(main())


def test_a_writer_and_a_reader_of_one_fifo(tmp_path: Path, run: Any) -> None:
    """Line for line, by flush(): no descriptor of one waits for the other for ever."""

    async def main() -> None:
        path = tmp_path / "fifo"
        os.mkfifo(path)
        async with agz.open(path, "rb") as reader, agz.open(path, "wb") as writer:
            for line in LINES[:50]:
                await writer.write(line)
                await writer.flush()
                assert await reader.readline() == line
            await writer.close()
            assert await reader.readline() == b""

    run(main())
