"""Random programs of calls, on agz, on aiogzip and on io over gzip: same results, same errors.

Where a witness differs from agz, `differs()` says why it may, and docs/migration.md says so
too; the other one then has to agree. A witness that differed is led to where agz stands, or
is not asked again if it cannot go there.

A few seconds of the same programs every time; with AGZ_DIFFERENTIAL_SECONDS that long, from
the seed AGZ_DIFFERENTIAL_SEED (1) on.
"""

import asyncio
import gzip
import io
import itertools
import os
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import agz
import aiogzip
import pytest
from hypothesis import given, seed
from hypothesis import strategies as st
from support import QUICK, UNTIMED, Pieces

SECONDS = float(os.environ.get("AGZ_DIFFERENTIAL_SECONDS", "0"))
SEED = int(os.environ.get("AGZ_DIFFERENTIAL_SEED", "1"))
KINDS = 4  # of programs, which share the time

pytestmark = pytest.mark.timeout(SECONDS + 120)


def explore(body: Callable[..., None], **strategies: Any) -> None:
    if not SECONDS:
        QUICK(given(**strategies)(body))()
        return
    end = time.monotonic() + SECONDS / KINDS
    for n in itertools.count(SEED):
        if time.monotonic() > end:
            break
        print(f"seed {n}")
        seed(n)(UNTIMED(given(**strategies)(body)))()


# ---- sources and sinks that can hold a call up ---------------------------------------------


class Held:
    """Lets `left` of its calls through; the others wait until the caller was cancelled."""

    left = 1 << 60

    async def wait(self) -> None:
        await asyncio.sleep(0)
        if self.left == 0:
            self.reached.set()
            await self.gate.wait()
        self.left -= 1

    async def cancel(self, call: Any, left: int) -> "Outcome":
        """The call, cancelled when it needs more than `left` of this one's."""
        self.left, self.reached, self.gate = left, asyncio.Event(), asyncio.Event()
        task, reached = asyncio.ensure_future(call), asyncio.ensure_future(self.reached.wait())
        await asyncio.wait([task, reached], return_when=asyncio.FIRST_COMPLETED)
        task.cancel()
        reached.cancel()
        try:
            return "value", await task
        except asyncio.CancelledError:
            return "cancelled", None
        finally:
            self.left = 1 << 60
            self.gate.set()


class Source(Held, Pieces):
    """Tells where it stands."""

    async def read(self, size: int = -1) -> bytes:
        await self.wait()
        return await super().read(size)


class Seeking(Source):
    def seek(self, offset: int, whence: int = 0) -> int:
        self.pos = offset
        return offset


class Stream(Source):
    """Has nothing but read()."""

    tell = None  # type: ignore[assignment]


class Sink(Held):
    """Takes `size` bytes at a time."""

    def __init__(self, size: int) -> None:
        self.size, self.data = size, b""

    async def write(self, data: bytes) -> int:
        await self.wait()
        self.data += data[: self.size]
        return min(len(data), self.size)


# ---- what a call gave ---------------------------------------------------------------------

Outcome = tuple[str, Any]
FAULTS = ("damaged", "undecodable", "limit")


def family(error: Exception) -> str:
    if str(error).startswith("decompressed output exceeded max_decompressed_size"):
        return "limit"
    for kinds, name in (
        ((gzip.BadGzipFile, EOFError, zlib.error), "damaged"),
        (UnicodeEncodeError, "UnicodeError"),
        (UnicodeError, "undecodable"),
        (OSError, "OSError"),
        (AttributeError, "OSError"),  # GzipFile.readline() of a writer
        (TypeError, "TypeError"),
        (ValueError, "ValueError"),
    ):
        if isinstance(error, kinds):
            return name
    raise error


class Subject:
    """A file of one of the three, and the places that its tell() gave."""

    def __init__(self, file: Any, text: bool, end: Any = None) -> None:
        self.file, self.text, self.end = file, text, end
        package = type(file).__module__.partition(".")[0]
        self.is_async = package in ("agz", "aiogzip")
        self.name = package if self.is_async else "io"
        self.places: list[Any] = []
        # Whether it stands where it was not led by reading on, or by tell() and seek().
        self.astray = False
        self.cut = False  # a write was cancelled: nobody knows what its sink has

    async def plain(self, verb: str, *args: Any) -> Any:
        if verb == "open":
            return await self.file.__aenter__() is None if self.is_async else False
        if verb == "next":
            empty = "" if self.text else b""
            return await anext(self.file, empty) if self.is_async else self.file.readline()
        if verb == "batch" and self.is_async:
            return await anext(self.file.iter_batches(*args), [])
        if verb == "batch":  # which ends where its hint is reached
            if args[0] > 1:
                return self.file.readlines(args[0] - 1)
            return [line for line in [self.file.readline()] if line]
        if verb in ("readinto", "readinto1"):
            target = bytearray(*args)
            return bytes(target[: await self.plain(verb + "_", target)])
        if verb in ("closed", "newlines"):
            return getattr(self.file, verb)
        if verb == "failing":  # writelines() of an iterator that fails

            def lines() -> Any:
                yield from args[0]
                raise KeyError

            try:
                return await self.plain("writelines", lines())
            except KeyError:
                return "KeyError"
        if not self.is_async and args == (None,) and verb != "read":
            args = ()
        value = getattr(self.file, verb.rstrip("_"))(*args)
        return await value if hasattr(value, "__await__") else value

    async def call(self, verb: str, *args: Any) -> Outcome:
        try:
            if verb == "place":
                self.places.append(None)
                self.places[-1] = await self.plain("tell")
                return "value", None
            if verb == "back":
                place = self.places[args[0] % len(self.places)] if self.places else 0
                if place is None:
                    return "lost", None
                await self.plain("seek", place)
                return "value", None
            if verb == "cancel":
                left, inner, *rest = args
                if self.end is None:
                    return "value", await self.plain(inner, *rest)
                said: Outcome = await self.end.cancel(self.plain(inner, *rest), left)
                return said
            value = await self.plain(verb, *args)
            if verb == "seek" and self.text:
                self.astray = args != (0,)
            return "value", value
        except Exception as error:
            # Of a closed file there is more than one thing wrong.
            return "error", "closed" if self.file.closed else family(error)

    async def drain(self) -> Outcome:
        await self.call("seek", 0)
        return await self.call("read", -1)


# ---- what a witness may say ----------------------------------------------------------------


BACKWARDS = ("seek", "back", "rewind")
AT_HAND = ("read1", "readinto1", "peek")  # How much that is differs; what comes does not.


async def opinion(witness: Subject, verb: str, args: Any, got: Outcome) -> Outcome:
    """What a witness gives for the call that gave `got` to agz."""
    if verb == "cancel" and got[0] == "cancelled" and not witness.is_async:
        return got
    if verb == "cancel" and (witness.end is None or args[1] in AT_HAND):
        return await opinion(witness, args[1], args[2:], got)
    if verb in ("read1", "readinto1") and got[0] == "value" and args[0] != 0:
        return await witness.call("read", len(got[1]) or 1)
    if verb in ("detach", "open") and witness.name == "io":
        return got  # io detaches text, and opens nothing twice
    said = await witness.call(verb, *args)
    if verb == "peek" and said[0] == got[0] == "value" and bool(said[1]) == bool(got[1]):
        shorter = min(len(said[1]), len(got[1]))
        return got if said[1][:shorter] == got[1][:shorter] else said
    if verb == "place" and said[0] == "error":
        return got  # it will have lost the place
    if witness.name == "io" and witness.file.writable() and (said[0], verb) == ("value", "seek"):
        return got  # CPython 3.12 does not count what it holds
    tells = verb == "tell" or (verb == "seek" and args[1:] == [1])
    if tells and said[0] == "error" and witness.name == "io" and witness.text:
        return got  # as always after readlines()
    return said


def is_odd(verb: str, args: Any) -> bool:
    """Whether agz, as io, refuses the call before anything is read, but aiogzip does not."""
    reads = verb in ("read", "readline", "readlines")
    return reads and any(arg is None or isinstance(arg, (str, float)) for arg in args)


def differs(
    witness: Subject, verb: str, args: Any, got: Outcome, said: Outcome, seekable: bool
) -> bool:
    """Whether docs/migration.md has it, or, of io, whether agz is as aiogzip there."""
    if said[0] == "lost":
        return True
    if verb == "cancel":
        if "cancelled" in (got[0], said[0]):  # what a call needs of its source differs
            return True
        verb, args = args[1], args[2:]
    ints = [arg for arg in args if isinstance(arg, int)]
    if witness.name == "io":
        before_the_start = verb == "seek" and ints[0] < 0
        no_way_back = verb in BACKWARDS and not seekable
        if verb == "newlines" and not seekable:
            return True
        return got == ("error", "OSError") and (before_the_start or no_way_back)
    if witness.text and witness.astray:
        return True
    if verb == "readlines" and ints and said[0] == got[0] == "value":
        return bool(got[1][: len(said[1])] == said[1] and sum(map(len, said[1])) >= ints[0] > 0)
    if is_odd(verb, args):
        return True
    if verb == "tell" and witness.text and got[0] == said[0] == "value":
        return True
    # One has read further, and lost what the cache holds no more.
    return verb in (*BACKWARDS, "newlines") and not (seekable and witness.file.seekable())


def breaks(witness: Subject, verb: str, args: Any, got: Outcome) -> bool:
    """Whether aiogzip has lost something in the call, though it gave the same."""
    if witness.name == "io":
        return False
    if got[0] == "cancelled":
        return args[1] in BACKWARDS or isinstance(witness.end, Stream)
    return is_odd(verb, args)


async def follow(witness: Subject, subject: Subject) -> bool:
    """Leads the witness to where agz stands."""
    if subject.file.writable() or (witness.text and subject.astray):
        return False
    place = await subject.call("tell")
    if place[0] == "error" or place[1] < 0:
        return False
    if place[1] and witness.text and subject.file.errors != "strict":
        return False
    await witness.call("seek", 0)  # which mends it too
    return await witness.call("seek", place[1]) == place


async def start_again(subject: Subject, witnesses: list[Subject], where: Any) -> bool:
    """Whether agz is at the start again after a fault, with the witnesses that are."""
    for one in (subject, *list(witnesses)):
        one.places, one.astray = [], False
        if await one.call("seek", 0) == ("value", 0):
            continue
        assert not one.file.seekable(), (one.name, where)
        if one is subject:
            return False
        witnesses.remove(one)
    return True


async def fail_alike(subject: Subject, witnesses: list[Subject], where: Any) -> bool:
    """One met a fault: all do. Whether agz is at the start again then."""
    if not subject.file.seekable():
        return False
    astray, fault = subject.astray, await subject.drain()
    assert fault[1] in FAULTS or (astray and fault[0] == "value"), where
    for witness in list(witnesses):
        said = await witness.drain()
        if witness.name == "io" and said[0] == "value" and not said[1]:
            witnesses.remove(witness)  # seek(0) does not always mend a GzipFile
            continue
        either = "limit" in (fault[1], said[1]) and said[1] in FAULTS  # the stream has both
        assert said == fault or either or not witness.file.seekable(), (said, fault, where)
    return await start_again(subject, witnesses, where)


async def compare(subject: Subject, witnesses: list[Subject], program: list[Any]) -> None:
    for n, (verb, *args) in enumerate(program):
        if subject.file.closed and (verb == "newlines" or "next" in (verb, *args)):
            continue  # `async for` ends, `for` raises; io had read further
        got = await subject.call(verb, *args)
        if got == ("lost", None):
            continue
        opinions: dict[str, Outcome] = {}
        where = (n, verb, args, got, opinions)
        failed = got[0] == "error" and got[1] in FAULTS
        agreed = False
        for witness in list(witnesses):
            if failed:
                break
            said = await opinion(witness, verb, args, got)
            if said[0] != "lost":
                opinions[witness.name] = said
            subject.cut |= subject.file.writable() and "cancelled" in (got[0], said[0])
            failed = said[0] == "error" and said[1] in FAULTS
            agreed = agreed or said == got
            if failed or (said == got and not breaks(witness, verb, args, got)):
                continue
            may = said == got or differs(witness, verb, args, got, said, subject.file.seekable())
            assert may, where
            if not await follow(witness, subject):
                witnesses.remove(witness)
        if subject.cut or (failed and not await fail_alike(subject, witnesses, where)):
            return
        # How far back a stream can go, each package has to itself.
        alone = {verb, *args[1:2]} & {*BACKWARDS} and not subject.file.seekable()
        assert agreed or failed or alone or len(opinions) < 2, where


async def run(subject: Subject, witnesses: list[Subject], program: list[Any]) -> None:
    try:
        await compare(subject, list(witnesses), [("open",), *program])
    finally:
        for one in (subject, *witnesses):
            await one.call("close")


# ---- reading ------------------------------------------------------------------------------

sizes = st.sampled_from([-1, 0, 1, 2, 3, 7, 100, 5000, 8192, 100_000])
steps = st.one_of(
    st.tuples(st.sampled_from(["read", "readline", "readlines"]), sizes),
    st.tuples(st.sampled_from(["next", "place", "next", "place"])),
    st.tuples(st.just("back"), st.integers(0, 9)),
    st.tuples(st.just("seek"), st.just(0)),
)
odd = st.one_of(
    st.tuples(st.just("seek"), st.integers(-3, 12), st.integers(0, 3)),
    st.tuples(
        st.sampled_from(["read", "readline", "readlines"]), st.sampled_from([None, "a", 1.5])
    ),
    st.tuples(st.sampled_from(["flush", "close", "place", "closed", "open"])),
    st.tuples(st.sampled_from(["truncate", "detach"])),
    st.sampled_from([("write", "a"), ("writelines", ["a"])]),
)
text_steps = st.one_of(steps, steps, st.tuples(st.just("batch"), sizes.filter(bool).map(abs)))
raw_steps = st.one_of(
    steps,
    st.tuples(st.sampled_from(["read1", "readinto", "readinto1", "peek"]), sizes.map(abs)),
    st.tuples(st.sampled_from(["tell", "rewind"])),
    st.tuples(st.just("seek"), st.sampled_from([0, 1, 5, 300, 20_000])),
    st.tuples(st.just("seek"), st.sampled_from([-5, 0, 3]), st.just(1)),
    st.tuples(st.just("seek"), st.sampled_from([-5, 0]), st.just(2)),
)


def cancelled(some: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    calls = some.filter(lambda step: step[0] not in ("place", "back"))
    return st.tuples(st.just("cancel"), st.integers(0, 3)).flatmap(
        lambda head: calls.map(lambda step: (*head, *step))
    )


def programs(some: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    often = st.one_of(some, some, some, cancelled(some))
    return st.one_of(st.lists(often, max_size=20), st.lists(st.one_of(often, odd), max_size=12))


WORDS = [
    "a",
    "b c",
    "\n",
    "\r",
    "\r\n",
    "äö",
    "\x85\v\f",
    "名前\u2028",
    "😀",
    "x" * 130,
    "é" * 5000,
]
ENCODINGS = ["utf-8", "ascii", "latin-1", "utf-16", "utf-16-le", "utf-32", "utf-8-sig", "gb18030",
             "shift_jis", "cp1252"]  # fmt: skip
texts = st.lists(st.sampled_from(WORDS), max_size=30).map("".join)
members = st.lists(
    st.binary(max_size=60) | texts.map(str.encode) | st.just(b"line\n" * 5000), max_size=3
)
encodings = st.fixed_dictionaries(
    {
        "encoding": st.sampled_from(ENCODINGS),
        "errors": st.sampled_from(["strict", "strict", "replace", "ignore", "surrogateescape"]),
        "newline": st.sampled_from([None, "", "\n", "\r", "\r\n"]),
    }
)
chunks = st.sampled_from([1, 19, 4096, 1 << 20])
bounds = st.fixed_dictionaries(
    {
        "chunk_size": chunks,
        "max_decompressed_size": st.sampled_from([None, None, None, 3, 200, 20_000]),
        "max_rewind_cache_size": st.sampled_from([None, None, 40]),
    }
)
sources = st.none() | st.tuples(
    st.sampled_from([Source, Source, Seeking, Stream]), st.sampled_from([1, 11, 4096])
)


def damaged(data: bytes, where: int) -> bytes:
    """As it is (0), cut, or with a byte changed."""
    if where > 0:
        return data[: len(data) - where]
    if where < 0 and data:
        at = where % len(data)
        return data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :]
    return data


damages = st.sampled_from([0, 0, 0, 1, 4, 9, -1, -6, -30])


def read(path: Path, source: Any, mode: str, plain: Any, program: Any, **options: Any) -> None:
    subjects = []
    for package in (agz, aiogzip):
        end = source and source[0](path.read_bytes(), source[1])
        file = package.open(None if source else path, mode, fileobj=end, **options)
        subjects.append(Subject(file, "t" in mode, end))
    witnesses = [Subject(plain, "t" in mode), subjects[1]]
    if options["max_decompressed_size"]:
        del witnesses[0]
    asyncio.run(run(subjects[0], witnesses, program))


def test_reading_bytes(tmp_path: Path) -> None:
    path = tmp_path / "data.gz"

    def body(members: list[bytes], damage: int, bounds: Any, source: Any, program: Any) -> None:
        path.write_bytes(damaged(b"".join(map(gzip.compress, members)), damage))
        with gzip.GzipFile(path) as plain:
            read(path, source, "rb", plain, program, **bounds)

    explore(
        body, members=members, damage=damages, bounds=bounds, source=sources,
        program=programs(raw_steps),
    )  # fmt: skip


def test_reading_text(tmp_path: Path) -> None:
    path = tmp_path / "text.gz"

    def body(text: str, options: Any, damage: int, bounds: Any, source: Any, program: Any) -> None:
        data = text.encode(options["encoding"], "ignore")
        path.write_bytes(damaged(gzip.compress(data), damage))
        with io.TextIOWrapper(gzip.GzipFile(path), **options) as plain:
            rest = [("seek", 0), ("read", -1), ("newlines",)]
            read(path, source, "rt", plain, [*program, *rest], **bounds, **options)

    explore(
        body, text=texts, options=encodings, damage=damages, bounds=bounds, source=sources,
        program=programs(text_steps),
    )  # fmt: skip


# ---- writing ------------------------------------------------------------------------------


writers = st.fixed_dictionaries(
    {
        "chunk_size": st.sampled_from([1, 19, 4096, 1 << 20]),
        "compresslevel": st.sampled_from([-1, 0, 1, 2, 6, 9]),
        "strict_size": st.booleans(),
        "mtime": st.just(0),
        "original_filename": st.sampled_from(["", "name"]),
    }
)
sinks = st.none() | st.sampled_from([50, 1 << 20])


def written(items: st.SearchStrategy[Any], wrong: list[Any]) -> st.SearchStrategy[Any]:
    lists = st.lists(items, max_size=5)
    calls = st.one_of(
        st.tuples(st.just("write"), items),
        st.tuples(st.just("writelines"), lists),
        st.just(("flush",)),
    )
    often = st.one_of(calls, calls, calls, st.sampled_from([("closed",), ("tell",)]))
    seldom = st.one_of(
        st.tuples(st.just("write"), st.sampled_from(wrong)),
        st.tuples(
            st.just("writelines"),
            st.tuples(lists, st.sampled_from(wrong)).map(lambda p: [*p[0], p[1]]),
        ),
        st.tuples(st.just("failing"), lists),
        st.tuples(st.sampled_from(["close", "next", "open", "truncate", "detach", "readlines"])),
        st.tuples(st.sampled_from(["read", "readline"]), st.just(1)),
        cancelled(calls),
    )
    return st.one_of(st.lists(often, max_size=20), st.lists(st.one_of(often, seldom), max_size=12))


def write(
    folder: Path, mode: str, program: list[Any], size: int | None, encoding: Any, **options: Any
) -> None:
    """The program on three files, or on two sinks and a file, and then what is in them."""
    paths = [folder / name for name in ("agz.gz", "aiogzip.gz", "io.gz")]
    for path in paths:
        path.unlink(missing_ok=True)
        if mode[0] == "a" and size is None:
            path.write_bytes(gzip.compress(b"first", mtime=0))
    text = "t" in mode
    subjects = []
    for package, path in zip((agz, aiogzip), paths, strict=False):
        sink = None if size is None else Sink(size)
        file = package.open(path, mode, fileobj=sink, **encoding, **options)
        subjects.append(Subject(file, text, sink))
    plain: Any = gzip.GzipFile(paths[2], mode[0] + "b")
    if text:
        plain = io.TextIOWrapper(plain, **encoding)
    asyncio.run(run(subjects[0], [Subject(plain, text), subjects[1]], program))
    packed = [
        path.read_bytes() if one.end is None else one.end.data
        for one, path in zip(subjects, paths, strict=False)
    ]
    # Stored blocks are as long as zlib's buffers were; an idle flush adds nothing in agz.
    same = options["compresslevel"] and not any("flush" in step for step in program)
    if subjects[0].cut:
        short, long = sorted(packed, key=len)
        assert long.startswith(short) or not same
        return
    found = [gzip.decompress(data) for data in (*packed, paths[2].read_bytes())]
    if encoding.get("encoding", "utf-8") == "utf-8":
        assert found[0] == found[1] == found[2]
        assert packed[0] == packed[1] or not same
    else:  # which parts of what cannot be encoded are written: as one of them
        assert found[0] in found[1:]


def test_writing_bytes(tmp_path: Path) -> None:
    items = st.binary(max_size=50) | st.just(b"0123456789" * 400) | st.just(memoryview(b"ab" * 9))
    seeks = st.tuples(st.just("seek"), st.sampled_from([0, 3, 40, 30_000]), st.sampled_from([0, 1]))
    calls = st.tuples(written(items, ["text", 1, None]), st.lists(seeks | st.just(("rewind",))))

    def body(mode: str, options: Any, size: int | None, calls: Any, order: Any) -> None:
        program = [*calls[0], *calls[1]]
        order.shuffle(program)
        write(tmp_path, mode, program, size, {}, **options)

    explore(
        body, mode=st.sampled_from(["wb", "ab", "xb", "w", "xb+"]), options=writers, size=sinks,
        calls=calls, order=st.randoms(use_true_random=False),
    )  # fmt: skip


def test_writing_text(tmp_path: Path) -> None:
    items = st.lists(st.sampled_from(WORDS), max_size=4).map("".join)

    def body(mode: str, encoding: Any, options: Any, size: int | None, program: Any) -> None:
        write(tmp_path, mode, program, size, encoding, **options)

    explore(
        body, mode=st.sampled_from(["wt", "at", "xt", "at+"]), encoding=encodings, options=writers,
        size=sinks, program=written(items, [b"bytes", 1, None]),
    )  # fmt: skip
