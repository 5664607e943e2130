"""What is wrong with a file ends in the right error: truncated at every byte, every bit flipped,
garbage behind, too long, not gzip, not there, no room. What precedes it comes out first, nothing
is passed off as whole, and the file says what state it is in."""

import asyncio
import contextlib
import errno
import gzip
import io
import os
import random
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import agz
import pytest
from support import (
    Collect,
    Pieces,
    Seekable,
    cancelled_at,
    raw_deflate,
    source_text,
    suspended,
    zeros_file,
)

TEXT = b"".join(b"line %d of a small file\n" % i for i in range(40))


def member(data: bytes, flags: int = 0, fields: bytes = b"", level: int = 6) -> bytes:
    head = b"\x1f\x8b\x08" + bytes([flags]) + b"\x01\x02\x03\x04\x00\xff" + fields
    if flags & 2:
        head += (zlib.crc32(head) & 0xFFFF).to_bytes(2, "little")
    tail = zlib.crc32(data).to_bytes(4, "little") + len(data).to_bytes(4, "little")
    return head + raw_deflate(data, level) + tail


ALL_FIELDS = b"\x06\x00AB\x02\x00xy" + b"a name\x00" + b"a comment\x00"
FIRST = member(TEXT, 2 | 4 | 8 | 16, ALL_FIELDS)
SECOND = member(b"second\nmember", level=0)
WHOLE = FIRST + SECOND
PLAIN = TEXT + b"second\nmember"


def decodable(packed: bytes) -> bytes:
    """All that can be decoded of a file, however it ends: zlib's word for it."""
    out = bytearray()
    while packed:
        decoder = zlib.decompressobj(31)
        for i in range(len(packed)):
            try:
                out += decoder.decompress(packed[i : i + 1])
            except zlib.error:
                return bytes(out)
            if decoder.eof:
                break
        packed = packed[i + 1 :] if decoder.eof else b""
    return bytes(out)


def nearly(got: bytes, want: bytes) -> bool:
    """ISA-L looks at several symbols at once, and may leave the very last one undecoded."""
    return want.startswith(got) and len(want) - len(got) <= 1


# ---- the ways to read ---------------------------------------------------------------------

Outcome = tuple[bytes, BaseException | None]


async def steps(file: Any, method: str, size: int) -> Outcome:
    """What the calls gave, and how they ended."""
    got = bytearray()
    async with file:
        try:
            while piece := await getattr(file, method)(size):
                got += piece
        except Exception as error:
            return bytes(got), error
    return bytes(got), None


async def chunks(packed: bytes, size: int) -> Outcome:
    got = bytearray()

    async def source() -> Any:
        for i in range(0, len(packed), size):
            yield packed[i : i + size]

    try:
        async for piece in agz.decompress_chunks(source()):
            got += piece
    except Exception as error:
        return bytes(got), error
    return bytes(got), None


def decoder(packed: bytes, size: int) -> Outcome:
    got = bytearray()
    codec = agz.GzipDecoder()
    try:
        for i in range(0, len(packed), size):
            for piece in codec.feed(packed[i : i + size]):
                got += piece
        for piece in codec.finish():
            got += piece
    except Exception as error:
        return bytes(got), error
    return bytes(got), None


async def outcomes(path: Path, packed: bytes) -> dict[str, Outcome]:
    """By every way that gives what it has before it gives up."""
    path.write_bytes(packed)
    few = 1 + len(packed) // 1000  # bytes at a time; of a small file, each alone
    return {
        "read1": await steps(agz.open(path), "read1", 7 * few),
        "read1, small chunks": await steps(agz.open(path, chunk_size=few), "read1", -1),
        "read1, source": await steps(agz.open(None, fileobj=Pieces(packed, 5 * few)), "read1", 50),
        "decompress_chunks": await chunks(packed, 9 * few),
        "GzipDecoder": decoder(packed, few),
        "GzipDecoder, at once": decoder(packed, 1 << 20),
    }


async def whole(path: Path) -> BaseException | None:
    """The same verdict of every way that wants all; None if the file is good."""
    verdicts = []
    for way in (agz.read, agz.verify, agz.inspect):
        try:
            await way(path)
        except Exception as error:
            verdicts.append(error)
        else:
            verdicts.append(None)
    assert len({(type(error), str(error)) for error in verdicts}) == 1, verdicts
    return verdicts[0]


async def text_lines(path: Path) -> tuple[list[str], BaseException | None]:
    lines: list[str] = []
    async with agz.open(path, "rt", encoding="latin-1", newline="\n") as file:
        try:
            await gather_lines(file, lines)
        except Exception as error:
            return lines, error
    return lines, None


def whole_lines(data: bytes) -> list[str]:
    return [line for line in data.decode("latin-1").splitlines(True) if line.endswith("\n")]


# ---- truncated ----------------------------------------------------------------------------


def test_truncated_at_every_byte(tmp_path: Path) -> None:
    path = tmp_path / "f.gz"

    async def main() -> None:
        for n in range(len(WHOLE)):
            packed = WHOLE[:n]
            want = decodable(packed)
            good = n in (0, len(FIRST))
            for way, (got, error) in (await outcomes(path, packed)).items():
                assert nearly(got, want), (way, n)
                if good:
                    assert error is None, (way, n)
                else:
                    assert isinstance(error, EOFError), (way, n, error)
                    assert isinstance(error, gzip.BadGzipFile), (way, n, error)
                    assert f"offset {n}" in str(error), (way, n, error)
            verdict = await whole(path)
            assert verdict is None if good else isinstance(verdict, EOFError)
            lines, failure = await text_lines(path)
            assert lines == whole_lines(got)
            assert failure is None if good else isinstance(failure, EOFError)

    asyncio.run(main())


@pytest.mark.parametrize("cut", [1, 8, 9, 30_000])
def test_truncated_over_several_blocks(tmp_path: Path, run: Any, cut: int) -> None:
    """Where a whole-member engine refuses, what the stream engine decodes comes out."""
    packed = gzip.compress(source_text(200_000), 6)[:-cut]
    want = decodable(packed)
    path = tmp_path / "f.gz"

    async def main() -> None:
        for way, (got, error) in (await outcomes(path, packed)).items():
            assert nearly(got, want), way
            assert isinstance(error, EOFError), way
        assert isinstance(await whole(path), EOFError)
        for read in ("read", "readlines"):
            async with agz.open(path) as file:
                with pytest.raises(EOFError):
                    await getattr(file, read)()
                # Nothing was handed out, so it can be had yet: what is before the fault.
                assert await file.tell() == 0
                assert await file.read(100) == want[:100]

    run(main())


# ---- flipped ------------------------------------------------------------------------------


def test_every_bit_flipped(tmp_path: Path) -> None:
    """Either the fields that gzip does not check, or an error: never other bytes as whole."""
    path = tmp_path / "f.gz"
    packed = member(b"abcabcabc, a small file\n" * 3, 8, b"name\x00") + SECOND
    plain = b"abcabcabc, a small file\n" * 3 + b"second\nmember"

    async def main() -> None:
        for i in range(8 * len(packed)):
            broken = bytearray(packed)
            broken[i // 8] ^= 1 << (i % 8)
            try:
                good = gzip.decompress(broken) == plain
            except (OSError, EOFError, zlib.error):
                good = False
            if any(broken[start + 3] & 0xE0 for start in (0, len(packed) - len(SECOND))):
                good = False  # reserved flags, which gzip does not look at
            want = decodable(bytes(broken))
            for way, (got, error) in (await outcomes(path, bytes(broken))).items():
                if good:
                    assert (got, error) == (plain, None), (way, i)
                else:
                    assert isinstance(error, gzip.BadGzipFile), (way, i, error)
                    assert plain.startswith(got) or got.startswith(want), (way, i)
            verdict = await whole(path)
            assert (verdict is None) == good, i

    asyncio.run(main())


def test_the_header_crc_is_checked(tmp_path: Path) -> None:
    path = tmp_path / "f.gz"

    async def main() -> None:
        for i in range(4, len(FIRST) - len(raw_deflate(TEXT)) - 8):
            broken = bytearray(FIRST)
            broken[i] ^= 1
            path.write_bytes(broken)
            assert isinstance(await whole(path), gzip.BadGzipFile), i

    asyncio.run(main())


# ---- what the error says ------------------------------------------------------------------

GOOD = member(b"good\n")

FAULTS = {
    "not gzip": (b"PK\x03\x04 an archive", r"Not a gzipped file \(b'PK'", 0, 0),
    "one wrong byte": (b"a", r"Not a gzipped file \(b'a'", 0, 0),
    "behind a member": (GOOD + b"\r\n", r"Not a gzipped file \(b'\\x0d\\x0a'", 1, len(GOOD)),
    "behind NULs": (GOOD + bytes(9) + b"x", "Not a gzipped file", 1, len(GOOD) + 9),
    "method": (b"\x1f\x8b\x07" + GOOD[3:], "Unknown compression method", 0, 2),
    "reserved flags": (b"\x1f\x8b\x08\x80" + GOOD[4:], r"(?i)reserved flag", 0, 3),
    "data": (GOOD[:10] + b"\xff" + GOOD[11:], r"(?i)deflate data", 0, None),
    "crc": (GOOD[:-8] + b"\0" + GOOD[-7:], "CRC check failed", 0, None),
    "isize": (GOOD[:-1] + b"\1", r"(?i)length check", 0, None),
    "crc of the second": (GOOD * 2 + GOOD[:-8] + b"\0" + GOOD[-7:], "CRC", 2, None),
    "header crc": (b"\x1f\x8b\x08\x02" + bytes(6) + b"xx" + GOOD[10:], "Header CRC", 0, None),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_the_error_says(tmp_path: Path, run: Any, fault: str) -> None:
    packed, words, index, offset = FAULTS[fault]
    path = tmp_path / "f.gz"
    path.write_bytes(packed)

    async def main() -> None:
        for read in (agz.read, agz.verify, agz.inspect):
            with pytest.raises(gzip.BadGzipFile, match=words) as raised:
                await read(path)
            assert f"member {index}" in str(raised.value)
            if offset is not None:
                assert f"offset {offset}" in str(raised.value)
            assert not isinstance(raised.value, EOFError)
            assert isinstance(raised.value.__cause__, OSError)
        with pytest.raises(gzip.BadGzipFile, match=words):
            list(agz.GzipDecoder().feed(packed))

    run(main())


# ---- after the error ----------------------------------------------------------------------


async def gather_lines(file: Any, into: list[Any]) -> None:
    async for line in file:
        into.append(line)


@pytest.mark.parametrize("source", [False, True])
@pytest.mark.parametrize("mode", ["rb", "rt"])
def test_after_an_error(tmp_path: Path, run: Any, source: bool, mode: str) -> None:
    """The lines before it, the error once, the rest that was decoded, "broken", and seek(0)."""
    packed = member(TEXT + b"half a li")[:-8] + bytes(8)
    path = tmp_path / "f.gz"
    path.write_bytes(packed)
    lines: list[Any] = TEXT.splitlines(keepends=True)
    half: Any = b"half a li"
    if mode == "rt":
        lines = [line.decode() for line in lines]
        half = half.decode()

    async def main() -> None:
        fileobj = Pieces(packed, 10) if source else None
        async with agz.open(None if source else path, mode, fileobj=fileobj) as file:
            for _ in range(2):
                got = []
                with pytest.raises(gzip.BadGzipFile):
                    async for line in file:
                        got.append(line)
                assert got == lines
                assert await file.tell() == len(TEXT)
                assert await file.read() == half
                for call in (file.read, file.readline, file.readlines, file.__anext__):
                    with pytest.raises(OSError, match=r"broken.*reopen") as raised:
                        await call()
                    assert not isinstance(raised.value, gzip.BadGzipFile)
                assert await file.seek(0) == 0
                assert await file.readline() == lines[0]
                await file.seek(0)

    run(main())


@pytest.mark.parametrize("mode", ["rb", "rt"])
def test_much_that_was_decoded_before_an_error(tmp_path: Path, run: Any, mode: str) -> None:
    """More than a large read decodes at once."""
    plain = b"0123456789\n" * 500_000
    path = tmp_path / "f.gz"
    path.write_bytes(gzip.compress(plain)[:-8] + bytes(8))

    async def main() -> None:
        for size in (-1, 2_000_000, len(plain)):
            async with agz.open(path, mode) as file:
                with pytest.raises(gzip.BadGzipFile):
                    while await file.read():
                        pass
                got = b""
                while len(got) < len(plain):
                    data: Any = await file.read(size)
                    got += data if mode == "rb" else data.encode()
                assert got == plain
                with pytest.raises(OSError, match="broken"):
                    await file.read(size)

    run(main())


def test_only_the_start_mends_a_stream(tmp_path: Path, run: Any) -> None:
    path = tmp_path / "f.gz"
    path.write_bytes(member(TEXT)[:-8] + bytes(8))

    async def main() -> None:
        async with agz.open(path) as file:
            with pytest.raises(gzip.BadGzipFile):
                await file.read()
            for place in ((1,), (0, 1), (1, 1), (0, 2), (-1, 2)):
                with pytest.raises(OSError, match="broken"):
                    await file.seek(*place)
            assert await file.seek(0) == 0
            assert await file.seek(5) == 5
            assert await file.read(5) == TEXT[5:10]
        # A text seek goes to its place from the start, as in io.
        async with agz.open(path, "rt") as text:
            with pytest.raises(gzip.BadGzipFile):
                await text.read()
            assert await text.seek(5) == 5
            assert await text.read(5) == TEXT[5:10].decode()

    run(main())


class FailsOnce(Seekable):
    def __init__(self, data: bytes, size: int, at: int) -> None:
        super().__init__(data, size)
        self.at = at

    async def read(self, size: int = -1) -> bytes:
        piece = await super().read(size)
        if self.pos >= self.at > 0:
            self.at = 0
            raise OSError("no more")
        return piece


@pytest.mark.parametrize("mode", ["rb", "rt"])
@pytest.mark.parametrize("encoding", ["ascii", "utf-16"])
def test_after_a_source_has_failed(run: Any, mode: str, encoding: str) -> None:
    """Nobody knows what it gave: nothing comes any more before seek(0), wherever it failed."""
    text = "0123456789\n" * 300_000
    plain = text.encode(encoding)
    packed = gzip.compress(plain, 1)
    options = {"encoding": encoding} if mode == "rt" else {}
    whole: Any = text if mode == "rt" else plain

    async def main() -> None:
        calls: list[Callable[[Any], Any]] = [
            *(lambda f: f.read(), lambda f: f.read(len(plain)), lambda f: f.readlines()),
            *(lambda f: f.seek(len(plain) - 100), lambda f: f.seek(0, 2)),
        ]
        for call in calls:
            source = FailsOnce(packed, 4000, len(packed) * 3 // 4)
            async with agz.open(None, mode, fileobj=source, **options) as file:
                first = await file.readline()
                place = await file.tell()
                with pytest.raises(OSError, match="no more"):
                    await call(file)
                assert await file.tell() == place
                for again in (file.read, file.readline, lambda n=0: file.read(n)):
                    with pytest.raises(OSError, match="broken"):
                        await again()
                assert await file.seek(0) == 0
                assert await file.readline() == first
                assert first + await file.read() == whole

    run(main())


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_nothing_comes_beyond_the_limit(tmp_path: Path, run: Any, encoding: str) -> None:
    path = tmp_path / "f.gz"
    path.write_bytes(gzip.compress(("line\n" * 1000).encode(encoding)))

    async def main() -> None:
        options = {"encoding": encoding, "max_decompressed_size": 2000}
        async with agz.open(path, "rt", **options) as file:
            assert await file.readline() == "line\n"
            with pytest.raises(OSError, match="exceeded"):
                await file.read()
            for size in (-1, 1, 0):
                with pytest.raises(OSError, match="broken"):
                    await file.read(size)

    run(main())


def test_a_partial_line_is_not_the_last_one(tmp_path: Path, run: Any) -> None:
    path = tmp_path / "f.gz"
    path.write_bytes(member(b"one\ntwo\nthr")[:-9])

    async def main() -> None:
        async with agz.open(path, "rt") as file:
            assert [await file.readline(), await anext(file)] == ["one\n", "two\n"]
            for _ in range(3):
                with pytest.raises(OSError, match=r"."):
                    await file.readline()
        async with agz.open(path, "rt") as file:
            with pytest.raises(EOFError):
                await file.readlines()
            assert await file.readline() == "one\n"

    run(main())


# ---- too long -----------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["rb", "rt"])
@pytest.mark.parametrize("source", [False, True])
def test_too_long(tmp_path: Path, run: Any, mode: str, source: bool) -> None:
    path = tmp_path / "f.gz"
    path.write_bytes(gzip.compress(TEXT) * 5)
    cap = 2 * len(TEXT) + 10
    piece: Any = b"" if mode == "rb" else ""

    def opened() -> Any:
        fileobj = Pieces(path.read_bytes(), 20) if source else None
        where = None if source else path
        return agz.open(where, mode, max_decompressed_size=cap, fileobj=fileobj)

    async def main() -> None:
        for _ in range(2):
            async with opened() as file:
                with pytest.raises(OSError, match=rf"max_decompressed_size .{cap} bytes") as raised:
                    await file.read()
                assert not isinstance(raised.value, gzip.BadGzipFile)
                with pytest.raises(OSError, match="broken"):
                    await file.read()
                await file.seek(0)
                assert await file.read(len(TEXT)) != piece
            async with opened() as file:
                lines: list[Any] = []
                with pytest.raises(OSError, match="max_decompressed_size"):
                    await gather_lines(file, lines)
                assert len(lines) == 80

    run(main())


def test_a_bomb_stops_at_the_cap(tmp_path: Path, run: Any) -> None:
    path = tmp_path / "bomb.gz"
    zeros_file(path, 64)

    async def main() -> None:
        for read in (agz.read, agz.verify, agz.inspect):
            with pytest.raises(OSError, match="max_decompressed_size"):
                await read(path, max_decompressed_size=1000)

    run(main())


# ---- the file system ----------------------------------------------------------------------


def test_not_there(tmp_path: Path, run: Any) -> None:
    path = tmp_path / "missing.gz"

    async def main() -> None:
        for name in (path, str(path), os.fsencode(path), b""):
            for mode in ("rb", "rt"):
                with pytest.raises(FileNotFoundError) as raised:
                    await agz.open(name, mode).open()
                assert raised.value.errno == errno.ENOENT
                assert raised.value.filename == os.fspath(name)
        for read in (agz.read, agz.verify, agz.inspect):
            with pytest.raises(FileNotFoundError):
                await read(path)
        for mode in ("wb", "ab", "xb", "wt"):
            with pytest.raises(FileNotFoundError):
                await agz.open(tmp_path / "no folder" / "f.gz", mode).open()
        (tmp_path / "file").touch()
        with pytest.raises(NotADirectoryError):
            await agz.read(tmp_path / "file" / "f.gz")
        with pytest.raises(ValueError, match="null byte"):
            await agz.open("a\0b").open()

    run(main())


def test_a_failed_open_can_be_tried_again(tmp_path: Path, run: Any) -> None:
    path = tmp_path / "f.gz"

    async def main() -> None:
        file = agz.open(path)
        for _ in range(3):
            with pytest.raises(FileNotFoundError):
                await file.open()
            with pytest.raises(ValueError, match="not opened"):
                await file.read()
        path.write_bytes(gzip.compress(b"now"))
        async with file:
            assert await file.read() == b"now"

    run(main())


@pytest.mark.parametrize("mode", ["rb", "rt", "wb", "wt"])
def test_a_file_object_that_was_not_opened_is_its_owners(run: Any, mode: str) -> None:
    """closefd or not: closing the file does not close it."""

    class Refuses(Pieces, Collect):
        async def write(self, data: bytes) -> int:
            raise OSError("refused")

    async def main() -> None:
        for tries in (0, 1):
            fileobj = Refuses(b"", 1)
            file = agz.open(None, mode, fileobj=fileobj, closefd=True)
            if tries and mode[0] == "w":
                with pytest.raises(OSError, match="refused"):
                    await file.open()
            await file.close()
            assert (file.closed, fileobj.closed) == (True, 0)

    run(main())


def test_a_directory(tmp_path: Path, run: Any) -> None:
    async def main() -> None:
        for mode in ("rb", "wb", "ab", "rt"):
            with pytest.raises(IsADirectoryError):
                await agz.open(tmp_path, mode).open()

    run(main())


def test_no_room(run: Any) -> None:
    """/dev/full opens, and refuses every byte."""
    noise = os.urandom(1_000_000)

    async def main() -> None:
        await ends_in_enospc(lambda file: file.write(noise))
        await ends_in_enospc(lambda file: file.write(b"a few bytes"))
        await ends_in_enospc(lambda file: file.writelines([noise[:70_000]] * 50))
        await ends_in_enospc(lambda file: file.flush())
        with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
            await agz.write("/dev/full", b"")

    run(main())


async def ends_in_enospc(call: Callable[[Any], Any]) -> None:
    """Told by the call, by a flush, or at the latest by close(); and by all that follow."""
    file = await agz.open("/dev/full", "ab").open()
    raised = []
    for step in (call, call, lambda file: file.write(b"x"), lambda file: file.flush()):
        try:
            await step(file)
        except OSError as error:
            raised.append(error)
        else:
            assert not raised
    assert raised
    with contextlib.suppress(OSError):
        await file.close()
    assert file.closed
    assert raised[0].errno == errno.ENOSPC
    assert raised[0].filename == "/dev/full"


def test_no_room_is_told_by_close(run: Any) -> None:
    async def main() -> None:
        file = await agz.open("/dev/full", "wb").open()
        with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)) as raised:
            await file.close()
        assert raised.value.errno == errno.ENOSPC
        assert file.closed
        await file.close()
        with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
            async with agz.open("/dev/full", "wt") as text:
                await text.write("x")

    run(main())


# ---- sources and sinks that fail ----------------------------------------------------------


class Failing:
    """Gives some, then fails with an exception of its own."""

    def __init__(self, pieces: list[bytes], error: BaseException) -> None:
        self.pieces, self.error = pieces, error

    async def read(self, size: int = -1) -> bytes:
        if self.pieces:
            return self.pieces.pop(0)
        raise self.error

    async def write(self, data: bytes) -> int:
        if self.pieces:
            self.pieces.pop(0)
            return len(data)
        raise self.error


def test_an_error_of_the_source_comes_through(run: Any) -> None:
    async def main() -> None:
        for call in ("read", "readline", "readlines", "peek"):
            error = RuntimeError("source")
            async with agz.open(None, fileobj=Failing([GOOD[:10]], error)) as file:
                with pytest.raises(RuntimeError) as raised:
                    await getattr(file, call)()
                assert raised.value is error

    run(main())


@pytest.mark.parametrize("wrong", ["text", None, 5, [b"bytes"]])
def test_a_source_of_something_else(run: Any, wrong: Any) -> None:
    async def main() -> None:
        async with agz.open(None, fileobj=Failing([wrong], RuntimeError())) as file:
            with pytest.raises(TypeError, match="bytes"):
                await file.read()

    run(main())


def test_an_error_of_the_sink_comes_through(run: Any) -> None:
    async def main() -> None:
        with pytest.raises(RuntimeError, match="sink"):
            await agz.open(None, "wb", fileobj=Failing([], RuntimeError("sink"))).open()
        for n in (1, 2, 3):
            error = RuntimeError("sink")
            file = await agz.open(None, "wb", fileobj=Failing([b""] * n, error)).open()
            with pytest.raises((RuntimeError, OSError)) as raised:
                await write_much(file)
            assert error in (raised.value, raised.value.__cause__)
            with pytest.raises(OSError, match="broken"):
                await file.write(b"more")
            with contextlib.suppress(OSError, RuntimeError):
                await file.close()
            assert file.closed

    run(main())


async def write_much(file: Any) -> None:
    for _ in range(20):
        await file.write(os.urandom(100_000))
        await file.flush()


def test_no_success_before_the_sink_has_it_all(run: Any) -> None:
    """The trailer too: a close() that could not write it fails."""

    class LastRefused(Collect):
        async def write(self, data: bytes) -> int:
            if self.size == 0:
                raise OSError(errno.EIO, "refused")
            return await super().write(data)

    async def main() -> None:
        sink = LastRefused()
        file = await agz.open(None, "wb", fileobj=sink, closefd=True).open()
        await file.write(b"data")
        await file.flush()
        sink.size = 0
        with pytest.raises(OSError, match="refused"):
            await file.close()
        assert (file.closed, sink.closed) == (True, 1)
        with pytest.raises(EOFError):
            gzip.GzipFile(fileobj=io.BytesIO(sink.data)).read()

    run(main())


@pytest.mark.parametrize("end", ["error", "cancelled"])
def test_nothing_counts_of_a_call_that_broke_the_sink(run: Any, end: str) -> None:
    noise = [random.Random(n).randbytes(200_000) for n in range(3)]
    calls: list[tuple[str, Any]] = [("write", b"".join(noise)), ("writelines", noise)]
    calls.append(("seek", 1 << 30))

    class Sink:
        room = 50_000

        async def write(self, data: bytes) -> int:
            self.room -= len(data)
            if self.room < 0:
                raise asyncio.CancelledError if end == "cancelled" else OSError("full")
            return len(data)

    async def main() -> None:
        for call, arg in calls:
            file = await agz.open(None, "wb", fileobj=Sink()).open()
            await file.write(b"12345")
            with pytest.raises((OSError, asyncio.CancelledError)):
                await getattr(file, call)(arg)
            assert await file.tell() == 5
            await file.close()

    run(main())


def test_a_cancelled_way_back_leaves_what_came_before_the_fault(run: Any) -> None:
    wire = bytearray(gzip.compress(b"one\ntwo\n"))
    wire[-1] ^= 1  # an ISIZE that is wrong

    class Slow:
        def __init__(self) -> None:
            self.stream = io.BytesIO(wire)
            self.hold = True

        async def read(self, size: int = -1) -> bytes:
            return self.stream.read(size)

        async def seek(self, offset: int, whence: int = 0) -> int:
            place = self.stream.seek(offset, whence)
            while self.hold:
                await asyncio.sleep(0)
            return place

        async def tell(self) -> int:
            return self.stream.tell()

        def seekable(self) -> bool:
            return True

    async def main() -> None:
        source = Slow()
        async with agz.open(None, "rb", fileobj=source) as file:
            with pytest.raises(gzip.BadGzipFile, match="ISIZE"):
                await file.readlines()
            cancelled, _ = await cancelled_at(lambda: file.seek(0), 2)
            assert cancelled
            assert await file.readline() == b"one\n"
            source.hold = False
            assert await file.seek(0) == 0
            assert await file.readline() == b"one\n"

    run(main())


@pytest.mark.parametrize("closefd", [False, True])
def test_a_file_object_of_io(run: Any, closefd: bool) -> None:
    """What comes of a slip: it says what to do."""

    class Reads:
        def read(self, size: int = -1) -> bytes:
            return b""

    async def main() -> None:
        for source in (io.BytesIO(gzip.compress(b"text")), Reads()):
            fileobj: Any = source
            async with agz.open(None, fileobj=fileobj, closefd=closefd) as file:
                with pytest.raises(TypeError, match="must be awaitable, and gave bytes"):
                    await file.read()

    run(main())


def test_a_stream_whose_read_is_cancelled_with_all_tasks(run: Any) -> None:
    """What its read() took is lost: the next call says so, and is not cancelled itself."""
    gz, waits = gzip.compress(b"text" * 100), asyncio.Event()

    class Stream:
        async def read(self, size: int = -1) -> bytes:
            await waits.wait()
            return gz

    async def main() -> None:
        file = await agz.open(None, fileobj=Stream()).open()
        call = await suspended(file.read())
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        waits.set()
        for _ in range(2):
            with pytest.raises(OSError, match="broken"):
                await file.read()
        await file.close()

    run(main())
