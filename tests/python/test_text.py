"""Reading text: random programs of calls against io.TextIOWrapper over gzip.GzipFile, over
encodings, error handlers, newline modes and block edges; what cannot be decoded; places."""

import asyncio
import gzip
import io
import random
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import agz
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import QUICK, Gate, Pieces, source_text

# ---- what is read -------------------------------------------------------------------------

ENDS = ["\n", "\n", "\n", "\r\n", "\r", "\n\r", "\r\r\n", "\n\n"]


def prose(letters: str, seed: int, n: int = 400) -> str:
    """Lines of all lengths with every line end there is, a few longer than a block."""
    draw = random.Random(seed)
    out = []
    for i in range(n):
        length = draw.choice([0, 1, 2, 5, 30, 30, 80, 300])
        if i % 150 == 149:
            length = 70_000
        out.append("".join(draw.choices(letters, k=length)) + draw.choice(ENDS))
    return "".join(out) + "no end"


ASCII = "abcdefghij \t\v\f\x1c\x85"[:-1]
LATIN = ASCII + "äöüß\x85\xa0ÿ"
ALL = LATIN + "名前имя😀\u2028\u2029\ufeff\U0010ffff"
JAPANESE = ASCII + "名前、。漢"

TEXTS = {
    "utf-8": prose(ALL, 1),
    "ascii": prose(ASCII, 2),
    "latin-1": prose(LATIN, 3),
    "utf-16": prose(ALL, 4),
    "utf-16-be": prose(ALL, 5),
    "utf-32": prose(ALL, 6, 150),
    "gb18030": prose(ALL, 7),
    "shift_jis": prose(JAPANESE, 8),
    "utf-8-sig": prose(ALL, 9),
    "cp1252": prose(ASCII + "äöüß€", 10),
    "utf-7": prose(ALL, 11, 100),
}
NEWLINES = [None, "", "\n", "\r", "\r\n"]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("texts")
    for encoding, text in TEXTS.items():
        (folder / encoding).write_bytes(gzip.compress(text.encode(encoding), 1))
    return folder


def wrapper(path: Path, encoding: str, newline: str | None, errors: str) -> io.TextIOWrapper:
    file = gzip.GzipFile(path)
    return io.TextIOWrapper(file, encoding=encoding, newline=newline, errors=errors)


# ---- programs -----------------------------------------------------------------------------

counts = st.sampled_from([0, 1, 2, 3, 5, 17, 100, 1000, 8191, 70_000, 10**6])
counts_or_all = st.one_of(counts, counts, counts, st.sampled_from([-1, None]))
steps = st.one_of(
    st.tuples(st.sampled_from(["read", "readline", "readlines"]), counts_or_all),
    st.tuples(st.sampled_from(["line", "rewind"]), st.none()),
)


async def perform(file: Any, plain: io.TextIOWrapper, program: list[Any]) -> None:
    async with file:
        for verb, arg in program:
            if verb == "line":
                assert await anext(file, "") == plain.readline()
            elif verb == "rewind":
                assert await file.seek(0) == plain.seek(0) == 0
            else:
                got = await getattr(file, verb)(arg)
                assert got == getattr(plain, verb)(-1 if arg is None else arg), verb
        assert await file.read() == plain.read()
        assert await file.read(1) == ""
        if ("rewind", None) not in program:
            assert file.newlines == plain.newlines
    plain.close()


@QUICK
@given(
    encoding=st.sampled_from([*TEXTS]),
    newline=st.sampled_from(NEWLINES),
    errors=st.sampled_from(["strict", "strict", "replace"]),
    chunk=st.sampled_from([1, 37, 4096, 1 << 20]),
    program=st.lists(steps, max_size=25),
)
def test_programs_on_a_path(
    corpus: Path, encoding: str, newline: str | None, errors: str, chunk: int, program: Any
) -> None:
    options = {"encoding": encoding, "newline": newline, "errors": errors}
    path = corpus / encoding
    size = max(chunk, path.stat().st_size // 5000)  # bytes, but not a million times one
    file = agz.open(path, "rt", chunk_size=size, **options)
    asyncio.run(perform(file, wrapper(path, **options), program))  # type: ignore[arg-type]


@QUICK
@given(
    encoding=st.sampled_from([*TEXTS]),
    newline=st.sampled_from(NEWLINES),
    piece=st.sampled_from([53, 3001, 1 << 20]),
    program=st.lists(steps, max_size=15),
)
def test_programs_on_a_source(
    corpus: Path, encoding: str, newline: str | None, piece: int, program: Any
) -> None:
    path = corpus / encoding
    source = Pieces(path.read_bytes(), piece)
    file = agz.open(None, "rt", fileobj=source, encoding=encoding, newline=newline)
    asyncio.run(perform(file, wrapper(path, encoding, newline, "strict"), program))


@pytest.mark.parametrize("encoding", TEXTS)
def test_every_way_gives_the_same(corpus: Path, run: Any, encoding: str) -> None:
    for newline in NEWLINES:
        every_way(corpus / encoding, run, encoding, newline)


def every_way(path: Path, run: Any, encoding: str, newline: str | None) -> None:
    with wrapper(path, encoding, newline, "strict") as plain:
        want = plain.readlines()

    def opened() -> agz.AsyncGzipTextFile:
        return agz.open(path, "rt", encoding=encoding, newline=newline)

    async def main() -> None:
        async with opened() as file:
            assert [line async for line in file] == want
            assert await file.readline() == ""
        async with opened() as file:
            assert await file.readlines() == want
        async with opened() as file:
            got = []
            while line := await file.readline():
                got.append(line)
            assert got == want
        for hint in (1, 1000, 10**9):
            async with opened() as file:
                batches = [batch async for batch in file.iter_batches(hint)]
            assert [line for batch in batches for line in batch] == want
            for batch in batches:
                assert batch
                # As io's: the line that passes the hint is the batch's last one.
                assert sum(map(len, batch[:-1])) <= hint
        async with opened() as file:
            assert await file.read() == "".join(want)

    run(main())


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "ascii", "utf-16-le"])
@pytest.mark.parametrize("newline", NEWLINES)
def test_an_end_at_each_place_around_a_block_edge(
    tmp_path: Path, encoding: str, newline: str | None
) -> None:
    """Blocks begin at 64 KiB: line ends and characters of several bytes across that edge."""
    middle = "\r\n\r\r\n\n" + {"latin-1": "äß", "ascii": ""}.get(encoding, "名😀")
    unit = len("x".encode(encoding))

    async def main() -> None:
        for before in range(65_536 // unit - 14, 65_536 // unit + 2):
            text = "x" * before + middle + "\n" + "y" * 30
            path = tmp_path / "f.gz"
            path.write_bytes(gzip.compress(text.encode(encoding), 1))
            with wrapper(path, encoding, newline, "strict") as plain:
                want = plain.readlines()
            for source in (None, Pieces(path.read_bytes(), 11)):
                name = path if source is None else None
                options = {"encoding": encoding, "newline": newline, "fileobj": source}
                async with agz.open(name, "rt", **options) as file:
                    assert [line async for line in file] == want

    asyncio.run(main())


def test_a_line_in_pieces_costs_linear_time_and_comes_whole(tmp_path: Path, run: Any) -> None:
    text = "ü" * 3_000_000 + "\n" + "z" * 3_000_000
    path = tmp_path / "f.gz"
    path.write_bytes(gzip.compress(text.encode(), 1))

    async def main() -> None:
        async with agz.open(path, "rt", chunk_size=1000) as file:
            assert [line async for line in file] == text.splitlines(keepends=True)

    run(main())


# ---- what cannot be decoded ---------------------------------------------------------------

BROKEN = {
    "utf-8": b"one\ntwo\nb\xc3\x28d\nfour\n",
    "utf-8 at the end": b"one\ntwo\nhalf \xe5\x90",
    "ascii": b"one\ntwo\nb\xe4d\nfour\n",
    "gb18030": b"one\ntwo\nb\xff\xffd\nfour\n",
    "utf-16-le": "one\ntwo\n".encode("utf-16-le") + b"\x00\xd8x\x00\n\x00",
}


def encoding_of(name: str) -> str:
    return name.removesuffix(" at the end")


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("piece", [None, 3])
def test_lines_before_the_wrong_one_come_first(
    tmp_path: Path, run: Any, name: str, piece: int | None
) -> None:
    data = BROKEN[name]
    packed = gzip.compress(data)
    path = tmp_path / "f.gz"
    path.write_bytes(packed)

    def opened() -> agz.AsyncGzipTextFile:
        source = None if piece is None else Pieces(packed, piece)
        where = path if piece is None else None
        return agz.open(where, "rt", encoding=encoding_of(name), fileobj=source)

    async def main() -> None:
        async with opened() as file:
            assert await file.readline() == "one\n"
            assert await anext(file) == "two\n"
            for _ in range(3):
                with pytest.raises(UnicodeDecodeError):
                    await file.readline()
            with pytest.raises(UnicodeDecodeError):
                await anext(file)
            with pytest.raises(UnicodeDecodeError):
                await file.read()
        for call in ("readlines", "read"):
            async with opened() as file:
                for _ in range(2):
                    with pytest.raises(UnicodeDecodeError):
                        await getattr(file, call)()
                assert await file.readlines(1) == ["one\n"]
                assert await file.readline() == "two\n"
                with pytest.raises(UnicodeDecodeError):
                    await getattr(file, call)()
                await file.seek(0)
                assert await file.read(4) == "one\n"

    run(main())


@pytest.mark.parametrize("name", [name for name in BROKEN if "end" not in name])
@pytest.mark.parametrize("piece", [None, 3, 1 << 20])
@pytest.mark.parametrize("size", [0, 3_000_000])
def test_a_fault_comes_before_the_wrong_text_it_may_have_made(
    tmp_path: Path, run: Any, name: str, piece: int | None, size: int
) -> None:
    """read() of all, as in io, where all is read before anything is decoded."""
    packed = gzip.compress(BROKEN[name] + bytes(size))[:-8] + bytes(8)
    path = tmp_path / "f.gz"
    path.write_bytes(packed)

    async def main() -> None:
        source = None if piece is None else Pieces(packed, piece)
        where = path if piece is None else None
        async with agz.open(where, "rt", encoding=encoding_of(name), fileobj=source) as file:
            for _ in range(2):
                with pytest.raises(gzip.BadGzipFile):
                    await file.read()
                with pytest.raises(UnicodeDecodeError):
                    await file.read()
                assert await file.readline() == "one\n"
                await file.seek(0)

    run(main())


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("piece", [None, 3])
@pytest.mark.parametrize("call", ["read", "readlines"])
def test_newlines_tell_of_what_was_read_since_the_start(
    tmp_path: Path, run: Any, encoding: str, piece: int | None, call: str
) -> None:
    """However it was read; a seek to the start forgets it, any other keeps it, a read() that
    fails adds nothing."""
    both = ("\n", "\r\n")
    packed = gzip.compress("a\nb\r\nc".encode(encoding))
    path = tmp_path / "f.gz"

    async def main(packed: bytes) -> None:
        path.write_bytes(packed)
        source = None if piece is None else Pieces(packed, piece)
        where = path if piece is None else None
        async with agz.open(where, "rt", encoding=encoding, fileobj=source) as file:
            for _ in range(2):
                assert file.newlines is None
                await file.readline()
                assert file.newlines == "\n"
                place = await file.tell()
                await file.seek(0)
                assert file.newlines is None
                try:
                    await getattr(file, call)()
                except EOFError:
                    if call == "read":
                        assert file.newlines is None
                else:
                    assert file.newlines == both
                    await file.seek(place)
                    assert file.newlines == both
                await file.seek(0)
            await file.readline()
        assert file.newlines == "\n"

    run(main(packed))
    run(main(packed[:-1]))


HANDLERS = ["ignore", "replace", "surrogateescape", "backslashreplace"]


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("errors", HANDLERS)
@pytest.mark.parametrize("piece", [None, 1])
def test_error_handlers(tmp_path: Path, name: str, errors: str, piece: int | None) -> None:
    packed = gzip.compress(BROKEN[name] * 3)
    path = tmp_path / "f.gz"
    path.write_bytes(packed)
    encoding = encoding_of(name)
    if (encoding, errors) == ("utf-16-le", "surrogateescape"):
        errors = "surrogatepass"  # it has no other
    with wrapper(path, encoding, "", errors) as plain:
        want = plain.readlines()

    async def main() -> None:
        source = None if piece is None else Pieces(packed, piece)
        where = path if piece is None else None
        options = {"encoding": encoding, "errors": errors, "newline": "", "fileobj": source}
        async with agz.open(where, "rt", **options) as file:
            assert file.errors == errors
            assert [line async for line in file] == want
            await file.seek(0)
            assert await file.read() == "".join(want)

    asyncio.run(main())


def test_every_wrong_byte_of_utf_8(tmp_path: Path) -> None:
    """The same verdict as Python's decoder, and the same place in the error."""
    wholes = ["é", "名", "😀", "\ud7ff", "\ue000", "\U0010ffff"]
    cases = [bytes([b]) for b in range(128, 256)]
    cases += [w.encode()[:n] for w in wholes for n in range(1, len(w.encode()))]
    cases += [b"\xed\xa0\x80", b"\xe0\x80\x80", b"\xf4\x90\x80\x80", b"\xc0\x80", b"\xf8\x88\x80"]
    path = tmp_path / "f.gz"

    async def main() -> None:
        for case in cases:
            line = b"ab" + case + b"cd\n"
            path.write_bytes(gzip.compress(b"good\n" + line))
            async with agz.open(path, "rt") as file:
                assert await file.readline() == "good\n"
                with pytest.raises(UnicodeDecodeError) as want:
                    line.decode()
                with pytest.raises(UnicodeDecodeError) as raised:
                    await file.readline()
                assert raised.value.args == want.value.args

    asyncio.run(main())


# ---- places -------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", TEXTS)
def test_back_to_any_place_that_tell_gave(corpus: Path, run: Any, encoding: str) -> None:
    path = corpus / encoding
    draw = random.Random(12)

    async def main() -> None:
        for newline in NEWLINES:
            await places(newline)

    async def places(newline: str | None) -> None:
        async with agz.open(path, "rt", encoding=encoding, newline=newline) as file:
            places = []
            while True:
                place = await file.tell()
                line = await file.readline()
                places.append((place, line))
                if not line:
                    break
            for place, line in [*draw.choices(places, k=40), places[-1], places[0]]:
                assert await file.seek(place) == place
                assert await file.tell() == place
                assert await file.readline() == line

    run(main())


class Doled(Pieces):
    """Each read needs leave, of which the test gives as much as it likes."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data, 999)
        self.asked, self.leave = asyncio.Event(), asyncio.Semaphore(1_000_000)

    async def read(self, size: int = -1) -> bytes:
        self.asked.set()
        await self.leave.acquire()
        return await super().read(size)

    async def goes_on(self, task: asyncio.Task[Any]) -> bool:
        """Lets one read through; false if that was enough for the task."""
        self.asked.clear()
        self.leave.release()
        asked = asyncio.ensure_future(self.asked.wait())
        await asyncio.wait({task, asked}, return_when=asyncio.FIRST_COMPLETED)
        asked.cancel()
        return not task.done()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "gb18030", "utf-7"])
@pytest.mark.parametrize("call", ["read", "read some", "readline", "readlines", "buffer.read"])
def test_tell_while_a_read_runs(run: Any, encoding: str, call: str) -> None:
    """It says where that began, whenever it is asked, and does nothing to it."""
    line = "".join(random.Random(3).choices(LATIN.replace("\r", " ") + "名前имя😀", k=20_000))
    text = (line + "\r\nlast\n") * 2
    calls: dict[str, Callable[[Any], Awaitable[Any]]] = {
        "read": lambda file: file.read(),
        "read some": lambda file: file.read(25_000),
        "readline": lambda file: file.readline(),
        "readlines": lambda file: file.readlines(20_010),
        "buffer.read": lambda file: file.buffer.read(30_000),
    }

    async def begun(source: Doled) -> tuple[Any, int]:
        file = await agz.open(None, "rt", encoding=encoding, fileobj=source).open()
        assert await file.read(5_000) == line[:5_000]
        return file, await file.tell()

    async def main() -> None:
        packed = gzip.compress(text.encode(encoding), 1)
        file, place = await begun(Doled(packed))
        want = await calls[call](file)
        await file.close()

        file, place = await begun(source := Doled(packed))
        enough, source.leave = source.leave, asyncio.Semaphore(0)
        task = asyncio.ensure_future(calls[call](file))
        places = set()
        while await source.goes_on(task):
            places.add(await file.tell())
        assert await task == want
        assert places == {place}
        source.leave = enough
        assert await file.seek(place) == place
        assert await file.read(9) == line[5_000:5_009]
        await file.close()

    run(main())


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "gb18030", "utf-7"])
@pytest.mark.parametrize("size", [50, -1])
def test_tell_while_a_seek_runs(run: Any, encoding: str, size: int) -> None:
    """It says where that began, which is where no more is decoded ahead too."""
    text = "naïve, 名前\n" * 2_000

    async def main() -> None:
        source = Gate(gzip.compress(text.encode(encoding), 0))
        source.seek = lambda offset, whence: setattr(source, "pos", offset)  # type: ignore[attr-defined]
        source.opened.set()
        file = await agz.open(None, "rt", encoding=encoding, fileobj=source, chunk_size=500).open()
        read = await file.read(size)
        place = await file.tell()
        source.opened.clear()
        task = asyncio.ensure_future(file.seek(4_000))
        await source.entered.wait()
        assert await file.tell() == place
        source.opened.set()
        await task
        await file.seek(place)
        assert read + await file.read() == text
        await file.close()

    run(main())


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "ascii"])
def test_places_are_byte_offsets(corpus: Path, run: Any, encoding: str) -> None:
    path = corpus / encoding

    async def main() -> None:
        async with agz.open(path, "rt", encoding=encoding, newline="") as file:
            passed = 0
            for n in (1, 10, 1000, 100_000):
                passed += len((await file.read(n)).encode(encoding))
                assert await file.tell() == passed
                passed += len((await file.readline()).encode(encoding))
                assert await file.tell() == passed
            end = await file.seek(0, 2)
            assert end == len(TEXTS[encoding].encode(encoding)) == await file.tell()
            assert await file.read() == ""
            assert await file.seek(0, 1) == end

    run(main())


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-8-sig", "iso2022_jp"])
def test_offsets_behind_a_byte_order_mark(tmp_path: Path, run: Any, encoding: str) -> None:
    """A plain offset is one in the middle of the text: no mark stands there."""
    head, tail = "one 名前\n", "zwei 名前\n"
    path = tmp_path / "f.gz"
    path.write_bytes(gzip.compress((head + tail).encode(encoding)))
    offset = len(head.encode(encoding))

    async def main() -> None:
        async with agz.open(path, "rt", encoding=encoding) as file:
            assert await file.seek(offset) == offset
            assert await file.read() == tail
            assert await file.tell() == len((head + tail).encode(encoding))
            assert await file.seek(0, 2) == await file.tell()
            await file.seek(0)
            assert await file.readline() == head

    run(main())


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_seek_past_the_end_gives_the_place_it_was_asked_for(
    corpus: Path, run: Any, encoding: str
) -> None:
    async def main() -> None:
        async with agz.open(corpus / encoding, "rt", encoding=encoding) as file:
            assert await file.seek(10**9) == 10**9
            assert await file.read() == ""

    run(main())


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_batch_ends_where_it_has_reached_its_hint(
    tmp_path: Path, run: Any, encoding: str
) -> None:
    lines = ["\n", "\n", "ab\n", "\n", "abcdef\n", "c"]
    path = tmp_path / "f.gz"
    path.write_bytes(gzip.compress("".join(lines).encode(encoding)))

    async def main() -> None:
        for hint in (1, 2, 3, 4, 100):
            async with agz.open(path, "rt", encoding=encoding) as file:
                batches = [batch async for batch in file.iter_batches(hint)]
            assert [line for batch in batches for line in batch] == lines
            for batch in batches[:-1]:
                assert sum(map(len, batch)) >= hint > sum(map(len, batch[:-1]))

    run(main())


def test_seeks_that_text_has_not(corpus: Path, run: Any) -> None:
    async def main() -> None:
        async with agz.open(corpus / "utf-8", "rt") as file:
            await file.readline()
            at = await file.tell()
            for offset, whence in ((1, 1), (-1, 1), (1, 2), (-1, 2)):
                with pytest.raises(io.UnsupportedOperation):
                    await file.seek(offset, whence)
            with pytest.raises(ValueError, match="whence"):
                await file.seek(0, 3)
            for wrong in (1.0, "0", None):
                with pytest.raises(TypeError):
                    await file.seek(wrong)
            assert await file.tell() == at
        for offset, whence in ((1, 1), (4, 2), (0, 3)):
            with pytest.raises(ValueError, match="closed"):
                await file.seek(offset, whence)

    run(main())


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("piece", [None, 3])
def test_a_seek_to_the_end_that_meets_a_fault(
    tmp_path: Path, run: Any, encoding: str, piece: int | None
) -> None:
    """Stays where it was, and a second one goes behind what is left, as with read(). Of much
    that is passed over nothing is kept."""

    async def opened(size: int) -> agz.AsyncGzipTextFile:
        packed = gzip.compress(("one\ntwo\n" + "x" * size).encode(encoding))[:-1]
        path = tmp_path / "f.gz"
        path.write_bytes(packed)
        source = None if piece is None else Pieces(packed, piece)
        where = path if piece is None else None
        return await agz.open(where, "rt", encoding=encoding, fileobj=source).open()

    async def main() -> None:
        file = await opened(10)
        await file.readline()
        for _ in range(2):
            place = await file.tell()
            with pytest.raises(EOFError):
                await file.seek(0, 2)
            assert await file.tell() == place
            assert await file.readline() == "two\n"
            assert await file.seek(0, 2) == len(("one\ntwo\n" + "x" * 10).encode(encoding))
            for call in (file.read, lambda: file.seek(0, 2)):
                with pytest.raises(OSError, match="broken"):
                    await call()
            await file.seek(0)
            await file.readline()
        await file.close()

        file = await opened(5_000_000)
        with pytest.raises(EOFError):
            await file.seek(0, 2)
        with pytest.raises(OSError, match="broken"):
            await file.read()
        await file.close()

    run(main())


# ---- arguments, states --------------------------------------------------------------------


def test_arguments(tmp_path: Path) -> None:
    path = tmp_path / "f.gz"
    for wrong, error in (
        ({"newline": "\n\n"}, ValueError),
        ({"newline": "x"}, ValueError),
        ({"encoding": ""}, ValueError),
        ({"encoding": 8}, TypeError),
        ({"encoding": "no such"}, LookupError),
        ({"encoding": "base64"}, LookupError),
        ({"chunk_size": 0}, ValueError),
        ({"chunk_size": 1.0}, TypeError),
        ({"chunk_size": (128 << 20) + 1}, ValueError),
        ({"max_decompressed_size": 0}, ValueError),
        ({"strict_size": 1}, TypeError),
        ({"fast_compress": 0}, TypeError),
        ({"closefd": 1}, TypeError),
    ):
        with pytest.raises(error):
            agz.open(path, "rt", **wrong)
    for mode in ("", "rbt", "rw", "rr", "t", "q", "r t", "U"):
        with pytest.raises(ValueError):  # noqa: PT011 - each has words of its own
            agz.open(path, mode)
    with pytest.raises(TypeError):
        agz.open(path, 5)  # type: ignore[call-overload]
    for name in ("encoding", "errors", "newline"):
        with pytest.raises(ValueError, match=name):
            agz.open(path, "rb", **{name: "\n"})
    for name in ("", None):
        with pytest.raises(ValueError, match=r"(?i)filename"):
            agz.open(name)
    with pytest.raises(TypeError):
        agz.open(5)  # type: ignore[call-overload]


def test_states(tmp_path: Path, run: Any) -> None:
    path = tmp_path / "f.gz"
    path.write_bytes(gzip.compress(source_text(1000), mtime=7))

    async def main() -> None:
        file = agz.open(path, "rt")
        with pytest.raises(ValueError, match="not opened"):
            await file.readline()
        with pytest.raises(ValueError, match="not opened"):
            assert file.buffer
        async with file:
            assert isinstance(file.buffer, agz.AsyncGzipBinaryFile)
            assert (file.encoding, file.errors, file.name) == ("utf-8", "strict", path)
            await file.read()
            assert file.mtime == 7
            with pytest.raises(OSError, match="not open for writing"):
                await file.write("text")
            for size in (0, -1, 1.5, True):
                with pytest.raises((ValueError, TypeError)):
                    file.iter_batches(size)  # type: ignore[arg-type]
        assert file.closed
        for call in (file.read, file.readline, file.readlines, file.tell):
            with pytest.raises(ValueError, match="closed"):
                await call()
        assert [line async for line in file] == []
        assert "f.gz" in repr(file)

    run(main())
