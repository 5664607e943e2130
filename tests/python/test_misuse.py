"""Wrong arguments, wrong states, and both at once: the same kind of error as aiogzip's, and the
same one first, or what docs/migration.md says instead."""

import asyncio
import gzip
import itertools
import random
from collections.abc import Awaitable, Callable, Iterator
from enum import IntEnum
from pathlib import Path, PurePosixPath
from typing import Any

import agz
import aiogzip
import pytest
from support import Gate, Pieces, python, suspended


class One(IntEnum):
    ONE = 1


class Index:
    def __index__(self) -> int:
        return 5


VALUES = [
    *(None, True, False, 0, 1, -1, 9, 10, 128 << 20, (128 << 20) + 1, 2**70, 1.5, -1.0, 2.0**32),
    *("", "1", "\n", "\r\n", "x", "a\0b", "utf-8", "strict", b"", b"1", b"a\0b"),
    *(One.ONE, Index(), [], object(), float("nan"), PurePosixPath("p"), bytearray(b"x")),
]
OPTIONS = [
    *("filename", "fileobj", "closefd", "chunk_size", "compresslevel", "mtime", "encoding"),
    *("original_filename", "max_decompressed_size", "max_rewind_cache_size", "errors", "newline"),
    *("strict_size", "fast_compress", "mode"),
]
WRONG = {
    **{"filename": 3, "closefd": 3, "chunk_size": 0, "compresslevel": 77, "mtime": -1},
    **{"original_filename": "\0", "max_decompressed_size": 1.5, "max_rewind_cache_size": 0},
    **{"strict_size": 0, "fast_compress": 3, "mode": "q", "encoding": "", "newline": "x"},
}


def kind(error: BaseException) -> type[BaseException]:
    """Its class, or the nearest that agz has not made itself."""
    return next(base for base in type(error).__mro__ if not base.__module__.startswith("a"))


def opened(package: Any, options: dict[str, Any]) -> Any:
    try:
        file = package.open(**{"filename": "x.gz", **options})
    except Exception as error:
        return kind(error)
    return file.name, file.closed, file.readable(), file.seekable()


def test_each_option_alone() -> None:
    for mode in ("rb", "wb", "rt", "wt"):
        for option, value in itertools.product(OPTIONS, VALUES):
            options = {"mode": mode, option: value}
            assert opened(agz, options) == opened(aiogzip, options), options


def test_a_name_of_bytes_is_not_compared_with_str() -> None:
    code = 'import agz; print([agz.open(b"", mode).name for mode in ("rb", "wb", "rt", "wt")])'
    assert python(code, flags="-bb") == "[b'', b'', b'', b'']\n"


def test_modes() -> None:
    for letters in itertools.chain(*(itertools.product("rwabt+U", repeat=n) for n in range(5))):
        options = {"mode": "".join(letters)}
        assert opened(agz, options) == opened(aiogzip, options), options


@pytest.mark.parametrize("mode", ["rb", "wb", "wt"])
def test_which_of_two_wrong_options_is_told(mode: str) -> None:
    for pair in itertools.combinations(WRONG, 2):
        options = {"mode": mode, **{option: WRONG[option] for option in pair}}
        assert opened(agz, options) == opened(aiogzip, options), pair


def test_encodings_that_are_none_of_text() -> None:
    """aiogzip takes them, and fails later."""
    for encoding in ("rot13", "hex"):
        with pytest.raises(LookupError, match="text encoding"):
            agz.open("x.gz", "rt", encoding=encoding)


# ---- calls ------------------------------------------------------------------------------------

SIZES: list[Any] = [-7, 0, True, "1", 2**70]
CALLS: list[tuple[Any, ...]] = [
    *itertools.product(("read", "readline", "readlines", "read1", "peek"), SIZES),
    *itertools.product(("readinto", "readinto1"), (b"x", 3, None, bytearray(3))),
    *itertools.product(("write", "writelines"), (3, None, [3])),
    *(("seek", offset) for offset in (0, 1, -1, True, 2**70, -(2**70))),
    *(("seek", *where) for where in itertools.product((0, 1, -1), (1, 2, 3, -1))),
    *((name,) for name in ("tell", "flush", "rewind", "truncate", "detach", "fileno", "raw")),
    *((name,) for name in ("__enter__", "__iter__", "open", "isatty", "seekable")),
    ("__exit__", None, None, None),
    *itertools.product(("iter_batches",), (0, True, "1", None)),
]


async def outcome(file: Any, name: str, *args: Any) -> Any:
    try:
        value = getattr(file, name)(*args)
        if hasattr(value, "__await__"):
            value = await value
    except Exception as error:
        return kind(error), str(error)[:20] if kind(error) is ValueError else ""
    plain = isinstance(value, (int, str, bytes, list)) and name != "fileno"
    return value if plain else type(value).__name__


class Fails:
    """Gives half a file, and takes a header."""

    def __init__(self) -> None:
        self.calls, self.data = 0, gzip.compress(b"text\n" * 100)

    async def read(self, size: int = -1) -> bytes:
        self.calls += 1
        if self.calls == 2:
            raise OSError("no more")
        return self.data[:20]

    async def seek(self, offset: int, whence: int) -> int:
        self.calls = 0
        return offset

    async def write(self, data: bytes) -> int:
        self.calls += 1
        if self.calls > 1:
            raise OSError("no more")
        return len(data)


async def new(package: Any, mode: str, path: Path) -> Any:
    return package.open(path, mode)


async def fresh(package: Any, mode: str, path: Path) -> Any:
    return await package.open(path, mode).open()


async def closed(package: Any, mode: str, path: Path) -> Any:
    file = await fresh(package, mode, path)
    await file.close()
    return file


async def broken(package: Any, mode: str, path: Path) -> Any:
    """Its source, or its sink, has failed."""

    file = await package.open(None, mode, fileobj=Fails()).open()
    with pytest.raises(OSError, match="no more"):
        if file.readable():
            await file.read()
        else:
            await file.write("text" if "t" in mode else b"text")
            await file.flush()
    return file


class Stubborn(Pieces):
    """Its seek() fails once, or waits once until it is cancelled; it has not moved then."""

    def __init__(self, data: bytes, fails: bool) -> None:
        super().__init__(data, 50)
        self.fails, self.reached = fails, asyncio.Event()

    async def seek(self, offset: int, whence: int = 0) -> int:
        if not self.reached.is_set():
            self.reached.set()
            if self.fails:
                raise OSError("not now")
            await asyncio.Event().wait()
        self.pos = offset
        return offset


@pytest.mark.parametrize("mode", ["rb", "rt"])
@pytest.mark.parametrize("fails", [True, False])
def test_a_source_that_does_not_go_back_at_first(mode: str, fails: bool) -> None:
    """Its tell() shows that it has not moved: nothing is broken, nothing lost."""
    lines = [b"%d\n" % n for n in range(1000)]

    async def main(package: Any) -> list[Any]:
        source = Stubborn(gzip.compress(b"".join(lines)), fails)
        async with package.open(None, mode, fileobj=source) as file:
            got = [await file.readline()]
            going = asyncio.ensure_future(file.seek(0))
            await source.reached.wait()
            if not fails:
                going.cancel()
            with pytest.raises(OSError if fails else asyncio.CancelledError):
                await going
            got += [await file.readline(), await file.seek(0), await file.readline()]
            return got

    got = asyncio.run(main(agz))
    assert got == asyncio.run(main(aiogzip))
    assert got[1] == (lines[1] if mode == "rb" else lines[1].decode())


# ---- a file object ----------------------------------------------------------------------------


async def waits() -> int:
    return 7


class Both(Pieces):
    async def write(self, data: bytes) -> int:
        return len(data)


SAID: dict[str, list[Any]] = {
    "fileno": [lambda: 7, lambda: "7", waits, lambda: waits(), None],
    "isatty": [lambda: True, lambda: [], waits, lambda: waits(), None, 5],
    "close": [lambda: 7, waits, lambda: waits(), None, 5],
    "flush": [lambda: 7, waits, lambda: waits(), None, 5],
    "seekable": [lambda: [7], lambda: 0, waits, None, 5],
}


@pytest.mark.parametrize("mode", ["rb", "rt", "wb", "wt"])
@pytest.mark.parametrize("verb", SAID)
@pytest.mark.filterwarnings("error")
def test_what_a_file_object_says(mode: str, verb: str) -> None:
    async def main(package: Any, method: Any) -> list[Any]:
        end = Both(gzip.compress(b"text"), 99)
        setattr(end, verb, method)
        got = []
        file = package.open(None, mode, fileobj=end, closefd=True)
        for step in ("tell", "open", "flush", "close", "close"):
            got.append(await outcome(file, step))
            got += [await outcome(file, name) for name in ("fileno", "isatty", "seekable")]
        return got

    for method in SAID[verb]:
        assert asyncio.run(main(agz, method)) == asyncio.run(main(aiogzip, method)), method


@pytest.mark.parametrize("mode", ["rb", "rt", "wb", "wt"])
@pytest.mark.parametrize("end", ["close", "with", "raise"])
def test_a_file_that_was_never_opened(mode: str, end: str) -> None:
    """It has not had its file object, and does not close it."""

    async def main(package: Any) -> list[Any]:
        source = Pieces(b"", 1)
        file = package.open(None, mode, fileobj=source, closefd=True)
        got = [await outcome(file, "isatty")]
        if end == "close":
            await file.close()
        elif end == "with":
            await file.__aexit__(None, None, None)
        else:
            await file.__aexit__(KeyError, KeyError(), None)
        for name in ("isatty", "tell", "open"):
            got.append(await outcome(file, name))
        with pytest.raises(ValueError, match=r"closed|not opened"):
            file.fileno()
        if "t" in mode:
            with pytest.raises(ValueError, match="not opened"):
                _ = file.buffer
        else:
            assert file.raw() is None
        return [*got, file.closed, source.closed]

    got = asyncio.run(main(agz))
    assert got == asyncio.run(main(aiogzip))
    assert got[-2:] == [True, 0]


@pytest.mark.parametrize("name", ["a\0b.gz", b"a\0b.gz", "\0/b.gz"])
def test_a_name_that_no_header_can_hold(name: str | bytes) -> None:
    for package in (agz, aiogzip):
        file = package.open(name, "wb", fileobj=Fails())
        with pytest.raises(ValueError, match="NUL"):
            asyncio.run(file.open())


def test_a_scan_and_the_close_after_it_fail() -> None:
    """The scan's error comes out, with a note of the other."""

    async def main(package: Any, scan: str) -> Any:
        source = Both(gzip.compress(b"text")[:-1], 99)
        source.close = lambda: 1 // 0  # type: ignore[assignment,method-assign]
        with pytest.raises(gzip.BadGzipFile) as raised:
            await getattr(package, scan)(None, fileobj=source, closefd=True)
        return raised.value.__notes__

    for scan in ("inspect", "verify"):
        assert asyncio.run(main(agz, scan)) == asyncio.run(main(aiogzip, scan))


@pytest.mark.parametrize("mode", ["rb", "rt", "wb"])
def test_a_body_and_the_close_after_it_fail(mode: str) -> None:
    """The close's error comes on top, as in io."""

    async def main(package: Any) -> Any:
        end = Both(gzip.compress(b"text"), 99)
        end.close = lambda: 1 // 0  # type: ignore[assignment,method-assign]
        with pytest.raises(ZeroDivisionError) as raised:
            async with package.open(None, mode, fileobj=end, closefd=True) as file:
                raise KeyError
        return type(raised.value.__context__), file.closed

    assert asyncio.run(main(agz)) == asyncio.run(main(aiogzip)) == (KeyError, True)


# ---- two calls at once ------------------------------------------------------------------------


async def during(package: Any, mode: str, encoding: str, name: str, args: tuple[Any, ...]) -> Any:
    """What flush() says while the call waits; tell() says where that began."""
    gate = Gate(gzip.compress("".join(f"{n}é\n" for n in range(2000)).encode(encoding)))
    gate.opened.set()
    options: dict[str, Any] = {"chunk_size": 64, "compresslevel": 0, "mtime": 0}
    if "t" in mode:
        options["encoding"] = encoding
    file = await package.open(None, mode, fileobj=gate, **options).open()
    if mode[0] == "r":
        await file.readline()
    else:
        await file.write("1é\n" if "t" in mode else b"1\n")
    before = await file.tell()
    gate.opened.clear()
    call = asyncio.ensure_future(getattr(file, name)(*args))
    await gate.entered.wait()
    place, flushed = await file.tell(), await outcome(file, "flush")
    gate.opened.set()
    await call
    if mode[0] == "r":
        await file.seek(before)
        line = await file.readline()
        await file.seek(place)
        assert package is aiogzip or line == await file.readline()
    else:
        assert place == before
    await file.close()
    return flushed


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "shift_jisx0213"])
@pytest.mark.parametrize("mode", ["rb", "rt", "wb", "wt"])
def test_the_place_while_a_call_waits(mode: str, encoding: str) -> None:
    """It is where the call began (aiogzip's goes along with some); flush() is refused."""
    many = "né\n" * 200_000
    calls: list[tuple[Any, ...]] = [("read",), ("read", 9000), ("readlines",), ("seek", 0, 2)]
    if mode[0] == "w":
        calls = [("write", many if "t" in mode else many.encode()), ("flush",)]
    for name, *args in calls:
        got = asyncio.run(during(agz, mode, encoding, name, tuple(args)))
        assert got == asyncio.run(during(aiogzip, mode, encoding, name, tuple(args))), name


@pytest.mark.parametrize("mode", ["wb", "wt"])
def test_a_file_that_is_being_opened(mode: str) -> None:
    """It is not open yet, and it is its opener's alone."""
    data: Any = "x" if mode == "wt" else b"x"
    calls: list[tuple[Any, ...]] = [
        *(("write", data), ("writelines", [data]), ("seek", 0), ("tell",), ("flush",)),
        *(("close",), ("__aexit__", None, None, None), ("__aexit__", KeyError, KeyError(), None)),
    ]

    async def main(package: Any) -> list[Any]:
        gate = Gate()
        file = package.open(None, mode, fileobj=gate, mtime=0)
        opening = asyncio.ensure_future(file.open())
        await gate.entered.wait()
        got = [await outcome(file, *call) for call in calls]
        with pytest.raises(package.ConcurrentOperationError):
            await file.open()
        gate.opened.set()
        await opening
        await file.write(data)
        await file.close()
        return [*got, gzip.decompress(gate.taken)]

    assert asyncio.run(main(agz)) == asyncio.run(main(aiogzip))


class Told(Pieces):
    """Notes what is asked of it; its second read() fails without a move."""

    def __init__(self, data: bytes, place: Any) -> None:
        super().__init__(data, 50)
        self.place, self.asked = place, list[str]()

    async def read(self, size: int = -1) -> bytes:
        self.asked.append("read")
        if self.asked.count("read") == 2:
            raise OSError("not now")
        return await super().read(size)

    async def seek(self, offset: int, whence: int = 0) -> int:
        self.asked.append("seek")
        self.pos = offset
        return offset

    def tell(self) -> Any:
        self.asked.append("tell")
        return self.pos if self.place is None else self.place

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("place", [None, 7, -1, True, "7"])
def test_what_a_source_says_of_its_place(place: Any) -> None:
    """It is asked before each read and seek, and after one that failed."""

    async def main(package: Any) -> list[Any]:
        source = Told(gzip.compress(b"text\n" * 100), place)
        file = package.open(None, fileobj=source)
        got = [file.isatty()]
        async with file:
            for call in (("read",), ("isatty",), ("read",), ("seek", 0), ("read",)):
                got.append(await outcome(file, *call))
        return [*got, file.isatty(), source.asked if place in (None, 7) else None]

    assert asyncio.run(main(agz)) == asyncio.run(main(aiogzip))


@pytest.mark.parametrize("mode", ["wb", "wt"])
def test_a_file_that_is_being_closed(mode: str) -> None:
    """It is closed for all but close()."""
    data: Any = "x" if mode == "wt" else b"x"

    async def main(package: Any) -> list[Any]:
        gate = Gate()
        gate.opened.set()
        file = await package.open(None, mode, fileobj=gate, mtime=0).open()
        await file.write(data)
        gate.opened.clear()
        closing = [asyncio.ensure_future(file.close()) for _ in range(2)]
        await gate.entered.wait()
        calls = [("write", data), ("writelines", [data]), ("seek", 0), ("read",)]
        calls += [("tell",), ("flush",), ("open",)]
        got = [file.closed, *[(await outcome(file, *call))[0] for call in calls]]
        gate.opened.set()
        await asyncio.gather(*closing)
        return [*got, gzip.decompress(gate.taken)]

    got = asyncio.run(main(agz))
    its = asyncio.run(main(aiogzip))
    assert its.pop(4) is OSError  # read(), in the wrong direction
    assert got.pop(4) is ValueError
    assert got == its


@pytest.mark.parametrize("mode", ["rb", "rt"])
@pytest.mark.parametrize("failure", [OSError, asyncio.CancelledError])
def test_a_reader_that_could_not_be_closed(mode: str, failure: type[BaseException]) -> None:
    """An exception ended the call; after that only seek(0) helps."""

    def fail() -> None:
        raise failure

    async def main(package: Any) -> list[Any]:
        source = Gate(gzip.compress(b"text\n" * 100))
        source.seek = lambda offset, whence: setattr(source, "pos", offset)  # type: ignore[attr-defined]
        source.close = fail  # type: ignore[attr-defined]
        got: list[Any] = []
        with pytest.raises((KeyError, asyncio.CancelledError)) as raised:
            async with package.open(None, mode, fileobj=source, closefd=True) as file:
                call = asyncio.ensure_future(file.read())
                await source.entered.wait()
                raise KeyError
        got += [type(raised.value), len(getattr(raised.value, "__notes__", ())), file.closed]
        source.opened.set()
        with pytest.raises(OSError, match="aborted"):
            await call
        got += [await outcome(file, *step) for step in (("read", 5), ("seek", 0), ("read", 5))]
        del source.close  # type: ignore[attr-defined]
        await file.close()
        return [*got, file.closed]

    got = asyncio.run(main(agz))
    assert got == asyncio.run(main(aiogzip))
    assert got[2] is False


def differs(state: str, mode: str, call: tuple[Any, ...]) -> bool:
    """What docs/migration.md tells."""
    verb, *args = call
    turned = verb.startswith("write") if mode[0] == "r" else verb in READS
    return (
        verb == "raw"
        # how much they give, and what is looked at first
        or (verb == "peek" and args[0] in (-7, 0, 2**70))
        or (state == "closed" and turned)
        # zeros without end
        or (mode[0] == "w" and call == ("seek", 2**70))
        # aiogzip forgets to look
        or (state == "new" and mode == "rt" and verb == "readline")
        # what the file refuses comes first
        or (state == "closing" and turned)
        or (state == "opening" and (turned or verb in ("fileno", "flush")))
        or (
            state in ("busy", "closing", "opening") and verb in WRITES and args[0] in (3, None, [3])
        )
        or (state == "busy" and mode[0] == "w" and verb == "seek")
        # sizes are looked at before anything else is
        or (state == "broken" and bool(args) and args[0] in ("1", b"x", 3, None, [3]))
    )


WRITES = ("write", "writelines")
READS = ("read", "readline", "readlines", "read1", "peek", "readinto", "readinto1")


def calls(mode: str, state: str) -> Iterator[tuple[Any, ...]]:
    for call in CALLS:
        if ("t" in mode) <= (hasattr(agz.AsyncGzipTextFile, call[0])) and not differs(
            state, mode, call
        ):
            yield call


@pytest.mark.parametrize("make", [new, fresh, closed, broken])
@pytest.mark.parametrize("mode", ["rb", "rt", "wb", "wt"])
def test_calls(tmp_path: Path, mode: str, make: Any) -> None:
    path = tmp_path / "f.gz"

    async def main() -> None:
        for call in calls(mode, make.__name__):
            got = []
            for package in (agz, aiogzip):
                path.write_bytes(gzip.compress(b"text\n" * 100))
                file = await make(package, mode, path)
                said = await outcome(file, *call)
                place = await outcome(file, "tell") if mode[1] == "b" else None
                got.append((said, place))
                await file.close()
            assert got[0] == got[1], (call, got)

    asyncio.run(main())


# ---- calls while another one runs -------------------------------------------------------------

NOISE = random.Random(7).randbytes(100_000)
RUNNING: dict[str, Callable[[Any], Awaitable[Any]]] = {
    "open": lambda file: file.open(),
    "read": lambda file: file.read(),
    "readline": lambda file: file.readline(),
    "readlines": lambda file: file.readlines(3),
    "anext": lambda file: anext(file),
    "seek": lambda file: file.seek(9),
    "write": lambda file: file.write(NOISE if "b" in file._mode else NOISE.hex()),
    "writelines": lambda file: file.writelines([NOISE if "b" in file._mode else NOISE.hex()]),
    "flush": lambda file: file.flush(),
    "close": lambda file: file.close(),
}


@pytest.mark.parametrize(
    ("mode", "running"),
    [
        *itertools.product(("rb", "rt"), ("read", "readline", "readlines", "anext", "seek")),
        *itertools.product(("wb", "wt"), ("open", "write", "writelines", "flush", "close")),
    ],
)
def test_calls_while_one_runs(mode: str, running: str) -> None:
    """tell() says where it began, and what is being closed is closed."""

    async def main() -> None:
        state = {"open": "opening", "close": "closing"}.get(running, "busy")
        for call in calls(mode, state):
            got = []
            for package in (agz, aiogzip):
                gate = Gate(gzip.compress(b"text\n" * 100))
                file = package.open(None, mode, fileobj=gate)
                if running != "open":
                    gate.opened.set()
                    await file.open()
                if running != "open" and mode[0] == "w":
                    await file.write(b"text" if mode == "wb" else "text")
                    await file.flush()
                    await file.write(b"more" if mode == "wb" else "more")
                gate.opened.clear()
                task = await suspended(RUNNING[running](file))
                said = await outcome(file, *call), file.closed
                gate.opened.set()
                given = await task
                place = await outcome(file, "tell") if mode != "rt" else None
                got.append((said, None if given is file else given, place))
                await file.close()
            assert got[0] == got[1], (call, got)

    asyncio.run(main())
