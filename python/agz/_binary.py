"""AsyncGzipBinaryFile: opening, waiting and closing.

A method that can be answered at once is answered by the C base class, with an awaitable that
is ready. Where it cannot, the base class makes an operation and calls `_run`: an ordinary
coroutine that waits for what the operation needs, and lets it try again.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, NoReturn, Self

from . import _agz
from ._arguments import (
    DEFAULT_CHUNK_SIZE,
    DEFAULT_REWIND_CACHE_SIZE,
    Filename,
    check_level,
    check_mode,
    check_mtime,
    check_options,
    check_original_filename,
    header_name,
    mtime_now,
    unsupported,
)
from ._errors import ConcurrentOperationError, refusal
from ._loops import waker_for
from ._sources import Sink, Source
from ._types import WithAsyncRead, WithAsyncReadWrite, WithAsyncWrite

FileObject = WithAsyncRead | WithAsyncWrite | WithAsyncReadWrite

# What an operation needs (enum need of module.h).
_WAKE, _INPUT, _TURN, _OUTPUT, _REWIND, _FLUSH = 1, 2, 3, 4, 5, 6

_CREATE = {"w": 0, "a": 1, "x": 2}


class AsyncGzipBinaryFile(_agz.File):
    """A gzip file of bytes, read or written without holding up the event loop.

    filename: a path; or None with `fileobj`, an object with async `read(size)` or
        `write(data)`, which is closed with the file only if `closefd` is true.
    mode: "r", "w", "a" (a further member) or "x" (a new file), with "b" or without.
    chunk_size: bytes asked of the source, or given to the encoder, at a time; 1 to 128 MiB.
    compresslevel: -1 to 9, as zlib means them. The output is zlib's, byte for byte.
    mtime: seconds for the header, None for now. original_filename: its FNAME field, None for
        the path's basename without ".gz", "" for none.
    max_decompressed_size: bytes that a reader may give before it raises OSError.
    max_rewind_cache_size: compressed bytes kept of a source that cannot seek, for seeking
        back; None for no bound.
    strict_size: refuse a member of 4 GiB or more, whose ISIZE field would wrap.
    fast_compress: the fastest engine for the level, at the price of other bytes.

    One task owns a file: a call that overlaps another raises ConcurrentOperationError.
    A call that is cancelled loses nothing: what it had read is read by the next one, what it
    had written is written.
    """

    __slots__ = (
        "_aborting",
        "_chunk_size",
        "_closefd",
        "_closing",
        "_collect",
        "_fast_compress",
        "_filename",
        "_header_mtime",
        "_level",
        "_lines",
        "_loop",
        "_max_decompressed_size",
        "_max_rewind_cache_size",
        "_mode",
        "_newline",
        "_opening",
        "_operation",
        "_original_filename",
        "_owner",
        "_owner_cancelled",
        "_settled",
        "_sink",
        "_source",
        "_strict_size",
        "_tail",
        "_writes",
        "__weakref__",
    )

    DEFAULT_CHUNK_SIZE = DEFAULT_CHUNK_SIZE

    def __init__(
        self,
        filename: Filename,
        mode: str = "rb",
        chunk_size: int = DEFAULT_CHUNK_SIZE,
        compresslevel: int = 6,
        mtime: int | float | None = None,
        original_filename: str | bytes | None = None,
        fileobj: FileObject | None = None,
        closefd: bool | None = None,
        max_decompressed_size: int | None = None,
        max_rewind_cache_size: int | None = DEFAULT_REWIND_CACHE_SIZE,
        strict_size: bool = False,
        fast_compress: bool = False,
    ) -> None:
        check_options(
            filename,
            fileobj,
            chunk_size,
            closefd,
            max_decompressed_size,
            max_rewind_cache_size,
            strict_size,
            fast_compress,
        )
        self._operation, text = check_mode(mode)
        if text:
            raise ValueError("Binary mode cannot include text ('t')")
        self._filename = filename
        self._mode = mode
        self._writes = self._operation != "r"
        self._chunk_size = chunk_size
        self._level = check_level(compresslevel) if self._writes else 6
        self._header_mtime = check_mtime(mtime)
        self._original_filename = check_original_filename(original_filename)
        self._max_decompressed_size = max_decompressed_size
        self._max_rewind_cache_size = max_rewind_cache_size
        self._strict_size = strict_size
        self._fast_compress = fast_compress
        self._closefd = fileobj is None if closefd is None else closefd
        self._source = self._sink = None
        if fileobj is not None:
            if self._writes:
                self._sink = Sink(fileobj)
            else:
                self._source = Source(fileobj, chunk_size, max_rewind_cache_size)
        self._owner: asyncio.Task[Any] | None = None
        self._aborting = self._opening = self._owner_cancelled = False
        self._settled: list[asyncio.Future[None]] = []
        self._closing: list[asyncio.Future[None]] | None = None
        self._tail: Callable[[], bytes] | None = None
        self._newline, self._lines, self._collect = 0, False, False

    # ---- life cycle ------------------------------------------------------------------

    async def open(self) -> Self:
        """Open the file. `async with` does it; a failed open can be tried again."""
        if self.closed:
            raise ValueError("Cannot reopen a closed file")
        if self._opening:
            raise ConcurrentOperationError("another task is opening this file")
        if self._state != "new":
            raise ValueError("File is already open")
        self._opening = True
        try:
            await self._open()
        except BaseException:
            self._dispose(True)
            raise
        finally:
            self._opening = False
        self._in_use = 1
        return self

    async def _open(self) -> None:
        self._loop = asyncio.get_running_loop()
        waker = waker_for(self._loop)
        path: Filename = None
        if self._source is not None:
            await self._source.prepare()
        elif self._sink is None:
            assert self._filename is not None
            self._name = path = os.fspath(self._filename)
        if self._writes:
            self._open_writer(
                waker=waker,
                path=path,
                create=_CREATE[self._operation],
                chunk_nbytes=self._chunk_size,
                level=self._level,
                fast=self._fast_compress,
                mtime=mtime_now(self._header_mtime),
                name=self._fname(),
                strict_size=self._strict_size,
            )
        else:
            self._open_reader(
                waker=waker,
                path=path,
                chunk_nbytes=self._chunk_size,
                max_out_nbytes=self._max_decompressed_size or 0,
                newline=self._newline,
                lines=self._lines,
                members=self._collect,
            )
        if path is not None or self._sink is not None:
            await self._opened()

    def _fname(self) -> bytes | None:
        if self._original_filename is not None:
            return header_name(self._original_filename)
        return header_name(self._filename)

    async def close(self) -> None:
        """Complete what was written, and close. Closing a closed file does nothing.

        Several calls wait for the same end. Cancelling the close of a path waits for that end
        first: a file is never left half written without a word.
        """
        if self._closing is not None:
            end = asyncio.get_running_loop().create_future()
            self._closing.append(end)
            try:
                await end
            finally:
                del end  # has the error, whose traceback has this frame
            return
        if self._state == "closed":
            return
        if self._opening:
            raise ConcurrentOperationError("another task is opening this file")
        if self._running is not None:
            raise refusal(self, "close")
        if not self._in_use:
            self._dispose(False)  # a file object that was never opened stays its owner's
            return
        self._closing = []
        try:
            await self._close()
        except BaseException as error:
            self._tell_closers(error)
            raise
        self._tell_closers(None)

    def _tell_closers(self, failure: BaseException | None) -> None:
        waiting, self._closing = self._closing, None
        for end in waiting or ():
            if end.done():
                continue
            if failure is None or isinstance(failure, asyncio.CancelledError):
                end.set_result(None)
            else:
                end.set_exception(failure)

    async def _close(self) -> None:
        try:
            if self._state == "writing":
                if self._tail is not None and (tail := self._tail()):
                    await self.write(tail)
                await self._complete()
            elif (
                self._state == "reading"
                and self._source is None
                and self._loop is asyncio.get_running_loop()  # on no other can it wait
            ):
                await self._stop()
        except BaseException as error:
            self._dispose(False)
            try:
                await self._close_fileobj()
            except Exception as other:
                error.add_note(f"closing the file object also failed: {other!r}")
            raise
        self._dispose(False)
        await self._close_fileobj()

    async def _complete(self) -> None:
        """The trailer, and for a path the end of the file, however often it is cancelled."""
        cancelled: list[asyncio.CancelledError] = []
        while True:
            try:
                await self._finish()
                break
            except asyncio.CancelledError as error:
                if self._sink is not None:
                    raise
                cancelled = [error]
        if cancelled:
            raise cancelled.pop()

    async def _close_fileobj(self) -> None:
        if self._source is not None:
            await self._source.stop()
        end = self._source or self._sink
        if end is not None and self._closefd:
            await end.close()

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        if exc_val is not None and self._opening:
            return  # it is the other task's still
        if exc_val is not None and self._running is not None:
            await self._abort(exc_val)
            return
        try:
            while self._running is not None and not self._opening:
                await self._next_end()
        except asyncio.CancelledError as error:
            await self._abort(error)
            raise
        await self.close()  # its failure is reported, also on top of another exception

    # ---- aborting ------------------------------------------------------------------------

    async def _abort(self, reason: BaseException) -> None:
        """Close without completing: what was written stays a prefix of the right stream.

        A call that is running in another task fails with OSError. What goes wrong here is
        noted on `reason`, the exception that the caller goes on to raise. A cancellation
        waits until all is closed.
        """
        cancelled: list[asyncio.CancelledError] = []
        try:
            await self._abort_running()
        except asyncio.CancelledError as error:
            cancelled = [error]
        if self._state != "closed":
            try:
                # A file object that cannot be closed leaves the file open, for close() to
                # try again.
                if self._state == "reading":
                    self._fail()  # until a seek(0)
                    await self._stop()
                await self._close_fileobj()
                self._dispose(False)
            except Exception as error:
                if cancelled:
                    raise cancelled.pop() from error
                reason.add_note(f"Context-exit cleanup also failed: {error!r}")
            except asyncio.CancelledError as error:
                end = self._source or self._sink
                if end is not None and end.settled(error):
                    self._dispose(False)
                raise
        if cancelled:
            raise cancelled.pop()

    async def _abort_running(self) -> None:
        if self._running is None:
            return
        self._aborting = True
        cancelled: list[asyncio.CancelledError] = []
        waiter, owner = self._waiter, self._owner
        if waiter is not None:
            if not waiter.done():
                waiter.set_result(None)
        elif owner is not None:
            self._owner_cancelled = owner.cancel()
        while self._running is not None:
            try:
                await self._next_end()
            except asyncio.CancelledError as error:
                cancelled = [error]
        self._aborting = False
        if self._source is not None:
            await self._source.stop()
        if cancelled:
            raise cancelled.pop()

    async def _next_end(self) -> None:
        """Waits until the running call is over."""
        end = asyncio.get_running_loop().create_future()
        self._settled.append(end)
        await end

    # ---- waiting ---------------------------------------------------------------------

    async def _run(self, operation: _agz.Operation) -> Any:
        """Waits for what the operation needs until it is done; its result."""
        self._begin(operation)
        self._owner = asyncio.current_task()
        try:
            while need := operation.step():
                await self._supply(need, operation.verb)
                if self._aborting:
                    break
            else:
                return operation.result()
        except BaseException as error:
            operation.undo()
            if not self._aborting:
                raise
            raise self._aborted(operation) from error
        finally:
            self._use_up_cancellation()
            self._owner = None
            self._end(operation)
            settled, self._settled = self._settled, []
            for end in settled:
                if not end.done():
                    end.set_result(None)
        operation.undo()
        raise self._aborted(operation)

    def _use_up_cancellation(self) -> None:
        """Takes back what _abort_running() asked of this task, however its call has ended; so
        that a timeout around it still tells its own expiry from a cancellation."""
        if self._owner_cancelled and self._owner is not None:
            self._owner.uncancel()
        self._owner_cancelled = False

    @staticmethod
    def _aborted(operation: _agz.Operation) -> OSError:
        verb = "read" if operation.verb == "seek" else operation.verb
        return OSError(f"{verb} aborted because the gzip file was closed")

    async def _supply(self, need: int, verb: str) -> None:
        if need == _WAKE:
            loop = asyncio.get_running_loop()
            if loop is not self._loop:
                raise RuntimeError("the file belongs to another event loop")
            waiter = self._waiter = loop.create_future()
            try:
                await waiter
            finally:
                self._waiter = None
        elif need == _INPUT:
            assert self._source is not None
            try:
                data = await self._source.read()
            except BaseException:
                if self._source.broken:
                    self._fail()
                raise
            if not self._aborting:
                self._push(data, not data)
        elif need == _OUTPUT:
            assert self._sink is not None
            await self._to_sink(self._sink.write(self), verb)
        elif need == _FLUSH:
            assert self._sink is not None
            await self._to_sink(self._sink.flush(), verb)
        elif need == _TURN:
            await asyncio.sleep(0)
        else:
            await self._back_to_start()

    async def _back_to_start(self) -> None:
        """Source and reader. Once the source has moved, so does the reader, however often that
        is cancelled: it waits for a job of the worker and for nothing else."""
        assert self._source is not None
        try:
            cancelled = await self._source.rewind()
        except BaseException:
            if self._source.broken:
                self._fail()
            raise
        while not self._aborting and not self._restart():
            try:
                await asyncio.sleep(0)
            except asyncio.CancelledError as error:
                cancelled = [error]
        if cancelled:
            raise cancelled.pop()

    async def _to_sink(self, doing: Coroutine[Any, Any, None], verb: str) -> None:
        """Waits for the user's sink. If that fails, nobody knows what the sink has."""
        try:
            await doing
        except BaseException as error:
            self._break()
            if verb == "flush" and isinstance(error, Exception) and not isinstance(error, OSError):
                raise OSError(f"Unexpected error during flush: {error}") from error
            raise

    async def _abandon(self) -> None:
        """Let go of everything at once, and of a read that was left running."""
        self._dispose(False)
        if self._source is not None:
            await self._source.stop()

    # ---- the rest of a file ------------------------------------------------------------

    async def rewind(self) -> None:
        """Go back to the start of the stream (readers)."""
        if self._writes:
            raise OSError("Can't rewind in write mode")
        await self.seek(0)

    @property
    def name(self) -> Any:
        """The path as it was given, or what a file object says is its name, or None."""
        end = self._source or self._sink
        return self._filename if end is None or self._filename is not None else end.name

    @property
    def closed(self) -> bool:
        """Whether close() was called: nothing but that can be any more."""
        return self._state == "closed" or self._closing is not None

    def readable(self) -> bool:
        """Whether the mode is one for reading."""
        return not self._writes

    def writable(self) -> bool:
        """Whether the mode is one for writing."""
        return self._writes

    def seekable(self) -> bool:
        """Whether seek() can go back; of a file object, whether it says so, or what was
        read is kept."""
        return self._source is None or self._source.rewindable()

    def isatty(self) -> bool:
        """Whether a file object says so without waiting."""
        end = self._source or self._sink
        return end is not None and self._in_use != 0 and end.isatty()

    def fileno(self) -> int:
        """The descriptor of the compressed file."""
        end = self._source or self._sink
        if not self._in_use or (self._state == "closed" and end is None):
            raise refusal(self, "fileno")
        return self._fd if end is None else end.fileno()

    def raw(self) -> Any:
        """The file object that was given, once it is in use; None for a path."""
        end = self._source or self._sink
        return None if end is None or not self._in_use else end.fileobj

    def truncate(self, size: int | None = None) -> int:
        """Not supported: raises io.UnsupportedOperation."""
        raise unsupported("truncate")

    def detach(self) -> Any:
        """Not supported: raises io.UnsupportedOperation."""
        raise unsupported("detach")

    def __enter__(self) -> NoReturn:
        raise not_sync(self, "with")

    def __exit__(self, *exc: object) -> NoReturn:
        raise not_sync(self, "with")

    def __iter__(self) -> NoReturn:
        raise not_sync(self, "for")

    def __repr__(self) -> str:
        return describe(self)


def not_sync(file: object, statement: str) -> TypeError:
    """For `with` and `for` where `async with` and `async for` are meant."""
    name = type(file).__name__
    if statement == "with":
        return TypeError(
            f"{name} must be used with 'async with', not 'with' "
            '(e.g. "async with agz.open(path) as f:")'
        )
    return TypeError(
        f"{name} must be iterated with 'async for', not 'for' (e.g. \"async for line in f:\")"
    )


def describe(file: Any) -> str:
    """The repr of a file, also of one whose __init__ failed."""
    name = getattr(file, "_filename", None)
    mode = getattr(file, "_mode", None)
    try:
        closed: object = file.closed
    except AttributeError:
        closed = None
    return f"<agz.{type(file).__name__} name={name!r} mode={mode!r} closed={closed}>"
