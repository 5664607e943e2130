"""io: much data through one file, in large pieces."""

from __future__ import annotations

from typing import Any

from bench.inputs import Inputs
from bench.libraries import PLAIN
from bench.row import EACH_ENGINE, Given, Job, Row, bytes_of, digest, text_of

SOURCES = 31_500_000
MIB = 1 << 20


def sources(inputs: Inputs, point: int) -> Given:
    return inputs.sources(SOURCES)


def equal(inputs: Inputs, point: int) -> Given:
    return inputs.equal(b"and the same line again and again, always it\n", 32 * MIB // 45)


# ---- writing -----------------------------------------------------------------------------


def write_text_sync(lib: Any, job: Job) -> Any:
    text, path = text_of(job.given["raw"]), job.out()
    with job.clock(), lib.open(path, "wt", encoding="utf-8") as stream:
        stream.write(text)
    return job.written(path)


async def write_text(lib: Any, job: Job) -> Any:
    text, path = text_of(job.given["raw"]), job.out()
    with job.clock():
        async with lib.open(path, "wt", encoding="utf-8") as stream:
            await stream.write(text)
    return job.written(path)


def write_sync(lib: Any, job: Job) -> Any:
    data, path = bytes_of(job.given["raw"]), job.out()
    with job.clock(), lib.open(path, "wb") as stream:
        stream.write(data)
    return job.written(path)


async def write_fast(lib: Any, job: Job) -> Any:
    data, path = bytes_of(job.given["raw"]), job.out()
    with job.clock():
        async with lib.open(path, "wb", fast_compress=True) as stream:
            await stream.write(data)
    return job.written(path)


# ---- reading -----------------------------------------------------------------------------


def read_text_sync(lib: Any, job: Job) -> Any:
    with job.clock(), lib.open(job.given["gz"], "rt", encoding="utf-8") as stream:
        text = stream.read()
    return digest(text)


async def read_text(lib: Any, job: Job) -> Any:
    with job.clock():
        async with lib.open(job.given["gz"], "rt", encoding="utf-8") as stream:
            text = await stream.read()
    return digest(text)


def read_all_sync(lib: Any, job: Job) -> Any:
    with job.clock(), lib.open(job.given["gz"], "rb") as stream:
        data = stream.read(-1)
    return digest(data)


async def read_all(lib: Any, job: Job) -> Any:
    with job.clock():
        async with lib.open(job.given["gz"], "rb") as stream:
            data = await stream.read(-1)
    return digest(data)


def read_pieces_sync(lib: Any, job: Job) -> Any:
    nbytes = 0
    with job.clock(), lib.open(job.given["gz"], "rb") as stream:
        while piece := stream.read(65536):
            nbytes += len(piece)
    return nbytes


async def read_pieces(lib: Any, job: Job) -> Any:
    nbytes = 0
    with job.clock():
        async with lib.open(job.given["gz"], "rb") as stream:
            while piece := await stream.read(65536):
                nbytes += len(piece)
    return nbytes


# ---- the rows ----------------------------------------------------------------------------


def io(name: str, title: str, given: Any, sync: Any, aio: Any, target: Any, **more: Any) -> Row:
    more = {"contenders": EACH_ENGINE} | more
    return Row(
        name=name,
        title=title,
        category="io",
        given=given,
        sync=sync,
        aio=aio,
        target=target,
        **more,
    )


ROWS = [
    io(
        "write-text",
        "bulk text write, same bytes",
        lambda inputs, point: inputs.records(8_000_000),
        write_text_sync,
        write_text,
        1.0,
        same_bytes=True,
        contenders=PLAIN,
    ),
    io(
        "write-fast",
        "sources write, fast_compress=True, at most 2 % larger",
        lambda inputs, point: inputs.sources(SOURCES // 4),
        write_sync,
        write_fast,
        1.9,
        larger=0.02,
    ),
    io(
        "read-text",
        "bulk LF text read, default newline",
        lambda inputs, point: inputs.text(32 * MIB),
        read_text_sync,
        read_text,
        4.0,
    ),
    io(
        "read-equal",
        "highly compressible read(-1), 32 MiB",
        equal,
        read_all_sync,
        read_all,
        6.0,
    ),
    io("read-all", "sources read(-1), 31 MB", sources, read_all_sync, read_all, 3.2),
    io(
        "read-pieces",
        "sources read(65536)",
        sources,
        read_pieces_sync,
        read_pieces,
        2.8,
    ),
    io(
        "read-members",
        "4,000 members of 2,000 bytes, read(-1)",
        lambda inputs, point: inputs.members(inputs.count(4000, 10), 2000),
        read_all_sync,
        read_all,
        5.0,
    ),
    io(
        "read-random",
        "random bytes, read(-1), 16 MiB",
        lambda inputs, point: inputs.random(16 * MIB),
        read_all_sync,
        read_all,
        None,
    ),
]
