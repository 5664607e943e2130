"""What goes on around a file when its surroundings end or break in: loops closed under it, loops
in threads and side by side, a thousand of them, forks in the middle of the work, interpreters
that end with it, signals in each call, threads that take the interpreter at every turn."""

import asyncio
import contextlib
import gc
import gzip
import os
import sys
import threading
from pathlib import Path
from typing import Any

import agz
import pytest
from conftest import LOOPS
from support import (
    SANITIZED,
    Fifo,
    forks,
    python,
    signals,
    source_text,
    subinterpreters,
    suspended,
)
from test_storm import Storm, weather

TEXT = source_text(300_000)
PACKED = gzip.compress(TEXT, 1)
NOISE = os.urandom(3_000_000)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "f.gz"
    path.write_bytes(PACKED)
    return path


async def first_line(file: Any) -> None:
    assert await file.readline() in (
        TEXT[: TEXT.index(b"\n") + 1],
        TEXT.decode().split("\n")[0] + "\n",
    )


# ---- loops --------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:unclosed", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("kind", LOOPS)
def test_a_loop_is_closed_with_files_open(path: Path, tmp_path: Path, kind: str) -> None:
    """No shutdown_asyncgens(), a read, a write and a close still at work; another loop takes
    over at once. What was left goes when it is dropped (the ledger looks)."""
    for _ in range(20):
        with contextlib.ExitStack() as stack:
            (folder := tmp_path / "fifo").mkdir()
            fifo = stack.enter_context(Fifo(folder))
            loop = LOOPS[kind]()

            async def leave(fifo: Fifo = fifo) -> list[Any]:
                reader = await agz.open(path, "rt").open()
                await first_line(reader)
                waiting = await agz.open(fifo.path).open()
                writer = await agz.open(tmp_path / "w.gz", "wb").open()
                closing = await agz.open(tmp_path / "c.gz", "wb").open()
                await closing.write(NOISE)
                tasks = [
                    await suspended(waiting.readline()),
                    await suspended(writer.write(NOISE)),
                    await suspended(closing.close()),
                ]
                return [reader, waiting, writer, closing, *tasks]

            left = loop.run_until_complete(leave())
            loop.close()
            with asyncio.Runner(loop_factory=LOOPS[kind]) as runner:
                assert runner.run(agz.read(path)) == TEXT
            for task in left[4:]:
                task._log_destroy_pending = False
            left.clear()
            del left, loop
            gc.collect()
        (folder / "fifo.gz").unlink()
        folder.rmdir()


@pytest.mark.parametrize("kind", LOOPS)
def test_a_loop_in_a_thread(path: Path, kind: str) -> None:
    """Driven from this one."""
    loop = LOOPS[kind]()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:

        def do(call: Any) -> Any:
            return asyncio.run_coroutine_threadsafe(call, loop).result()

        async def lines() -> bytes:
            async with agz.open(path) as file:
                return b"".join([line async for line in file])

        for _ in range(50):
            assert do(agz.read(path)) == TEXT
            assert do(lines()) == TEXT
        file = do(agz.open(path).open())

        async def line() -> Any:
            return await file.readline()

        assert do(line()) == TEXT.split(b"\n")[0] + b"\n"
        # This thread's own loop meanwhile.
        with asyncio.Runner(loop_factory=LOOPS[kind]) as runner:
            assert runner.run(agz.read(path)) == TEXT
        do(file.close())
        do(loop.shutdown_asyncgens())
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@pytest.mark.parametrize("kind", LOOPS)
def test_two_loops_by_turns(path: Path, kind: str) -> None:
    """In one thread, each with a file of its own, and what is ready on one woken on it alone."""
    loops = [LOOPS[kind](), LOOPS[kind]()]
    files = [loop.run_until_complete(agz.open(path, chunk_size=2000).open()) for loop in loops]
    got = [b"", b""]

    async def some(i: int) -> bytes:
        return bytes(await files[i].read(10_000))

    while not got[1].endswith(TEXT[-1000:]):
        for i in (0, 1):
            got[i] += loops[i].run_until_complete(some(i))
    assert got == [TEXT, TEXT]
    for loop, file in zip(loops, files, strict=True):
        loop.run_until_complete(file.close())
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


TWO_LOOPS = """
import asyncio, gzip, os, sys, threading
import agz
path, fifo = sys.argv[1:]
keep = os.open(fifo, os.O_RDWR)
waits = threading.Event()

def one():
    async def main():
        async with agz.open(fifo) as file:
            call = asyncio.ensure_future(file.readline())
            await asyncio.sleep(0)
            waits.set()
            assert await call == b"from the other\\n"
    asyncio.run(main())

def two():
    async def main():
        waits.wait()
        data = gzip.open(path).read()
        for _ in range(20):
            assert await agz.read(path) == data
            async with agz.open(path) as file:
                assert [line async for line in file] == data.splitlines(True)
        os.write(keep, gzip.compress(b"from the other\\n"))
    asyncio.run(main())

threads = [threading.Thread(target=work) for work in (one, two)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


@pytest.mark.parametrize("workers", ["1", "2"])
def test_two_loops_one_pool(path: Path, tmp_path: Path, workers: str) -> None:
    """One waits for a pipe that the other will feed, with a single worker between them."""
    os.mkfifo(tmp_path / "fifo")
    assert python(TWO_LOOPS, path, tmp_path / "fifo", AGZ_THREADS=workers) == ""


THOUSAND = """
import asyncio, gc, os, sys
import agz
path, kind, turns = sys.argv[1:]
if kind == "uvloop":
    import uvloop
    new = uvloop.new_event_loop
else:
    new = asyncio.new_event_loop

async def main():
    async with agz.open(path, "rt") as file:
        await file.readline()
        await file.read()
    async with agz.open(path + "w", "wb") as file:
        await file.write(b"x" * 1000)
    if turn % 3 == 0:
        global left
        left = await agz.open(path).open()
        await left.readline()

def state():
    with open("/proc/self/statm") as statm:
        rss = int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task")), rss

left = None
for turn in range(int(turns)):
    with asyncio.Runner(loop_factory=new) as runner:
        runner.run(main())
    left = None
    if turn == 200:
        gc.collect()
        before = state()
gc.collect()
# A file that was dropped is closed by a worker.
asyncio.run(agz.read(path))
after = state()
assert after[0] <= before[0] + 1, (before, after)
assert after[1] <= max(before[1], 1 + agz._agz.threads()), (before, after)
"""
MEMORY = "assert after[2] <= before[2] + (4 << 20), (before, after)"


@pytest.mark.parametrize("kind", LOOPS)
def test_a_thousand_loops(path: Path, kind: str) -> None:
    """Descriptors, threads and memory stay as they were after the first two hundred; a file
    that a loop left behind goes with it."""
    code = "import warnings; warnings.simplefilter('ignore')\n" + THOUSAND
    code += "" if SANITIZED else MEMORY
    assert python(code, path, kind, 300 if SANITIZED else 1000) == ""


# ---- fork ---------------------------------------------------------------------------------

FORK = """
import asyncio, gzip, os, sys, warnings
import agz
warnings.simplefilter("ignore")
path, fifo = sys.argv[1:]
keep = os.open(fifo, os.O_RDWR)
data = gzip.open(path).read()
noise = os.urandom(3_000_000)

async def child():
    assert await agz.read(path) == data
    await agz.write(path + "child", noise)
    assert gzip.open(path + "child").read() == noise
    assert (await agz.verify(path)).uncompressed_size == len(data)

async def main():
    reader = await agz.open(path).open()
    line = await reader.readline()
    waiting = await agz.open(fifo).open()
    read = asyncio.ensure_future(waiting.readline())
    writer = await agz.open(path + "w", "wb").open()
    write = asyncio.ensure_future(writer.write(noise))
    whole = asyncio.ensure_future(agz.read(path))
    await asyncio.sleep(0)
    pids = []
    for _ in range(5):
        pid = os.fork()
        if pid == 0:
            # In its memory the same loop stands in the middle of the same work.
            asyncio.run(child())
            os._exit(0)
        pids.append(pid)
        await asyncio.sleep(0)
    for pid in pids:
        assert os.waitpid(pid, 0)[1] == 0
    os.write(keep, gzip.compress(b"a line\\n"))
    assert await read == b"a line\\n"
    assert await whole == data
    assert await write == len(noise)
    await writer.write(b"more")
    await writer.close()
    assert gzip.open(path + "w").read() == noise + b"more"
    assert line + await reader.read() == data

asyncio.run(main())
print("parent")
"""


@forks
def test_fork_with_work_in_flight(path: Path, tmp_path: Path) -> None:
    """A child begins anew, with workers of its own; the parent's work comes to its end."""
    os.mkfifo(tmp_path / "fifo")
    assert python(FORK, path, tmp_path / "fifo") == "parent\n"


INHERITED = """
import asyncio, gzip, os, sys, warnings
import agz
warnings.simplefilter("ignore")
path, = sys.argv[1:]
data = gzip.open(path).read()
loop = asyncio.new_event_loop()

async def begin():
    reader = await agz.open(path, chunk_size=2000).open()
    return reader, await reader.read(1000)

async def child(reader):
    # What has been decoded already is there; what would have to be waited for, elsewhere, or
    # is lost if a worker was at it.
    got = b""
    try:
        while piece := await reader.read(1000):
            got += piece
    except (RuntimeError, OSError) as error:
        assert "loop" in str(error) or "lost in a fork" in str(error)
    assert data.startswith(got, 1000)
    await reader.close()
    assert reader.closed
    assert await agz.read(path) == data

reader, first = loop.run_until_complete(begin())
agz._loops._lock.acquire()
pid = os.fork()
if pid == 0:
    asyncio.run(child(reader))
    os._exit(0)
agz._loops._lock.release()
assert os.waitpid(pid, 0)[1] == 0
assert first + loop.run_until_complete(reader.read()) == data
loop.run_until_complete(reader.close())
print("parent")
"""


@forks
def test_a_child_and_its_parents_files(path: Path) -> None:
    """On a loop of its own, as any child has to; also when a thread held our lock meanwhile."""
    assert python(INHERITED, path) == "parent\n"


# ---- interpreters -------------------------------------------------------------------------

INTERPRETERS = """
import asyncio, gzip, sys, threading
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
import agz
path = sys.argv[1]
data = gzip.open(path).read()

code = f'''
import sys
sys.path[:] = {sys.path!r}
import asyncio, warnings
import agz
warnings.simplefilter("ignore")
async def main():
    global reader, writer, read
    reader = await agz.open({path!r}, "rt").open()
    await reader.readline()
    writer = await agz.open({path!r} + NAME, "wb").open()
    await writer.write(bytes(5_000_000))
    read = asyncio.ensure_future(agz.read({path!r}))
    await asyncio.sleep(0)
    return len(await agz.read({path!r}))
assert asyncio.run(main()) == {len(data)}
'''

loop = asyncio.new_event_loop()
run = loop.run_until_complete
file = run(agz.open(path).open())

async def rest():
    return await file.readline() + await file.read()

for i in range(3):
    one = interpreters.create()
    assert not interpreters.run_string(one, f"NAME = 'w{i}'" + code)
    # It ends with files open and work at hand; ours go on.
    interpreters.destroy(one)
    assert run(agz.read(path)) == data
assert run(rest()) == data
run(file.close())
print("right")
"""


@subinterpreters
def test_an_interpreter_ends_with_files_open(path: Path) -> None:
    """Sub-interpreters work, each with a state of its own; the workers are one pool for all."""
    assert python(INTERPRETERS, path) == "right\n"


# ---- signals ------------------------------------------------------------------------------

USE = """
import asyncio, contextlib, gc, gzip, os, random, signal, sys
import agz
path, kind = sys.argv[1:]
if kind == "uvloop":
    import uvloop
    new = uvloop.new_event_loop
else:
    new = asyncio.new_event_loop
data = gzip.open(path).read()
target = path + "w"

async def source():
    for i in range(0, len(data), 50_000):
        yield data[i : i + 50_000]

async def use():
    async with agz.open(path, chunk_size=5000) as file:
        assert await file.readline() == data[: data.index(b"\\n") + 1]
        assert await file.peek(1)
        assert await file.seek(100_000) == 100_000
        assert await file.read(50_000) == data[100_000:150_000]
        room = bytearray(10_000)
        assert room[: await file.readinto(room)] in data
        await file.rewind()
        assert b"".join([line async for line in file]) == data
    async with agz.open(path, "rt") as file:
        assert "".join(await file.readlines()) == data.decode()
        await file.seek(0)
        assert sum([len(batch) async for batch in file.iter_batches(5000)])
    async with agz.open(target, "wb", chunk_size=5000) as file:
        await file.write(data)
        await file.flush()
        await file.writelines([data, data])
    assert await agz.read(target) == 3 * data
    packed = [chunk async for chunk in agz.compress_chunks(source())]
    assert gzip.decompress(b"".join(packed)) == data
    assert (await agz.verify(path)).uncompressed_size == len(data)
    assert (await agz.inspect(path)).member_count == 1

def run(main):
    with asyncio.Runner(loop_factory=new) as runner:
        runner.run(main)

run(use())
def left():
    gc.collect()
    return sorted(os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")
                  if int(fd) > 2 and os.path.exists(f"/proc/self/fd/{fd}"))
before = left()
"""

TIMER = """
seen = 0
def handler(*_):
    global seen
    seen += 1
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
turns = 0
while seen < 200 or turns < 5:
    run(use())
    turns += 1
signal.setitimer(signal.ITIMER_REAL, 0)
"""

# At the nth suspension of the whole of it, until it has fewer; then in the middle of any line.
INTERRUPTED = """
class At:
    def __init__(self, awaitable, n):
        self.awaitable, self.n = awaitable, n
    def __await__(self):
        steps = self.awaitable.__await__()
        with contextlib.closing(steps):
            got = None
            while True:
                try:
                    waited = steps.send(got)
                except StopIteration:
                    return
                self.n -= 1
                if self.n == 0:
                    signal.raise_signal(signal.SIGINT)
                try:
                    got = yield waited
                except BaseException as error:
                    try:
                        waited = steps.throw(error)
                    except StopIteration:
                        return
                    yield waited

async def interrupted_at(n):
    await At(use(), n)

n = interrupts = 0
while n < 25:
    n += 1
    try:
        run(interrupted_at(n))
    except KeyboardInterrupt:
        interrupts += 1
assert interrupts > 3, interrupts
"""

ANYWHERE = """
draw = random.Random(4)
interrupts = 0

def go(loop, task):
    loop.run_until_complete(task)

# Nowhere else: an alarm that is late must not hit what handles the one before.
def interrupt(signum, frame):
    while frame is not None:
        if frame.f_code is go.__code__:
            raise KeyboardInterrupt
        frame = frame.f_back

signal.signal(signal.SIGALRM, interrupt)
import logging, warnings
logging.disable()
sys.unraisablehook = lambda *_: None  # a coroutine that is dropped has no loop to close on
warnings.simplefilter("ignore")
while interrupts < 40:
    loop = new()
    task = loop.create_task(use())
    # Again and again, since the loop itself may lose what the first one falls into.
    signal.setitimer(signal.ITIMER_REAL, draw.uniform(0.0001, 0.05), 0.1)
    try:
        go(loop, task)
    except KeyboardInterrupt:
        interrupts += 1
    signal.setitimer(signal.ITIMER_REAL, 0)
    # A loop that was interrupted anywhere may have lost a callback: it is left as it is.
    loop.close()
    del loop, task
"""

END = """
signal.signal(signal.SIGALRM, signal.SIG_IGN)
run(use())
for _ in range(10_000):
    if left() == before:
        break
    run(asyncio.sleep(0.01))
assert left() == before, (left(), before)
"""


@signals
@pytest.mark.parametrize("kind", LOOPS)
@pytest.mark.parametrize("how", [TIMER, INTERRUPTED, ANYWHERE], ids=["timer", "SIGINT", "anywhere"])
def test_signals_in_each_call(path: Path, kind: str, how: str) -> None:
    """A handler that returns changes nothing; one that raises ends the call and no more."""
    assert python(USE + how + END, path, kind) == ""


@pytest.mark.parametrize("kind", LOOPS)
def test_a_signal_while_tasks_are_woken(tmp_path: Path, kind: str) -> None:
    """It ends the loop's run, as it would in any other callback; all are woken before."""
    loop = LOOPS[kind]()

    class Raises:
        def __init__(self, waiter: Any) -> None:
            self.waiter = waiter

        def done(self) -> bool:
            return False

        def set_result(self, result: None) -> None:
            self.waiter.set_result(result)
            raise KeyboardInterrupt

    with contextlib.ExitStack() as stack:
        fifos = []
        for name in "ab":
            (tmp_path / name).mkdir()
            fifos.append(stack.enter_context(Fifo(tmp_path / name)))

        async def begin() -> tuple[list[Any], list[Any]]:
            files: list[Any] = [await agz.open(fifo.path).open() for fifo in fifos]
            tasks = [await suspended(file.readline()) for file in files]
            return files, tasks

        files, tasks = loop.run_until_complete(begin())
        files[0]._waiter = Raises(files[0]._waiter)
        for fifo in fifos:
            fifo.feed(gzip.compress(b"a line\n"))
        with pytest.raises(KeyboardInterrupt):
            loop.run_until_complete(asyncio.gather(*tasks))
        assert loop.run_until_complete(asyncio.gather(*tasks)) == [b"a line\n"] * 2
        for file in files:
            loop.run_until_complete(file.close())
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()


# ---- threads ------------------------------------------------------------------------------


def test_the_interpreter_changes_hands_at_every_turn(tmp_path: Path, run: Any) -> None:
    """A small storm while two threads that do nothing take the interpreter all the time."""
    before, stop = sys.getswitchinterval(), threading.Event()

    def spin() -> None:
        while not stop.is_set():
            pass

    threads = [threading.Thread(target=spin) for _ in range(2)]
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        run(weather(Storm(7, 150), tmp_path))
    finally:
        sys.setswitchinterval(before)
        stop.set()
        for thread in threads:
            thread.join()
