"""What the tests of the package share: inputs, sources and sinks that the test drives, and a
way to cancel a call exactly where it is suspended."""

import asyncio
import gzip
import json
import os
import random
import subprocess
import sys
import sysconfig
import threading
import zlib
from collections.abc import Awaitable, Callable, Generator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# Every run tries the same examples, however slowly, and leaves nothing behind.
UNTIMED = settings(
    database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=200
)
QUICK = settings(UNTIMED, derandomize=True, max_examples=120)

# Only a test that hangs meets it.
FOREVER = 3600 if "AGZ_HOSTILE" in os.environ else 300

# ---- sanitizers ---------------------------------------------------------------------------

# Said by scripts/check-deep.sh. Whose memory a process has then is the sanitizer's.
SANITIZED = "AGZ_SANITIZER" in os.environ
SLOWNESS = 10 if SANITIZED else 1

# libasan takes no locks of its allocator around fork(): the child waits for ever for one that
# a worker had, before a line of ours runs. TSan knows no threads in a child at all.
forks = pytest.mark.skipif(SANITIZED, reason="a sanitizer's child does not survive its fork")

# uvloop, so slowed down, may be hit by a signal where it does not survive one.
signals = pytest.mark.skipif(SANITIZED, reason="uvloop does not survive signals at any moment")

subinterpreters = pytest.mark.skipif(
    sys.version_info[:2] == (3, 12),
    reason="CPython 3.12 aborts at its end after asyncio in a sub-interpreter, without agz too",
)

# ---- inputs -------------------------------------------------------------------------------


@cache
def source_text(limit: int) -> bytes:
    """Real text: the standard library, in the order of names."""
    text = b""
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        text += path.read_bytes()
        if len(text) >= limit:
            break
    return text[:limit]


def json_lines(n: int) -> bytes:
    draw = random.Random(11)
    rows = (
        {"n": i, "who": f"u{draw.randrange(500)}", "at": draw.random(), "in": [i % 7, None]}
        for i in range(n)
    )
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


KINDS: dict[str, Callable[[], bytes]] = {
    "empty": lambda: b"",
    "one byte": lambda: b"x",
    "zeros": lambda: bytes(2_000_000),
    "noise": lambda: random.Random(5).randbytes(700_000),
    "sources": lambda: source_text(900_000),
    "JSON Lines": lambda: json_lines(8_000),
    "UTF-8": lambda: "naïve Größe, 名前 имя 😀\n".encode() * 15_000,
    "CRLF": lambda: source_text(200_000).replace(b"\n", b"\r\n"),
    "one long line": lambda: b"0123456789abcdef" * 40_000,
    "far matches": lambda: random.Random(6).randbytes(32_768) * 3,
}


def raw_deflate(data: bytes, level: int = 6) -> bytes:
    packer = zlib.compressobj(level, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


def zeros_file(path: Path, mib: int) -> None:
    """One member of that many MiB of zeros, about a thousandth of it on disk."""
    block = bytes(1 << 20)
    with gzip.GzipFile(path, "wb", 9, mtime=0) as file:
        for _ in range(mib):
            file.write(block)


# ---- sources and sinks --------------------------------------------------------------------


class Pieces:
    """A source that gives its bytes a few at a time, and lets other tasks run before each."""

    def __init__(self, data: bytes, size: int) -> None:
        self.data, self.size, self.pos, self.closed = data, size, 0, 0

    async def read(self, size: int = -1) -> bytes:
        await asyncio.sleep(0)
        piece = self.data[self.pos : self.pos + min(self.size, size)]
        self.pos += len(piece)
        return piece

    def tell(self) -> int:
        return self.pos

    async def close(self) -> None:
        self.closed += 1


class Seekable(Pieces):
    def seek(self, offset: int, whence: int = 0) -> int:
        self.pos = offset
        return offset


class Gate:
    """A source or sink whose calls wait until the test lets them through."""

    def __init__(self, data: bytes = b"") -> None:
        self.data, self.pos, self.taken = data, 0, b""
        self.opened = asyncio.Event()
        self.entered = asyncio.Event()  # set by each call that has to wait

    async def _pass(self) -> None:
        if not self.opened.is_set():
            self.entered.set()
        await self.opened.wait()

    async def read(self, size: int = -1) -> bytes:
        await self._pass()
        piece = self.data[self.pos : self.pos + size]
        self.pos += len(piece)
        return piece

    def tell(self) -> int:
        return self.pos

    async def write(self, data: bytes) -> int:
        await self._pass()
        self.taken += data
        return len(data)


class Collect:
    """A sink that takes all at once, or `size` bytes at a time."""

    def __init__(self, size: int = 1 << 30) -> None:
        self.data, self.size, self.closed = b"", size, 0

    async def write(self, data: bytes) -> int:
        await asyncio.sleep(0)
        part = data[: self.size]
        self.data += part
        return len(part)

    async def close(self) -> None:
        self.closed += 1


# ---- cancellation -------------------------------------------------------------------------


class CancelAt:
    """Awaits something, and cancels the task it runs in at its nth suspension."""

    def __init__(self, awaitable: Awaitable[Any], n: int) -> None:
        self._awaitable, self._n = awaitable, n
        self.count = 0

    def __await__(self) -> Generator[Any, Any, Any]:
        steps: Any = self._awaitable.__await__()
        try:
            waited = next(steps)
            while True:
                self.count += 1
                if self.count == self._n:
                    task = asyncio.current_task()
                    assert task is not None
                    task.cancel()
                try:
                    got = yield waited
                except BaseException as error:
                    waited = steps.throw(error)
                else:
                    waited = steps.send(got)
        except StopIteration as stop:
            return stop.value


async def cancelled_at(make: Callable[[], Awaitable[Any]], n: int) -> tuple[bool, Any]:
    """Whether the call was cancelled at its nth suspension, and else what it gave."""

    async def main() -> Any:
        return await CancelAt(make(), n)

    task = asyncio.create_task(main())
    try:
        return False, await task
    except asyncio.CancelledError:
        assert task.cancelled()
        return True, None


async def suspended(awaitable: Awaitable[Any]) -> asyncio.Task[Any]:
    """A task in it that has reached its first suspension, or its end."""
    reached = asyncio.Event()

    class Watch:
        def __await__(self) -> Generator[Any, Any, Any]:
            steps: Any = awaitable.__await__()
            try:
                waited = next(steps)
                reached.set()
                while True:
                    try:
                        got = yield waited
                    except BaseException as error:
                        waited = steps.throw(error)
                    else:
                        waited = steps.send(got)
            except StopIteration as stop:
                return stop.value
            finally:
                reached.set()

    async def main() -> Any:
        return await Watch()

    task = asyncio.create_task(main())
    await reached.wait()
    return task


# ---- FIFOs: files that make a call wait for the test --------------------------------------


class Fifo:
    """A FIFO whose other end the test holds: nothing comes or goes but by its hand."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "fifo.gz"
        os.mkfifo(self.path)
        # Both ways, so that neither end waits for the other when it is opened.
        self.fd = os.open(self.path, os.O_RDWR)

    def feed(self, data: bytes) -> None:
        assert os.write(self.fd, data) == len(data)

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
        self.fd = -1

    def drain(self) -> "Drain":
        """From here on a thread takes all that comes, to the end."""
        reader = os.open(self.path, os.O_RDONLY)
        self.close()
        return Drain(reader)

    def __enter__(self) -> "Fifo":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class Drain(threading.Thread):
    def __init__(self, fd: int) -> None:
        super().__init__()
        self.fd, self.data = fd, bytearray()
        self.start()

    def run(self) -> None:
        while data := os.read(self.fd, 1 << 16):
            self.data += data
        os.close(self.fd)

    def all(self) -> bytes:
        self.join()
        return bytes(self.data)


# ---- processes ----------------------------------------------------------------------------


def python(code: str, *args: object, status: int = 0, flags: str = "", **env: str) -> str:
    """What a program prints in an interpreter of its own, warnings and all."""
    run = subprocess.run(
        [sys.executable, *flags.split(), "-c", code, *map(str, args)],
        capture_output=True,
        text=True,
        timeout=FOREVER,
        env={**os.environ, **env},
        check=False,
    )
    assert run.returncode == status, f"status {run.returncode}\n{run.stdout}{run.stderr}"
    return run.stdout + run.stderr
