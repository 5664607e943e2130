"""Every public name as a typed program uses it; test_api.py has mypy look at it, strictly."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import assert_type

import agz
from agz import (
    GZIP_FLAG_FCOMMENT,
    GZIP_FLAG_FEXTRA,
    GZIP_FLAG_FHCRC,
    GZIP_FLAG_FNAME,
    GZIP_METHOD_DEFLATE,
    GZIP_OS_UNKNOWN,
    GZIP_WBITS,
    AsyncGzipBinaryFile,
    AsyncGzipFile,
    AsyncGzipTextFile,
    CodecOperation,
    ConcurrentOperationError,
    EngineInfo,
    GzipDecoder,
    GzipEncoder,
    GzipInfo,
    GzipMemberInfo,
    VerificationResult,
    WithAsyncRead,
    WithAsyncReadWrite,
    WithAsyncWrite,
    ZlibEngine,
)

FLAGS: int = GZIP_FLAG_FCOMMENT | GZIP_FLAG_FEXTRA | GZIP_FLAG_FHCRC | GZIP_FLAG_FNAME
NUMBERS: list[int] = [FLAGS, GZIP_METHOD_DEFLATE, GZIP_OS_UNKNOWN, GZIP_WBITS]
VERSION: str = agz.__version__
ENGINE: ZlibEngine = None


class Memory:
    """A source and a sink, as the protocols want them."""

    def __init__(self) -> None:
        self.data = b""

    async def read(self, size: int = -1) -> bytes:
        data, self.data = self.data, b""
        return data

    async def write(self, data: str | bytes) -> int:
        assert isinstance(data, bytes)
        self.data += data
        return len(data)

    async def close(self) -> None:
        pass


async def write_bytes(path: Path) -> None:
    async with agz.open(path, "wb", compresslevel=9, mtime=0) as file:
        assert_type(file, AsyncGzipBinaryFile)
        assert_type(await file.write(bytearray(b"some\n")), int)
        await file.writelines([b"more\n", memoryview(b"more\n")])
        await file.flush()
        assert_type(await file.tell(), int)


async def read_bytes(path: Path) -> None:
    async with agz.open(path) as file:
        assert_type(file, AsyncGzipBinaryFile)
        assert_type(await file.peek(), bytes)
        assert_type(await file.read(5), bytes)
        assert_type(await file.seek(0), int)
        assert_type(await file.readinto(bytearray(3)), int)
        assert_type(await file.readline(), bytes)
        assert_type(await file.readlines(), list[bytes])
        async for line in file:
            assert_type(line, bytes)
        assert_type(file.mtime, int | None)
        assert_type(file.closed, bool)
        await file.rewind()


async def text(path: Path) -> None:
    async with agz.open(path, "wt", encoding="utf-8", newline="\n") as file:
        assert_type(file, AsyncGzipTextFile)
        assert_type(await file.write("some\n"), int)
        await file.writelines(["more\n"])
    async with agz.open(path, "rt") as file:
        assert_type(await file.read(5), str)
        assert_type(await file.readline(), str)
        assert_type(await file.readlines(100), list[str])
        async for line in file:
            assert_type(line, str)
        await file.seek(0)
        async for batch in file.iter_batches():
            assert_type(batch, list[str])
        assert_type(file.buffer, AsyncGzipBinaryFile)
        assert_type(file.newlines, str | tuple[str, ...] | None)
        assert_type(file.encoding, str)


async def whole(path: Path) -> None:
    assert_type(await agz.read(path), bytes)
    await agz.write(path, b"data", strict_size=True)
    info = await agz.inspect(path)
    assert_type(info, GzipInfo)
    assert_type(info.members[0], GzipMemberInfo)
    assert_type(await agz.verify(path), VerificationResult)
    either = AsyncGzipFile(path, "rb")
    assert_type(either, AsyncGzipBinaryFile | AsyncGzipTextFile)


async def chunks() -> None:
    async def source() -> AsyncIterator[bytes]:
        yield b"data"

    compressed = agz.compress_chunks(source(), output_chunk_size=1000)
    assert_type(compressed, AsyncIterator[bytes])
    async for chunk in agz.decompress_chunks(compressed, max_decompressed_size=100):
        assert_type(chunk, bytes)


def codec() -> bytes:
    encoder = GzipEncoder(mtime=0)
    operation: CodecOperation = encoder.start()
    chunks: Iterator[bytes] = operation
    wire = b"".join(chunks) + b"".join(encoder.feed(b"data")) + b"".join(encoder.finish())
    decoder = GzipDecoder(collect_member_info=True)
    plain = b"".join(decoder.feed(wire)) + b"".join(decoder.finish())
    assert_type(decoder.members, tuple[GzipMemberInfo, ...])
    assert_type(encoder.crc32, int)
    return plain


async def objects() -> None:
    memory = Memory()
    source: WithAsyncRead = memory
    sink: WithAsyncWrite = memory
    both: WithAsyncReadWrite = memory
    await agz.write(None, b"data", fileobj=sink)
    await agz.read(None, fileobj=source)
    async with AsyncGzipBinaryFile(None, "wb", fileobj=both, closefd=True) as file:
        try:
            await file.flush()
        except ConcurrentOperationError as error:
            print(error.errno)


def main(path: Path) -> None:
    for step in (write_bytes, read_bytes, text, whole):
        asyncio.run(step(path))
    asyncio.run(chunks())
    asyncio.run(objects())
    assert codec() == b"data"
    assert_type(agz.engine_info(), EngineInfo)
    assert NUMBERS[1:] == [8, 255, 31]
    assert VERSION
    assert ENGINE is None
