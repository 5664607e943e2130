"""The file and its surroundings: a default executor that is full, loops in several threads and
one after another, fork, interpreters within one process and at their end, files that nobody
closed. No call needs the executor, nothing hangs, nothing stays behind."""

import asyncio
import gc
import gzip
import os
import sys
import textwrap
import threading
import warnings
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import agz
import pytest
from conftest import LOOPS
from support import FOREVER, Fifo, forks, python, source_text, subinterpreters, suspended

TEXT = source_text(400_000)
PACKED = gzip.compress(TEXT, 1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "f.gz"
    path.write_bytes(PACKED)
    return path


async def use(path: Path) -> None:
    """Every kind of call that a local file has."""
    assert await agz.read(path) == TEXT
    async with agz.open(path, "rt") as file:
        assert "".join([line async for line in file]) == TEXT.decode()
        await file.seek(5)
        assert await file.read(5) == TEXT[5:10].decode()
    other = path.with_suffix(".new")
    async with agz.open(other, "wb") as writer:
        await writer.write(TEXT)
        await writer.flush()
        await writer.writelines([TEXT, b"end"])
    assert (await agz.verify(other)).uncompressed_size == 2 * len(TEXT) + 3
    assert (await agz.inspect(other)).member_count == 1


# ---- threads and loops --------------------------------------------------------------------


def test_a_full_default_executor(path: Path, run: Any) -> None:
    release = threading.Event()

    async def main() -> None:
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(1) as executor:
            loop.set_default_executor(executor)
            blocked = loop.run_in_executor(None, release.wait, FOREVER)
            try:
                await use(path)
                assert not blocked.done()
            finally:
                release.set()
            assert await blocked

    run(main())


def test_no_executor_at_all(path: Path, run: Any) -> None:
    """And no other threads of Python's than there were."""

    class Refused(ThreadPoolExecutor):
        def submit(self, *args: Any, **kwargs: Any) -> Any:
            raise AssertionError("the default executor was used")

    async def main() -> None:
        before = threading.active_count()
        asyncio.get_running_loop().set_default_executor(Refused())
        await use(path)
        assert threading.active_count() == before

    run(main())


@pytest.mark.parametrize("kind", LOOPS)
def test_loops_in_several_threads(path: Path, tmp_path: Path, kind: str) -> None:
    failures: list[BaseException] = []

    def work(i: int) -> None:
        mine = tmp_path / str(i)
        mine.mkdir()
        (mine / "f.gz").write_bytes(PACKED)
        try:
            for _ in range(5):
                with asyncio.Runner(loop_factory=LOOPS[kind]) as runner:
                    runner.run(use(mine / "f.gz"))
                    runner.run(use(path_of_all(i)))
        except BaseException as error:
            failures.append(error)

    def path_of_all(i: int) -> Path:
        """The same file for all; what use() writes beside it is not."""
        link = tmp_path / f"link{i}.gz"
        if not link.exists():
            link.symlink_to(path)
        return link

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@pytest.mark.parametrize("kind", LOOPS)
def test_loops_one_after_another(path: Path, kind: str) -> None:
    """The ledger looks at what they leave: here that it does not grow."""

    def once() -> int:
        with asyncio.Runner(loop_factory=LOOPS[kind]) as runner:
            runner.run(use(path))
        gc.collect()
        return len(os.listdir("/proc/self/fd"))

    first = once()
    assert [once() for _ in range(20)] == [first] * 20


def test_a_loop_goes_with_its_last_file(path: Path, run: Any) -> None:
    async def main() -> Any:
        await use(path)
        return weakref.ref(asyncio.get_running_loop())

    loop = run(main())
    gc.collect()
    assert loop() is None


def test_a_file_outlives_its_loop(tmp_path: Path, run: Any) -> None:
    """Nothing can be waited for on another loop, and that is an error; closing is none."""
    with Fifo(tmp_path) as fifo:
        (tmp_path / "text").mkdir()
        with Fifo(tmp_path / "text") as other:
            files: list[Any] = []

            async def main() -> None:
                for path, mode in ((fifo.path, "rb"), (other.path, "rt")):
                    file: Any = await agz.open(path, mode).open()
                    task = await suspended(file.readline())
                    task.cancel()
                    files.append(file)

            async def later() -> None:
                for file in files:
                    with pytest.raises(RuntimeError, match="loop"):
                        await file.readline()
                    await file.close()
                    assert file.closed

            run(main())
            run(later())


# ---- left behind --------------------------------------------------------------------------


def drop(things: list[Any]) -> None:
    things.clear()
    gc.collect()


@pytest.mark.parametrize("mode", ["rb", "rt", "ab", "at"])
def test_a_file_that_nobody_closed_warns(path: Path, run: Any, mode: str) -> None:
    async def main() -> None:
        file: Any = await agz.open(path, mode).open()
        if "r" in mode:
            await file.readline()
        kept = [file]
        del file
        with pytest.warns(ResourceWarning, match=r"unclosed.*f\.gz"):
            drop(kept)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            file = agz.open(path, mode)
            del file
            file = await agz.open(path, mode).open()
            await file.close()
            del file
            gc.collect()

    run(main())


def test_a_cycle_with_a_file_goes(path: Path, run: Any) -> None:
    async def main() -> None:
        for mode in ("rb", "rt"):

            class Own:
                pass

            own: Any = Own()
            own.file = await agz.open(path, mode).open()
            own.line = own.file.readline
            own.again = own
            gone = weakref.ref(own)
            kept = [own]
            del own
            with pytest.warns(ResourceWarning):
                drop(kept)
            assert gone() is None

    run(main())


def test_dropped_with_work_in_flight(tmp_path: Path, run: Any) -> None:
    """A read that waits for a FIFO, its task cancelled, its file forgotten."""

    async def main() -> None:
        with Fifo(tmp_path) as fifo:
            file = await agz.open(fifo.path).open()
            task = await suspended(file.readline())
            task.cancel()
            await asyncio.wait([task])
            kept = [file, task]
            del file, task
            with pytest.warns(ResourceWarning):
                drop(kept)

    run(main())


# ---- fork ---------------------------------------------------------------------------------

FORK = """
import asyncio, gzip, os, sys
import agz

path, kind = sys.argv[1:]
if kind == "uvloop":
    import uvloop
    asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
loop = asyncio.new_event_loop()
run = loop.run_until_complete
data = gzip.open(path).read()

async def begin():
    reader = await agz.open(path).open()
    line = await reader.readline()
    writer = await agz.open(path + "2", "wb").open()
    await writer.write(data)
    return reader, line, writer

reader, line, writer = run(begin())
pid = os.fork()
if pid == 0:
    async def child():
        assert await agz.read(path) == data
        async with agz.open(path, "rt") as file:
            assert "".join([line async for line in file]) == data.decode()
        await agz.write(path + "3", data)
        assert gzip.open(path + "3").read() == data
    asyncio.run(child())
    print("child", flush=True)
    if sys.argv[1].endswith("exit.gz"):
        os._exit(0)
    sys.exit(0)

async def go_on():
    assert line + await reader.read() == data
    await reader.close()
    await writer.write(b"more")
    await writer.close()
    assert await agz.read(path + "2") == data + b"more"

run(go_on())
assert os.waitpid(pid, 0)[1] == 0
print("parent", flush=True)
"""


@forks
@pytest.mark.parametrize("kind", LOOPS)
def test_fork_with_files_open(tmp_path: Path, kind: str) -> None:
    """Both go on; a child that leaves by way of the interpreter writes nothing into the files."""
    for name in ("f.gz", "exit.gz"):
        path = tmp_path / name
        path.write_bytes(PACKED)
        out = python("import warnings; warnings.simplefilter('ignore')\n" + FORK, path, kind)
        assert sorted(out.split()) == ["child", "parent"]


# ---- the end of the interpreter -----------------------------------------------------------

EXITS = {
    "a reader, ahead": "f = await agz.open(path).open(); await f.readline()",
    "a reader of text": "f = await agz.open(path, 'rt').open(); await f.readline()",
    "a read of a FIFO": """
        f = await agz.open(fifo).open()
        t = asyncio.ensure_future(f.readline())
        await asyncio.sleep(0)
    """,
    "a read that was cancelled": """
        f = await agz.open(fifo).open()
        t = asyncio.ensure_future(f.read())
        await asyncio.sleep(0)
        t.cancel()
    """,
    "a writer": "f = await agz.open(path + 'w', 'wb').open(); await f.write(os.urandom(3000000))",
    "a writer of text": "f = await agz.open(path + 'w', 'wt').open(); await f.write('x' * 3000000)",
    "a writer nobody reads": """
        f = await agz.open(fifo, 'wb').open()
        t = asyncio.ensure_future(f.write(os.urandom(9000000)))
        await asyncio.sleep(0)
    """,
    "an opening": "t = asyncio.ensure_future(agz.open(path).open()); await asyncio.sleep(0)",
    "a closing": """
        f = await agz.open(path + 'w', 'wb').open()
        await f.write(os.urandom(3000000))
        t = asyncio.ensure_future(f.close())
        await asyncio.sleep(0)
    """,
    "chunks": """
        async def source():
            while True:
                yield os.urandom(100000)
        c = agz.compress_chunks(source())
        await anext(c)
        await anext(c)
    """,
}


EXIT = """
import asyncio, os, sys
import agz
path, fifo, kind = sys.argv[1:]
keep = os.open(fifo, os.O_RDWR)
if kind == "uvloop":
    import uvloop
    new = uvloop.new_event_loop
else:
    new = asyncio.new_event_loop
async def main():
    global f, t, c
    BODY
    LAST
"""
RUNS = "with asyncio.Runner(loop_factory=new) as runner: runner.run(main())"
# A loop that is never closed, and globals that hold all of it.
ENDS = {
    "return": ("pass", RUNS, 0),
    "exit": ("sys.exit(3)", RUNS, 3),
    "exception": ("raise KeyError('mine')", RUNS, 1),
    "global": ("pass", "loop = new(); loop.run_until_complete(main())", 0),
}


@pytest.mark.parametrize("left", EXITS)
@pytest.mark.parametrize(
    ("kind", "end"),
    [*(("asyncio", end) for end in ENDS), ("uvloop", "return"), ("uvloop", "global")],
)
def test_exit_with_work_in_flight(
    path: Path, tmp_path: Path, kind: str, left: str, end: str
) -> None:
    os.mkfifo(tmp_path / "fifo")
    last, start, status = ENDS[end]
    body = textwrap.indent(textwrap.dedent(EXITS[left]).strip(), "    ").strip()
    code = EXIT.replace("BODY", body).replace("LAST", last) + start
    out = python(code, path, tmp_path / "fifo", kind, status=status)
    assert "Fatal" not in out
    assert ("mine" in out) == (end == "exception")


@pytest.mark.parametrize("kind", LOOPS)
def test_daemon_threads_at_exit(path: Path, kind: str) -> None:
    """Loops that still run in threads when the interpreter ends."""
    code = f"""
import asyncio, sys, threading
import agz
if {kind!r} == "uvloop":
    import uvloop
    new = uvloop.new_event_loop
else:
    new = asyncio.new_event_loop
ready = threading.Barrier(4)
def work():
    async def main():
        first = True
        while True:
            async with agz.open(sys.argv[1], "rt") as file:
                async for line in file:
                    if first:
                        first = False
                        ready.wait()
    new().run_until_complete(main())
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
ready.wait()
"""
    assert python(code, path) == ""


# ---- several interpreters -----------------------------------------------------------------

INTERPRETERS = """
import sys, threading
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

code = '''
import sys
sys.path[:] = {path!r}
import asyncio, agz, gzip
async def main():
    assert await agz.read({file!r}) == gzip.open({file!r}).read()
    async with agz.open({file!r}, "rt") as f:
        assert [line async for line in f]
    async with agz.open({file!r} + str({i}), "wb") as f:
        await f.write(b"x" * 1000000)
    try:
        await agz.read("/no such file")
    except FileNotFoundError:
        print("done", {i}, flush=True)
asyncio.run(main())
'''

for i in range(3):
    one = interpreters.create()
    failure = interpreters.run_string(one, code.format(path=sys.path, file=sys.argv[1], i=i))
    assert not failure, failure
    interpreters.destroy(one)

import asyncio, agz, gzip
assert asyncio.run(agz.read(sys.argv[1])) == gzip.open(sys.argv[1]).read()
print("done", 3)
"""


@subinterpreters
def test_sub_interpreters(path: Path) -> None:
    """One after another, each with state of its own, then the main one."""
    out = python(INTERPRETERS, path)
    assert out.split("\n")[:4] == [f"done {i}" for i in range(4)], out


def test_imported_again(path: Path) -> None:
    """A second copy of the module has state of its own; types of the first are not the second's."""
    code = """
import asyncio, gc, importlib, sys
import agz
first = agz
for name in [name for name in sys.modules if name.split(".")[0] == "agz"]:
    del sys.modules[name]
import agz
assert agz is not first
assert agz.AsyncGzipBinaryFile is not first.AsyncGzipBinaryFile
assert asyncio.run(agz.read(sys.argv[1])) == asyncio.run(first.read(sys.argv[1]))
del first
gc.collect()
assert asyncio.run(agz.read(sys.argv[1]))
"""
    assert python(code, path) == ""


# ---- the environment ----------------------------------------------------------------------


@pytest.mark.parametrize("threads", ["1", "2", "64", "0", "-1", "many", "", "999999"])
def test_agz_threads(path: Path, threads: str) -> None:
    """Any value works, a useless one as the default."""
    code = """
import asyncio, sys
import agz
async def main():
    await asyncio.gather(*[agz.read(sys.argv[1]) for _ in range(30)])
asyncio.run(main())
"""
    assert python(code, path, AGZ_THREADS=threads) == ""


def test_no_threads_before_first_use() -> None:
    code = "import os, agz; print(len(os.listdir('/proc/self/task')))"
    assert python(code) == "1\n"


def test_signals_go_to_pythons_threads(path: Path) -> None:
    """A signal while workers work reaches the handler, and interrupts nothing."""
    code = """
import asyncio, os, signal, sys
import agz
seen = 0
def handler(*_):
    global seen
    seen += 1
signal.signal(signal.SIGUSR1, handler)
async def main():
    data = await agz.read(sys.argv[1])
    for i in range(50):
        reads = [asyncio.ensure_future(agz.read(sys.argv[1])) for _ in range(4)]
        await asyncio.sleep(0)
        os.kill(os.getpid(), signal.SIGUSR1)
        assert await asyncio.gather(*reads) == [data] * 4
asyncio.run(main())
assert seen > 0
"""
    assert python(code, path) == ""


def test_limits_on_descriptors(path: Path) -> None:
    """Out of descriptors is an error of the open, and passes."""
    code = """
import asyncio, errno, gzip, os, resource, sys
import agz
async def main():
    await agz.read(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
    files = []
    try:
        for _ in range(100):
            files.append(await agz.open(sys.argv[1]).open())
    except OSError as error:
        assert error.errno == errno.EMFILE, error
    else:
        raise AssertionError("no limit")
    for file in files:
        await file.close()
    assert await agz.read(sys.argv[1])
asyncio.run(main())
"""
    assert python(code, path) == ""


@pytest.mark.skipif(sys.version_info < (3, 12), reason="asyncio's eager tasks are new in 3.12")
def test_eager_tasks(path: Path) -> None:
    async def main() -> None:
        factory = asyncio.eager_task_factory  # type: ignore[attr-defined]
        asyncio.get_running_loop().set_task_factory(factory)
        async with agz.open(path) as file:
            assert await asyncio.create_task(file.readline()) == TEXT.split(b"\n")[0] + b"\n"
        await use(path)

    asyncio.run(main())
