"""Event loops of both kinds, and the ledger: what a test opened or made is gone after it."""

import asyncio
import contextlib
import gc
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Generator, Iterator
from pathlib import Path
from typing import Any

import agz  # noqa: F401 - before the first look at descriptors
import pytest
import uvloop

sys.path.insert(0, str(Path(__file__).parent))

LOOPS: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {
    "asyncio": asyncio.new_event_loop,
    "uvloop": uvloop.new_event_loop,
}

for make in LOOPS.values():  # uvloop keeps descriptors of the first one
    make().close()

Run = Callable[[Coroutine[Any, Any, Any]], Any]


@pytest.fixture(params=LOOPS)
def run(request: pytest.FixtureRequest) -> Run:
    """asyncio.run(), on each kind of loop; asyncio's in debug mode."""

    def run(main: Coroutine[Any, Any, Any]) -> Any:
        debug = request.param == "asyncio"
        with asyncio.Runner(loop_factory=LOOPS[request.param], debug=debug) as runner:
            return runner.run(main)

    return run


def descriptors() -> Counter[str]:
    """What they are open on."""
    open_now: Counter[str] = Counter()
    for fd in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # the one that lists them
            open_now[os.readlink(f"/proc/self/fd/{fd}")] += 1
    return open_now


# With the one descriptor that agz keeps for the next loop.
AT_FIRST = descriptors()


def ours() -> Counter[str]:
    """Objects of the extension that were made since the collector's last freeze."""
    gc.collect()
    return Counter(type(thing).__name__ for thing in gc.get_objects() if is_ours(type(thing)))


def is_ours(kind: type) -> bool:
    return any(base.__module__ == "agz._agz" for base in kind.__mro__)


failed = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    item.stash[failed] = item.stash.get(failed, False) or report.failed
    return report


@pytest.fixture(autouse=True)
def ledger(request: pytest.FixtureRequest) -> Iterator[None]:
    """A file that was dropped is closed by a worker, a moment later: hence the loop."""
    gc.collect()
    gc.freeze()
    before = descriptors() | AT_FIRST
    yield
    if request.node.stash.get(failed, False):
        return
    deadline = time.monotonic() + 20
    while left := ours() + (descriptors() - before):
        assert time.monotonic() < deadline, left
        time.sleep(0.01)
