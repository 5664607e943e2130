"""The exceptions of agz, and the one place that makes them.

The C half calls `fault_error` for what the library reports and `refusal` for what the
guard of a file refuses.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._agz import File

# Codes of agz/error.h that are told apart here.
_SYSTEM = -3
_ENGINE = -7
_FIRST_CORRUPT, _TRUNCATED = -20, -28
_OUTPUT_LIMIT = -40
_MEMBER_SIZE = -41


class ConcurrentOperationError(OSError):
    """Two operations overlap on a file that one task owns. The running one is unharmed."""


def fault_error(code: int, sys: int, text: str, limit: int, file: File | None) -> BaseException:
    """The exception for a code of agz/error.h; `text` says what failed, and where."""
    if code == _SYSTEM:
        name = None if file is None else file._name
        at = () if name is None else (name,)
        return OSError(sys, os.strerror(sys), *at)
    if code == _ENGINE:
        return ValueError("AGZ_ENGINE names no engine of this build; see agz.engine_info()")
    if code == _OUTPUT_LIMIT:
        return OSError(f"decompressed output exceeded max_decompressed_size ({limit} bytes)")
    if code == _MEMBER_SIZE:
        return OSError("gzip member exceeds the 4 GiB limit of its ISIZE field (strict_size)")
    if _TRUNCATED <= code <= _FIRST_CORRUPT:
        from ._corrupt import BadGzipFile, TruncatedGzipFile

        kind = TruncatedGzipFile if code == _TRUNCATED else BadGzipFile
        if file is None:
            return kind(text)
        error = kind(f"Error decompressing gzip data: {text}")
        error.__cause__ = error.__context__ = kind(text)
        return error
    return OSError(text)


def broken(seekable: bool) -> OSError:
    """For a reader whose stream failed, once what was decoded before has been read."""
    recovery = "seek to 0 to recover, or " if seekable else ""
    return OSError(
        "read stream is broken after failed or cancelled decompression; "
        f"{recovery}close and reopen the gzip file"
    )


def broken_file(file: File) -> OSError:
    source = file._source
    return broken(source is None or source.rewindable())


def refusal(file: File, verb: str) -> BaseException:
    """Why a file refuses an operation: by its state, its direction, or one that runs."""
    state = file._state
    if state == "closed" or file._closing is not None:
        return ValueError("I/O operation on closed file.")
    writes = file._writes
    if verb == "read" and writes:
        return OSError("File not open for reading")
    if verb == "write" and not writes:
        return OSError("File not open for writing")
    if state == "broken":
        return OSError("write stream is broken: the gzip member is unusable")
    running = file._running
    if running is not None and file._in_use:
        active = running.verb
        what = "write or flush" if active in ("write", "flush") else f"{active} call"
        return ConcurrentOperationError(
            f"cannot {verb} while another task has an active {what} on this file"
        )
    return ValueError("File not opened. Call await open() or use async with.")
