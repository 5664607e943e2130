"""The records of the public API.

Apart, because `dataclasses` takes longer to make them than all else that `import agz` needs.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GzipMemberInfo:
    """One member whose trailer was validated. Offsets and sizes are in bytes."""

    index: int
    compressed_offset: int
    compressed_size: int
    uncompressed_size: int
    mtime: int
    original_filename: str | None
    comment: str | None
    extra: bytes | None
    flags: int
    crc32: int
    trailer_isize: int


@dataclass(frozen=True, slots=True)
class GzipInfo:
    """A whole stream, validated: its members and its sizes in bytes."""

    members: tuple[GzipMemberInfo, ...]
    compressed_size: int
    uncompressed_size: int

    @property
    def member_count(self) -> int:
        return len(self.members)


@dataclass(frozen=True, slots=True)
class VerificationResult:
    """A whole stream, validated: how many members, and its sizes in bytes."""

    member_count: int
    compressed_size: int
    uncompressed_size: int


@dataclass(frozen=True, slots=True)
class EngineInfo:
    """The engines in use, as names to read."""

    compression: str
    decompression: str
    crc32: str = "stdlib-zlib"
