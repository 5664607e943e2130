"""Whole files in one call: read, write, inspect, verify."""

from __future__ import annotations

from ._arguments import DEFAULT_CHUNK_SIZE, DEFAULT_REWIND_CACHE_SIZE, Filename
from ._binary import AsyncGzipBinaryFile
from ._records import GzipInfo, GzipMemberInfo, VerificationResult
from ._types import WithAsyncRead, WithAsyncReadWrite, WithAsyncWrite


async def read(
    filename: Filename,
    *,
    chunk_size: int = DEFAULT_CHUNK_SIZE,
    fileobj: WithAsyncRead | WithAsyncReadWrite | None = None,
    closefd: bool | None = None,
    max_decompressed_size: int | None = None,
    max_rewind_cache_size: int | None = DEFAULT_REWIND_CACHE_SIZE,
) -> bytes:
    """Read and decompress a whole file. The arguments are those of open()."""
    async with AsyncGzipBinaryFile(
        filename,
        "rb",
        chunk_size,
        fileobj=fileobj,
        closefd=closefd,
        max_decompressed_size=max_decompressed_size,
        max_rewind_cache_size=max_rewind_cache_size,
    ) as file:
        return await file.read()


async def write(
    filename: Filename,
    data: bytes | bytearray | memoryview,
    *,
    chunk_size: int = DEFAULT_CHUNK_SIZE,
    compresslevel: int = 6,
    mtime: int | float | None = None,
    original_filename: str | bytes | None = None,
    fileobj: WithAsyncWrite | WithAsyncReadWrite | None = None,
    closefd: bool | None = None,
    strict_size: bool = False,
    fast_compress: bool = False,
) -> None:
    """Compress data into a file of one member. The arguments are those of open()."""
    try:
        memoryview(data)
    except TypeError:
        raise TypeError(f"data must be a bytes-like object, not {type(data).__name__}") from None
    async with AsyncGzipBinaryFile(
        filename,
        "wb",
        chunk_size,
        compresslevel,
        mtime,
        original_filename,
        fileobj,
        closefd,
        strict_size=strict_size,
        fast_compress=fast_compress,
    ) as file:
        await file.write(data)


async def _scan(
    filename: Filename,
    chunk_size: int,
    fileobj: WithAsyncRead | WithAsyncReadWrite | None,
    closefd: bool | None,
    max_decompressed_size: int | None,
    collect: bool,
) -> tuple[int, int, int, tuple[GzipMemberInfo, ...]]:
    """Decodes to the end: members, compressed and decompressed size, records."""
    file = AsyncGzipBinaryFile(
        filename,
        "rb",
        chunk_size,
        fileobj=fileobj,
        closefd=closefd,
        max_decompressed_size=max_decompressed_size,
        max_rewind_cache_size=1,
    )
    file._collect = collect
    await file.open()
    try:
        await file._scan()
        counts = file._counts
        records = tuple(GzipMemberInfo(*record) for record in file._members())
    except BaseException as error:
        try:
            await file.close()
        except Exception as other:
            error.add_note(f"Source cleanup also failed: {other!r}")
        raise
    await file.close()
    return *counts, records


async def inspect(
    filename: Filename,
    *,
    chunk_size: int = DEFAULT_CHUNK_SIZE,
    fileobj: WithAsyncRead | WithAsyncReadWrite | None = None,
    closefd: bool | None = None,
    max_decompressed_size: int | None = None,
) -> GzipInfo:
    """Check a whole file and describe each of its members; the data is dropped.

    Raises gzip.BadGzipFile if any byte of it is wrong.
    """
    _, compressed, decompressed, records = await _scan(
        filename, chunk_size, fileobj, closefd, max_decompressed_size, True
    )
    return GzipInfo(records, compressed, decompressed)


async def verify(
    filename: Filename,
    *,
    chunk_size: int = DEFAULT_CHUNK_SIZE,
    fileobj: WithAsyncRead | WithAsyncReadWrite | None = None,
    closefd: bool | None = None,
    max_decompressed_size: int | None = None,
) -> VerificationResult:
    """Check a whole file in constant memory: every header, CRC-32 and ISIZE.

    Raises gzip.BadGzipFile if any byte of it is wrong.
    """
    count, compressed, decompressed, _ = await _scan(
        filename, chunk_size, fileobj, closefd, max_decompressed_size, False
    )
    return VerificationResult(count, compressed, decompressed)
