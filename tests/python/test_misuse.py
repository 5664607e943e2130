"""Wrong arguments, wrong states, and both at once: the same kind of error as aiogzip's, and the
same one first, or what docs/migration.md says instead."""

import asyncio
import gzip
import itertools
from collections.abc import Iterator
from enum import IntEnum
from pathlib import Path, PurePosixPath
from typing import Any

import agz
import aiogzip
import pytest
from support import Pieces, python


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
        with pytest.raises(ValueError):
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
        # sizes are looked at before anything else is
        or (state == "broken" and bool(args) and args[0] in ("1", b"x", 3, None, [3]))
    )


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
