"""A user's own file object, read from or written to on the event loop."""

from __future__ import annotations

import asyncio
import inspect
import os
from typing import TYPE_CHECKING, Any

from ._arguments import unsupported
from ._errors import broken

if TYPE_CHECKING:
    from ._agz import File


async def maybe_await(result: Any) -> Any:
    return await result if inspect.isawaitable(result) else result


class _End:
    """What a source and a sink have in common: the object they stand for."""

    __slots__ = ("fileobj",)

    def __init__(self, fileobj: Any) -> None:
        self.fileobj = fileobj

    def _ask(self, name: str) -> Any:
        """What the object's method of that name gives; None without one that does not wait."""
        method = getattr(self.fileobj, name, None)
        if not callable(method) or inspect.iscoroutinefunction(method):
            return None
        answer = method()
        if inspect.iscoroutine(answer):
            answer.close()
        return None if inspect.isawaitable(answer) else answer

    def fileno(self) -> int:
        number = self._ask("fileno")
        if number is None:
            raise unsupported("fileno")
        return int(number)

    def isatty(self) -> bool:
        return bool(self._ask("isatty"))

    @property
    def name(self) -> Any:
        return getattr(self.fileobj, "name", None)

    async def close(self) -> None:
        method = getattr(self.fileobj, "close", None)
        if callable(method):
            await maybe_await(method())


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
        method = getattr(self.fileobj, "seekable", None)
        if self._seekable and method is not None:
            try:
                self._seekable = bool(await maybe_await(method()))
            except Exception:
                self._seekable = False
        if self._seekable:
            self._cache = None

    def rewindable(self) -> bool:
        """Whether rewind() can work now."""
        return self._seekable or (self._cache is not None and not self.broken)

    def _place(self) -> int | None:
        """Where the object says it stands, if it says so without waiting."""
        try:
            place = self._ask("tell")
        except Exception:
            return None
        return place if type(place) is int else None

    async def read(self) -> bytes:
        """The next bytes, b"" at the end. A read that is cancelled loses none.

        An object with nothing but read() is a stream: its read() runs in a task of its own,
        which is left to end, and the next call here gets what it gave. In any other the
        cancellation goes on into read(), and its tell(), if there is one that does not wait,
        shows afterwards whether that took bytes with it.
        """
        cache = self._cache
        if cache is not None and self._next < len(cache):
            self._next += 1
            return cache[self._next - 1]
        if self.broken:
            raise broken(self.rewindable())
        before = self._place()
        try:
            if before is None and not hasattr(self.fileobj, "seek"):
                data = await self._read_apart()
            else:
                data = await self.fileobj.read(self._chunk_size)
            if not isinstance(data, (bytes, bytearray, memoryview)):
                raise TypeError(f"fileobj.read() must give bytes, not {type(data).__name__}")
        except BaseException:
            if self._reading is None:
                self.broken = before is None or self._place() != before
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

    async def _read_apart(self) -> Any:
        reading = self._reading
        if reading is None:
            reading = self._reading = asyncio.ensure_future(self.fileobj.read(self._chunk_size))
            await asyncio.sleep(0)  # what does not pause has it then, without more ado
        # Cancelled here, it stays for the next call, also if it had just come to its end.
        if not reading.done():
            await asyncio.wait([reading])
        self._reading = None
        try:
            return reading.result()
        finally:
            del reading  # has the error, whose traceback has this frame

    async def stop(self) -> None:
        """Ends a read that was left running, and waits for that, also when cancelled."""
        reading, self._reading = self._reading, None
        cancelled: list[asyncio.CancelledError] = []
        if reading is not None:
            reading.cancel()
            while not reading.done():
                try:
                    await asyncio.wait([reading])
                except asyncio.CancelledError as error:
                    cancelled = [error]
            if not reading.cancelled():
                reading.exception()  # nobody else asks for it
        if cancelled:
            raise cancelled.pop()

    async def rewind(self) -> None:
        """Back to the start, or OSError if that is not possible any more."""
        if self._seekable:
            before = None if self.broken else self._place()
            self.broken = True  # until it is known that it has moved, or that it has not
            try:
                await maybe_await(self.fileobj.seek(0, os.SEEK_SET))
                self.broken = False
            finally:
                self.broken &= before is None or self._place() != before
        elif self.rewindable():
            self._next = 0
        else:
            raise OSError(
                "Underlying file is not seekable, and more was read than the rewind cache holds"
            )


class Sink(_End):
    """Takes compressed bytes by `await fileobj.write(data)`, again after a short write."""

    __slots__ = ()

    async def flush(self) -> None:
        """Calls the object's flush(), if it has one."""
        method = getattr(self.fileobj, "flush", None)
        if callable(method):
            await maybe_await(method())

    async def write(self, file: File) -> None:
        """Passes on file._block; what is left of it after a failure stays there."""
        while block := file._block:
            count = await self.fileobj.write(block)
            if isinstance(count, bool) or not isinstance(count, int):
                raise OSError(f"fileobj.write() gave an invalid byte count: {count!r}")
            if count == 0:
                raise OSError("fileobj.write() made no progress")
            if not 0 < count <= len(block):
                raise OSError(f"fileobj.write() gave an invalid byte count: {count}")
            file._block = block[count:] if count < len(block) else None
