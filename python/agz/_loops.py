"""One waker for each event loop: the descriptor by which the worker threads reach it."""

from __future__ import annotations

import asyncio
from weakref import WeakKeyDictionary

from ._agz import Waker

_wakers: WeakKeyDictionary[asyncio.AbstractEventLoop, Waker] = WeakKeyDictionary()


def waker_for(loop: asyncio.AbstractEventLoop) -> Waker:
    """The waker of a running loop, registered with it at first use."""
    waker = _wakers.get(loop)
    if waker is None:
        # A closed loop has let go of its readers; forgetting it closes its descriptor.
        for old in [one for one in _wakers if one.is_closed()]:
            del _wakers[old]
        waker = Waker()
        loop.add_reader(waker.fileno(), waker.dispatch)
        _wakers[loop] = waker
    return waker
