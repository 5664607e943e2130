"""A user's own file object, read from or written to on the event loop."""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any, TypeGuard

from ._arguments import unsupported
from ._errors import broken

if TYPE_CHECKING:
    from ._agz import File


async def maybe_await(result: Any) -> Any:
    return await result if inspect.isawaitable(result) else result


def _ask(fileobj: Any, name: str) -> Any:
    """What the object's method of that name gives; None without one that does not wait."""
    method = getattr(fileobj, name, None)
    if not callable(method) or inspect.iscoroutinefunction(method):
        return None
    answer = method()
    if inspect.iscoroutine(answer):
        answer.close()
    return None if inspect.isawaitable(answer) else answer


async def _end_of(doing: asyncio.Future[Any]) -> list[asyncio.CancelledError]:
    """Waits for it also when cancelled; the cancellation that is still to be raised."""
    cancelled: list[asyncio.CancelledError] = []
    while not doing.done():
        try:
            await asyncio.wait([doing])
        except asyncio.CancelledError as error:
            cancelled = [error]
    return cancelled


async def _settle(doing: asyncio.Future[Any]) -> None:
    """Waits for its end also when cancelled; a failure is then the cancellation's cause. So it
    is where the call itself was cancelled, with all tasks: nobody knows what it still does."""
    cancelled = await _end_of(doing)
    if doing.cancelled():
        raise (cancelled or [asyncio.CancelledError()]).pop() from asyncio.CancelledError()
    if cancelled and (failure := doing.exception()) is not None:
        raise cancelled.pop() from failure
    if cancelled:
        raise cancelled.pop()


class _End:
    """What a source and a sink have in common: the object they stand for.

    A file of aiofiles `settles`: its call runs in a thread, which goes on when the call is
    cancelled; so the cancellation waits for it.
    """

    __slots__ = ("fileobj", "settles")

    def __init__(self, fileobj: Any) -> None:
        self.fileobj = fileobj
        self.settles = type(fileobj).__module__ == "aiofiles.threadpool.binary"

    def settled(self, error: BaseException) -> TypeGuard[asyncio.CancelledError]:
        """Whether the call that ended so has done all the same what it was to do."""
        cancelled = isinstance(error, asyncio.CancelledError)
        return self.settles and cancelled and error.__cause__ is None

    async def _call(self, name: str, *args: Any) -> Any:
        """Calls a method of the object, which may be a coroutine or not."""
        result = getattr(self.fileobj, name)(*args)
        if self.settles and inspect.iscoroutine(result):
            doing = asyncio.ensure_future(result)
            try:
                await _settle(doing)
                return doing.result()
            finally:
                del doing  # has the error, whose traceback has this frame
        return await maybe_await(result)

    def fileno(self) -> int:
        number = _ask(self.fileobj, "fileno")
        if number is None:
            raise unsupported("fileno")
        return int(number)

    def isatty(self) -> bool:
        return bool(_ask(self.fileobj, "isatty"))

    @property
    def name(self) -> Any:
        return getattr(self.fileobj, "name", None)

    async def close(self) -> None:
        if callable(getattr(self.fileobj, "close", None)):
            await self._call("close")


class Source(_End):
    """Compressed bytes from `await fileobj.read(size)`.

    For going back to the start it seeks, if the object can; else it keeps what it has read,
    up to a bound.
    """

    __slots__ = (
        "_bound",
        "_cache",
        "_cached",
        "_chunk_size",
        "_next",
        "_reading",
        "_seekable",
        "broken",
    )

    def __init__(self, fileobj: Any, chunk_size: int, bound: int | None) -> None:
        super().__init__(fileobj)
        self._chunk_size = chunk_size
        self._bound = bound
        self._seekable = False  # until prepare() has asked
        self._cache: list[bytes] | None = []  # None: it would be too large, or is not needed
        self._cached = 0  # bytes in the cache
        self._next = 0  # the item of the cache that read() gives next
        self._reading: asyncio.Future[Any] | None = None
        self.broken = False

    async def prepare(self) -> None:
        """Asks the object whether it can seek; one that fails to say cannot."""
        self._seekable = callable(getattr(self.fileobj, "seek", None))
        if self._seekable and getattr(self.fileobj, "seekable", None) is not None:
            try:
                self._seekable = bool(await self._call("seekable"))
            except Exception:
                self._seekable = False
        if self._seekable:
            self._cache = None

    def rewindable(self) -> bool:
        """Whether rewind() can work now."""
        return self._seekable or (self._cache is not None and not self.broken)

    def _place(self) -> int | None:
        """Where the object says it stands, if it says so without waiting."""
        # Of a file of aiofiles no thread is at work now.
        fileobj = self.fileobj._file if self.settles else self.fileobj
        try:
            place = _ask(fileobj, "tell")
        except Exception:
            return None
        return place if type(place) is int and place >= 0 else None

    def _moved(self, before: int | None, error: BaseException) -> bool:
        """Whether the object may stand elsewhere than before the call that ended so."""
        lost = self.settles and isinstance(error.__cause__, asyncio.CancelledError)
        return lost or before is None or self._place() != before

    async def read(self) -> bytes:
        """The next bytes, b"" at the end. A read that is cancelled loses none.

        An object with nothing but read() is a stream: its read() runs in a task of its own,
        which is left to end, and the next call here gets what it gave; as it does of a file
        of aiofiles. In any other the cancellation goes on into read(), and its tell(), if
        there is one that does not wait, shows afterwards whether that took bytes with it.
        """
        cache = self._cache
        if cache is not None and self._next < len(cache):
            self._next += 1
            return cache[self._next - 1]
        if self._reading is not None and self._reading.cancelled():  # with all tasks
            self._reading, self.broken = None, True
        if self.broken:
            raise broken(self.rewindable())
        before = self._place()
        try:
            if self.settles or (before is None and not hasattr(self.fileobj, "seek")):
                data = await self._read_apart()
            else:
                data = await self._begin_read()
            if not isinstance(data, (bytes, bytearray, memoryview)):
                raise TypeError(f"fileobj.read() must give bytes, not {type(data).__name__}")
        except BaseException as error:
            if self._reading is None:
                self.broken = self._moved(before, error)
            raise
        data = bytes(data)
        if cache is not None and data:
            self._cached += len(data)
            if self._bound is not None and self._cached > self._bound:
                self._cache = None
            else:
                cache.append(data)
                self._next = len(cache)
        return data

    def _begin_read(self) -> Awaitable[Any]:
        reading: object = self.fileobj.read(self._chunk_size)
        if not inspect.isawaitable(reading):
            raise TypeError(
                f"fileobj.read() must be awaitable, and gave {type(reading).__name__}: a file "
                "object of open() or io cannot be awaited; give its path instead, or wrap it"
            )
        return reading

    async def _read_apart(self) -> Any:
        reading = self._reading
        if reading is None:
            reading = self._reading = asyncio.ensure_future(self._begin_read())
            if not self.settles:
                await asyncio.sleep(0)  # what does not pause has it then, without more ado
        # Cancelled here, it stays for the next call, also if it had just come to its end.
        if self.settles:
            try:
                await _settle(reading)
            except asyncio.CancelledError as error:
                if not self.settled(error):
                    self._reading = None
                raise
        elif not reading.done():
            await asyncio.wait([reading])
        self._reading = None
        try:
            return reading.result()
        finally:
            del reading  # has the error, whose traceback has this frame

    async def stop(self) -> None:
        """Ends a read that was left running, and waits for that, also when cancelled."""
        reading, self._reading = self._reading, None
        if reading is None:
            return
        reading.cancel()
        cancelled = await _end_of(reading)
        if not reading.cancelled():
            reading.exception()  # nobody else asks for it
        if cancelled:
            raise cancelled.pop()

    async def rewind(self) -> list[asyncio.CancelledError]:
        """Back to the start, or OSError if that is not possible any more. Gives the
        cancellation that is still to be raised, if it came to its end under one."""
        if self._seekable:
            before = None if self.broken else self._place()
            self.broken = True  # until it is known that it has moved, or that it has not
            self._reading = None
            cancelled = []
            try:
                await self._call("seek", 0, os.SEEK_SET)
            except BaseException as error:
                if not self.settled(error):
                    self.broken = self._moved(before, error)
                    raise
                cancelled = [error]
            self.broken = False
            return cancelled
        if not self.rewindable():
            raise OSError(
                "Underlying file is not seekable, and more was read than the rewind cache holds"
            )
        self._next = 0
        return []


class Sink(_End):
    """Takes compressed bytes by `await fileobj.write(data)`, again after a short write."""

    __slots__ = ()

    async def flush(self) -> None:
        """Calls the object's flush(), if it has one."""
        if callable(getattr(self.fileobj, "flush", None)):
            await self._call("flush")

    async def write(self, file: File) -> None:
        """Passes on file._block; what is left of it after a failure stays there."""
        while block := file._block:
            if self.settles:
                count = await self._call("write", block)
            else:
                count = await self.fileobj.write(block)
            if isinstance(count, bool) or not isinstance(count, int):
                raise OSError(f"fileobj.write() gave an invalid byte count: {count!r}")
            if count == 0:
                raise OSError("fileobj.write() made no progress")
            if not 0 < count <= len(block):
                raise OSError(f"fileobj.write() gave an invalid byte count: {count}")
            file._block = block[count:] if count < len(block) else None
