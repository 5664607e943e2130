"""streaming: iterables and codecs without a file, and cost as pieces, lines and members grow."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

from bench.inputs import Inputs
from bench.row import EACH_ENGINE, FEW, Given, Job, Row, bytes_of, digest
from bench.rows.scenarios import TEXT, _lines, _lines_sync, open_sync

KIB, MIB = 1 << 10, 1 << 20
WBITS = 31  # a gzip header and trailer


async def supply(items: list[bytes]) -> AsyncIterator[bytes]:
    for item in items:
        yield item


def _items(job: Job) -> list[bytes]:
    data, size = bytes_of(job.given["gz"]), job.given["item"]
    return [data[i : i + size] for i in range(0, len(data), size)] if size else [data]


def inflate(codec: Any, items: list[bytes], size: int) -> list[bytes]:
    """The decompressobj loop: no output of more than `size` bytes, and none copied again.

    An item is given in pieces: what a decompressobj hands back unconsumed is a copy, and with
    one large item the loop would be quadratic.
    """
    decoder = codec.decompressobj(wbits=WBITS)
    chunks = []
    for item in items:
        view = memoryview(item)
        for start in range(0, len(view), 64 * KIB):
            piece = view[start : start + 64 * KIB]
            while len(piece):
                chunks.append(decoder.decompress(piece, size))
                piece = decoder.unconsumed_tail
    while not decoder.eof:
        chunks.append(decoder.decompress(b"", size))
    return chunks


def chunks_sync(lib: Any, job: Job) -> Any:
    codec, items = lib.need("zlib"), _items(job)
    with job.clock():
        chunks = inflate(codec, items, job.given["size"])
    return digest(b"".join(chunks))


async def chunks(lib: Any, job: Job) -> Any:
    items, size = _items(job), job.given["size"]
    with job.clock():
        chunks = [
            chunk async for chunk in lib.decompress_chunks(supply(items), output_chunk_size=size)
        ]
    return digest(b"".join(chunks))


def decode_sync(lib: Any, job: Job) -> Any:
    codec, data = lib.need("whole"), bytes_of(job.given["gz"])
    with job.clock():
        result = codec.decompress(data)
    return digest(result)


async def decode(lib: Any, job: Job) -> Any:
    data = bytes_of(job.given["gz"])
    with job.clock():
        decoder = lib.codec.GzipDecoder()
        result = b"".join([*decoder.feed(data), *decoder.finish()])
    return digest(result)


def encode_sync(lib: Any, job: Job) -> Any:
    codec, data, path = lib.need("whole"), bytes_of(job.given["raw"]), job.out()
    with job.clock():
        wire = codec.compress(data, lib.level, mtime=0)
    path.write_bytes(wire)
    return job.written(path)


async def encode(lib: Any, job: Job) -> Any:
    data, path = bytes_of(job.given["raw"]), job.out()
    with job.clock():
        encoder = lib.codec.GzipEncoder(mtime=0)
        wire = b"".join([*encoder.start(), *encoder.feed(data), *encoder.finish()])
    path.write_bytes(wire)
    return job.written(path)


def verify_sync(lib: Any, job: Job) -> Any:
    codec, wire_nbytes, nbytes = lib.need("zlib"), 0, 0
    with job.clock(), open(job.given["gz"], "rb") as file:
        decoder = codec.decompressobj(wbits=WBITS)
        while data := file.read(256 * KIB):
            wire_nbytes += len(data)
            while data:
                nbytes += len(decoder.decompress(data, 256 * KIB))
                data = decoder.unconsumed_tail
        while not decoder.eof:
            nbytes += len(decoder.decompress(b"", 256 * KIB))
    return 1, wire_nbytes, nbytes


async def verify(lib: Any, job: Job) -> Any:
    with job.clock():
        result = await lib.verify(job.given["gz"])
    return result.member_count, result.compressed_size, result.uncompressed_size


# ---- as pieces, lines and members grow -----------------------------------------------------


def chunk_lines_sync(lib: Any, job: Job) -> Any:
    return _lines_sync(**TEXT, chunk_size=job.given["x"])(lib, job)


async def chunk_lines(lib: Any, job: Job) -> Any:
    return await _lines(**TEXT, chunk_size=job.given["x"])(lib, job)


def chunk_writes_sync(lib: Any, job: Job) -> Any:
    data, path, x = bytes_of(job.given["raw"]), job.out(), job.given["x"]
    with job.clock(), lib.open(path, "wb") as stream:
        for i in range(0, len(data), x):
            stream.write(data[i : i + x])
    return job.written(path)


async def chunk_writes(lib: Any, job: Job) -> Any:
    data, path, x = bytes_of(job.given["raw"]), job.out(), job.given["x"]
    with job.clock():
        async with lib.open(path, "wb", chunk_size=x) as stream:
            for i in range(0, len(data), x):
                await stream.write(data[i : i + x])
    return job.written(path)


def length_sync(lib: Any, job: Job) -> Any:
    n_lines = length = 0
    with job.clock(job.given["n_lines"]), open_sync(lib, job, **TEXT) as stream:
        for line in stream:
            n_lines += 1
            length += len(line)
    return n_lines, length


async def length(lib: Any, job: Job) -> Any:
    n_lines = length = 0
    with job.clock(job.given["n_lines"]):
        async with lib.open(job.given["gz"], **TEXT) as stream:
            async for line in stream:
                n_lines += 1
                length += len(line)
    return n_lines, length


def member_sync(lib: Any, job: Job) -> Any:
    nbytes = 0
    with job.clock(job.given["n_members"]), lib.open(job.given["gz"], "rb") as stream:
        while piece := stream.read(256 * KIB):
            nbytes += len(piece)
    return nbytes


async def member(lib: Any, job: Job) -> Any:
    nbytes = 0
    with job.clock(job.given["n_members"]):
        async with lib.open(job.given["gz"], "rb") as stream:
            while piece := await stream.read(256 * KIB):
                nbytes += len(piece)
    return nbytes


def _given_lines(inputs: Inputs, x: int) -> Given:
    """Lines of x bytes, the line end included: 8 MB of them, but not over 400,000.

    One text, cut at different places: equal lines would be the harder to compress the longer
    they are, once the window does not reach from one to the next.
    """
    n_lines = max(2, min(inputs.count(400_000), inputs.count(8_000_000) // x))
    length = x - 1

    def content() -> bytes:
        text = inputs.prose(n_lines * length).replace(b"\n", b" ")
        return b"".join(text[i * length : (i + 1) * length] + b"\n" for i in range(n_lines))

    return inputs.file(f"lines-{x}-{n_lines}", content)


def _given_members(inputs: Inputs, x: int) -> Given:
    """Members of x bytes: 16 MiB of them, but not over 20,000, and one at least."""
    x = min(x, inputs.count(64 * MIB))
    n_members = max(1, min(inputs.count(20_000), inputs.count(16 * MIB) // x))
    return inputs.members(n_members, x)


# ---- the rows ----------------------------------------------------------------------------


def _row(name: str, title: str, given: Any, sync: Any, aio: Any, **more: Any) -> Row:
    return Row(
        name=name, title=title, category="streaming", given=given, sync=sync, aio=aio, **more
    )


def _chunks(item: int, size: int, full: int) -> Callable[[Inputs, int], Given]:
    def given(inputs: Inputs, point: int) -> Given:
        return inputs.sources(full) | {"item": item, "size": size}

    return given


def _one_item(inputs: Inputs, point: int) -> Given:
    return inputs.text(point * MIB) | {"item": 0, "size": 256 * KIB}


_growing = partial(_row, contenders=FEW, rounds=3)

ROWS = [
    _row(
        "chunks-64",
        "decompress_chunks, items 64 KiB, chunks 64 KiB",
        _chunks(64 * KIB, 64 * KIB, 16 * MIB),
        chunks_sync,
        chunks,
        target=2.5,
        contenders=EACH_ENGINE,
    ),
    _row(
        "chunks-512",
        "decompress_chunks, items 512 KiB, chunks 256 KiB",
        _chunks(512 * KIB, 256 * KIB, 16 * MIB),
        chunks_sync,
        chunks,
        target=3.0,
        contenders=EACH_ENGINE,
    ),
    _row(
        "one-item",
        "decompress_chunks, one item that holds so many MiB",
        _one_item,
        chunks_sync,
        chunks,
        target=2.4,
        points=(32, 64),
        axis="MiB",
        sentence="decompress_chunks of one item: twice the item, twice the time.",
    ),
    _row(
        "decoder",
        "GzipDecoder, 8 MiB, against gzip.decompress",
        lambda inputs, point: inputs.text(8 * MIB),
        decode_sync,
        decode,
        target=3.0,
        contenders=EACH_ENGINE,
    ),
    _row(
        "encoder",
        "GzipEncoder, 8 MiB, against gzip.compress",
        lambda inputs, point: inputs.records(8 * MIB),
        encode_sync,
        encode,
        target=1.0,
        same_bytes=True,
    ),
    _row(
        "verify",
        "verify, 32 MiB, against a decompressobj loop",
        lambda inputs, point: inputs.text(32 * MIB),
        verify_sync,
        verify,
        target=3.0,
        contenders=EACH_ENGINE,
    ),
    _growing(
        "chunk-sizes-read",
        "lines, by chunk size",
        lambda inputs, x: inputs.sources(8_000_000) | {"x": x},
        chunk_lines_sync,
        chunk_lines,
        points=(4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, MIB, 8 * MIB),
        axis="bytes a chunk",
        growth=0.0,
        sentence="Lines of 8 MB of Python sources: the chunk size hardly matters.",
    ),
    _growing(
        "chunk-sizes-write",
        "writes of so many bytes, with that chunk size",
        lambda inputs, x: inputs.records(4_000_000) | {"x": x},
        chunk_writes_sync,
        chunk_writes,
        points=(4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, MIB, 8 * MIB),
        axis="bytes a chunk",
        growth=0.0,
        sentence="4 MB of JSON Lines written: the chunk size hardly matters.",
    ),
    _growing(
        "line-lengths",
        "time a line, by its length",
        _given_lines,
        length_sync,
        length,
        points=(1, 10, 100, 1000, 10_000, 100_000),
        axis="bytes a line",
        sentence="The time for a line: a constant, then its bytes.",
    ),
    _growing(
        "member-sizes",
        "time a member, by its size",
        _given_members,
        member_sync,
        member,
        points=(1, 64, 4 * KIB, 256 * KIB, 16 * MIB, 64 * MIB),
        axis="bytes a member",
        sentence="The time for a member: a constant, then its bytes.",
    ),
]
