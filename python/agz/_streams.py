"""Async iterables of bytes, compressed and decompressed on the way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from ._arguments import (
    check_bool,
    check_bound,
    check_chunk_size,
    check_level,
    check_mtime,
    check_original_filename,
)
from ._binary import AsyncGzipBinaryFile
from ._sources import maybe_await
from .codec import exact_bytes

_DEFAULT_OUTPUT_CHUNK_SIZE = 256 * 1024

# Items without a suspension, after which the loop gets a turn.
_ITEMS_A_TURN = 64


class _Items:
    """A source iterable, item by item: nothing is asked for before it is needed."""

    # Not a stream that outlives a cancelled read(), so that it is read without a task: the
    # iterator that reads it ends with the cancellation.
    seek = None

    def __init__(self, source: AsyncIterable[bytes]) -> None:
        self._iterable = source
        self._iterator: AsyncIterator[bytes]
        self._count = 0

    def begin(self) -> None:
        """Asks the source for its iterator."""
        self._iterator = self._iterable.__aiter__()
        if not callable(getattr(self._iterator, "__anext__", None)):
            raise TypeError(
                "source.__aiter__() must return an asynchronous iterator, not "
                f"{type(self._iterator).__name__}"
            )

    async def next(self) -> bytes:
        """The next item that is not empty, b"" at the end."""
        while True:
            self._count += 1
            if self._count % _ITEMS_A_TURN == 0:
                await asyncio.sleep(0)
            try:
                item: object = await anext(self._iterator)
            except StopAsyncIteration:
                return b""
            if not isinstance(item, bytes):
                raise TypeError(f"source items must be bytes, not {type(item).__name__}")
            if data := exact_bytes(item):
                return data

    async def read(self, size: int = -1) -> bytes:
        """The same, as the reading side of a file asks for it."""
        return await self.next()

    async def aclose(self) -> None:
        close = getattr(self._iterator, "aclose", None)
        if callable(close):
            await maybe_await(close())


class _Blocks:
    """A sink that keeps what it is given until it is taken."""

    def __init__(self) -> None:
        self.blocks: list[bytes] = []

    async def write(self, data: Any) -> int:
        self.blocks.append(data)
        return len(data)

    def take(self, size: int) -> list[bytes]:
        """What there is, in pieces of at most `size` bytes."""
        blocks, self.blocks = self.blocks, []
        return [block[i : i + size] for block in blocks for i in range(0, len(block), size)]


def _check_source(source: object) -> None:
    if not isinstance(source, AsyncIterable):
        raise TypeError(
            f"source must be an asynchronous iterable of bytes, not {type(source).__name__}"
        )


def decompress_chunks(
    source: AsyncIterable[bytes],
    *,
    output_chunk_size: int = _DEFAULT_OUTPUT_CHUNK_SIZE,
    max_decompressed_size: int | None = None,
) -> AsyncIterator[bytes]:
    """Decompress an async iterable of bytes, of any number of gzip members.

    Gives chunks of 1 to `output_chunk_size` bytes, as soon as they can be decoded, and asks
    the source for more only when it has to. The stream is valid only once the iterator has
    ended: gzip.BadGzipFile says that it is not.
    """
    _check_source(source)
    size = check_chunk_size(output_chunk_size, "output_chunk_size")
    bound = check_bound(max_decompressed_size, "max_decompressed_size")
    return _decompress(_Items(source), size, bound)


async def _decompress(items: _Items, size: int, bound: int | None) -> AsyncGenerator[bytes, None]:
    file = AsyncGzipBinaryFile(
        None, "rb", fileobj=items, max_decompressed_size=bound, max_rewind_cache_size=1
    )
    async with _ending(file, items):
        await file.open()
        while chunk := await file.read1(size):
            yield chunk


def compress_chunks(
    source: AsyncIterable[bytes],
    *,
    compresslevel: int = 6,
    mtime: int | float | None = None,
    original_filename: str | bytes | None = None,
    fast_compress: bool = False,
    strict_size: bool = False,
    output_chunk_size: int = _DEFAULT_OUTPUT_CHUNK_SIZE,
) -> AsyncIterator[bytes]:
    """Compress an async iterable of bytes into one gzip member.

    Gives chunks of 1 to `output_chunk_size` bytes: the header before the source is asked
    for anything, the trailer after it has ended. What came out before an error, or before an
    early end, is not a whole member.
    """
    _check_source(source)
    check_bool(fast_compress, "fast_compress")
    check_bool(strict_size, "strict_size")
    size = check_chunk_size(output_chunk_size, "output_chunk_size")
    blocks = _Blocks()
    file = AsyncGzipBinaryFile(
        None,
        "wb",
        compresslevel=check_level(compresslevel),
        mtime=check_mtime(mtime),
        original_filename=check_original_filename(original_filename),
        fileobj=blocks,
        strict_size=strict_size,
        fast_compress=fast_compress,
    )
    return _compress(_Items(source), file, blocks, size)


async def _compress(
    items: _Items, file: AsyncGzipBinaryFile, blocks: _Blocks, size: int
) -> AsyncGenerator[bytes, None]:
    async with _ending(file, items):
        await file.open()
        while True:
            for chunk in blocks.take(size):
                yield chunk
            item = await items.next()
            if not item:
                break
            await file.write(item)
        await file.close()
        for chunk in blocks.take(size):
            yield chunk


@asynccontextmanager
async def _ending(file: AsyncGzipBinaryFile, items: _Items) -> AsyncGenerator[None, None]:
    """Closes file and source; an error of the source's close counts only after success."""
    items.begin()
    try:
        yield
    except BaseException:
        await file._abandon()
        with suppress(Exception):
            await items.aclose()
        raise
    await file._abandon()
    await items.aclose()
