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
from collections.abc import AsyncGenerator
from weakref import WeakKeyDictionary

from ._agz import Waker

_Lifeline = AsyncGenerator[None, None]

_wakers: WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[Waker, _Lifeline]] = WeakKeyDictionary()

_spare = [Waker()]


def _keep(waker: Waker) -> None:
    """Keeps a waker that left its loop, unless there is one, or a file still names it."""
    if waker.files == 0:
        _spare.append(waker)
        del _spare[1:]  # after, and not a look before: other threads have loops too


def waker_for(loop: asyncio.AbstractEventLoop) -> Waker:
    """The waker of the running loop, registered with it at first use."""
    entry = _wakers.get(loop)
    if entry is not None:
        return entry[0]
    for old in [one for one in _wakers if one.is_closed()]:
        _keep(_wakers.pop(old)[0])
    waker = _spare.pop() if _spare else Waker()
    loop.add_reader(waker.fileno(), waker.dispatch)
    lifeline = _forget_at_end(waker)
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
        if waker.files == 0 and _wakers.pop(loop, None) is not None:
            loop.remove_reader(waker.fileno())
            _keep(waker)
