"""Checks of arguments, the same for every entry point, before anything is opened."""

from __future__ import annotations

import io
import os
import time
from typing import Any

DEFAULT_CHUNK_SIZE = 256 * 1024
MAX_CHUNK_SIZE = 128 * 1024 * 1024
DEFAULT_REWIND_CACHE_SIZE = 128 * 1024 * 1024

# Not pathlib.Path by name: to import that takes longer than to import agz.
Filename = str | bytes | os.PathLike[str] | os.PathLike[bytes] | None


def check_bool(value: object, name: str) -> None:
    if value is not True and value is not False:
        raise TypeError(f"{name} must be a bool")


def integer(value: object, message: str) -> int:
    """An exact integer: neither a bool nor anything that only converts to one."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(message)
    return value


def check_chunk_size(value: Any, name: str = "Chunk size") -> int:
    size = integer(value, f"{name} must be an integer")
    if size <= 0:
        raise ValueError(f"{name} must be positive")
    if size > MAX_CHUNK_SIZE:
        raise ValueError(f"{name} must be <= {MAX_CHUNK_SIZE} bytes (128 MiB)")
    return size


def check_level(value: Any) -> int:
    level = integer(value, "Compression level must be an integer")
    if not -1 <= level <= 9:
        raise ValueError("Compression level must be between -1 and 9")
    return level


def check_bound(value: Any, name: str) -> int | None:
    if value is None:
        return None
    bound = integer(value, f"{name} must be a positive integer or None")
    if bound <= 0:
        raise ValueError(f"{name} must be a positive integer")
    return bound


def check_mtime(value: Any) -> int | None:
    """The header's mtime, whole seconds; None for the time when the header is made."""
    if value is None:
        return None
    if not isinstance(value, (int, float)):
        raise TypeError("mtime must be an int or float if provided")
    if value < 0:
        raise ValueError("mtime must be non-negative")
    seconds = int(value)
    if seconds > 0xFFFFFFFF:
        raise ValueError("mtime must be <= 4294967295")
    return seconds


def mtime_now(mtime: int | None) -> int:
    return int(time.time()) & 0xFFFFFFFF if mtime is None else mtime


def check_original_filename(value: object) -> str | bytes | None:
    if value is None:
        return None
    if isinstance(value, str):
        holds_nul = "\0" in value
    elif isinstance(value, bytes):
        holds_nul = b"\0" in value
    else:
        raise TypeError("original_filename must be a string or bytes if provided")
    if holds_nul:
        raise ValueError("original_filename cannot contain NUL bytes")
    return value


def header_name(name: Filename) -> bytes | None:
    """FNAME as CPython's gzip writes it: the Latin-1 basename less one ".gz"."""
    if name is None:
        return None
    path = os.fspath(name)
    check_original_filename(path)
    if isinstance(path, str):
        try:
            path = os.path.basename(path).encode("latin-1")
        except UnicodeEncodeError:
            return None
    return os.path.basename(path).removesuffix(b".gz") or None


def check_filename(value: object, fileobj: object) -> None:
    if value is None:
        if fileobj is None:
            raise ValueError("Either filename or fileobj must be provided")
    elif not isinstance(value, (str, bytes, os.PathLike)):
        raise TypeError("Filename must be a string, bytes, or PathLike object")
    elif isinstance(value, str) and not value:
        raise ValueError("Filename cannot be empty")


def check_options(
    filename: object,
    fileobj: object,
    chunk_size: object,
    closefd: object,
    max_decompressed_size: object,
    max_rewind_cache_size: object,
    strict_size: object,
    fast_compress: object,
) -> None:
    """What files of both kinds check first, in this order."""
    if closefd is not None:
        check_bool(closefd, "closefd")
    check_bool(strict_size, "strict_size")
    check_bool(fast_compress, "fast_compress")
    check_filename(filename, fileobj)
    check_chunk_size(chunk_size)
    check_bound(max_decompressed_size, "max_decompressed_size")
    check_bound(max_rewind_cache_size, "max_rewind_cache_size")


_MODES: dict[str, tuple[str, bool]] = {}  # that were found right; they are few


def check_mode(mode: Any) -> tuple[str, bool]:
    """The operation (r, w, a or x) of a mode string, and whether it is text."""
    if type(mode) is str and mode in _MODES:
        return _MODES[mode]
    if not isinstance(mode, str):
        raise TypeError("mode must be a string")
    if not mode:
        raise ValueError("Mode string cannot be empty")
    for character in mode:
        if character not in "rwaxbt+":
            raise ValueError(f"Invalid mode character '{character}'")
        if mode.count(character) > 1:
            verb = "include" if character == "+" else "specify"
            raise ValueError(f"Mode string cannot {verb} '{character}' more than once")
    operations = [character for character in mode if character in "rwax"]
    if not operations:
        raise ValueError("Mode string must include one of 'r', 'w', 'a', or 'x'")
    if len(operations) > 1:
        raise ValueError("Mode string can only specify one of r, w, a, or x")
    if "b" in mode and "t" in mode:
        raise ValueError("Mode string cannot include both 'b' and 't'")
    found = _MODES[str(mode)] = operations[0], "t" in mode
    return found


def check_encoding(encoding: str | None) -> str:
    """The encoding to use; None means UTF-8."""
    if encoding is None:
        return "utf-8"
    if not encoding:
        raise ValueError("Encoding cannot be empty")
    "".encode(encoding)  # refuses what is unknown, and what is no encoding of text
    return encoding


def check_newline(newline: str | None) -> str | None:
    if newline not in {None, "", "\n", "\r", "\r\n"}:
        raise ValueError(f"illegal newline value: {newline}")
    return newline


def unsupported(what: str) -> io.UnsupportedOperation:
    return io.UnsupportedOperation(what)
