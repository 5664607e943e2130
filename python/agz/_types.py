"""Protocols and constants of the public API."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias, runtime_checkable

GZIP_WBITS = 31
GZIP_METHOD_DEFLATE = 8
GZIP_OS_UNKNOWN = 255
GZIP_FLAG_FHCRC = 0x02
GZIP_FLAG_FEXTRA = 0x04
GZIP_FLAG_FNAME = 0x08
GZIP_FLAG_FCOMMENT = 0x10

ZlibEngine: TypeAlias = Any
"""A compressor or decompressor object of zlib; kept for code that names the type."""


@runtime_checkable
class WithAsyncRead(Protocol):
    """A source: `await read(size)` gives up to size bytes, b"" at its end."""

    async def read(self, size: int = -1) -> str | bytes: ...


@runtime_checkable
class WithAsyncWrite(Protocol):
    """A sink: `await write(data)` gives how many bytes of data it took."""

    async def write(self, data: str | bytes) -> int: ...


@runtime_checkable
class WithAsyncReadWrite(Protocol):
    """A source and sink that can be closed."""

    async def read(self, size: int = -1) -> str | bytes: ...

    async def write(self, data: str | bytes) -> int: ...

    async def close(self) -> None: ...
