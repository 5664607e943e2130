"""agz with the packages it is used with: aiocsv, aiofiles, tarfile, fsspec and uvloop."""

import asyncio
import csv
import gzip
import io
import random
import tarfile
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import agz
import aiocsv
import aiofiles
import fsspec
import pytest
import uvloop
from fsspec.asyn import AbstractAsyncStreamedFile, AsyncFileSystem
from fsspec.implementations.asyn_wrapper import AsyncFileSystemWrapper
from fsspec.implementations.memory import MemoryFileSystem
from support import cancelled_at, source_text

# ---- aiocsv -------------------------------------------------------------------------------

ROWS = [
    [str(i), f'say "{i}"', "two\nlines", "a,b", "naïve 名前 😀", "", "x" * (i % 300)]
    for i in range(3_000)
]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_csv_rows(tmp_path: Path, run: Any, encoding: str) -> None:
    path = tmp_path / "rows.csv.gz"

    async def main() -> list[list[str]]:
        async with agz.open(path, "wt", encoding=encoding, newline="") as file:
            writer = aiocsv.AsyncWriter(file)
            await writer.writerow(ROWS[0])
            await writer.writerows(ROWS[1:])
        async with agz.open(path, "rt", encoding=encoding, newline="", chunk_size=1000) as file:
            return [row async for row in aiocsv.AsyncReader(file)]

    assert run(main()) == ROWS
    with gzip.open(path, "rt", encoding=encoding, newline="") as file:
        assert [*csv.reader(file)] == ROWS


def test_csv_records(tmp_path: Path, run: Any) -> None:
    path = tmp_path / "records.csv.gz"
    names = ["id", "name", "city"]
    records = [{"id": str(i), "name": f"n,{i}", "city": "Łódź"} for i in range(2_000)]

    async def main() -> list[dict[str, str]]:
        async with agz.open(path, "wt", newline="") as file:
            writer = aiocsv.AsyncDictWriter(file, names, delimiter=";")
            await writer.writeheader()
            await writer.writerows(records)
        async with agz.open(path, "rt", newline="") as file:
            return [row async for row in aiocsv.AsyncDictReader(file, delimiter=";")]

    assert run(main()) == records


# ---- tarfile ------------------------------------------------------------------------------

MEMBERS = {
    "empty": b"",
    "docs/readme": b"hello\n",
    "sources.py": source_text(300_000),
    "noise": random.Random(3).randbytes(70_001),
    "ein sehr langer Name/" + "ü" * 120: b"long",
}


def tar_of(mode: str) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as tar:  # type: ignore[call-overload]
        for name, data in MEMBERS.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def members_of(tar: tarfile.TarFile) -> dict[str, bytes]:
    return {info.name: tar.extractfile(info).read() for info in tar}  # type: ignore[union-attr]


def test_tar_bytes(tmp_path: Path, run: Any) -> None:
    path = tmp_path / "files.tar.gz"
    path.write_bytes(tar_of("w:gz"))
    data = run(agz.read(path))
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as tar:
        assert members_of(tar) == MEMBERS


def test_tar_member_by_member(tmp_path: Path, run: Any) -> None:
    """By its headers alone, forward and with seeks over what is not wanted."""
    path = tmp_path / "files.tar.gz"
    path.write_bytes(tar_of("w:gz"))

    async def members(file: agz.AsyncGzipBinaryFile) -> AsyncIterator[tuple[tarfile.TarInfo, int]]:
        while (block := await file.read(tarfile.BLOCKSIZE)) != bytes(tarfile.BLOCKSIZE):
            info = tarfile.TarInfo.frombuf(block, "utf-8", "strict")
            start = await file.tell()
            yield info, start
            await file.seek(start + -(-info.size // tarfile.BLOCKSIZE) * tarfile.BLOCKSIZE)

    async def main() -> None:
        async with agz.open(path) as file:
            found = [
                (await file.read(info.size), start)
                async for info, start in members(file)
                if info.isfile() and info.type == tarfile.REGTYPE
            ]
            assert [data for data, _ in found] == [*MEMBERS.values()]
            for data, start in random.Random(1).sample(found, len(found)):
                await file.seek(start)
                assert await file.read(len(data)) == data

    run(main())


def test_tar_written(tmp_path: Path, run: Any) -> None:
    path = tmp_path / "files.tar.gz"
    plain = tar_of("w:")

    async def main() -> None:
        async with agz.open(path, "wb") as file:
            for i in range(0, len(plain), 10_007):
                await file.write(plain[i : i + 10_007])

    run(main())
    with tarfile.open(path, "r:gz") as tar:
        assert members_of(tar) == MEMBERS
    with tarfile.open(path, "r|gz") as tar:  # as a stream
        assert members_of(tar) == MEMBERS


# ---- fsspec -------------------------------------------------------------------------------


class Streamed(AbstractAsyncStreamedFile):
    """What open_async() of an object store gives: ranges of a remote file, asked for one by one."""

    async def _fetch_range(self, start: int, end: int) -> bytes:
        await asyncio.sleep(0)
        return await self.fs._cat_file(self.path, start, end)

    async def _initiate_upload(self) -> None:
        self.parts: list[bytes] = []

    async def _upload_chunk(self, final: bool = False) -> bool:
        await asyncio.sleep(0)
        self.parts.append(self.buffer.getvalue())
        if final:
            await self.fs._pipe_file(self.path, b"".join(self.parts))
        return True


class Remote(AsyncFileSystemWrapper):
    async def open_async(self, path: str, mode: str = "rb", **kwargs: Any) -> Streamed:
        size = (await self._info(path))["size"] if mode == "rb" else None
        return Streamed(self, path, mode, size=size, **kwargs)


@pytest.fixture
def memory() -> Any:
    store = MemoryFileSystem()
    yield store
    store.rm("/", recursive=True)


def remote(store: MemoryFileSystem) -> AsyncFileSystem:
    return Remote(store, asynchronous=True, skip_instance_cache=True)


LINES = [f"{i} naïve 名前 {'x' * (i % 90)}\n" for i in range(20_000)]
TEXT = "".join(LINES)


@pytest.mark.parametrize("mode", ["rb", "rt"])
def test_fsspec_source(memory: Any, run: Any, mode: str) -> None:
    memory.pipe_file("/data.gz", gzip.compress(TEXT.encode()))

    async def main() -> None:
        source = await remote(memory).open_async("/data.gz")
        whole: Any = TEXT if mode == "rt" else TEXT.encode()
        async with agz.open(None, mode, fileobj=source, closefd=True, chunk_size=5000) as file:
            lines: list[Any] = [line async for line in file]
            assert lines == whole.splitlines(keepends=True)
            await file.seek(0)
            assert await file.read() == whole
        assert source.closed

    run(main())


def test_fsspec_source_seeks_to_rewind(memory: Any, run: Any) -> None:
    """Its seek() is not async: what was read need not be kept."""
    memory.pipe_file("/data.gz", gzip.compress(random.Random(2).randbytes(300_000)))

    async def main() -> None:
        source = await remote(memory).open_async("/data.gz")
        async with agz.open(None, fileobj=source, max_rewind_cache_size=1) as file:
            first = await file.read()
            await file.rewind()
            assert await file.read() == first
        assert not source.closed
        await source.close()

    run(main())


def test_fsspec_sink(memory: Any, run: Any) -> None:
    async def main() -> None:
        sink = await remote(memory).open_async("/out.gz", "wb", block_size=5000)
        async with agz.open(None, "wt", fileobj=sink, closefd=True) as file:
            await file.writelines(LINES)

    run(main())
    assert gzip.decompress(memory.cat_file("/out.gz")).decode() == TEXT


def test_fsspec_sees_what_was_written(tmp_path: Path, run: Any) -> None:
    """Its own gzip layer, over a file that agz wrote."""
    path = tmp_path / "data.gz"
    run(agz.write(path, TEXT.encode()))
    with fsspec.open(str(path), "rt", compression="gzip", encoding="utf-8") as file:
        assert file.read() == TEXT


def test_fsspec_source_cancelled(memory: Any, run: Any) -> None:
    memory.pipe_file("/data.gz", gzip.compress(TEXT.encode()))

    async def main() -> None:
        source = await remote(memory).open_async("/data.gz")
        async with agz.open(None, "rt", fileobj=source, chunk_size=500) as file:
            assert await file.readline() == LINES[0]
            cancelled, _ = await cancelled_at(lambda: file.read(), 3)
            assert cancelled
            assert await file.read() == "".join(LINES[1:])
        await source.close()

    run(main())


# ---- aiofiles -----------------------------------------------------------------------------


class Held:
    """The file below one of aiofiles. One call of a method is held in its thread until the
    test lets it go on, or fail."""

    def __init__(self, file: Any) -> None:
        self._file, self._name, self._fails = file, "", False
        self._entered, self._let = threading.Event(), threading.Event()
        self._left = threading.Event()

    def hold(self, name: str, fails: bool = False) -> None:
        self._name, self._fails = name, fails
        for event in (self._entered, self._let, self._left):
            event.clear()

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._file, name)
        if name != self._name:
            return method
        self._name = ""

        def held(*args: Any) -> Any:
            self._entered.set()
            self._let.wait()
            try:
                if self._fails:
                    raise OSError("held")
                return method(*args)
            finally:
                self._left.set()

        return held

    async def cancel(self, awaitable: Any) -> asyncio.CancelledError:
        """Cancels it, twice, while it is held: it ends when that call has ended."""
        task = asyncio.ensure_future(awaitable)
        await asyncio.to_thread(self._entered.wait)
        for _ in range(2):
            task.cancel()
            for _ in range(9):
                await asyncio.sleep(0)
            assert not task.done()
        self._let.set()
        with pytest.raises(asyncio.CancelledError) as raised:
            await task
        return raised.value

    async def cancel_all(self, awaitable: Any) -> None:
        """Cancels every other task there is while it is held, as asyncio.run() ends."""
        task = asyncio.ensure_future(awaitable)
        await asyncio.to_thread(self._entered.wait)
        for each in asyncio.all_tasks() - {asyncio.current_task()}:
            each.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        self._let.set()
        await asyncio.to_thread(self._left.wait)


async def held(path: Path, mode: str) -> tuple[Any, Held]:
    """A file that is not open yet, over one of aiofiles; of TEXT, if it is to be read."""
    if mode == "rb":
        path.write_bytes(gzip.compress(TEXT.encode()))
    raw = await aiofiles.open(path, mode)
    below = raw._file = Held(raw._file)
    return agz.open(None, mode, fileobj=raw, closefd=True, chunk_size=500), below


@pytest.mark.parametrize("fails", [False, True])
def test_aiofiles_source_cancelled(tmp_path: Path, run: Any, fails: bool) -> None:
    """Its thread comes to its end first; what it read is read by the next call."""

    async def main() -> None:
        file, below = await held(tmp_path / "data.gz", "rb")
        await file.open()
        assert await file.readline() == LINES[0].encode()
        below.hold("read", fails)
        assert bool((await below.cancel(file.read())).__cause__) == fails
        assert await file.read() == "".join(LINES[1:]).encode()
        below.hold("seek", fails)
        assert bool((await below.cancel(file.seek(0))).__cause__) == fails
        assert await file.read() == b""
        await file.rewind()
        assert await file.read() == TEXT.encode()
        below.hold("close", fails)
        assert bool((await below.cancel(file.close())).__cause__) == fails
        assert file.closed
        below.close()

    run(main())


@pytest.mark.parametrize("name", ["read", "seek"])
def test_aiofiles_source_cancelled_with_all_tasks(tmp_path: Path, run: Any, name: str) -> None:
    """Nobody knows then what its thread has read, or where it has gone."""

    async def main() -> None:
        file, below = await held(tmp_path / "data.gz", "rb")
        await file.open()
        assert await file.readline() == LINES[0].encode()
        below.hold(name)
        await below.cancel_all(file.read() if name == "read" else file.seek(0))
        for _ in range(2):
            with pytest.raises(OSError, match="broken"):
                await file.read()
        await file.rewind()
        assert await file.read() == TEXT.encode()
        await file.close()

    run(main())


@pytest.mark.parametrize("fails", [False, True])
def test_aiofiles_closed_in_an_exit_that_is_cancelled(
    tmp_path: Path, run: Any, fails: bool
) -> None:
    """The file is closed all the same, and so is what is below unless that fails."""
    body = KeyError("body")

    async def leave(file: Any) -> None:
        async with file:
            raise body

    async def main() -> None:
        file, below = await held(tmp_path / "data.gz", "rb")
        below.hold("close", fails)
        error = await below.cancel(leave(file))
        assert bool(error.__cause__) == fails
        assert fails or (error.__context__ is body and not error.__suppress_context__)
        await file.close()
        assert (file.closed, below.closed) == (True, not fails)

    run(main())


@pytest.mark.parametrize("name", ["write", "flush"])
def test_aiofiles_sink_cancelled(tmp_path: Path, run: Any, name: str) -> None:
    """No thread writes after the call; nobody knows what came of the member."""

    async def main() -> None:
        file, below = await held(tmp_path / "data.gz", "wb")
        await file.open()
        await file.write(b"text")
        below.hold(name)
        await below.cancel(file.flush())
        with pytest.raises(OSError, match="broken"):
            await file.write(b"more")
        await file.close()
        assert below.closed

    run(main())


# ---- uvloop -------------------------------------------------------------------------------


def test_uvloop_as_a_program_runs_it(tmp_path: Path) -> None:
    path = tmp_path / "data.gz"

    async def main() -> None:
        async with agz.open(path, "wt") as file:
            await file.write(LINES[0])
            await file.writelines(LINES[1:])
        async with agz.open(path, "rt", chunk_size=1000) as file:
            assert [line async for line in file] == LINES
            await file.seek(0)
            cancelled, text = await cancelled_at(lambda: file.read(), 1)
            assert text == TEXT if not cancelled else await file.read() == TEXT

    uvloop.run(main())
