"""Each system call and each allocation of the extension made to fail, at every position, once
and for good, with every errno: the right error, or the right result, a file that can be used
again or at least closed, and nothing left behind. A full disk is never a success."""

import asyncio
import contextlib
import ctypes
import errno
import gzip
import os
import random
import subprocess
import sysconfig
import time
import zlib
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import agz
import pytest
from agz import _agz
from support import python, source_text

HERE = Path(__file__).parent.parent / "faults"
ERRORS = [-1, errno.EINTR, errno.EAGAIN, errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EBADF]
CALLS = ["open", "fstat", "lseek", "read", "pread", "write", "poll", "eventfd", "close"]


class Faults:
    """The plan, in tests/faults/extension.c."""

    def __init__(self, library: Path) -> None:
        self.c = ctypes.PyDLL(str(library))
        assert self.c.install(os.fsencode(_agz.__file__)) > 20
        for kind in vars(_agz).values():
            if isinstance(kind, type) and kind.__module__ == "agz._agz":
                self.c.watch_type(ctypes.py_object(kind))
        self.name, self.error = "", 0
        self.args = b"", ctypes.c_long(0), 0, False
        self.total = 0

    def plan(self, name: str, at: int, error: int, good: bool) -> None:
        self.name, self.error = name, error
        self.args = name.encode(), ctypes.c_long(at), error, good
        self.again()

    def again(self) -> None:
        """The same plan, from here on."""
        self.c.plan_calls(*self.args)

    def over(self) -> int:
        """How many calls have failed."""
        hits = int(self.c.plan_over(ctypes.byref(ctypes.c_long())))
        self.total += hits > 0
        return hits

    def is_planned(self, error: BaseException, path: Path) -> None:
        if self.name == "memory":
            assert type(error) is MemoryError
        else:
            assert isinstance(error, OSError)
            assert error.errno == self.error
            assert os.fsdecode(error.filename) == str(path)


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("faults") / "extension.so"
    include = sysconfig.get_path("include")
    source = HERE / "extension.c"
    subprocess.run(
        ["cc", "-O1", "-shared", "-fPIC", f"-I{include}", source, "-o", target], check=True
    )
    return target


@pytest.fixture(scope="session")
def faults(library: Path) -> Faults:
    return Faults(library)


def plans(name: str) -> Iterator[tuple[int, bool]]:
    """Errors that make sense for a call, and whether all that follow fail as well."""
    if name.startswith("memory"):
        yield 0, False
        if name == "memory":
            yield 0, True
        return
    for error in ERRORS:
        if error != -1 or name in ("read", "pread", "write"):
            yield error, False
    yield errno.EIO, True


# ---- scenarios ----------------------------------------------------------------------------

TEXT = source_text(90_000)
LARGE = source_text(1_200_000)


def fifo_or_file(path: Path, data: bytes) -> int:
    """Holds a FIFO open, with its bytes in it, until the file is open; else -1."""
    if not path.is_fifo():
        return -1
    fd = os.open(path, os.O_RDWR)
    assert os.write(fd, data) == len(data)
    return fd


async def read_all(file: Any) -> Any:
    return await file.read()


async def read_pieces(file: Any) -> bytes:
    got = []
    while piece := await file.read(7_000):
        got.append(piece)
    return b"".join(got)


async def read_into(file: Any) -> bytes:
    got, room = bytearray(), bytearray(20_000)
    while n := await file.readinto(room):
        got += room[:n]
    return bytes(got)


async def read_lines(file: Any) -> bytes:
    return b"".join([line async for line in file])


async def read_line_list(file: Any) -> bytes:
    return b"".join(await file.readlines())


async def lines_at_once(file: Any) -> Any:
    return await file.readlines()


async def peek_and_line(file: Any) -> Any:
    await file.peek(100)
    first = await file.readline()
    return first + await file.read1(10) + await file.read()


async def back_and_forth(file: Any) -> Any:
    await file.seek(60_000)
    await file.read(10)
    await file.seek(20_000)
    rest = await file.read()
    await file.seek(0)
    return await file.read(20_000) + rest


async def text_lines(file: Any) -> bytes:
    return "".join([line async for line in file]).encode()


async def text_pieces(file: Any) -> bytes:
    got = []
    while piece := await file.read(5_000):
        got.append(piece)
    return "".join(got).encode()


async def text_places(file: Any) -> Any:
    first = await file.readline()
    place = await file.tell()
    rest = await file.read()
    await file.seek(place)
    assert await file.read() == rest
    return (first + rest).encode()


Body = Callable[[Any], Awaitable[Any]]
BYTES: list[Body] = [
    read_all,
    read_pieces,
    read_into,
    read_lines,
    read_line_list,
    peek_and_line,
    back_and_forth,
]
STRINGS: list[Body] = [text_lines, text_pieces, text_places]
FORWARD: list[Body] = [read_all, read_pieces, read_lines]


def n_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def settle(before: int) -> None:
    """A worker closes what was let go of, a moment later."""
    deadline = time.monotonic() + 20
    while n_descriptors() > before:
        assert time.monotonic() < deadline
        time.sleep(0.001)


async def closed(faults: Faults, file: Any, path: Path) -> bool:
    """Closes the file, if not at once then when nothing fails any more; whether it failed."""
    failed = False
    for _ in range(2):
        try:
            await file.close()
        except (MemoryError, OSError) as error:
            faults.is_planned(error, path)
            failed = True
        faults.over()
    await file.close()
    assert file.closed
    return failed


async def from_the_start(file: Any) -> bytes:
    """A worker may have failed as well, and that is still to be told."""
    for last in (False, True):
        try:
            await file.seek(0)
            got = await file.read()
            break
        except (MemoryError, OSError):
            if last:
                raise
    return got.encode() if isinstance(got, str) else got


async def attempt_to_read(faults: Faults, path: Path, mode: str, body: Body, gz: bytes) -> None:
    whole = gzip.decompress(gz)
    held = fifo_or_file(path, gz)
    file: Any = agz.open(path, mode, chunk_size=len(gz) // 6)
    opened = False
    try:
        await file.open()
        opened = True
        if held >= 0:
            os.close(held)
            held = -1
        assert await body(file) == whole
    except (MemoryError, OSError) as error:
        faults.is_planned(error, path)
        faults.over()
        if opened and not path.is_fifo():
            assert await from_the_start(file) == whole
    finally:
        if held >= 0:
            os.close(held)
    await closed(faults, file, path)


def positions() -> Iterator[int]:
    """Each of the first, then fewer: a line more is a line more."""
    at = 1
    while True:
        yield at
        at += 1 + at // 16


def each_fault(
    faults: Faults, names: list[str], attempt: Callable[[], Coroutine[Any, Any, None]]
) -> None:
    with asyncio.Runner() as runner:
        runner.run(attempt())  # the waker of the loop, the threads
        before = n_descriptors()
        for name in names:
            for error, good in plans(name):
                for at in positions():
                    faults.plan(name.split()[0], at, error, good)
                    total = faults.total
                    runner.run(asyncio.wait_for(attempt(), 60))
                    settle(before)
                    if faults.total == total:
                        break


@pytest.mark.parametrize("body", [*BYTES, *STRINGS], ids=lambda body: body.__name__)
def test_reading_a_file(faults: Faults, tmp_path: Path, body: Body) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(TEXT, 6))
    mode = "rt" if body in STRINGS else "rb"
    each_fault(
        faults,
        [*CALLS, "memory"],
        lambda: attempt_to_read(faults, path, mode, body, path.read_bytes()),
    )


@pytest.mark.parametrize("body", FORWARD, ids=lambda body: body.__name__)
def test_reading_a_fifo(faults: Faults, tmp_path: Path, body: Body) -> None:
    path = tmp_path / "fifo.gz"
    os.mkfifo(path)
    gz = gzip.compress(TEXT, 6)
    each_fault(faults, [*CALLS, "memory"], lambda: attempt_to_read(faults, path, "rb", body, gz))


async def lines_one_by_one(file: Any) -> Any:
    return await file.readline()


async def next_piece(file: Any) -> Any:
    return await file.read(30_000)


AGAIN: list[Body] = [
    read_all,
    lines_at_once,
    lines_one_by_one,
    next_piece,
]


@pytest.mark.parametrize(
    ("nbytes", "call"),
    [*((90_000, call) for call in AGAIN), (1_200_000, read_all), (1_200_000, next_piece)],
)
@pytest.mark.parametrize("mode", ["rb", "rt", "utf-16"])
def test_the_same_call_again(
    faults: Faults, tmp_path: Path, nbytes: int, mode: str, call: Body
) -> None:
    """A call that ran out of memory has taken nothing: the next one goes on where it began, or
    says that the stream is broken. Nothing is left out."""
    path = tmp_path / "a.gz"
    whole: Any = LARGE[:nbytes] if mode == "rb" else LARGE[:nbytes].decode("latin-1")
    data = whole if mode == "rb" else whole.encode("utf-8" if mode == "rt" else mode)
    path.write_bytes(gzip.compress(data, 1))
    options = {} if mode == "rb" else {"newline": "", "encoding": "utf-8" if mode == "rt" else mode}

    async def attempt() -> None:
        faults.over()
        got = []
        async with agz.open(path, "rb" if mode == "rb" else "rt", **options) as file:
            faults.again()
            while True:
                try:
                    piece = await call(file)
                except MemoryError:
                    continue
                except OSError as error:
                    if "broken" not in str(error):
                        raise
                    break
                got += piece if isinstance(piece, list) else [piece]
                if not piece:
                    assert whole[:0].join(got) == whole
                    break
            faults.over()
            assert whole.startswith(whole[:0].join(got))

    each_fault(faults, ["memory once"], attempt)


@pytest.mark.parametrize("n_members", [1, 30])
def test_reading_a_large_result(faults: Faults, tmp_path: Path, n_members: int) -> None:
    """That the worker decodes into; of many members nobody knows how large it gets."""
    path = tmp_path / "a.gz"
    path.write_bytes(gz := gzip.compress(LARGE[: len(LARGE) // n_members], 6) * n_members)
    each_fault(
        faults,
        ["pread", "memory"],
        lambda: attempt_to_read(faults, path, "rb", read_all, gz),
    )


def test_a_large_result_that_is_lost(faults: Faults, tmp_path: Path) -> None:
    """A pipe cannot give it again: what follows is an error, never the rest as if it were all."""
    path = tmp_path / "fifo.gz"
    os.mkfifo(path)
    whole = b"a line of text\n" * 200_000
    outcomes = set()

    async def main(at: int) -> None:
        held = fifo_or_file(path, gzip.compress(whole))
        file = await agz.open(path, "rb").open()
        os.close(held)
        faults.plan("memory", at, 0, False)
        with contextlib.suppress(MemoryError):
            assert await file.read() == whole
            outcomes.add("read")
        if faults.over() and "read" not in outcomes:
            try:
                got = await file.read()
                outcomes.add("what came before" if got != whole else "read later")
                assert whole.startswith(got)
            except OSError:
                got = b""
            if got != whole:
                outcomes.add("lost")
                for _ in range(2):
                    with pytest.raises(OSError, match=r"seekable|broken"):
                        await file.read()
        await file.close()

    with asyncio.Runner() as runner:
        for at in positions():
            runner.run(main(at))
            if "read" in outcomes:
                break
    assert outcomes == {"read", "read later", "what came before", "lost"}


# ---- writing ------------------------------------------------------------------------------


async def write_pieces(file: Any) -> None:
    for at in range(0, len(NOISE), 3_000):
        await file.write(NOISE[at : at + 3_000])


async def write_at_once(file: Any) -> None:
    await file.write(NOISE)


async def write_flushed(file: Any) -> None:
    await file.write(NOISE[:20_000])
    await file.flush()
    await file.write(NOISE[20_000:])
    await file.flush()


async def write_list(file: Any) -> None:
    await file.writelines(NOISE[at : at + 700] for at in range(0, len(NOISE), 700))


async def write_text(file: Any) -> None:
    text = NOISE.decode("latin-1")
    for at in range(0, len(text), 3_000):
        await file.write(text[at : at + 3_000])


NOISE = random.Random(1).randbytes(40_000)
WRITES: list[Callable[[Any], Awaitable[None]]] = [
    write_pieces,
    write_at_once,
    write_flushed,
    write_list,
    write_text,
]


def decoded(gz: bytes) -> bytes:
    return zlib.decompressobj(31).decompress(gz) if gz else b""


class Reader:
    """The other end of a FIFO, opened before the writer comes; or the file that it makes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK) if path.is_fifo() else -1
        if self.fd < 0:
            path.unlink(missing_ok=True)

    def all(self) -> bytes:
        if self.fd < 0:
            return self.path.read_bytes() if self.path.exists() else b""
        os.set_blocking(self.fd, True)  # a worker may be closing the other end still
        data = b""
        while piece := os.read(self.fd, 1 << 20):
            data += piece
        os.close(self.fd)
        return data


async def attempt_to_write(
    faults: Faults, path: Path, body: Callable[[Any], Awaitable[None]]
) -> None:
    reader = Reader(path)
    before = n_descriptors()
    text = {"encoding": "latin-1", "newline": ""} if body is write_text else {}
    file: Any = agz.open(path, "wt" if text else "wb", chunk_size=8_192, **text)
    failed = False
    try:
        await file.open()
        await body(file)
    except (MemoryError, OSError) as error:
        faults.is_planned(error, path)
        failed = True
    failed |= await closed(faults, file, path)
    settle(before)
    gz = reader.all()
    if failed:
        assert NOISE.startswith(decoded(gz))
    else:
        assert gzip.decompress(gz) == NOISE


@pytest.mark.parametrize("body", WRITES, ids=lambda body: body.__name__)
@pytest.mark.parametrize("kind", ["file", "fifo"])
def test_writing(faults: Faults, tmp_path: Path, kind: str, body: Any) -> None:
    path = tmp_path / "a.gz"
    if kind == "fifo":
        os.mkfifo(path)
    each_fault(faults, [*CALLS, "memory"], lambda: attempt_to_write(faults, path, body))


# ---- threads ------------------------------------------------------------------------------

NO_THREAD = """
import asyncio, ctypes, errno, os, sys, agz
from agz import _agz
c = ctypes.PyDLL(sys.argv[1])
assert c.install(os.fsencode(_agz.__file__)) > 20

async def main(path):
    for mode in "rb", "wb":
        c.plan_calls(b"pthread_create", ctypes.c_long(1), errno.EAGAIN, 1)
        file = agz.open(path, mode)
        for _ in range(2):
            try:
                await file.open()
            except OSError as error:
                print(mode, errno.errorcode[error.errno], error.filename == path)
    # One is enough for all that follows.
    c.plan_calls(b"pthread_create", ctypes.c_long(2), errno.EAGAIN, 1)
    async with agz.open(path, "rb") as file, agz.open(path + ".copy", "wb") as copy:
        await copy.write(await file.read())
    async with agz.open(path + ".copy", "rb") as file:
        print(len(await file.read()))
asyncio.run(main(sys.argv[2]))
"""


def test_a_thread_that_cannot_start(library: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(random.Random(1).randbytes(20_000)))  # no small file
    assert python(NO_THREAD, library, path).splitlines() == [
        "rb EAGAIN True",
        "rb EAGAIN True",
        "wb EAGAIN True",
        "wb EAGAIN True",
        "20000",
    ]


# ---- full disks ---------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("may not mount a tmpfs")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


HOW_MUCH = {"nothing fits": 0, "a little fits": 1, "half fits": 128, "all but the end": 255}


def fill(disk: Path, room_kib: int) -> None:
    (disk / "filler").write_bytes(bytes((256 - room_kib) * 1024))


async def fill_up(path: Path, data: bytes, how: str) -> None:
    """Through `how` of a file's calls."""
    async with agz.open(path, "wb") as file:
        if how == "write":
            for _ in range(1000):
                await file.write(data)
        await file.write(data)
        if how == "flush":
            await file.flush()
            pytest.fail("flushed")
        if how == "close":
            await file.close()
            pytest.fail("closed")


@pytest.mark.parametrize("how", ["write", "flush", "close", "exit"])
@pytest.mark.parametrize("room", ["/dev/full", *HOW_MUCH])
def test_a_full_disk(request: pytest.FixtureRequest, tmp_path: Path, how: str, room: str) -> None:
    """Told at the latest by the end of `async with`, and what is there is a prefix."""
    data = random.Random(3).randbytes(300_000)
    path = Path(room)
    if room != "/dev/full":
        disk = request.getfixturevalue("small_disk")
        fill(disk, HOW_MUCH[room])
        path = disk / "a.gz"
        if HOW_MUCH[room] == 255:
            data = data[: 255 * 1024 - 30]  # its last block may be there, its trailer is not
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)) as caught:
        asyncio.run(fill_up(path, data, how))
    assert caught.value.errno == errno.ENOSPC
    assert os.fspath(caught.value.filename) == str(path)
    if room != "/dev/full":
        assert (data * 1001).startswith(decoded(path.read_bytes()))


LIMITED = """
import asyncio, errno, resource, sys, agz
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
async def main(path):
    try:
        async with agz.open(path, "wb", compresslevel=0) as file:
            await file.write(bytes(300_000))
    except OSError as error:
        print(errno.errorcode[error.errno], error.filename == path)
asyncio.run(main(sys.argv[1]))
"""


def test_a_limit_on_files(tmp_path: Path) -> None:
    assert python(LIMITED, tmp_path / "a.gz") == "EFBIG True\n"


def test_a_reader_that_leaves(run: Any, tmp_path: Path) -> None:
    path = tmp_path / "fifo.gz"
    os.mkfifo(path)

    async def main() -> None:
        reader = Reader(path)
        async with agz.open(path, "wb") as file:
            await file.write(NOISE)
            await file.flush()
            os.close(reader.fd)
            with pytest.raises(BrokenPipeError):
                while True:
                    await file.write(NOISE)
            with pytest.raises(BrokenPipeError):
                await file.flush()

    with pytest.raises(BrokenPipeError) as caught:
        run(main())
    assert os.fspath(caught.value.filename) == str(path)
