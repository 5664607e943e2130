"""Writing: every byte as CPython's gzip writes it, at every level and kind of input; append,
exclusive, flush, small writes, seeks, buffers of any kind; text with encodings and newlines."""

import array
import asyncio
import contextlib
import gzip
import io
import itertools
import os
import random
import zlib
from pathlib import Path
from typing import Any

import agz
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import KINDS, QUICK, Collect, raw_deflate, source_text

# ---- byte identity ------------------------------------------------------------------------


def gzip_file(data: bytes, level: int, mtime: int, name: str) -> bytes:
    sink = io.BytesIO()
    with gzip.GzipFile(name, "wb", level, sink, mtime) as file:
        file.write(data)
    return sink.getvalue()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("level", [1, 6, 9])
def test_the_same_bytes_as_gzip(tmp_path: Path, run: Any, kind: str, level: int) -> None:
    data = KINDS[kind]()
    path = tmp_path / "some name.txt.gz"

    async def main() -> None:
        for mtime in (0, 1, 1_700_000_000, 0xFFFFFFFF):
            options = {"compresslevel": level, "mtime": mtime}
            await agz.write(path, data, original_filename="", **options)
            # With mtime 0, gzip.compress() leaves the header to zlib, whose OS byte differs.
            if mtime:
                assert path.read_bytes() == gzip.compress(data, level, mtime=mtime)
            assert path.read_bytes() == gzip_file(data, level, mtime, "")
            await agz.write(path, data, **options)
            assert path.read_bytes() == gzip_file(data, level, mtime, str(path))

    run(main())


@pytest.mark.parametrize("level", range(-1, 10))
def test_every_level(tmp_path: Path, level: int) -> None:
    data = source_text(300_000)
    path = tmp_path / "f.gz"
    asyncio.run(agz.write(path, data, compresslevel=level, mtime=5, original_filename=""))
    if level:  # where zlib cuts stored blocks depends on the room for its output
        assert path.read_bytes()[10:-8] == raw_deflate(data, level)
    assert path.read_bytes()[8] == {9: 2, 1: 4}.get(level, 0)
    assert gzip.decompress(path.read_bytes()) == data


@settings(QUICK, max_examples=60)
@given(
    cuts=st.lists(st.integers(0, 120_000), max_size=30),
    chunk=st.sampled_from([10, 4096, 65_536, 8 << 20]),
    level=st.sampled_from([1, 6, 9]),
    way=st.sampled_from(["write", "writelines", "sink", "text"]),
)
def test_how_it_is_cut_changes_nothing(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[int], chunk: int, level: int, way: str
) -> None:
    """The stream depends on the bytes, not on the writes: GzipFile's, for the same bytes."""
    data = source_text(120_000)
    edges = [0, *sorted(cuts), len(data)]
    parts = [data[a:b] for a, b in itertools.pairwise(edges)]
    if way == "text":
        data = data.decode("latin-1").encode("ascii", "replace")
    path = tmp_path_factory.getbasetemp() / "cut.gz"
    sink = Collect(1000)
    options = {"chunk_size": chunk, "compresslevel": level, "mtime": 3, "original_filename": ""}

    async def main() -> bytes:
        if way == "sink":
            async with agz.open(None, "wb", fileobj=sink, **options) as file:
                for part in parts:
                    assert await file.write(part) == len(part)
            return sink.data
        mode = "wt" if way == "text" else "wb"
        async with agz.open(path, mode, **options) as file:
            if way == "writelines":
                await file.writelines(parts)
            elif way == "text":
                for part in parts:
                    text = part.decode("latin-1").encode("ascii", "replace").decode()
                    assert await file.write(text) == len(text)
            else:
                for part in parts:
                    await file.write(part)
        return path.read_bytes()

    assert asyncio.run(main()) == gzip.compress(data, level, mtime=3)


def test_lines_one_by_one(tmp_path: Path, run: Any) -> None:
    data = source_text(500_000)
    lines = data.splitlines(keepends=True)
    path = tmp_path / "f.gz"

    async def main() -> None:
        async with agz.open(path, "wb", mtime=1, original_filename="") as file:
            for line in lines:
                assert await file.write(line) == len(line)
            assert await file.tell() == len(data)
        assert path.read_bytes() == gzip.compress(data, 6, mtime=1)
        async with agz.open(path, "wb", mtime=1, original_filename="") as file:
            await file.writelines(lines)
            await file.writelines([])
            await file.writelines(iter([b""]))
        assert path.read_bytes() == gzip.compress(data, 6, mtime=1)

    run(main())


@pytest.mark.parametrize("level", [1, 6, 9])
def test_fast_compress_is_right_and_small(tmp_path: Path, level: int) -> None:
    data = source_text(900_000)
    path = tmp_path / "f.gz"
    asyncio.run(agz.write(path, data, compresslevel=level, fast_compress=True))
    packed = path.read_bytes()
    assert gzip.decompress(packed) == data
    assert len(packed) <= len(gzip.compress(data, level)) * 1.02


# ---- headers ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path_name", "name", "written"),
    [
        ("plain.gz", None, b"plain"),
        ("plain", None, b"plain"),
        ("two.gz.gz", None, b"two.gz"),
        (".gz", None, None),
        ("größe.gz", None, "größe".encode("latin-1")),
        ("名.gz", None, None),
        ("f.gz", "other.txt", b"other.txt"),
        ("f.gz", b"\xff\x00"[:1], b"\xff"),
        ("f.gz", "folder/x.gz", b"x"),
        ("f.gz", "", None),
    ],
)
def test_names(tmp_path: Path, path_name: str, name: Any, written: bytes | None) -> None:
    path = tmp_path / path_name
    asyncio.run(agz.write(path, b"data", mtime=9, original_filename=name))
    head = path.read_bytes()[:60]
    assert head[:4] == b"\x1f\x8b\x08" + (b"\x00" if written is None else b"\x08")
    assert head[4:10] == b"\x09\0\0\0\0\xff"
    if written is not None:
        assert head[10:].startswith(written + b"\0")
    assert gzip.decompress(path.read_bytes()) == b"data"


def test_the_time(tmp_path: Path) -> None:
    path = tmp_path / "f.gz"
    before = int(path.parent.stat().st_ctime)
    asyncio.run(agz.write(path, b""))
    info = asyncio.run(agz.inspect(path))
    assert before <= info.members[0].mtime
    asyncio.run(agz.write(path, b"", mtime=3.9))
    assert asyncio.run(agz.inspect(path)).members[0].mtime == 3
    for wrong, error in ((-1, ValueError), (1 << 32, ValueError), ("now", TypeError)):
        with pytest.raises(error):
            agz.open(path, "wb", mtime=wrong)
    for wrong, error in ((10, ValueError), (-2, ValueError), (6.0, TypeError), (True, TypeError)):
        with pytest.raises(error):
            agz.open(path, "wb", compresslevel=wrong)
    for wrong, error in (("a\0b", ValueError), (b"\0", ValueError), (5, TypeError)):
        with pytest.raises(error):
            agz.open(path, "wb", original_filename=wrong)


# ---- modes --------------------------------------------------------------------------------


def test_append_is_a_further_member(tmp_path: Path, run: Any) -> None:
    path = tmp_path / "f.gz"

    async def main() -> None:
        for i, mode in enumerate(["a", "ab", "ba", "at"]):
            async with agz.open(path, mode, mtime=i + 1) as file:
                await file.write("text" if mode == "at" else b"text")
                assert await file.tell() == 4
        assert gzip.decompress(path.read_bytes()) == b"text" * 4
        members = (await agz.inspect(path)).members
        assert [member.mtime for member in members] == [1, 2, 3, 4]

    run(main())


def test_write_starts_anew_and_exclusive_refuses(tmp_path: Path, run: Any) -> None:
    path = tmp_path / "f.gz"
    path.write_bytes(b"x" * 1000)

    async def main() -> None:
        with pytest.raises(FileExistsError) as raised:
            await agz.open(path, "xb").open()
        assert raised.value.filename == str(path)
        assert path.read_bytes() == b"x" * 1000
        async with agz.open(path, "wb") as file:
            await file.write(b"new")
        assert gzip.decompress(path.read_bytes()) == b"new"
        other = tmp_path / "g.gz"
        async with agz.open(other, "x") as file:
            await file.write(b"exclusive")
        assert gzip.decompress(other.read_bytes()) == b"exclusive"

    run(main())


def test_permissions_are_those_of_open(tmp_path: Path) -> None:
    plain, path = tmp_path / "plain", tmp_path / "f.gz"
    plain.write_bytes(b"")
    asyncio.run(agz.write(path, b""))
    assert path.stat().st_mode == plain.stat().st_mode


@pytest.mark.parametrize("mode", ["wb", "ab", "xb", "wt"])
def test_nothing_written_is_an_empty_member(tmp_path: Path, run: Any, mode: str) -> None:
    path = tmp_path / "f.gz"

    async def main() -> None:
        async with agz.open(path, mode):
            pass
        assert gzip.decompress(path.read_bytes()) == b""
        assert (await agz.verify(path)).member_count == 1

    run(main())


# ---- flush --------------------------------------------------------------------------------


def decoded(path: Path) -> bytes:
    return zlib.decompressobj(31).decompress(path.read_bytes())


def test_flush_shows_all_to_another_reader(tmp_path: Path, run: Any) -> None:
    path = tmp_path / "f.gz"

    async def main() -> None:
        async with agz.open(path, "wb") as file:
            await file.flush()
            written = b""
            for part in (b"a", b"line\n" * 5, source_text(300_000), b"z"):
                await file.write(part)
                written += part
                await file.flush()
                assert decoded(path) == written
                size = path.stat().st_size
                await file.flush()
                assert path.stat().st_size == size
        assert gzip.decompress(path.read_bytes()) == written

    run(main())


def test_flush_is_gzips_own(tmp_path: Path, run: Any) -> None:
    """The sync flush in the middle is zlib's too, byte for byte."""
    path, parts = tmp_path / "f.gz", [b"first part", source_text(100_000), b"", b"last"]

    async def main() -> None:
        async with agz.open(path, "wb", mtime=1, original_filename="") as file:
            for part in parts:
                await file.write(part)
                if part:
                    await file.flush()

    run(main())
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    want = b"".join(packer.compress(p) + packer.flush(zlib.Z_SYNC_FLUSH) for p in parts if p)
    assert path.read_bytes()[10:-8] == want + packer.flush()


def test_flush_of_text(tmp_path: Path, run: Any) -> None:
    path = tmp_path / "f.gz"

    async def main() -> None:
        async with agz.open(path, "wt", encoding="utf-16") as file:
            await file.write("ä\n")
            await file.flush()
            assert decoded(path).decode("utf-16") == "ä\n"

    run(main())


# ---- buffers, seeks, states ---------------------------------------------------------------


def test_buffers_of_any_kind(tmp_path: Path, run: Any) -> None:
    path = tmp_path / "f.gz"
    big = bytes(range(256)) * 4000
    buffers: list[Any] = [
        bytearray(b"bytearray"),
        memoryview(b"memoryview")[2:],
        memoryview(big)[::3],
        memoryview(big)[::-1],
        memoryview(bytes(24)).cast("B", (4, 6)),
        array.array("H", range(1000)),
        array.array("d", [1.5, 2.5]),
        memoryview(big),
        bytearray(big),
    ]

    async def main() -> None:
        async with agz.open(path, "wb") as file:
            for buffer in buffers:
                assert await file.write(buffer) == memoryview(buffer).nbytes
            await file.writelines(buffers)
            for wrong in ("text", 5, None, [1]):
                with pytest.raises(TypeError):
                    await file.write(wrong)  # type: ignore[arg-type]
        want = b"".join(memoryview(buffer).tobytes() for buffer in buffers)
        assert gzip.decompress(path.read_bytes()) == want * 2
        await agz.write(path, memoryview(big)[::3])
        assert gzip.decompress(path.read_bytes()) == big[::3]

    run(main())


def test_a_buffer_may_change_after_its_write(tmp_path: Path, run: Any) -> None:
    """What was accepted is what the buffer held then, however far the worker is."""
    path = tmp_path / "f.gz"
    buffer = bytearray(random.Random(1).randbytes(1_000_000))
    want = bytes(buffer)

    async def main() -> None:
        async with agz.open(path, "wb") as file:
            for _ in range(3):
                await file.write(buffer)
                buffer[:] = bytes(len(buffer))
                buffer[:] = want
            await file.write(buffer)
            buffer.clear()

    run(main())
    assert gzip.decompress(path.read_bytes()) == want * 4


def test_seek_forward_writes_zeros(tmp_path: Path, run: Any) -> None:
    path = tmp_path / "f.gz"

    async def main() -> None:
        async with agz.open(path, "wb") as file:
            await file.write(b"ab")
            assert await file.seek(5) == 5
            await file.write(b"c")
            assert await file.seek(300_000, 1) == 300_006 == await file.tell()
            await file.write(b"d")
            with pytest.raises(OSError, match="Negative seek"):
                await file.seek(0)
            with pytest.raises(ValueError, match="end"):
                await file.seek(0, 2)
            assert await file.seek(0, 1) == 300_007
            with pytest.raises(OSError, match=r"(?i)rewind"):
                await file.rewind()
        assert gzip.decompress(path.read_bytes()) == b"ab\0\0\0c" + bytes(300_000) + b"d"

    run(main())


def test_states(tmp_path: Path, run: Any) -> None:
    path = tmp_path / "f.gz"

    async def main() -> None:
        file = agz.open(path, "wb")
        with pytest.raises(ValueError, match="not opened"):
            await file.write(b"")
        assert not path.exists()
        async with file:
            assert (file.readable(), file.writable()) == (False, True)
            for call in (file.read, file.readline, file.readlines, file.peek):
                with pytest.raises(OSError, match="not open for reading"):
                    await call()
            with pytest.raises(io.UnsupportedOperation):
                file.truncate()
            await file.write(b"kept")
        assert gzip.decompress(path.read_bytes()) == b"kept"
        for call in (file.flush, file.tell):
            with pytest.raises(ValueError, match="closed"):
                await call()
        with pytest.raises(ValueError, match="closed"):
            await file.write(b"")

    run(main())


@pytest.mark.parametrize("mode", ["wb", "wt"])
def test_an_exception_in_the_body(tmp_path: Path, run: Any, mode: str) -> None:
    """It comes through, and what was written before it is a whole file, as with gzip."""
    path = tmp_path / "f.gz"

    async def main() -> None:
        async with agz.open(path, mode) as file:
            await file.write("part" if mode == "wt" else b"part")
            raise KeyError("body")

    with pytest.raises(KeyError, match="body"):
        run(main())
    assert gzip.decompress(path.read_bytes()) == b"part"


def test_writelines_of_what_fails_in_the_middle(tmp_path: Path, run: Any) -> None:
    path = tmp_path / "f.gz"

    def items() -> Any:
        yield b"one"
        yield b"two"
        raise KeyError("iterator")

    async def main() -> None:
        async with agz.open(path, "wb") as file:
            with pytest.raises(KeyError):
                await file.writelines(items())
            with pytest.raises(TypeError):
                await file.writelines([b"three", "four"])  # type: ignore[list-item]
            with pytest.raises(TypeError):
                await file.writelines(5)  # type: ignore[arg-type]
            assert await file.tell() == 11
        assert gzip.decompress(path.read_bytes()) == b"onetwothree"

    run(main())


# ---- sinks --------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_a_sink_may_take_a_part(run: Any, size: int) -> None:
    data = source_text(20_000)
    sink = Collect(size)

    async def main() -> None:
        async with agz.open(None, "wb", fileobj=sink, mtime=1) as file:
            assert file.raw() is sink
            for at in range(0, len(data), 999):
                await file.write(data[at : at + 999])
            await file.flush()
            assert zlib.decompressobj(31).decompress(sink.data) == data

    run(main())
    assert gzip.decompress(sink.data) == data
    assert sink.closed == 0


@pytest.mark.parametrize("answer", [0, None, True, -1, 10**9, "1"])
def test_a_sink_that_gives_no_count(run: Any, answer: Any) -> None:
    class Wrong:
        def __init__(self, good: int) -> None:
            self.good = good

        async def write(self, data: bytes) -> Any:
            self.good -= 1
            return len(data) if self.good >= 0 else answer

    async def main() -> None:
        with pytest.raises(OSError, match=r"progress|count"):
            await agz.open(None, "wb", fileobj=Wrong(0)).open()

        file = await agz.open(None, "wb", fileobj=Wrong(1)).open()
        with pytest.raises(OSError, match=r"progress|count"):
            await fill(file)
        with pytest.raises(OSError, match="broken"):
            await file.flush()
        with contextlib.suppress(OSError):  # it was told before
            await file.close()
        assert file.closed

        file = await agz.open(None, "wb", fileobj=Wrong(1)).open()
        await file.write(b"few")
        with pytest.raises(OSError, match=r"progress|count"):
            await file.close()
        assert file.closed

    run(main())


def test_what_a_sink_refused_does_not_count(run: Any) -> None:
    """tell() after writelines(), as after write(), and what came before a wrong item does."""

    class Full(Collect):
        async def write(self, data: bytes) -> int:
            if len(self.data) > 50_000:
                raise OSError("full")
            return await super().write(data)

    async def main() -> None:
        file = await agz.open(None, "wb", fileobj=Full()).open()
        await file.writelines([b"four", b"fives"])
        assert await file.tell() == 9
        wrong: Any = [b"1", 3]
        with pytest.raises(TypeError):
            await file.writelines(wrong)
        assert await file.tell() == 10
        with pytest.raises(OSError, match="full"):
            await file.writelines([os.urandom(30_000) for _ in range(30)])
        assert await file.tell() == 10
        await file.close()

    run(main())


async def fill(file: agz.AsyncGzipBinaryFile) -> None:
    await file.write(os.urandom(1_000_000))
    await file.flush()


def test_closefd(run: Any) -> None:
    async def main() -> None:
        for closefd, times in ((None, 0), (False, 0), (True, 1)):
            sink = Collect()
            async with agz.open(None, "wb", fileobj=sink, closefd=closefd) as file:
                await file.write(b"x")
            await file.close()
            assert sink.closed == times
            assert gzip.decompress(sink.data) == b"x"

    run(main())


# ---- text ---------------------------------------------------------------------------------

WRITTEN = ["", "a\n", "no end", "\r\n", "\n\n", "ä", "x" * 100_000 + "\n", "end\r"]


@pytest.mark.parametrize(
    "encoding",
    ["utf-8", "ascii", "latin-1", "utf-16", "utf-32-be", "gb18030", "utf-8-sig", "cp1252"],
)
@pytest.mark.parametrize("newline", [None, "", "\n", "\r", "\r\n"])
def test_text_as_io_writes_it(tmp_path: Path, run: Any, encoding: str, newline: str | None) -> None:
    path = tmp_path / "f.gz"
    texts = [text.replace("ä", "a") if encoding == "ascii" else text for text in WRITTEN]
    plain = io.BytesIO()
    wrapper = io.TextIOWrapper(plain, encoding=encoding, newline=newline)
    wrapper.writelines(texts * 2)
    wrapper.flush()

    async def main() -> None:
        async with agz.open(path, "wt", encoding=encoding, newline=newline) as file:
            for text in texts:
                assert await file.write(text) == len(text)
            await file.writelines(texts)
        assert gzip.decompress(path.read_bytes()) == plain.getvalue()

    run(main())


@pytest.mark.parametrize("errors", ["replace", "ignore", "xmlcharrefreplace", "namereplace"])
def test_error_handlers(tmp_path: Path, run: Any, errors: str) -> None:
    path = tmp_path / "f.gz"

    async def main() -> None:
        async with agz.open(path, "wt", encoding="ascii", errors=errors) as file:
            await file.write("aäb名\n")
        assert gzip.decompress(path.read_bytes()) == "aäb名\n".encode("ascii", errors)

    run(main())


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8", "gb18030"])
def test_what_cannot_be_encoded_is_not_written(tmp_path: Path, run: Any, encoding: str) -> None:
    path = tmp_path / "f.gz"

    async def main() -> None:
        async with agz.open(path, "wt", encoding=encoding) as file:
            await file.write("before\n")
            with pytest.raises(UnicodeEncodeError):
                await file.write("surrogate \udc80\n")
            with pytest.raises(UnicodeEncodeError):
                await file.writelines(["good\n", "\ud800", "never\n"])
            for wrong in (b"bytes", 5, None):
                with pytest.raises(TypeError):
                    await file.write(wrong)  # type: ignore[arg-type]
            await file.write("after\n")
        assert gzip.decompress(path.read_bytes()) == b"before\ngood\nafter\n"

    run(main())


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "iso2022_jp", "utf-7"])
def test_one_encoder_over_all_writes(tmp_path: Path, run: Any, encoding: str) -> None:
    """One byte-order mark, no shift state that is forgotten or left open."""
    path = tmp_path / "f.gz"
    texts = ["名", "", "前", "a", "名前\n"]

    async def main() -> None:
        async with agz.open(path, "wt", encoding=encoding) as file:
            for text in texts:
                await file.write(text)
            await file.flush()
            await file.writelines(texts)
        if encoding != "utf-7":  # whose encoder knows each call alone
            assert gzip.decompress(path.read_bytes()) == ("".join(texts) * 2).encode(encoding)
        async with agz.open(path, "rt", encoding=encoding) as file:
            assert await file.read() == "".join(texts) * 2

    run(main())


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-8-sig", "iso2022_jp"])
@pytest.mark.parametrize("call", ["nothing", "flush", "writelines", "write"])
def test_no_mark_before_the_first_text(tmp_path: Path, run: Any, encoding: str, call: str) -> None:
    """As io: a byte-order mark is part of a text, be it an empty one."""
    path = tmp_path / "empty.gz"

    async def main() -> None:
        async with agz.open(path, "wt", encoding=encoding) as file:
            if call == "flush":
                await file.flush()
            elif call == "writelines":
                await file.writelines([])
            elif call == "write":
                await file.write("")

    run(main())
    assert gzip.decompress(path.read_bytes()) == ("".encode(encoding) if call == "write" else b"")


def test_text_on_a_sink(run: Any) -> None:
    sink = Collect(100)

    async def main() -> None:
        async with agz.open(None, "wt", fileobj=sink, newline="\r\n") as file:
            await file.writelines(f"line {i}\n" for i in range(10_000))

    run(main())
    want = "".join(f"line {i}\r\n" for i in range(10_000))
    assert gzip.decompress(sink.data).decode() == want


def test_strict_size_is_checked_at_the_limit_of_isize(tmp_path: Path) -> None:
    """4 GiB cannot be written here in time; the bound is tested in C. The option is taken."""
    path = tmp_path / "f.gz"
    asyncio.run(agz.write(path, b"data", strict_size=True))
    assert gzip.decompress(path.read_bytes()) == b"data"
