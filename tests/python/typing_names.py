"""Every public name, as a type checker sees it. Not run: test_typing.py has it checked."""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator
from pathlib import Path
from typing import Any, assert_type

import agz
from agz import codec

Either = agz.AsyncGzipBinaryFile | agz.AsyncGzipTextFile


def modes(path: Path, mode: str) -> None:
    assert_type(agz.open(path), agz.AsyncGzipBinaryFile)
    assert_type(agz.open(str(path), "rb"), agz.AsyncGzipBinaryFile)
    assert_type(agz.open(bytes(path), "w", compresslevel=9), agz.AsyncGzipBinaryFile)
    assert_type(agz.open(path, "ab", mtime=0), agz.AsyncGzipBinaryFile)
    assert_type(agz.open(path, "xb", fast_compress=True), agz.AsyncGzipBinaryFile)
    assert_type(agz.open(path, "rt"), agz.AsyncGzipTextFile)
    assert_type(agz.open(path, mode="wt", encoding="latin-1"), agz.AsyncGzipTextFile)
    assert_type(agz.open(path, "at", newline=""), agz.AsyncGzipTextFile)
    assert_type(agz.open(path, "tx", errors="replace"), agz.AsyncGzipTextFile)
    assert_type(agz.open(path, mode), Either)
    assert_type(agz.AsyncGzipFile(path, "rt"), Either)


async def binary(path: Path) -> None:
    async with agz.open(path, "rb", chunk_size=1 << 16) as file:
        assert_type(file, agz.AsyncGzipBinaryFile)
        assert_type(await file.read(), bytes)
        assert_type(await file.read(10), bytes)
        assert_type(await file.read1(10), bytes)
        assert_type(await file.peek(), bytes)
        assert_type(await file.readline(), bytes)
        assert_type(await file.readlines(100), list[bytes])
        assert_type(await file.readinto(bytearray(10)), int)
        assert_type(await file.readinto1(memoryview(bytearray(10))), int)
        assert_type(await file.seek(0, 2), int)
        assert_type(await file.tell(), int)
        await file.rewind()
        async for line in file:
            assert_type(line, bytes)
        assert_type(file.mtime, int | None)
        assert_type(file.closed, bool)
        assert_type(file.readable() and file.seekable() and file.writable(), bool)
        assert_type(file.fileno(), int)
        assert_type(file.isatty(), bool)
    file = agz.AsyncGzipBinaryFile(path, "wb", original_filename="name", strict_size=True)
    assert_type(await file.open(), agz.AsyncGzipBinaryFile)
    assert_type(await file.write(b"bytes"), int)
    assert_type(await file.write(memoryview(bytearray(3))), int)
    await file.writelines([b"a", bytearray(b"b")])
    await file.flush()
    await file.close()


async def text(path: Path) -> None:
    async with agz.open(path, "rt", encoding=None, max_decompressed_size=1 << 30) as file:
        assert_type(file, agz.AsyncGzipTextFile)
        assert_type(await file.read(), str)
        assert_type(await file.readline(10), str)
        assert_type(await file.readlines(), list[str])
        assert_type(await file.seek(await file.tell()), int)
        async for line in file:
            assert_type(line, str)
        async for batch in file.iter_batches(1 << 16):
            assert_type(batch, list[str])
        assert_type(file.encoding, str)
        assert_type(file.errors, str)
        assert_type(file.newlines, str | tuple[str, ...] | None)
        assert_type(file.buffer, agz.AsyncGzipBinaryFile)
    async with agz.AsyncGzipTextFile(path, "wt", newline="\r\n") as out:
        assert_type(await out.write("text"), int)
        await out.writelines(f"{i}\n" for i in range(3))


async def whole(path: Path) -> None:
    await agz.write(path, bytearray(b"data"), compresslevel=1, mtime=0)
    assert_type(await agz.read(path, max_rewind_cache_size=None), bytes)
    result = await agz.verify(path)
    assert_type(result, agz.VerificationResult)
    assert_type(result.member_count + result.compressed_size + result.uncompressed_size, int)
    info = await agz.inspect(path)
    assert_type(info, agz.GzipInfo)
    assert_type(info.member_count, int)
    for member in info.members:
        assert_type(member, agz.GzipMemberInfo)
        assert_type(member.original_filename, str | None)
        assert_type(member.extra, bytes | None)
        assert_type(member.crc32, int)


class Source:
    async def read(self, size: int = -1) -> bytes:
        return b""


class Sink:
    async def write(self, data: str | bytes) -> int:
        return len(data)


class Both(Source, Sink):
    async def close(self) -> None:
        pass


async def file_objects() -> None:
    source: agz.WithAsyncRead = Source()
    sink: agz.WithAsyncWrite = Sink()
    both: agz.WithAsyncReadWrite = Both()
    assert_type(isinstance(source, agz.WithAsyncRead), bool)
    assert_type(await agz.read(None, fileobj=source, closefd=False), bytes)
    await agz.write(None, b"data", fileobj=sink)
    async with agz.open(None, "rt", fileobj=both, closefd=True) as file:
        assert_type(await file.read(), str)


async def streams(source: AsyncIterable[bytes]) -> None:
    packed = agz.compress_chunks(source, compresslevel=9, output_chunk_size=4096)
    assert_type(packed, AsyncIterator[bytes])
    async for chunk in agz.decompress_chunks(packed, max_decompressed_size=None):
        assert_type(chunk, bytes)


def codecs() -> None:
    encoder: codec.GzipEncoder = agz.GzipEncoder(mtime=0)
    operation: agz.CodecOperation = encoder.start()
    data = b"".join([*operation, *encoder.feed(b"data"), *encoder.flush(), *encoder.finish()])
    assert_type(data, bytes)
    assert_type(encoder.crc32 + encoder.input_size, int)
    assert_type(encoder.started and encoder.finished, bool)
    decoder = agz.GzipDecoder(collect_member_info=True)
    for chunk in decoder.feed(data):
        assert_type(chunk, bytes)
    assert_type(b"".join(decoder.finish()), bytes)
    assert_type(decoder.members, tuple[agz.GzipMemberInfo, ...])
    decoder.discard()
    operation.close()


def others() -> None:
    engine: agz.ZlibEngine = None
    assert_type(engine, Any)
    info = agz.engine_info()
    assert_type(info, agz.EngineInfo)
    assert_type(info.compression + info.decompression + info.crc32, str)
    assert_type(agz.__version__, str)
    constants = [
        agz.GZIP_FLAG_FCOMMENT,
        agz.GZIP_FLAG_FEXTRA,
        agz.GZIP_FLAG_FHCRC,
        agz.GZIP_FLAG_FNAME,
        agz.GZIP_METHOD_DEFLATE,
        agz.GZIP_OS_UNKNOWN,
        agz.GZIP_WBITS,
    ]
    assert_type(constants, list[int])
    try:
        asyncio.run(whole(Path("data.gz")))
    except agz.ConcurrentOperationError as error:
        assert_type(error, agz.ConcurrentOperationError)


def refused(path: Path, file: agz.AsyncGzipTextFile) -> None:
    """Each of these is an error to a checker; that it is, is checked too."""
    agz.open(path, 5)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]
    file.write(b"bytes")  # type: ignore[arg-type, unused-coroutine]  # pyright: ignore[reportArgumentType, reportUnusedCoroutine]
    agz.GzipEncoder(6)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    agz.WrongName  # type: ignore[attr-defined]  # noqa: B018  # pyright: ignore
