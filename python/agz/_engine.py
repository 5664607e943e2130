"""Which engines are in use."""

from __future__ import annotations

from . import _agz
from ._records import EngineInfo


def engine_info() -> EngineInfo:
    """The engines of a default writer, of a reader, and of the checks, as names to read.

    AGZ_ENGINE chooses one: "zlib", "zlib-ng", "isal" or "libdeflate"; where it is not set,
    AIOGZIP_ENGINE=stdlib stands for "zlib".
    """
    inflate, deflate, crc32 = _agz.engines_in_use(6, False)
    return EngineInfo(compression=_name(deflate), decompression=_name(inflate), crc32=_name(crc32))


def _name(engine: str | None) -> str:
    return "none" if engine is None else engine
