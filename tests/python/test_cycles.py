"""What a call leaves that failed or was cancelled: neither a file nor its error is held by a
cycle, so that both go without the collector, and a large buffer with them."""

import asyncio
import gc
import gzip
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import agz
import pytest
from conftest import Run
from support import Collect, Gate, Pieces, Seekable, source_text

TEXT = source_text(300_000)
GZ = gzip.compress(TEXT, 1)
CUT = GZ[:-9]


@pytest.fixture(autouse=True)
def no_collector() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


async def fails(call: Awaitable[Any]) -> None:
    """Makes the call, which does not give an answer, and forgets its error."""
    try:
        await call
    except (OSError, EOFError, ValueError, asyncio.CancelledError):
        return
    raise AssertionError


async def begun(call: Awaitable[Any], gate: Gate) -> asyncio.Future[None]:
    task = asyncio.ensure_future(fails(call))
    await gate.entered.wait()
    return task


async def cancelled(call: Awaitable[Any], gate: Gate, times: int = 1) -> None:
    """The call, cancelled so many times once it waits at the gate."""
    task = await begun(call, gate)
    for _ in range(times):
        task.cancel()
        await asyncio.sleep(0)
    gate.opened.set()
    await task


# ---- what a file goes through --------------------------------------------------------------


class Broken(Collect):
    """A sink whose calls fail after so many, and that cannot be closed."""

    def __init__(self, left: int) -> None:
        super().__init__()
        self.left = left

    async def write(self, data: bytes) -> int:
        if self.left == 0:
            raise OSError("full")
        self.left -= 1
        return await super().write(data)

    async def close(self) -> None:
        raise OSError("cannot close")


class Stream:
    """A source that has nothing but read(), and fails."""

    async def read(self, size: int = -1) -> bytes:
        await asyncio.sleep(0)
        raise OSError("reset")


class Unwilling(Seekable):
    """Does not go back."""

    def seek(self, offset: int, whence: int = 0) -> int:
        raise OSError("no way back")


async def a_read_of_a_damaged_file(path: Path) -> Any:
    path.write_bytes(CUT)
    file = await agz.open(path).open()
    await fails(file.read())
    await file.close()
    return file


async def lines_of_a_damaged_file(path: Path) -> Any:
    path.write_bytes(CUT)
    file = await agz.open(path, "rt").open()

    async def lines() -> None:
        async for _ in file:
            pass

    await fails(lines())
    await file.close()
    return file


async def text_that_cannot_be_decoded(path: Path) -> Any:
    path.write_bytes(gzip.compress(b"\xff" * 100))
    file = await agz.open(path, "rt").open()
    await fails(file.read())
    await fails(file.readline())
    await file.close()
    return file


async def a_read_of_no_file(path: Path) -> Any:
    file = agz.open(path)
    await fails(file.open())
    await fails(file.read())
    return file


async def a_close_that_fails(path: Path) -> Any:
    file = await agz.open("/dev/full", "wb").open()
    await file.write(TEXT)
    await fails(file.close())
    return file


async def two_closes_that_fail(path: Path) -> Any:
    file = await agz.open("/dev/full", "wb").open()
    await file.write(TEXT)
    await asyncio.gather(fails(file.close()), fails(file.close()))
    return file


async def a_close_that_is_cancelled(path: Path) -> Any:
    file = await agz.open(path, "wb").open()
    await file.write(TEXT)
    task = asyncio.ensure_future(fails(file.close()))
    await asyncio.sleep(0)
    task.cancel()
    await task
    return file


async def a_sink_that_fails(path: Path) -> Any:
    file = await agz.open(None, "wb", fileobj=Broken(1), closefd=True).open()
    await fails(file.write(TEXT * 20))
    await fails(file.close())
    return file


async def a_body_that_fails(path: Path) -> Any:
    file = agz.open(None, "wb", fileobj=Broken(9), closefd=True)

    async def body() -> None:
        async with file:
            raise ValueError

    await fails(body())
    return file


async def a_body_that_fails_while_a_call_runs(path: Path) -> Any:
    gate = Gate(GZ)
    file = agz.open(None, "rb", fileobj=gate)

    async def body() -> None:
        async with file:
            _reading = await begun(file.read(), gate)
            raise ValueError

    await fails(body())
    return file


async def an_exit_that_is_cancelled(path: Path) -> Any:
    gate = Gate(GZ)
    file = agz.open(None, "rb", fileobj=gate, closefd=True)

    async def body() -> None:
        async with file:
            _reading = await begun(file.read(), gate)

    await cancelled(body(), gate, 2)
    return file


async def a_source_that_fails(path: Path) -> Any:
    file = await agz.open(None, "rb", fileobj=Stream()).open()
    await fails(file.read())
    await file.close()
    return file


async def a_source_that_waits(path: Path) -> Any:
    gate = Gate(GZ)
    file = await agz.open(None, "rb", fileobj=gate).open()
    await cancelled(file.read(), gate)
    await file.close()
    return file


async def a_source_that_does_not_go_back(path: Path) -> Any:
    file = await agz.open(None, "rb", fileobj=Unwilling(GZ, 5000)).open()
    await file.read(200_000)
    await fails(file.seek(0))
    await file.close()
    return file


async def a_way_back_that_is_cancelled(path: Path) -> Any:
    file = await agz.open(None, "rb", fileobj=Pieces(GZ, 5000)).open()
    await file.read(200_000)
    task = asyncio.ensure_future(file.seek(0))
    for _ in range(3):
        await asyncio.sleep(0)
        task.cancel()
    await asyncio.wait([task])
    await file.close()
    return file


async def a_call_beside_another(path: Path) -> Any:
    gate = Gate(GZ)
    file = await agz.open(None, "rb", fileobj=gate).open()
    task = asyncio.ensure_future(file.read())
    await gate.entered.wait()
    await fails(file.read())
    await fails(file.close())
    gate.opened.set()
    await task
    await file.close()
    return file


SCENARIOS: list[Callable[[Path], Awaitable[Any]]] = [
    a_read_of_a_damaged_file,
    lines_of_a_damaged_file,
    text_that_cannot_be_decoded,
    a_read_of_no_file,
    a_close_that_fails,
    two_closes_that_fail,
    a_close_that_is_cancelled,
    a_sink_that_fails,
    a_body_that_fails,
    a_body_that_fails_while_a_call_runs,
    an_exit_that_is_cancelled,
    a_source_that_fails,
    a_source_that_waits,
    a_source_that_does_not_go_back,
    a_way_back_that_is_cancelled,
    a_call_beside_another,
]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_no_cycle_holds_a_file(scenario: Any, tmp_path: Path, run: Run) -> None:
    async def main() -> None:
        gone = weakref.ref(await scenario(tmp_path / "a.gz"))
        await asyncio.sleep(0)  # tasks that have ended go
        await asyncio.sleep(0)
        assert gone() is None

    run(main())


# ---- chunk streams ---------------------------------------------------------------------------


class Reset(Exception):
    """Can be referred to weakly."""


async def fails_at_last() -> AsyncIterator[bytes]:
    yield GZ[:100_000]
    raise Reset


@pytest.mark.parametrize("function", [agz.compress_chunks, agz.decompress_chunks])
def test_no_cycle_holds_the_error_of_a_source(function: Any, run: Run) -> None:
    async def main() -> None:
        gone = None
        chunks = function(fails_at_last())
        try:
            async for _ in chunks:
                pass
        except Reset as error:
            gone = weakref.ref(error)
        del chunks
        assert gone is not None
        assert gone() is None

    run(main())


# ---- codecs ----------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["dropped", "closed", "discarded"])
@pytest.mark.parametrize("kind", [agz.GzipEncoder, agz.GzipDecoder])
def test_no_cycle_holds_a_codec(kind: Any, end: str) -> None:
    codec = kind(output_chunk_size=1)
    if kind is agz.GzipEncoder:
        assert b"".join(codec.start())
    operation = codec.feed(TEXT if kind is agz.GzipEncoder else GZ)
    next(operation, None)
    if end == "closed":
        operation.close()
    if end == "discarded":
        codec.discard()
    gone = weakref.ref(codec)
    del codec, operation
    assert gone() is None
