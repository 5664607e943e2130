"""Random programs of calls, on agz, on aiogzip and on io over gzip: same results, same errors.

io is right where the two others differ (docs/migration.md); where agz and io differ, agz
does as aiogzip. A witness that disagreed is not asked again: its state is another one.

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
from hypothesis import given, seed, settings
from hypothesis import strategies as st
from support import QUICK, Pieces

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
        plan = settings(database=None, deadline=None, max_examples=200)
        seed(n)(plan(given(**strategies)(body)))()


# ---- what a call gave ---------------------------------------------------------------------

Outcome = tuple[str, Any]
FAULTS = ("damaged", "undecodable")

# Calls that may part a witness from agz; the other one then has to agree.
MAY_DIFFER = {
    "aiogzip": ("readlines", "seek", "cancel", "back"),
    "io": ("seek",),
}


def family(error: Exception) -> str:
    for kinds, name in (
        ((gzip.BadGzipFile, EOFError, zlib.error), "damaged"),
        (UnicodeDecodeError, "undecodable"),
        (UnicodeError, "UnicodeError"),
        (OSError, "OSError"),
        (AttributeError, "OSError"),  # GzipFile.readline() of a writer
        (TypeError, "TypeError"),
        (ValueError, "ValueError"),
    ):
        if isinstance(error, kinds):
            return name
    raise error


class Barrier(Pieces):
    """A source that lets `left` reads through, and then waits for ever."""

    def __init__(self, data: bytes, size: int) -> None:
        super().__init__(data, size)
        self.left, self.waiting = 1 << 60, asyncio.Event()

    async def read(self, size: int = -1) -> bytes:
        if self.left == 0:
            self.waiting.set()
            await asyncio.Event().wait()
        self.left -= 1
        return await super().read(size)

    async def cancel(self, call: Any, left: int) -> Outcome:
        """The call, cancelled when it asks for more than `left` times."""
        self.left, self.waiting = left, asyncio.Event()
        task, waiting = asyncio.ensure_future(call), asyncio.ensure_future(self.waiting.wait())
        await asyncio.wait([task, waiting], return_when=asyncio.FIRST_COMPLETED)
        task.cancel()
        waiting.cancel()
        self.left = 1 << 60
        try:
            return "value", await task
        except asyncio.CancelledError:
            return "cancelled", None


class Subject:
    """A file of one of the three, and the places that its tell() gave."""

    def __init__(self, file: Any, text: bool, source: Barrier | None = None) -> None:
        self.file, self.source = file, source
        package = type(file).__module__.partition(".")[0]
        self.is_async = package in ("agz", "aiogzip")
        self.name = package if self.is_async else "io"
        self.text = text
        self.places: list[Any] = []

    async def plain(self, verb: str, *args: Any) -> Any:
        if verb == "open":
            return await self.file.__aenter__() is None if self.is_async else False
        if verb == "next":
            empty = "" if self.text else b""
            return await anext(self.file, empty) if self.is_async else self.file.readline()
        if verb in ("readinto", "readinto1"):
            target = bytearray(*args)
            return bytes(target[: await self.plain(verb + "_", target)])
        if verb == "closed":
            return self.file.closed
        if not self.is_async and args == (None,) and verb != "read":
            args = ()
        value = getattr(self.file, verb.rstrip("_"))(*args)
        return await value if self.is_async else value

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
                if self.source is None:
                    return "value", await self.plain(inner, *rest)
                return await self.source.cancel(self.plain(inner, *rest), left)
            return "value", await self.plain(verb, *args)
        except Exception as error:
            # Of a closed file there is more than one thing wrong.
            return "error", "closed" if self.file.closed else family(error)

    async def drain(self) -> Outcome:
        await self.call("seek", 0)
        return await self.call("read", -1)

    async def close(self) -> None:
        await self.call("close")


async def opinion(witness: Subject, verb: str, args: Any, got: Outcome) -> Outcome:
    """What a witness gives for the call that gave `got` to agz."""
    if verb == "cancel" and not witness.is_async:
        return got if got[0] == "cancelled" else await opinion(witness, args[1], args[2:], got)
    if verb in ("read1", "readinto1") and got[0] == "value" and args[0] != 0:
        # How much is at hand differs; what comes does not.
        return await witness.call("read", len(got[1]) or 1)
    said = await witness.call(verb, *args)
    if verb == "peek" and said[0] == got[0] == "value" and bool(said[1]) == bool(got[1]):
        shorter = min(len(said[1]), len(got[1]))
        return got if said[1][:shorter] == got[1][:shorter] else said
    if verb == "place" and said[0] == "error":
        return got  # it will have lost the place
    return said


async def compare(subject: Subject, witnesses: list[Subject], program: list[Any]) -> None:
    for n, (verb, *args) in enumerate(program):
        if verb == "next" and subject.file.closed:
            continue  # `async for` ends, `for` raises
        got = await subject.call(verb, *args)
        if got == ("lost", None):
            continue
        opinions: dict[str, Outcome] = {}
        where = (n, verb, args, got, opinions)
        if got[0] == "error" and got[1] in FAULTS:
            for witness in witnesses:
                opinions[witness.name] = await witness.drain()
                assert opinions[witness.name] == got, where
            return
        for witness in list(witnesses):
            said = opinions[witness.name] = await opinion(witness, verb, args, got)
            if said[0] == "error" and said[1] in FAULTS:
                # It looks further ahead: agz gets there too.
                assert await subject.drain() == said, where
                return
            if said != got:
                witnesses.remove(witness)
                odd = any(arg is None or isinstance(arg, (str, float)) for arg in args)
                assert odd or verb in MAY_DIFFER[witness.name], where
        assert witnesses, where


async def run(subject: Subject, witnesses: list[Subject], program: list[Any]) -> None:
    try:
        await compare(subject, witnesses, [("open",), *program])
    finally:
        for one in (subject, *witnesses):
            await one.close()


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
    st.tuples(st.sampled_from(["flush", "close", "place", "closed"])),
)
raw_steps = st.one_of(
    steps,
    st.tuples(st.sampled_from(["read1", "readinto", "readinto1", "peek"]), sizes.map(abs)),
    st.tuples(st.just("tell")),
    st.tuples(st.just("seek"), st.sampled_from([0, 1, 5, 300, 20_000])),
    st.tuples(st.just("seek"), st.sampled_from([-5, 0, 3]), st.just(1)),
    st.tuples(st.just("seek"), st.sampled_from([-5, 0]), st.just(2)),
)


def cancelled(some: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    calls = some.filter(lambda step: step[0] in ("read", "readline", "readlines", "next"))
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
options = st.fixed_dictionaries(
    {
        "encoding": st.sampled_from(ENCODINGS),
        "errors": st.sampled_from(["strict", "strict", "replace", "ignore", "surrogateescape"]),
        "newline": st.sampled_from([None, "", "\n", "\r", "\r\n"]),
    }
)
chunks = st.sampled_from([1, 19, 4096, 1 << 20])
pieces = st.sampled_from([None, None, 1, 11, 4096])


def damaged(data: bytes, where: int) -> bytes:
    """As it is (0), cut, or with a byte changed."""
    if where > 0:
        return data[: len(data) - where]
    if where < 0 and data:
        at = where % len(data)
        return data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :]
    return data


damages = st.sampled_from([0, 0, 0, 1, 4, 9, -1, -6, -30])


def readers(path: Path, piece: int | None, mode: str, **options: Any) -> list[Subject]:
    found = []
    for package in (agz, aiogzip):
        barrier = None
        if piece:
            barrier = Barrier(path.read_bytes(), piece)
        file = package.open(None if piece else path, mode, fileobj=barrier, **options)
        found.append(Subject(file, "t" in mode, barrier))
    return found


def test_reading_bytes(tmp_path: Path) -> None:
    path = tmp_path / "data.gz"

    def body(members: list[bytes], damage: int, chunk: int, piece: Any, program: Any) -> None:
        path.write_bytes(damaged(b"".join(map(gzip.compress, members)), damage))
        subject, peer = readers(path, piece, "rb", chunk_size=chunk)
        asyncio.run(run(subject, [Subject(gzip.GzipFile(path), False), peer], program))

    explore(
        body,
        members=members,
        damage=damages,
        chunk=chunks,
        piece=pieces,
        program=programs(raw_steps),
    )


def test_reading_text(tmp_path: Path) -> None:
    path = tmp_path / "text.gz"

    def body(text: str, options: Any, damage: int, chunk: int, piece: Any, program: Any) -> None:
        data = text.encode(options["encoding"], "ignore")
        path.write_bytes(damaged(gzip.compress(data), damage))
        subject, peer = readers(path, piece, "rt", chunk_size=chunk, **options)
        plain = io.TextIOWrapper(gzip.GzipFile(path), **options)
        asyncio.run(run(subject, [Subject(plain, True), peer], program))

    explore(
        body, text=texts, options=options, damage=damages, chunk=chunks, piece=pieces,
        program=programs(steps),
    )  # fmt: skip


# ---- writing ------------------------------------------------------------------------------


wide = st.sampled_from([19, 4096, 1 << 20])


def written(items: st.SearchStrategy[Any], wrong: list[Any]) -> st.SearchStrategy[Any]:
    lists = st.lists(items, max_size=5)
    often = st.one_of(
        st.tuples(st.just("write"), items),
        st.tuples(st.just("writelines"), lists),
        st.tuples(st.sampled_from(["flush", "closed"])),
    )
    seldom = st.one_of(
        st.tuples(st.just("write"), st.sampled_from(wrong)),
        st.tuples(
            st.just("writelines"),
            st.tuples(lists, st.sampled_from(wrong)).map(lambda p: [*p[0], p[1]]),
        ),
        st.tuples(st.sampled_from(["close", "next"])),
        st.tuples(st.sampled_from(["read", "readline"]), st.just(1)),
    )
    return st.one_of(st.lists(often, max_size=20), st.lists(st.one_of(often, seldom), max_size=12))


def write(folder: Path, mode: str, program: list[Any], chunk: int, **options: Any) -> None:
    """The program on three files, and then what is in them."""
    paths = [folder / name for name in ("agz.gz", "io.gz", "aiogzip.gz")]
    for path in paths:
        path.unlink(missing_ok=True)
        if mode[0] == "a":
            path.write_bytes(gzip.compress(b"first"))
    text = "t" in mode
    subject = Subject(agz.open(paths[0], mode, chunk_size=chunk, **options), text)
    plain: Any = gzip.GzipFile(paths[1], mode[0] + "b")
    if text:
        plain = io.TextIOWrapper(plain, **options)
    peer = Subject(aiogzip.open(paths[2], mode, chunk_size=chunk, **options), text)
    asyncio.run(run(subject, [Subject(plain, text), peer], program))
    found = [gzip.decompress(path.read_bytes()) for path in paths]
    if options.get("encoding", "utf-8") == "utf-8":
        assert found[0] == found[1] == found[2]
    else:  # which parts of what cannot be encoded are written: as one of them
        assert found[0] in found[1:]


def test_writing_bytes(tmp_path: Path) -> None:
    items = st.binary(max_size=50) | st.just(b"0123456789" * 400) | st.just(memoryview(b"ab" * 9))
    seeks = st.tuples(st.just("seek"), st.sampled_from([0, 3, 40, 30_000]), st.sampled_from([0, 1]))
    calls = st.tuples(written(items, ["text", 1, None]), st.lists(seeks | st.just(("tell",))))

    def body(mode: str, chunk: int, calls: Any, order: Any) -> None:
        program = [*calls[0], *calls[1]]
        order.shuffle(program)
        write(tmp_path, mode, program, chunk)

    explore(
        body, mode=st.sampled_from(["wb", "ab", "xb"]), chunk=wide, calls=calls,
        order=st.randoms(use_true_random=False),
    )  # fmt: skip


def test_writing_text(tmp_path: Path) -> None:
    items = st.lists(st.sampled_from(WORDS), max_size=4).map("".join)

    def body(mode: str, chunk: int, options: Any, program: Any) -> None:
        write(tmp_path, mode, program, chunk, **options)

    explore(
        body, mode=st.sampled_from(["wt", "at", "xt"]), chunk=wide, options=options,
        program=written(items, [b"bytes", 1, None]),
    )  # fmt: skip
