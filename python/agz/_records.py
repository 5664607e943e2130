"""The records of the public API.

Apart, because `dataclasses` takes longer to make them than all else that `import agz` needs.
"""

from dataclasses import FrozenInstanceError, dataclass
from typing import NoReturn, TypeVar, dataclass_transform

Record = TypeVar("Record")


def _frozen(self: object, name: str, *value: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


@dataclass_transform(frozen_default=True)
def record(kind: type[Record]) -> type[Record]:
    """A frozen dataclass with slots. The methods that `dataclasses` makes to keep it frozen
    raise a TypeError of their own for a name that is no field."""
    made = dataclass(frozen=True, slots=True, weakref_slot=True)(kind)
    made.__setattr__ = made.__delattr__ = _frozen  # type: ignore[method-assign]
    return made


@record
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


@record
class GzipInfo:
    """A whole stream, validated: its members and its sizes in bytes."""

    members: tuple[GzipMemberInfo, ...]
    compressed_size: int
    uncompressed_size: int

    @property
    def member_count(self) -> int:
        return len(self.members)


@record
class VerificationResult:
    """A whole stream, validated: how many members, and its sizes in bytes."""

    member_count: int
    compressed_size: int
    uncompressed_size: int


@record
class EngineInfo:
    """The engines in use, as names to read."""

    compression: str
    decompression: str
    crc32: str = "stdlib-zlib"
