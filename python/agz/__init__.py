"""gzip for asyncio programs, in C: the loop always free.

    import agz

    async with agz.open("events.jsonl.gz", "rt") as stream:
        async for line in stream:
            ...

The public names are those of aiogzip 2.0.0.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, overload

from ._agz import version as __version__
from ._arguments import Filename
from ._binary import AsyncGzipBinaryFile
from ._errors import ConcurrentOperationError
from ._text import AsyncGzipTextFile
from ._types import (
    GZIP_FLAG_FCOMMENT,
    GZIP_FLAG_FEXTRA,
    GZIP_FLAG_FHCRC,
    GZIP_FLAG_FNAME,
    GZIP_METHOD_DEFLATE,
    GZIP_OS_UNKNOWN,
    GZIP_WBITS,
    WithAsyncRead,
    WithAsyncReadWrite,
    WithAsyncWrite,
    ZlibEngine,
)

if TYPE_CHECKING:
    from . import codec as codec
    from ._engine import engine_info
    from ._records import EngineInfo, GzipInfo, GzipMemberInfo, VerificationResult
    from ._streams import compress_chunks, decompress_chunks
    from ._whole import inspect, read, verify, write
    from .codec import CodecOperation, GzipDecoder, GzipEncoder

__all__ = [
    "__version__",
    "AsyncGzipBinaryFile",
    "AsyncGzipFile",
    "AsyncGzipTextFile",
    "CodecOperation",
    "ConcurrentOperationError",
    "EngineInfo",
    "GzipDecoder",
    "GzipEncoder",
    "GzipInfo",
    "GzipMemberInfo",
    "VerificationResult",
    "WithAsyncRead",
    "WithAsyncReadWrite",
    "WithAsyncWrite",
    "ZlibEngine",
    "GZIP_FLAG_FCOMMENT",
    "GZIP_FLAG_FEXTRA",
    "GZIP_FLAG_FHCRC",
    "GZIP_FLAG_FNAME",
    "GZIP_METHOD_DEFLATE",
    "GZIP_OS_UNKNOWN",
    "GZIP_WBITS",
    "compress_chunks",
    "decompress_chunks",
    "engine_info",
    "inspect",
    "open",
    "read",
    "verify",
    "write",
]

# What files alone do not need is imported when it is first asked for.
_HOMES = {
    name: home
    for home, names in {
        "codec": ("CodecOperation", "GzipDecoder", "GzipEncoder"),
        "_engine": ("engine_info",),
        "_records": ("EngineInfo", "GzipInfo", "GzipMemberInfo", "VerificationResult"),
        "_streams": ("compress_chunks", "decompress_chunks"),
        "_whole": ("inspect", "read", "verify", "write"),
    }.items()
    for name in names
}


if not TYPE_CHECKING:  # checkers know the names, and no others

    def __getattr__(name: str) -> Any:
        if name == "codec":
            return import_module(".codec", __name__)
        home = _HOMES.get(name)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f".{home}", __name__), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "codec"})


_TEXT_ONLY = ("encoding", "errors", "newline")

BinaryMode = Literal["r", "rb", "br", "w", "wb", "bw", "a", "ab", "ba", "x", "xb", "bx"]
TextMode = Literal["rt", "tr", "wt", "tw", "at", "ta", "xt", "tx"]


@overload
def open(filename: Filename, mode: BinaryMode = "rb", **kwargs: Any) -> AsyncGzipBinaryFile: ...
@overload
def open(filename: Filename, mode: TextMode, **kwargs: Any) -> AsyncGzipTextFile: ...
@overload
def open(
    filename: Filename, mode: str = "rb", **kwargs: Any
) -> AsyncGzipBinaryFile | AsyncGzipTextFile: ...
def open(
    filename: Filename, mode: str = "rb", **kwargs: Any
) -> AsyncGzipBinaryFile | AsyncGzipTextFile:
    """A gzip file: AsyncGzipTextFile if the mode has a "t", else AsyncGzipBinaryFile.

    Nothing is opened before `async with`, or `await file.open()`. The keyword arguments are
    those of the two classes; encoding, errors and newline only with "t".
    """
    if not isinstance(mode, str):
        raise TypeError("mode must be a string")
    if "t" in mode:
        return AsyncGzipTextFile(filename, mode, **kwargs)
    for name in _TEXT_ONLY:
        if kwargs.pop(name, None) is not None:
            raise ValueError(f"Argument '{name}' not supported in binary mode")
    return AsyncGzipBinaryFile(filename, mode, **kwargs)


def AsyncGzipFile(
    filename: Filename, mode: str = "rb", **kwargs: Any
) -> AsyncGzipBinaryFile | AsyncGzipTextFile:
    """The same as open()."""
    return open(filename, mode, **kwargs)
