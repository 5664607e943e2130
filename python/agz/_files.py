"""Gzip files for asyncio: the waiting.

A method that can be answered at once is answered by the C base class, with an awaitable that
is ready. Where it cannot, the base class makes an operation and calls `_run`: an ordinary
coroutine that waits for what the operation needs, and lets it try again.
"""

from __future__ import annotations

import asyncio
import codecs
import os
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Any, NoReturn, Self

from . import _agz
from ._arguments import (
    DEFAULT_CHUNK_SIZE,
    DEFAULT_REWIND_CACHE_SIZE,
    Filename,
    check_bool,
    check_bound,
    check_chunk_size,
    check_closefd,
    check_encoding,
    check_filename,
    check_level,
    check_mode,
    check_mtime,
    check_newline,
    check_original_filename,
    header_name,
    integer,
    mtime_now,
    unsupported,
)
from ._errors import refusal
from ._loops import waker_for
from ._places import Place
from ._sources import Sink, Source
from ._types import WithAsyncRead, WithAsyncReadWrite, WithAsyncWrite

FileObject = WithAsyncRead | WithAsyncWrite | WithAsyncReadWrite

# What an operation needs (enum need of module.h).
_WAKE, _INPUT, _TURN, _OUTPUT, _REWIND = 1, 2, 3, 4, 5

_CREATE = {"w": 0, "a": 1, "x": 2}

# enum agz_newline, for the ways that Python names line ends.
_NEWLINE = {None: 3, "": 3, "\n": 0, "\r": 1, "\r\n": 2}

DEFAULT_BATCH_HINT = 1024 * 1024


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
        "_operation",
        "_original_filename",
        "_sink",
        "_source",
        "_strict_size",
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
        check_bool(strict_size, "strict_size")
        check_bool(fast_compress, "fast_compress")
        check_closefd(closefd)
        self._filename = check_filename(filename, fileobj)
        self._operation, text = check_mode(mode)
        if text:
            raise ValueError("Binary mode cannot include text ('t')")
        self._mode = mode
        self._writes = self._operation != "r"
        self._chunk_size = check_chunk_size(chunk_size)
        self._level = check_level(compresslevel) if self._writes else 6
        self._header_mtime = check_mtime(mtime)
        self._original_filename = check_original_filename(original_filename)
        self._max_decompressed_size = check_bound(max_decompressed_size, "max_decompressed_size")
        self._max_rewind_cache_size = check_bound(max_rewind_cache_size, "max_rewind_cache_size")
        self._strict_size = strict_size
        self._fast_compress = fast_compress
        self._closefd = fileobj is None if closefd is None else closefd
        self._source = self._sink = None
        if fileobj is not None:
            if self._writes:
                self._sink = Sink(fileobj)
            else:
                self._source = Source(fileobj, self._chunk_size, self._max_rewind_cache_size)
        self._closing: asyncio.Future[None] | None = None
        self._newline, self._lines, self._collect = 0, False, False

    # ---- life cycle ------------------------------------------------------------------

    async def open(self) -> Self:
        """Open the file. `async with` does it; a failed open can be tried again."""
        if self._state == "closed":
            raise ValueError("Cannot reopen a closed file")
        if self._state != "new":
            raise ValueError("File is already open")
        self._loop = asyncio.get_running_loop()
        waker = waker_for(self._loop)
        path = None
        if self._source is None and self._sink is None:
            self._name = self._filename
            path = os.fsencode(self._filename)  # type: ignore[arg-type]
            if b"\0" in path:
                raise ValueError("embedded null byte")
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
        if path is not None:
            try:
                await self._opened()
            except BaseException:
                self._dispose(True)
                raise
        return self

    def _fname(self) -> bytes | None:
        if self._original_filename is not None:
            return header_name(self._original_filename)
        return header_name(self._filename)

    async def close(self) -> None:
        """Complete what was written, and close. Closing a closed file does nothing.

        Several calls wait for the same end, and a cancelled one waits for it too before it
        is cancelled: a file is never left half closed.
        """
        if self._closing is not None:
            await asyncio.shield(self._closing)
            return
        if self._state == "closed":
            return
        if self._running is not None:
            raise refusal(self, "close")
        if not self._writes and self._source is None:
            self._dispose(False)
            return
        self._loop = asyncio.get_running_loop()
        self._closing = self._loop.create_task(self._close())
        # A failure that only a cancelled caller could have seen must not go unnoticed as
        # "never retrieved": the caller below always looks at it.
        cancelled: asyncio.CancelledError | None = None
        while not self._closing.done():
            try:
                await asyncio.shield(self._closing)
            except asyncio.CancelledError as error:
                if self._closing.cancelled():
                    raise
                cancelled = error
            except BaseException:
                break
        closing, self._closing = self._closing, None
        failure = closing.exception()
        if cancelled is not None:
            raise cancelled from failure
        if failure is not None:
            raise failure

    async def _close(self) -> None:
        try:
            if self._state == "writing":
                await self._finish()
        finally:
            self._dispose(False)
            if self._closefd:
                await self._close_fileobj()

    async def _close_fileobj(self) -> None:
        for end in (self._source, self._sink):
            if end is not None:
                await end.close()

    async def _abort(self) -> None:
        """Close without completing: what was written stays a prefix of the right stream."""
        self._dispose(False)
        if self._closefd:
            await self._close_fileobj()

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        if exc_val is None:
            await self.close()
            return
        try:
            await self._abort()
        except Exception as error:
            exc_val.add_note(f"Context-exit cleanup also failed: {error!r}")

    # ---- waiting ---------------------------------------------------------------------

    async def _run(self, operation: _agz.Operation) -> Any:
        """Waits for what the operation needs until it is done; its result."""
        self._begin(operation)
        try:
            while need := operation.step():
                await self._supply(need)
            return operation.result()
        except BaseException:
            operation.undo()
            raise
        finally:
            self._end(operation)

    async def _supply(self, need: int) -> None:
        if need == _WAKE:
            waiter = self._waiter = self._loop.create_future()
            try:
                await waiter
            finally:
                self._waiter = None
        elif need == _INPUT:
            assert self._source is not None
            data = await self._source.read()
            self._push(data, not data)
        elif need == _OUTPUT:
            assert self._sink is not None
            await self._sink.write(self)
        elif need == _TURN:
            await asyncio.sleep(0)
        else:
            assert self._source is not None
            await self._source.rewind()
            while not self._restart():
                await asyncio.sleep(0)

    # ---- the rest of a file ------------------------------------------------------------

    async def rewind(self) -> None:
        """Go back to the start of the stream (readers)."""
        if self._writes:
            raise OSError("Can't rewind in write mode")
        await self.seek(0)

    @property
    def name(self) -> Filename:
        """The path as it was given, or None."""
        return self._filename

    @property
    def closed(self) -> bool:
        return self._state == "closed"

    def readable(self) -> bool:
        return not self._writes

    def writable(self) -> bool:
        return self._writes

    def seekable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return False

    def fileno(self) -> int:
        """The descriptor of the compressed file."""
        if self._state == "closed":
            raise ValueError("I/O operation on closed file")
        if self._state == "new":
            raise ValueError("File not opened. Call await open() or use async with.")
        end = self._source or self._sink
        if end is not None:
            return end.fileno()
        return self._fd

    def raw(self) -> Any:
        """The file object that was given, or None for a path."""
        end = self._source or self._sink
        return None if end is None else end.fileobj

    def truncate(self, size: int | None = None) -> int:
        raise unsupported("truncate")

    def detach(self) -> Any:
        raise unsupported("detach")

    def __enter__(self) -> NoReturn:
        raise _not_sync(self, "with")

    def __exit__(self, *exc: object) -> None:
        """Never reached: `with` is refused on entry."""

    def __iter__(self) -> NoReturn:
        raise _not_sync(self, "for")

    def __repr__(self) -> str:
        return _repr(self)


def _not_sync(file: object, statement: str) -> TypeError:
    name = type(file).__name__
    if statement == "with":
        return TypeError(
            f"{name} must be used with 'async with', not 'with' "
            "(e.g. \"async with agz.open(path) as f:\")"
        )
    return TypeError(
        f"{name} must be iterated with 'async for', not 'for' (e.g. \"async for line in f:\")"
    )


def _repr(file: AsyncGzipBinaryFile | AsyncGzipTextFile) -> str:
    """Also of a file whose __init__ failed."""
    name = getattr(file, "_filename", None)
    mode = getattr(file, "_mode", None)
    try:
        closed: object = file.closed
    except AttributeError:
        closed = None
    return f"<agz.{type(file).__name__} name={name!r} mode={mode!r} closed={closed}>"


class AsyncGzipTextFile(_agz.TextFile):
    """A gzip file of text: an AsyncGzipBinaryFile (`buffer`) with an encoding.

    encoding: any text encoding of Python; None means UTF-8. errors: its error handler.
    newline: None (line ends "\\n", "\\r" and "\\r\\n" are read as "\\n"), "" (read as they
        are), or the one line end there is. Written "\\n" become `newline`, or os.linesep for
        None.
    The other arguments are those of AsyncGzipBinaryFile.

    A line that cannot be decoded raises UnicodeDecodeError and stays where it is; the lines
    before it come out first.
    """

    __slots__ = (
        "_binary",
        "_encoding",
        "_errors",
        "_initial_state",
        "_mode",
        "_newline_mode",
        "_nonce",
        "__weakref__",
    )

    DEFAULT_BATCH_HINT = DEFAULT_BATCH_HINT

    def __init__(
        self,
        filename: Filename,
        mode: str = "rt",
        chunk_size: int = DEFAULT_CHUNK_SIZE,
        encoding: str | None = "utf-8",
        errors: str | None = "strict",
        newline: str | None = None,
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
        check_mode(mode)
        if "b" in mode:
            raise ValueError("Text mode cannot include binary ('b')")
        binary = AsyncGzipBinaryFile(
            filename,
            mode.replace("t", ""),
            chunk_size,
            compresslevel,
            mtime,
            original_filename,
            fileobj,
            closefd,
            max_decompressed_size,
            max_rewind_cache_size,
            strict_size,
            fast_compress,
        )
        self._mode = mode
        self._encoding = check_encoding(encoding)
        self._errors = "strict" if errors is None else errors
        self._newline_mode = check_newline(newline)
        self._binary = binary
        self._initial_state, self._nonce = None, b""
        self._bind_to(binary)

    def _bind_to(self, binary: AsyncGzipBinaryFile) -> None:
        """Chooses the way for the bytes: see text.c."""
        newline = self._newline_mode
        kind = codecs.lookup(self._encoding).name
        kind = {"utf-8": "utf-8", "ascii": "ascii", "iso8859-1": "latin-1"}.get(kind, "decoder")
        if self._errors != "strict":
            kind = "decoder"
        decoder = encoder = written = None
        if kind == "decoder" and binary.readable():
            decoder = codecs.getincrementaldecoder(self._encoding)(self._errors)
            self._initial_state = decoder.getstate()
            self._nonce = os.urandom(8)
        elif kind == "decoder":
            encoder = codecs.getincrementalencoder(self._encoding)(self._errors)
        if newline in ("\r", "\r\n"):
            written = newline
        elif newline is None and os.linesep != "\n":
            written = os.linesep
        if kind != "decoder":
            binary._newline = _NEWLINE[newline]
            binary._lines = True
        self._bind(
            binary, kind, newline is None, _NEWLINE[newline], decoder, encoder, written
        )

    # ---- life cycle ------------------------------------------------------------------

    async def open(self) -> Self:
        """Open the file. `async with` does it; a failed open can be tried again."""
        await self._binary.open()
        return self

    async def close(self) -> None:
        """Complete what was written, and close. Closing a closed file does nothing."""
        binary = self._binary
        if binary._state == "writing" and self._encoder is not None and binary._running is None:
            tail = self._encoder.encode("", True)
            if tail:
                await binary.write(tail)
        await binary.close()

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        if exc_val is None:
            await self.close()
        else:
            await self._binary.__aexit__(exc_type, exc_val, exc_tb)

    # ---- position ----------------------------------------------------------------------

    async def seek(self, offset: int, whence: int = 0) -> int:
        """Move to a place that tell() gave, or to a decompressed byte offset.

        From the current position (1) and the end (2) only by 0.
        """
        offset = integer(offset, "offset must be an integer")
        whence = integer(whence, "whence must be an integer")
        binary = self._binary
        if binary._writes:
            raise refusal(binary, "read")
        if whence == 1:
            if offset != 0:
                raise unsupported("can't do nonzero cur-relative seeks")
            return await self.tell()
        if whence == 2 and offset != 0:
            raise unsupported("can't do nonzero end-relative seeks")
        if whence not in (0, 2):
            raise ValueError("Invalid whence value")
        place = Place(offset, None, 0) if offset >= 0 else Place.of_cookie(offset, self._nonce)
        position = await binary.seek(place.offset, whence)
        self._forget(place.state)
        if place.skip:
            await self._skip(place.skip)
        return offset if offset < 0 else position

    async def tell(self) -> int:
        """The place of the next character, for seek().

        A byte offset wherever reading could begin; else, inside what a decoder has made of
        some bytes, a negative number that only this file understands.
        """
        await self._binary.tell()  # the guard: refuses what tell() has to refuse
        place = Place(*self._place)
        if place.state is None or (place.skip == 0 and place.state == self._initial_state):
            return place.offset
        return place.cookie(self._nonce)

    async def flush(self) -> None:
        """Write all that was accepted to the file, so that it can be decoded."""
        await self._binary.flush()

    # ---- lines -------------------------------------------------------------------------

    def iter_batches(self, hint: int = DEFAULT_BATCH_HINT) -> AsyncIterator[list[str]]:
        """Lists of lines, each of about `hint` characters: the fastest loop over lines."""
        size = integer(hint, "iter_batches hint must be a positive integer")
        if size <= 0:
            raise ValueError("iter_batches hint must be a positive integer")
        return self._batches(size)

    async def _batches(self, hint: int) -> AsyncIterator[list[str]]:
        while lines := await self.readlines(hint):
            yield lines

    # ---- the rest of a file ------------------------------------------------------------

    @property
    def buffer(self) -> AsyncGzipBinaryFile:
        """The file of bytes below."""
        if self._binary._state == "new":
            raise ValueError("File not opened. Call await open() or use async with.")
        return self._binary

    @property
    def encoding(self) -> str:
        return self._encoding

    @property
    def errors(self) -> str:
        return self._errors

    @property
    def name(self) -> Filename:
        """The path as it was given, or None."""
        return self._binary.name

    @property
    def mtime(self) -> int | None:
        """The mtime of the newest member header that was read, or None."""
        return self._binary.mtime

    @property
    def closed(self) -> bool:
        return self._binary.closed

    @property
    def _filename(self) -> Filename:
        return self._binary.name

    def readable(self) -> bool:
        return self._binary.readable()

    def writable(self) -> bool:
        return self._binary.writable()

    def seekable(self) -> bool:
        return self._binary.seekable()

    def isatty(self) -> bool:
        return self._binary.isatty()

    def fileno(self) -> int:
        """The descriptor of the compressed file."""
        return self._binary.fileno()

    def raw(self) -> Any:
        """The file object that was given, or None for a path."""
        return self._binary.raw()

    def truncate(self, size: int | None = None) -> int:
        raise unsupported("truncate")

    def detach(self) -> Any:
        raise unsupported("detach")

    def __enter__(self) -> NoReturn:
        raise _not_sync(self, "with")

    def __exit__(self, *exc: object) -> None:
        """Never reached: `with` is refused on entry."""

    def __iter__(self) -> NoReturn:
        raise _not_sync(self, "for")

    def __repr__(self) -> str:
        return _repr(self)
