"""Gzip data, damaged anywhere, on every surface that reads it: the bytes that the gzip module
gives, or gzip.BadGzipFile, and all surfaces agree on which, on what came before, and why.

The same few hundred inputs every time; with AGZ_FUZZ_SECONDS others, for that long.
"""

import asyncio
import contextlib
import gzip
import itertools
import os
import re
import struct
import time
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import agz
import pytest
from agz.codec import GzipDecoder
from hypothesis import given, seed, settings
from hypothesis import strategies as st
from support import FOREVER, QUICK, UNTIMED, Pieces

SECONDS = float(os.environ.get("AGZ_FUZZ_SECONDS", "0"))

pytestmark = pytest.mark.timeout(SECONDS + FOREVER)

# ---- inputs -------------------------------------------------------------------------------


@dataclass
class Member:
    data: bytes
    level: int
    strategy: int
    name: bytes
    extra: bytes
    checked: bool  # a CRC of the header

    def wire(self) -> bytes:
        flags = bool(self.checked) * 2 + bool(self.extra) * 4 + bool(self.name) * 8
        header = b"\x1f\x8b\x08%c\x01\x02\x03\x04\x00\xff" % flags
        if self.extra:
            header += struct.pack("<H", len(self.extra)) + self.extra
        if self.name:
            header += self.name + b"\0"
        if self.checked:
            header += struct.pack("<H", zlib.crc32(header) & 0xFFFF)
        packer = zlib.compressobj(self.level, zlib.DEFLATED, -15, 8, self.strategy)
        packed = packer.compress(self.data) + packer.flush()
        return header + packed + struct.pack("<II", zlib.crc32(self.data), len(self.data))


members = st.builds(
    Member,
    st.binary(max_size=80) | st.sampled_from([b"a line\n" * 90, b"word " * 2000, bytes(20_000)]),
    st.sampled_from([0, 1, 6, 9]),
    st.integers(0, 4),
    st.sampled_from([b"", b"", b"na\xefve"]),
    st.sampled_from([b"", b"", b"AP\x02\x00xy"]),
    st.booleans(),
)
edits = st.tuples(
    st.sampled_from(["flip", "set", "cut", "insert", "drop", "repeat", "zeros"]),
    st.integers(0, 1 << 16),
    st.integers(0, 255),
)


def damaged(wire: bytes, edits: list[tuple[str, int, int]]) -> bytes:
    data = bytearray(wire)
    for kind, where, what in edits:
        at = where % (len(data) + 1)
        if kind == "flip":
            data[at : at + 1] = bytes(byte ^ 1 << what % 8 for byte in data[at : at + 1])
        elif kind == "set":
            data[at : at + 1] = bytes([what])
        elif kind == "cut":
            del data[at:]
        elif kind == "insert":
            data[at:at] = bytes([what])
        elif kind == "drop":
            del data[at : at + what % 20]
        elif kind == "repeat":
            data[at:at] = data[at : at + what]
        else:
            data[at:at] = bytes(what % 20)
    return bytes(data)


# ---- outcomes -----------------------------------------------------------------------------


@dataclass
class Outcome:
    pieces: list[bytes] = field(default_factory=list)
    error: Exception | None = None

    @property
    def data(self) -> bytes:
        return b"".join(self.pieces)

    @property
    def reason(self) -> str:
        """What every surface says alike, unlike what is at hand when a fault is noticed."""
        if self.error is None:
            return ""
        text = str(self.error.__cause__ or self.error)
        text = re.sub(r"(?<=deflate data), .*| \(.*? found\)", "", text)
        return f"{text} {type(self.error).__name__}"


Surface = Callable[[Path, bytes, int], AsyncIterator[bytes]]


async def pieces(file: Any, step: Callable[[], Awaitable[Any]]) -> AsyncIterator[Any]:
    """All steps; what precedes a fault, and was not enough for a step, is read after it."""
    async with file:
        try:
            while piece := await step():
                yield piece
        except gzip.BadGzipFile:
            with contextlib.suppress(OSError):
                while piece := await file.read(1):
                    yield piece
            raise


def by_read(path: Path, wire: bytes, size: int) -> AsyncIterator[bytes]:
    file = agz.open(path, "rb", chunk_size=size)
    return pieces(file, lambda: file.read(size))


def by_lines(path: Path, wire: bytes, size: int) -> AsyncIterator[bytes]:
    file = agz.open(path, "rb")
    return pieces(file, file.readline)


async def by_text(path: Path, wire: bytes, size: int) -> AsyncIterator[bytes]:
    file = agz.open(path, "rt", encoding="latin-1", newline="")
    async for piece in pieces(file, lambda: file.read(size)):
        yield piece.encode("latin-1")


def by_object(path: Path, wire: bytes, size: int) -> AsyncIterator[bytes]:
    file = agz.open(None, "rb", fileobj=Pieces(wire, size))
    return pieces(file, lambda: file.read1(size))


async def by_chunks(path: Path, wire: bytes, size: int) -> AsyncIterator[bytes]:
    async def source() -> AsyncIterator[bytes]:
        for i in range(0, len(wire), size):
            yield wire[i : i + size]

    async for piece in agz.decompress_chunks(source(), output_chunk_size=size):
        assert 0 < len(piece) <= size
        yield piece


async def by_decoder(path: Path, wire: bytes, size: int) -> AsyncIterator[bytes]:
    decoder = GzipDecoder(output_chunk_size=size)
    for i in range(0, len(wire), size):
        for piece in decoder.feed(wire[i : i + size]):
            yield piece
    for piece in decoder.finish():
        yield piece


async def outcome(surface: AsyncIterator[bytes]) -> Outcome:
    got = Outcome()
    try:
        async for piece in surface:
            got.pieces.append(piece)
    except Exception as error:
        got.error = error
    return got


async def whole(call: Awaitable[Any]) -> Any:
    """What it gives, or its error."""
    try:
        return await call
    except Exception as error:
        return error


def by_gzip(wire: bytes) -> bytes | Exception:
    try:
        return gzip.decompress(wire)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        return error


# ---- what must hold -----------------------------------------------------------------------

# What the gzip module lets pass, and codes of which it lets less pass.
STRICTER = ("Header CRC", "Reserved flags")
LAXER = (" set",)


async def check(path: Path, wire: bytes, size: int) -> None:
    path.write_bytes(wire)
    first, *others = [
        await outcome(surface(path, wire, size))
        for surface in (by_read, by_lines, by_text, by_object, by_chunks, by_decoder)
    ]
    reason = first.reason
    expected = by_gzip(wire)
    if isinstance(expected, bytes) and first.error is None:
        assert first.data == expected
    elif first.error is None:
        assert str(expected).endswith(LAXER), (wire, expected)
    else:
        assert isinstance(first.error, gzip.BadGzipFile), (wire, first.error)
        assert isinstance(expected, Exception) or reason.startswith(STRICTER), (wire, reason)

    for other in others:
        assert other.reason == reason, (wire, other.error, first.error)
        if not reason.startswith("invalid deflate"):
            assert other.data == first.data, (wire, len(other.data), len(first.data))

    data = await whole(agz.read(path))
    info = await whole(agz.inspect(path, fileobj=None, chunk_size=size))
    counts = await whole(agz.verify(path))
    if reason:
        for error in (data, info, counts):
            assert Outcome(error=error).reason == reason, (wire, error, reason)
        return
    assert data == first.data
    assert [info.compressed_size, info.uncompressed_size] == [len(wire), len(data)]
    assert counts == agz.VerificationResult(info.member_count, len(wire), len(data))
    assert sum(member.uncompressed_size for member in info.members) == len(data)
    at = 0
    for member in info.members:
        part = wire[member.compressed_offset :][: member.compressed_size]
        end = at + member.uncompressed_size
        assert gzip.decompress(part) == data[at:end]
        at = end


def test_all_surfaces_agree(tmp_path: Path) -> None:
    path = tmp_path / "damaged.gz"

    def body(members: list[Member], edits: list[Any], size: int) -> None:
        wire = damaged(b"".join(member.wire() for member in members), edits)
        asyncio.run(check(path, wire, size))

    run = given(
        members=st.lists(members, max_size=3),
        edits=st.lists(edits, max_size=3),
        size=st.sampled_from([2, 300, 300, 8192, 1 << 20]),
    )
    if not SECONDS:
        settings(QUICK, max_examples=200)(run(body))()
        return
    start = time.monotonic()
    for n in itertools.count(int(time.time())):
        if time.monotonic() > start + SECONDS:
            break
        print(f"seed {n}")
        seed(n)(UNTIMED(run(body)))()
