"""AsyncGzipTextFile: a file of bytes with an encoding."""

from __future__ import annotations

import codecs
import operator
import os
from collections.abc import AsyncIterator, Callable
from types import TracebackType
from typing import Any, NoReturn, Self

from . import _agz
from ._arguments import (
    DEFAULT_CHUNK_SIZE,
    DEFAULT_REWIND_CACHE_SIZE,
    Filename,
    check_encoding,
    check_mode,
    check_newline,
    check_options,
    integer,
    unsupported,
)
from ._binary import AsyncGzipBinaryFile, FileObject, describe, not_sync
from ._errors import refusal
from ._places import Place

# enum agz_newline, for the ways that Python names line ends.
_NEWLINE = {None: 3, "": 3, "\n": 0, "\r": 1, "\r\n": 2}

DEFAULT_BATCH_HINT = 1024 * 1024


def _ending(encoder: codecs.IncrementalEncoder) -> Callable[[], bytes]:
    """What ends the text; nothing, no byte-order mark either, if none was begun."""
    start = encoder.getstate()
    return lambda: b"" if encoder.getstate() == start else encoder.encode("", True)


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
        "_plain_state",
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
        self._encoding = check_encoding(encoding)
        self._errors = "strict" if errors is None else errors
        self._newline_mode = check_newline(newline)
        operation, _ = check_mode(mode)
        if "b" in mode:
            raise ValueError("Text mode cannot include binary ('b')")
        binary = AsyncGzipBinaryFile(
            filename,
            f"{operation}b+" if "+" in mode else f"{operation}b",
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
        self._binary = binary
        self._initial_state: tuple[bytes, int] | None = None
        self._plain_state: tuple[bytes, int] | None = None  # behind a byte-order mark
        self._nonce = b""
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
            make = codecs.getincrementaldecoder(self._encoding)
            decoder = make(self._errors)
            self._initial_state = decoder.getstate()
            behind = make()
            behind.decode("a".encode(self._encoding))
            self._plain_state = behind.getstate()
            self._nonce = os.urandom(8)
        elif kind == "decoder":
            encoder = codecs.getincrementalencoder(self._encoding)(self._errors)
            binary._tail = _ending(encoder)
        if newline in ("\r", "\r\n"):
            written = newline
        elif newline is None and os.linesep != "\n":
            written = os.linesep
        if kind != "decoder":
            binary._newline = _NEWLINE[newline]
            binary._lines = True
        self._bind(binary, kind, newline is None, _NEWLINE[newline], decoder, encoder, written)

    # ---- life cycle ------------------------------------------------------------------

    async def open(self) -> Self:
        """Open the file. `async with` does it; a failed open can be tried again."""
        await self._binary.open()
        return self

    async def close(self) -> None:
        """Complete what was written, and close. Closing a closed file does nothing."""
        await self._binary.close()

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        await self._binary.__aexit__(exc_type, exc_val, exc_tb)

    # ---- position ----------------------------------------------------------------------

    async def seek(self, offset: int, whence: int = 0) -> int:
        """Move to a place that tell() gave, or to a decompressed byte offset.

        From the current position (1) and the end (2) only by 0.
        """
        binary = self._binary
        if binary._running is not None or binary._state in ("new", "closed"):
            raise refusal(binary, "seek")
        offset, whence = operator.index(offset), operator.index(whence)
        if whence == 1:
            if offset != 0:
                raise unsupported("can't do nonzero cur-relative seeks")
            return await self.tell()
        if whence == 2 and offset != 0:
            raise unsupported("can't do nonzero end-relative seeks")
        if whence not in (0, 2):
            raise ValueError("Invalid whence value")
        if binary._writes and (offset or whence):
            raise refusal(binary, "read")
        if whence == 2 and await self._pass():
            return self._here()  # without a pause: nothing can cancel the seek any more
        if offset < 0:
            place = Place.of_cookie(offset, self._nonce)
        else:
            place = Place(offset, self._plain_state if offset or whence else None, 0)
        before = binary._position
        try:
            position = await binary._seek(place.offset, whence)
        except BaseException:
            # One that is cancelled goes back, or had come to its end all the same.
            if binary._position != before:
                self._forget(place.state, place.skip)
            raise
        self._forget(place.state, place.skip)
        return position if whence else offset

    async def tell(self) -> int:
        """The place of the next character, for seek().

        A byte offset wherever reading could begin; else, inside what a decoder has made of
        some bytes, a negative number that only this file understands.
        """
        await self._binary.tell()  # the guard: refuses what tell() has to refuse
        return self._here()

    def _here(self) -> int:
        place = Place(*self._place)
        plain = self._plain_state if place.offset else self._initial_state
        if place.state is None or (place.skip == 0 and place.state == plain):
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
        # readlines() goes past its hint; a batch ends where it has reached it.
        if hint == 1:
            while line := await self.readline():
                yield [line]
        else:
            while lines := await self.readlines(hint - 1):
                yield lines

    # ---- the rest of a file ------------------------------------------------------------

    @property
    def buffer(self) -> AsyncGzipBinaryFile:
        """The file of bytes below."""
        if not self._binary._in_use:
            raise ValueError("File not opened. Call await open() or use async with.")
        return self._binary

    @property
    def encoding(self) -> str:
        """The encoding, as it was given."""
        return self._encoding

    @property
    def errors(self) -> str:
        """The error handler."""
        return self._errors

    @property
    def name(self) -> Any:
        """The path as it was given, or what a file object says is its name, or None."""
        return self._binary.name

    @property
    def mtime(self) -> int | None:
        """The mtime of the newest member header that was read, or None."""
        return self._binary.mtime

    @property
    def closed(self) -> bool:
        """Whether it was closed: nothing but close() can be called any more."""
        return self._binary.closed

    @property
    def _filename(self) -> Any:
        return self._binary.name

    def readable(self) -> bool:
        """Whether the mode is one for reading."""
        return self._binary.readable()

    def writable(self) -> bool:
        """Whether the mode is one for writing."""
        return self._binary.writable()

    def seekable(self) -> bool:
        """Whether seek() can go back."""
        return self._binary.seekable()

    def isatty(self) -> bool:
        """Whether a file object says so without waiting."""
        return self._binary.isatty()

    def fileno(self) -> int:
        """The descriptor of the compressed file."""
        return self._binary.fileno()

    def raw(self) -> Any:
        """The file object that was given, or None for a path."""
        return self.buffer.raw()

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
