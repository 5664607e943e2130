"""The codec without files: whatever the pieces, the same bytes as the file and as gzip; an
operation is lazy, reserves its codec, and ends it when it is given up. Chunk streams ask their
source only when they must, hold nothing back, and close what they opened."""

import asyncio
import dataclasses
import gc
import gzip
import itertools
import random
import weakref
import zlib
from collections.abc import AsyncIterator, Iterable, Iterator
from pathlib import Path
from typing import Any

import agz
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import KINDS, QUICK, cancelled_at, raw_deflate, source_text

TEXT = source_text(200_000)
PACKED = gzip.compress(TEXT, 6, mtime=7)


def pieces(data: bytes, cuts: Iterable[int]) -> list[bytes]:
    edges = [0, *sorted(cuts), len(data)]
    return [data[a:b] for a, b in itertools.pairwise(edges)]


def encode(parts: Iterable[bytes], **options: Any) -> bytes:
    encoder = agz.GzipEncoder(**options)
    out = [*encoder.start()]
    for part in parts:
        out += encoder.feed(part)
    out += encoder.finish()
    return b"".join(out)


def decode(parts: Iterable[bytes], **options: Any) -> bytes:
    decoder = agz.GzipDecoder(**options)
    out = []
    for part in parts:
        out += decoder.feed(part)
    out += decoder.finish()
    assert decoder.finished
    return b"".join(out)


async def items(parts: Iterable[bytes]) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


async def collect(stream: AsyncIterator[bytes]) -> bytes:
    return b"".join([chunk async for chunk in stream])


# ---- the same bytes, however they are cut -------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("level", [1, 6, 9])
def test_the_same_bytes_as_gzip(kind: str, level: int) -> None:
    data = KINDS[kind]()
    options = {"compresslevel": level, "mtime": 7}
    want = gzip.compress(data, level, mtime=7)
    assert encode([data], **options) == want
    assert asyncio.run(collect(agz.compress_chunks(items([data]), **options))) == want
    assert decode([want]) == data
    assert asyncio.run(collect(agz.decompress_chunks(items([want])))) == data


@settings(QUICK, max_examples=60)
@given(
    cuts=st.lists(st.integers(0, len(TEXT)), max_size=20),
    size=st.sampled_from([10, 1000, 65_536, 128 << 20]),
    level=st.sampled_from([1, 6, 9]),
)
def test_encoders_however_it_is_cut(cuts: list[int], size: int, level: int) -> None:
    parts = pieces(TEXT, cuts)
    want = gzip.compress(TEXT, level, mtime=7)
    options = {"compresslevel": level, "mtime": 7, "output_chunk_size": size}
    assert encode(parts, **options) == want
    assert asyncio.run(collect(agz.compress_chunks(items(parts), **options))) == want


@settings(QUICK, max_examples=60)
@given(
    cuts=st.lists(st.integers(0, len(PACKED)), max_size=20),
    size=st.sampled_from([1000, 65_536, 128 << 20]),
    members=st.integers(1, 3),
)
def test_decoders_however_it_is_cut(cuts: list[int], size: int, members: int) -> None:
    packed = PACKED + (gzip.compress(b"") + bytes(3) + PACKED) * (members - 1)
    parts = pieces(packed, cuts)
    assert decode(parts, output_chunk_size=size) == TEXT * members
    stream = agz.decompress_chunks(items(parts), output_chunk_size=size)
    assert asyncio.run(collect(stream)) == TEXT * members


def test_one_byte_in_one_byte_out() -> None:
    data = TEXT[:2000]
    packed = gzip.compress(data, 6, mtime=7)
    parts = [bytes([byte]) for byte in data]
    assert encode(parts, mtime=7, output_chunk_size=1) == packed
    assert decode([bytes([byte]) for byte in packed], output_chunk_size=1) == data


def test_the_same_bytes_as_the_file(tmp_path: Path) -> None:
    path = tmp_path / "name.txt"
    options: dict[str, Any] = {"mtime": 5, "original_filename": "name.txt"}
    asyncio.run(agz.write(path, TEXT, **options))
    assert encode([TEXT], **options) == path.read_bytes()
    assert asyncio.run(collect(agz.compress_chunks(items([TEXT]), **options))) == path.read_bytes()
    with_name = path.read_bytes()
    asyncio.run(agz.write(path, TEXT, mtime=5))
    assert path.read_bytes() == with_name


@pytest.mark.parametrize("size", [1, 7, 1000, 65_536])
def test_no_chunk_is_larger_than_asked_for(size: int) -> None:
    text = TEXT[:20_000]
    packed = gzip.compress(text)

    async def main() -> None:
        streams = [
            agz.compress_chunks(items([text]), output_chunk_size=size),
            agz.decompress_chunks(items([packed]), output_chunk_size=size),
        ]
        for stream in streams:
            async for chunk in stream:
                assert 1 <= len(chunk) <= size

    asyncio.run(main())
    encoder = agz.GzipEncoder(output_chunk_size=size)
    decoder = agz.GzipDecoder(output_chunk_size=size)
    for begin in (encoder.start, lambda: encoder.feed(text), encoder.finish):
        assert all(1 <= len(chunk) <= size for chunk in begin())
    assert all(1 <= len(chunk) <= size for chunk in decoder.feed(packed))
    assert [*decoder.finish()] == []


def test_cost_is_linear_in_one_large_item() -> None:
    """64 MiB at once, with chunks of a few bytes: no suffix is copied, no call a byte made."""
    data = random.Random(1).randbytes(1 << 20) * 64
    packed = gzip.compress(data, 0)
    assert decode([packed], output_chunk_size=100_000) == data
    decoder = agz.GzipDecoder(output_chunk_size=1)
    operation = decoder.feed(packed)
    assert [next(operation) for _ in range(300_000)] == [data[i : i + 1] for i in range(300_000)]
    operation.close()


# ---- operations ---------------------------------------------------------------------------


def test_an_operation_is_lazy_and_reserves_its_codec() -> None:
    encoder = agz.GzipEncoder(mtime=1)
    start = encoder.start()
    assert isinstance(start, agz.CodecOperation)
    assert iter(start) is start
    assert not encoder.started
    with pytest.raises(RuntimeError, match="active operation"):
        encoder.feed(b"")
    head = b"".join(start)
    assert encoder.started
    assert head == gzip.compress(b"", 6, mtime=1)[:10]
    assert [*start] == []
    feed = encoder.feed(TEXT)
    assert encoder.input_size == 0
    with pytest.raises(RuntimeError, match="active operation"):
        encoder.finish()
    body = next(feed)
    assert encoder.crc32 == zlib.crc32(TEXT[: encoder.input_size]) != 0
    body += b"".join(feed)
    assert encoder.input_size == len(TEXT)
    assert encoder.crc32 == zlib.crc32(TEXT)
    finish = encoder.finish()
    tail = b"".join(finish)
    assert encoder.finished
    assert gzip.decompress(head + body + tail) == TEXT
    for call in (encoder.start, encoder.flush, encoder.finish, lambda: encoder.feed(b"")):
        with pytest.raises(ValueError, match=r"finalized|started"):
            call()


def test_a_dropped_operation_stays_reserved() -> None:
    for codec in (agz.GzipEncoder(), agz.GzipDecoder()):
        begin = codec.start if isinstance(codec, agz.GzipEncoder) else codec.finish
        begin()
        gc.collect()
        with pytest.raises(RuntimeError, match="active operation"):
            begin()


def test_an_operation_given_up_ends_its_codec() -> None:
    for how in ("close", "discard"):
        decoder = agz.GzipDecoder(output_chunk_size=10)
        operation = decoder.feed(PACKED)
        assert len(next(operation)) == 10
        if how == "close":
            operation.close()
            operation.close()
            assert [*operation] == []
        else:
            decoder.discard()
            with pytest.raises(RuntimeError, match="invalidated"):
                next(operation)
        for call in (decoder.finish, lambda decoder=decoder: decoder.feed(b"")):
            with pytest.raises(OSError, match="unusable"):
                call()


def test_counts_of_an_encoder_within_an_operation() -> None:
    """The header is begun with its first chunk, and an input passed before what it makes."""
    encoder = agz.GzipEncoder(output_chunk_size=4)
    start = encoder.start()
    next(start)
    assert encoder.started
    assert [*start]
    noise = random.Random(1).randbytes(50_000)
    feed = encoder.feed(noise)
    next(feed)
    assert (encoder.input_size, encoder.crc32) == (len(noise), zlib.crc32(noise))


def test_discard_ends_each_operation() -> None:
    """Also one that is done, and a codec that is finished is unusable first of all."""
    decoder = agz.GzipDecoder()
    feed = decoder.feed(PACKED)
    assert b"".join(feed) == TEXT
    finish = decoder.finish()
    assert [*finish] == []
    decoder.discard()
    for operation in (feed, finish):
        with pytest.raises(RuntimeError, match="invalidated"):
            next(operation)
        operation.close()
    assert (decoder.finished, decoder.member_count) == (True, 1)
    with pytest.raises(OSError, match="unusable"):
        decoder.feed(b"")


def test_an_operation_that_is_done_can_be_closed() -> None:
    decoder = agz.GzipDecoder()
    operation = decoder.feed(PACKED)
    assert b"".join(operation) == TEXT
    operation.close()
    assert [*decoder.finish()] == []
    assert decoder.finished
    with pytest.raises(ValueError, match="finalized"):
        decoder.feed(b"")
    decoder.discard()
    with pytest.raises(OSError, match="unusable"):
        decoder.feed(b"")
    assert decoder.finished


def test_started_tells_that_the_header_has_begun() -> None:
    encoder = agz.GzipEncoder(output_chunk_size=1)
    start = encoder.start()
    assert not encoder.started
    next(start)
    assert encoder.started
    start.close()
    assert encoder.started


def test_what_a_failed_decoder_keeps() -> None:
    decoder = agz.GzipDecoder(collect_member_info=True)
    operation = decoder.feed(PACKED * 2 + b"garbage")
    got = b""
    with pytest.raises(gzip.BadGzipFile, match="Not a gzipped file"):
        for chunk in operation:
            got += chunk
    assert got == TEXT * 2
    assert (decoder.member_count, len(decoder.members)) == (2, 2)
    assert decoder.uncompressed_size == 2 * len(TEXT)
    with pytest.raises(OSError, match="unusable"):
        decoder.feed(b"")
    assert not decoder.finished


def test_counts_and_records() -> None:
    packed = (
        b"\x1f\x8b\x08\x1c\x04\x03\x02\x01\x00\x03\x04\x00AB\x00\x00"
        + b"n\xe4me\0comm\xe9nt\0"
        + raw_deflate(TEXT)
        + zlib.crc32(TEXT).to_bytes(4, "little")
        + len(TEXT).to_bytes(4, "little")
    )
    decoder = agz.GzipDecoder(collect_member_info=True)
    assert decoder.members == ()
    operation = decoder.feed(packed)
    assert decoder.compressed_size == len(packed)
    assert b"".join(operation) == TEXT
    for _ in decoder.feed(bytes(100) + PACKED):
        pass
    assert [*decoder.finish()] == []
    first, second = decoder.members
    assert first == agz.GzipMemberInfo(
        0, 0, len(packed), len(TEXT), 0x01020304, "näme", "commént", b"AB\0\0", 0x1C,
        zlib.crc32(TEXT), len(TEXT),
    )  # fmt: skip
    assert (second.index, second.compressed_offset) == (1, len(packed) + 100)
    assert (second.original_filename, second.comment, second.extra) == (None, None, None)
    assert decoder.member_count == 2
    assert decoder.compressed_size == len(packed) + 100 + len(PACKED)
    with pytest.raises(dataclasses.FrozenInstanceError):
        first.index = 5  # type: ignore[misc]
    assert agz.GzipDecoder().members == ()


def test_codecs_can_be_referenced_weakly_and_go() -> None:
    for kind in (agz.GzipEncoder, agz.GzipDecoder):
        codec: Any = kind()
        gone = weakref.ref(codec)
        operation: Any = codec.start() if kind is agz.GzipEncoder else codec.feed(PACKED)
        next(operation)
        del codec, operation
        gc.collect()
        assert gone() is None


def test_flush_makes_all_decodable() -> None:
    encoder = agz.GzipEncoder()
    wire = b"".join(encoder.start())
    for line in TEXT.splitlines(keepends=True)[:50]:
        wire += b"".join(encoder.feed(line)) + b"".join(encoder.flush())
        assert zlib.decompressobj(31).decompress(wire).endswith(line)
        assert [*encoder.flush()] == []
    wire += b"".join(encoder.finish())
    assert gzip.decompress(wire) == b"".join(TEXT.splitlines(keepends=True)[:50])


def test_a_decoder_holds_nothing_back() -> None:
    """After each sync flush, and at each member's end, all is there at once."""
    packer = zlib.compressobj(6, zlib.DEFLATED, 31)
    decoder = agz.GzipDecoder()
    for line in TEXT.splitlines(keepends=True)[:100]:
        wire = packer.compress(line) + packer.flush(zlib.Z_SYNC_FLUSH)
        assert b"".join(decoder.feed(wire)) == line
    wire = packer.compress(b"end") + packer.flush()
    assert b"".join(decoder.feed(wire)) == b"end"
    assert decoder.member_count == 1
    for wrong in (b"\x1e", b"\x1f\x8c", b"\x1f\x8b\x07"):
        other = agz.GzipDecoder()
        assert b"".join(other.feed(PACKED)) == TEXT
        with pytest.raises(gzip.BadGzipFile):
            [*other.feed(wrong)]


def test_the_bound() -> None:
    for size in (1, 1000, 1 << 20):
        decoder = agz.GzipDecoder(max_decompressed_size=5000, output_chunk_size=size)
        got = bytearray()
        with pytest.raises(OSError, match=r"max_decompressed_size .5000 bytes"):
            drain(decoder.feed(PACKED), got)
        assert got == TEXT[:5000]
    decoder = agz.GzipDecoder(max_decompressed_size=len(TEXT))
    assert b"".join(decoder.feed(PACKED)) == TEXT
    with pytest.raises(OSError, match="max_decompressed_size"):
        drain(decoder.feed(PACKED), bytearray())


def drain(operation: Iterator[bytes], into: bytearray) -> None:
    for chunk in operation:
        into += chunk


def test_truncated() -> None:
    for n in (1, 5, 10, 11, len(PACKED) // 2, len(PACKED) - 8, len(PACKED) - 1):
        decoder = agz.GzipDecoder()
        for _ in decoder.feed(PACKED[:n]):
            pass
        with pytest.raises(EOFError) as raised:
            [*decoder.finish()]
        assert isinstance(raised.value, gzip.BadGzipFile)
        assert not decoder.finished
    assert [*agz.GzipDecoder().finish()] == []


@pytest.mark.parametrize("wrong", [bytearray(b"x"), memoryview(b"x"), "x", None, 5])
def test_only_bytes(wrong: Any) -> None:
    encoder, decoder = agz.GzipEncoder(), agz.GzipDecoder()
    [*encoder.start()]
    for codec in (encoder, decoder):
        with pytest.raises(TypeError, match="must be bytes"):
            codec.feed(wrong)
    assert b"".join(encoder.feed(b"goes on")) == b""

    async def main() -> None:
        for stream in (agz.compress_chunks, agz.decompress_chunks):
            with pytest.raises(TypeError, match="bytes"):
                await collect(stream(items([wrong])))

    asyncio.run(main())


def test_a_subclass_of_bytes_is_its_buffer() -> None:
    class Odd(bytes):
        def __len__(self) -> int:
            raise AssertionError("asked")

        __bytes__ = __iter__ = __getitem__ = __len__  # type: ignore[assignment]

    encoder = agz.GzipEncoder(mtime=7)
    wire = b"".join(encoder.start()) + b"".join(encoder.feed(Odd(TEXT)))
    assert wire + b"".join(encoder.finish()) == PACKED


@pytest.mark.parametrize(
    "options",
    [
        {"compresslevel": 10},
        {"compresslevel": 1.0},
        {"mtime": -1},
        {"mtime": "1"},
        {"original_filename": "a\0b"},
        {"fast_compress": 1},
        {"strict_size": 0},
        {"output_chunk_size": 0},
        {"output_chunk_size": True},
    ],
)
def test_wrong_options_are_refused_at_once(options: dict[str, Any]) -> None:
    for make in (
        lambda: agz.GzipEncoder(**options),
        lambda: agz.compress_chunks(items([]), **options),
    ):
        with pytest.raises((ValueError, TypeError)):
            make()


@pytest.mark.parametrize(
    "options", [{"max_decompressed_size": 0}, {"max_decompressed_size": True},
                {"output_chunk_size": -1}, {"output_chunk_size": (128 << 20) + 1}],
)  # fmt: skip
def test_wrong_options_of_decoders(options: dict[str, Any]) -> None:
    for make in (
        lambda: agz.GzipDecoder(**options),
        lambda: agz.decompress_chunks(items([]), **options),
    ):
        with pytest.raises((ValueError, TypeError)):
            make()


# ---- chunk streams ------------------------------------------------------------------------


class Asked:
    """A source that counts how often it was asked, and whether it was closed."""

    def __init__(self, parts: list[bytes], error: BaseException | None = None) -> None:
        self.parts, self.error, self.asked, self.closed = parts, error, 0, 0

    def __aiter__(self) -> "Asked":
        return self

    async def __anext__(self) -> bytes:
        self.asked += 1
        await asyncio.sleep(0)
        if self.parts:
            return self.parts.pop(0)
        if self.error is not None:
            raise self.error
        raise StopAsyncIteration

    async def aclose(self) -> None:
        self.closed += 1


def test_the_header_comes_before_the_source_is_asked(run: Any) -> None:
    async def main() -> None:
        source = Asked([TEXT, TEXT])
        stream = agz.compress_chunks(source, mtime=1)
        assert source.asked == 0
        head = await anext(stream)
        assert source.asked == 0
        assert head == gzip.compress(b"", 6, mtime=1)[:10]
        rest = await collect(stream)
        assert gzip.decompress(head + rest) == TEXT * 2
        assert (source.asked, source.closed) == (3, 1)

    run(main())


def test_a_source_is_asked_when_nothing_is_left(run: Any) -> None:
    async def main() -> None:
        source = Asked([PACKED, PACKED])
        stream = agz.decompress_chunks(source, output_chunk_size=1000)
        got = await anext(stream)
        assert source.asked == 1
        while len(got) < len(TEXT):
            assert source.asked == 1
            got += await anext(stream)
        got += await anext(stream)
        assert source.asked == 2
        assert got + await collect(stream) == TEXT * 2

    run(main())


def test_a_live_stream(run: Any) -> None:
    """What was flushed comes out before the source is asked for more; garbage at once."""

    async def main() -> None:
        packer = zlib.compressobj(6, zlib.DEFLATED, 31)
        lines = TEXT.splitlines(keepends=True)[:50]
        parts = [packer.compress(line) + packer.flush(zlib.Z_SYNC_FLUSH) for line in lines]
        source = Asked([*parts, packer.flush(), b"x", b"never asked for"])
        stream = agz.decompress_chunks(source)
        for n, line in enumerate(lines, 1):
            assert await anext(stream) == line
            assert source.asked == n
        with pytest.raises(gzip.BadGzipFile):
            await anext(stream)
        assert source.asked == len(lines) + 2

    run(main())


def test_closed_early(run: Any) -> None:
    async def main() -> None:
        for stream_of, part in ((agz.compress_chunks, TEXT), (agz.decompress_chunks, PACKED)):
            for n in (1, 2):  # of what is compressed, one is the header
                source = Asked([part] * 5)
                stream: Any = stream_of(source, output_chunk_size=10)
                for _ in range(n):
                    await anext(stream)
                await stream.aclose()
                assert source.closed == 1
                with pytest.raises(StopAsyncIteration):
                    await anext(stream)

    run(main())


class Plain:
    """An iterator by its __anext__() alone; its aclose() does not wait."""

    def __init__(self) -> None:
        self.closed = 0

    async def __anext__(self) -> bytes:
        raise StopAsyncIteration

    def aclose(self) -> None:
        self.closed += 1


def test_a_source_has_its_iterator_from_the_start(run: Any) -> None:
    """Before the header comes out; so it is closed with a stream that went no further."""

    class Source:
        def __init__(self, iterator: Any) -> None:
            self.iterator = iterator

        def __aiter__(self) -> Any:
            return self.iterator

    async def main() -> None:
        iterator = Plain()
        stream: Any = agz.compress_chunks(Source(iterator))
        await anext(stream)
        await stream.aclose()
        assert iterator.closed == 1
        assert await collect(agz.decompress_chunks(Source(iterator))) == b""
        assert iterator.closed == 2
        for stream_of in (agz.compress_chunks, agz.decompress_chunks):
            with pytest.raises(TypeError, match="asynchronous iterator"):
                await anext(stream_of(Source(5)))

    run(main())


def test_the_source_runs_in_the_task_of_its_reader(run: Any) -> None:
    """A timeout or a scope that stands around a yield ends in the task that it began in."""

    async def source(part: bytes, tasks: set[Any]) -> AsyncIterator[bytes]:
        for _ in range(3):
            tasks.add(asyncio.current_task())
            yield part
            await asyncio.sleep(0)
        async with asyncio.timeout(None) as scope:
            yield part
            scope.reschedule(0)
            await asyncio.Event().wait()

    async def main() -> None:
        for stream_of, part in ((agz.compress_chunks, TEXT), (agz.decompress_chunks, PACKED)):
            tasks: set[Any] = set()
            with pytest.raises(TimeoutError):
                await collect(stream_of(source(part, tasks)))
            assert tasks == {asyncio.current_task()}

    run(main())


def test_errors_of_the_source(run: Any) -> None:
    async def main() -> None:
        for stream_of, part in ((agz.compress_chunks, TEXT), (agz.decompress_chunks, PACKED)):
            error = KeyError("source")
            source = Asked([part], error)
            with pytest.raises(KeyError) as raised:
                await collect(stream_of(source))
            assert raised.value is error
            assert source.closed == 1

    run(main())


def test_cancelled_at_each_suspension(run: Any) -> None:
    """What a stream has given is right, and its source is closed."""

    async def main() -> None:
        for stream_of, part in ((agz.compress_chunks, TEXT), (agz.decompress_chunks, PACKED)):
            n, cancelled = 0, True
            while cancelled:
                n += 1
                source = Asked([part] * 3)

                async def use(stream_of: Any = stream_of, source: Any = source) -> bytes:
                    return await collect(stream_of(source))

                cancelled, got = await cancelled_at(use, n)
                assert source.closed == 1
            assert n > 3
            unpacked = gzip.decompress(got) if stream_of is agz.compress_chunks else got
            assert unpacked == TEXT * 3

    run(main())


def test_overlapping(run: Any) -> None:
    async def main() -> None:
        stream = agz.compress_chunks(Asked([TEXT] * 3))
        await anext(stream)
        results = await asyncio.gather(anext(stream), anext(stream), return_exceptions=True)
        assert isinstance(results[1], RuntimeError)
        await stream.aclose()  # type: ignore[attr-defined]

    run(main())


@pytest.mark.parametrize("wrong", [[b"x"], b"x", None, iter([b"x"])])
def test_sources_that_are_none(wrong: Any) -> None:
    for stream_of in (agz.compress_chunks, agz.decompress_chunks):
        with pytest.raises(TypeError, match="asynchronous iterable"):
            stream_of(wrong)


def test_an_endless_source_of_nothing_can_be_cancelled(run: Any) -> None:
    class Nothing:
        def __aiter__(self) -> "Nothing":
            return self

        async def __anext__(self) -> bytes:
            return b""

    async def main() -> None:
        for stream_of in (agz.compress_chunks, agz.decompress_chunks):
            task = asyncio.create_task(collect(stream_of(Nothing())))
            for _ in range(5):
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    run(main())


def test_both_ways_in_a_row(run: Any) -> None:
    async def main() -> None:
        parts = [random.Random(i).randbytes(5000) + TEXT[: 100 * i] for i in range(50)]
        stream = agz.decompress_chunks(agz.compress_chunks(items(parts)), output_chunk_size=999)
        assert await collect(stream) == b"".join(parts)

    run(main())
