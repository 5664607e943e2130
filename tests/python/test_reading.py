"""Reading bytes: random programs of calls against CPython's gzip, over every kind of chunk,
member and source; and lines, batches and ends at their edges."""

import asyncio
import gzip
import io
import random
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import agz
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import KINDS, QUICK, Pieces, Seekable, raw_deflate, source_text

# ---- what is read -------------------------------------------------------------------------


def ragged() -> bytes:
    """Lines of all lengths, some over several blocks, with CRs and empty ones among them."""
    draw = random.Random(1)
    lengths = [0, 1, 2, 3, 70, 70, 70, 1000, 5000, 65535, 65536, 65537, 150_000]
    lines = [draw.randbytes(n).replace(b"\n", b"\r") for n in lengths * 2]
    draw.shuffle(lines)
    return b"\n".join(lines)


PLAIN = {
    "empty": b"",
    "no newline": b"last",
    "only newlines": b"\n" * 1000,
    "ragged": ragged(),
    "sources": source_text(300_000),
}


def many(data: bytes) -> bytes:
    """Members of growing size, empty ones among them, NULs between and behind."""
    out, at, size = b"", 0, 1
    while at < len(data):
        out += gzip.compress(data[at : at + size], 1, mtime=1)
        if size % 3 == 0:
            out += gzip.compress(b"", mtime=0) + bytes(size % 7)
        at += size
        size += size // 4 + 1
    return (out or gzip.compress(b"")) + bytes(512)


def by_blocks(data: bytes) -> bytes:
    return gzip.compress(data, 0, mtime=1)


LAYOUTS = {"one member": gzip.compress, "many members": many, "stored": by_blocks}

CHUNKS = [1, 13, 1000, 65_536, 256 * 1024, 8 << 20]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    for name, data in PLAIN.items():
        for layout, pack in LAYOUTS.items():
            (folder / f"{name}, {layout}").write_bytes(pack(data))
    return folder


# ---- programs -----------------------------------------------------------------------------

sizes = st.sampled_from([0, 1, 2, 3, 17, 100, 1000, 8192, 65_535, 65_536, 100_000, 400_000])
sizes_or_all = st.one_of(sizes, sizes, sizes, st.sampled_from([-1, None]))
steps = st.one_of(
    st.tuples(st.sampled_from(["read", "readline", "readlines", "read1"]), sizes_or_all),
    st.tuples(st.sampled_from(["readinto", "readinto1", "peek"]), sizes),
    st.tuples(st.just("line"), st.none()),
    st.tuples(st.just("seek"), st.tuples(st.integers(0, 400_000), st.just(0))),
    st.tuples(st.just("seek"), st.tuples(st.integers(-70_000, 70_000), st.just(1))),
    st.tuples(st.just("seek"), st.tuples(st.integers(-70_000, 10), st.just(2))),
)


async def step(file: Any, plain: gzip.GzipFile, data: bytes, verb: str, arg: Any) -> None:
    """One call on both. Where gzip leaves the amount open, only what it is, is held against it."""
    at = plain.tell()
    if verb in ("read", "readline"):
        got = await getattr(file, verb)(arg)
        assert got == getattr(plain, verb)(-1 if arg is None else arg)
    elif verb == "readlines":
        assert await file.readlines(arg) == plain.readlines(-1 if arg is None else arg)
    elif verb == "line":
        assert await anext(file, b"") == plain.readline()
    elif verb == "readinto":
        mine, its = bytearray(arg), bytearray(arg)
        assert await file.readinto(mine) == plain.readinto(its)
        assert mine == its
    elif verb == "seek":
        target = arg[0] + (0, at, len(data))[arg[1]]
        if target < 0 and arg[1] == 1:
            with pytest.raises(OSError, match="Negative seek"):
                await file.seek(*arg)
        else:
            assert await file.seek(*arg) == plain.seek(max(0, target))
    else:
        if verb == "readinto1":
            target = bytearray(arg)
            n = await file.readinto1(target)
            got, most = bytes(target[:n]), arg
        else:
            got = await getattr(file, verb)(arg)
            most = len(data) if arg is None or arg < 0 or verb == "peek" else arg
        assert data.startswith(got, at)
        assert len(got) <= most
        assert got or at >= len(data) or arg == 0
        if verb != "peek":
            plain.seek(at + len(got))
        elif arg:
            assert len(got) <= max(arg, 65_536)
    assert await file.tell() == plain.tell()


async def perform(file: Any, packed: bytes, data: bytes, program: list[Any]) -> None:
    plain = gzip.GzipFile(fileobj=io.BytesIO(packed))
    async with file:
        for verb, arg in program:
            await step(file, plain, data, verb, arg)
        assert await file.read() == plain.read()
        assert await file.read(1) == b""


@QUICK
@given(
    name=st.sampled_from([*PLAIN]),
    layout=st.sampled_from([*LAYOUTS]),
    chunk=st.sampled_from(CHUNKS),
    program=st.lists(steps, max_size=30),
)
def test_programs_on_a_path(corpus: Path, name: str, layout: str, chunk: int, program: Any) -> None:
    path = corpus / f"{name}, {layout}"
    # Chunks of a byte, but not a million of them.
    file = agz.open(path, "rb", chunk_size=max(chunk, path.stat().st_size // 5000))
    asyncio.run(perform(file, path.read_bytes(), PLAIN[name], program))


@QUICK
@given(
    name=st.sampled_from([*PLAIN]),
    layout=st.sampled_from([*LAYOUTS]),
    source=st.sampled_from([Pieces, Seekable]),
    piece=st.sampled_from([97, 5000, 1 << 20]),
    program=st.lists(steps, max_size=20),
)
def test_programs_on_a_source(
    corpus: Path, name: str, layout: str, source: Any, piece: int, program: Any
) -> None:
    packed = (corpus / f"{name}, {layout}").read_bytes()
    file = agz.open(None, "rb", fileobj=source(packed, piece))
    asyncio.run(perform(file, packed, PLAIN[name], program))


# ---- whole files --------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("level", [0, 6])
def test_every_way_gives_the_same(tmp_path: Path, run: Any, kind: str, level: int) -> None:
    data = KINDS[kind]()
    path = tmp_path / "f.gz"
    path.write_bytes(gzip.compress(data, level))
    lines = data.splitlines(keepends=True) if b"\r" not in data else None

    async def pieces(method: str, size: int) -> bytes:
        out = []
        async with agz.open(path) as file:
            while piece := await getattr(file, method)(size):
                out.append(piece)
        return b"".join(out)

    async def main() -> None:
        assert await agz.read(path) == data
        for method, size in [("read", 4096), ("read", 1 << 20), ("read1", -1), ("read1", 1000)]:
            assert await pieces(method, size) == data
        async with agz.open(path) as file:
            got = [line async for line in file]
        assert b"".join(got) == data
        if lines is not None:
            assert got == lines
        async with agz.open(path) as file:
            assert await file.readlines() == got
            assert await file.readlines() == []
            assert await file.readline() == b""

    run(main())


def test_one_byte_at_a_time(tmp_path: Path, run: Any) -> None:
    data = source_text(3000)
    path = tmp_path / "f.gz"
    path.write_bytes(many(data))

    async def main() -> None:
        async with agz.open(path, chunk_size=1) as file:
            got = b""
            while byte := await file.read(1):
                got += byte
        assert got == data

    run(main())


@pytest.mark.parametrize("size", [(1 << 20) - 1, 1 << 20, (1 << 20) + 1, 5_000_000])
def test_large_reads_around_a_place_in_the_middle(tmp_path: Path, run: Any, size: int) -> None:
    """A large result is filled by the worker, behind what is decoded already."""
    data = random.Random(2).randbytes(1000) * 6000
    path = tmp_path / "f.gz"
    path.write_bytes(gzip.compress(data, 1))

    async def main() -> None:
        async with agz.open(path) as file:
            assert await file.read(10) == data[:10]
            assert await file.readline() == data[10 : data.index(b"\n", 10) + 1]
            at = await file.tell()
            assert await file.read(size) == data[at : at + size]
            assert await file.tell() == min(len(data), at + size)
            assert await file.read() == data[at + size :]

    run(main())


def test_a_size_that_the_trailer_lies_about(tmp_path: Path, run: Any) -> None:
    """ISIZE is a hint: the last member's, here far below and far above the whole."""
    data = source_text(400_000)
    huge = bytes(5_000_000)
    for parts in [(data, b"x"), (b"x", huge), (huge, data, huge)]:
        path = tmp_path / "f.gz"
        path.write_bytes(b"".join(map(gzip.compress, parts)))

        async def main(path: Path = path) -> bytes:
            return await agz.read(path)

        assert run(main()) == b"".join(parts)


def test_a_file_that_grows(tmp_path: Path, run: Any) -> None:
    """The end is where the file ends now."""
    path = tmp_path / "f.gz"
    path.write_bytes(gzip.compress(b"first\n"))

    async def main() -> None:
        async with agz.open(path) as file:
            assert await file.readline() == b"first\n"
            assert await file.readline() == b""
            with path.open("ab") as more:
                more.write(gzip.compress(b"second\n"))
            assert await file.readline() == b"second\n"
            assert await file.read() == b""

    run(main())


@pytest.mark.parametrize("n", [1, 100_000])
@pytest.mark.parametrize("encoding", [None, "utf-8", "utf-16-le"])
def test_a_member_that_grows(tmp_path: Path, run: Any, n: int, encoding: str | None) -> None:
    """A log that is flushed and still written: the error stays only until there is more."""
    path = tmp_path / "f.gz"
    encoder = zlib.compressobj(wbits=31)

    def grow(text: str, flush: int = zlib.Z_SYNC_FLUSH) -> None:
        with path.open("ab") as more:
            more.write(encoder.compress(text.encode(encoding or "ascii")) + encoder.flush(flush))

    def line(text: str) -> Any:
        return text if encoding else text.encode()

    async def main() -> None:
        grow("first\n" * n)
        async with agz.open(path, "rt" if encoding else "rb", encoding=encoding) as file:
            for _ in range(n):
                assert await file.readline() == line("first\n")
            with pytest.raises(EOFError):
                await file.readline()
            for call in (file.readline, file.read, file.readlines):
                with pytest.raises(OSError, match="broken"):
                    await call()
            grow("second\nthi")
            assert await file.readline() == line("second\n")
            with pytest.raises(EOFError):
                await file.readline()
            grow("rd\n")
            assert await file.readline() == line("third\n")
            with pytest.raises(EOFError):
                await file.read()
            grow("fourth\n", zlib.Z_FINISH)
            grown = path.stat().st_size
            assert await file.read() == line("fourth\n")
            assert await file.read() == line("")
            await file.seek(0)
            assert len(await file.read()) == 6 * n + 7 + 6 + 7
        assert (await agz.verify(path)).compressed_size == grown

    run(main())


# ---- targets, bounds, arguments -----------------------------------------------------------


def test_readinto_any_target(tmp_path: Path, run: Any) -> None:
    import array

    data = bytes(range(256)) * 10
    path = tmp_path / "f.gz"
    path.write_bytes(gzip.compress(data))

    async def main() -> None:
        async with agz.open(path) as file:
            numbers = array.array("I", bytes(40))
            assert await file.readinto(numbers) == 40
            assert numbers.tobytes() == data[:40]
            view = memoryview(bytearray(100))[10:60]
            assert await file.readinto(view) == 50
            assert view == data[40:90]
            assert await file.readinto(bytearray()) == 0
            for wrong in (b"bytes", memoryview(b"bytes"), memoryview(bytearray(9))[::2], "text", 5):
                with pytest.raises(TypeError, match="writable"):
                    await file.readinto(wrong)
            assert await file.tell() == 90
            rest = bytearray(5000)
            assert await file.readinto(rest) == len(data) - 90
            assert await file.readinto(rest) == 0

    run(main())


def test_peek_moves_nothing(tmp_path: Path, run: Any) -> None:
    data = source_text(200_000)
    path = tmp_path / "f.gz"
    path.write_bytes(gzip.compress(data))

    async def main() -> None:
        async with agz.open(path) as file:
            first = await file.peek()
            assert first
            assert data.startswith(first)
            assert await file.peek(0)
            assert await file.tell() == 0
            assert await file.read(len(first) + 5) == data[: len(first) + 5]
            assert data.startswith(await file.peek(1), len(first) + 5)
            await file.seek(0, 2)
            assert await file.peek() == b""

    run(main())


@pytest.mark.parametrize("size", [1, 7, 200])
def test_peek_gives_what_it_is_asked_for(run: Any, size: int) -> None:
    """However little comes at a time; less only before the end, or before a fault."""
    data = source_text(100_000)
    packed = gzip.compress(data)

    async def main() -> None:
        async with agz.open(None, fileobj=Pieces(packed, size)) as file:
            for n in (1, 40_000, 3, 99_999):
                assert await file.peek(n) == data[:n]
            assert await file.read(10) == data[:10]
            assert await file.peek(200_000) == data[10:]
        async with agz.open(None, fileobj=Pieces(packed[:-8], size)) as file:
            assert await file.peek(200_000) == data
            assert await file.read(100_000) == data
            with pytest.raises(EOFError):
                await file.peek(1)

    run(main())


@pytest.mark.parametrize("method", ["read", "read1", "readline", "readlines", "peek"])
@pytest.mark.parametrize("wrong", [1.0, "1", b"1"])
def test_sizes_are_integers(tmp_path: Path, run: Any, method: str, wrong: Any) -> None:
    path = tmp_path / "f.gz"
    path.write_bytes(gzip.compress(b"text"))

    async def main() -> None:
        async with agz.open(path) as file:
            with pytest.raises(TypeError):
                await getattr(file, method)(wrong)
            assert await file.read() == b"text"

    run(main())


def test_keyword_and_index_arguments(tmp_path: Path, run: Any) -> None:
    class Two:
        def __index__(self) -> int:
            return 2

    path = tmp_path / "f.gz"
    path.write_bytes(gzip.compress(b"abcdefghij\nk\n"))

    async def main() -> None:
        async with agz.open(path) as file:
            assert await file.read(size=Two()) == b"ab"
            assert await file.read1(size=1) == b"c"
            assert await file.readline(limit=3) == b"def"
            assert await file.readlines(hint=1) == [b"ghij\n"]
            assert await file.seek(offset=0, whence=0) == 0
            assert await file.read(10**30) == b"abcdefghij\nk\n"
            for wrong in ({"n": 1}, {"size": 1, "limit": 2}):
                with pytest.raises(TypeError):
                    await file.read(**wrong)
            with pytest.raises(TypeError):
                await file.read(1, 2)
            with pytest.raises(ValueError, match="whence"):
                await file.seek(0, 3)
            with pytest.raises(OSError, match="Negative seek"):
                await file.seek(-1)

    run(main())


async def drain(file: agz.AsyncGzipBinaryFile, into: bytearray) -> None:
    while piece := await file.read1(777):
        into += piece


def test_bounds_of_the_cap(tmp_path: Path, run: Any) -> None:
    """Exactly the allowed bytes are no error; one more is, after all allowed ones came out."""
    data = source_text(100_000)
    path = tmp_path / "f.gz"
    path.write_bytes(many(data))

    async def main() -> None:
        assert await agz.read(path, max_decompressed_size=len(data)) == data
        for cap in (1, 1000, len(data) - 1):
            async with agz.open(path, max_decompressed_size=cap) as file:
                got = bytearray()
                with pytest.raises(OSError, match=f"max_decompressed_size .{cap} bytes"):
                    await drain(file, got)
                assert got == data[:cap]

    run(main())


def test_mtime_and_names(tmp_path: Path, run: Any) -> None:
    path = tmp_path / "f.gz"
    header = b"\x1f\x8b\x08\x08" + (12345).to_bytes(4, "little") + b"\0\xffname\0"
    tail = bytes(8)
    path.write_bytes(header + raw_deflate(b"") + tail + gzip.compress(b"two", mtime=99))

    async def main() -> None:
        async with agz.open(path) as file:
            assert file.mtime is None or isinstance(file.mtime, int)
            assert await file.read() == b"two"
            assert file.mtime == 99
            assert file.name == path
            assert file.raw() is None
            assert isinstance(file.fileno(), int)
            assert (file.readable(), file.writable(), file.seekable()) == (True, False, True)
        assert file.mtime == 99
        async with agz.open(path) as file:
            pass
        assert file.mtime is None
        async with agz.open(path, "rt") as text:
            await text.read()
        assert text.mtime == 99

    run(main())


@pytest.fixture
def three_lines(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "f.gz"
    path.write_bytes(gzip.compress(b"1\n2\n3"))
    return path


def test_iteration_ends_and_starts_again(three_lines: Path, run: Any) -> None:
    async def main() -> None:
        async with agz.open(three_lines) as file:
            assert aiter(file) is file
            assert [line async for line in file] == [b"1\n", b"2\n", b"3"]
            assert [line async for line in file] == []
            await file.rewind()
            assert await anext(file) == b"1\n"
        assert [line async for line in file] == []

    run(main())


def test_states(three_lines: Path, run: Any) -> None:
    async def main() -> None:
        file = agz.open(three_lines)
        assert not file.closed
        for call in (file.read, file.readline, file.tell, file.peek):
            with pytest.raises(ValueError, match="not opened"):
                await call()
        assert await file.open() is file
        with pytest.raises(ValueError, match="already open"):
            await file.open()
        with pytest.raises(OSError, match="not open for writing"):
            await file.write(b"")
        await file.flush()
        await file.close()
        await file.close()
        assert file.closed
        for call in (file.read, file.readline, file.tell, file.peek, file.readlines):
            with pytest.raises(ValueError, match="closed"):
                await call()
        with pytest.raises(ValueError, match="reopen"):
            await file.open()
        with pytest.raises(TypeError, match="async with"), file:
            pass
        with pytest.raises(TypeError, match="async for"):
            iter(file)

    run(main())
