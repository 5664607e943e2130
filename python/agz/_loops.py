"""One waker for each event loop: the descriptor by which the worker threads reach it.

The waker leaves its loop when that ends, and waits for the next one; so a program with one
loop at a time has one descriptor for it from the import on. asyncio tells nobody that a loop
is about to close, except the asynchronous generators that run on it: so each waker has one,
which takes it off the loop in its `finally`. A loop closed without `shutdown_asyncgens()` is
noticed when the next waker is needed.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import AsyncGenerator
from weakref import WeakKeyDictionary

from ._agz import Waker

_Lifeline = AsyncGenerator[None, None]

_wakers: WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[Waker, _Lifeline]] = WeakKeyDictionary()

_spare = [Waker()]
_lock = threading.Lock()  # for both: loops run in several threads


def _unlock() -> None:
    """In a child of fork: the thread that held the lock is not there."""
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock)


def _keep(waker: Waker) -> None:
    """Keeps a waker that left its loop, unless there is one, or a file still names it."""
    if not _spare and waker.files == 0:
        _spare.append(waker)


def _take() -> Waker:
    """A waker for a loop that has none, after those of closed loops were taken back."""
    with _lock:
        for old in [one for one in _wakers if one.is_closed()]:
            _keep(_wakers.pop(old)[0])
        return _spare.pop() if _spare else Waker()


def waker_for(loop: asyncio.AbstractEventLoop) -> Waker:
    """The waker of the running loop, registered with it at first use."""
    entry = _wakers.get(loop)
    if entry is not None:
        return entry[0]
    waker = _take()
    loop.add_reader(waker.fileno(), waker.dispatch)
    lifeline = _forget_at_end(waker)
    with _lock:
        _wakers[loop] = waker, lifeline
    with contextlib.suppress(StopIteration):
        lifeline.asend(None).send(None)
    return waker


async def _forget_at_end(waker: Waker) -> _Lifeline:
    try:
        yield
    finally:
        # A file that is open still may be closed by another generator's `finally`.
        loop = asyncio.get_running_loop()
        if waker.files == 0:
            loop.remove_reader(waker.fileno())
            with _lock:
                if _wakers.pop(loop, None) is not None:
                    _keep(waker)
