"""Checks of arguments, the same for every entry point, before anything is opened."""

from __future__ import annotations

import codecs
import io
import operator
import os
import time
from pathlib import Path
from typing import Any

DEFAULT_CHUNK_SIZE = 256 * 1024
MAX_CHUNK_SIZE = 128 * 1024 * 1024
DEFAULT_REWIND_CACHE_SIZE = 128 * 1024 * 1024

Filename = str | bytes | Path | None


def check_bool(value: object, name: str) -> None:
    if value is not True and value is not False:
        raise TypeError(f"{name} must be a bool")


def check_closefd(value: object) -> None:
    if value is not None:
        check_bool(value, "closefd")


def integer(value: Any, message: str) -> int:
    """An exact integer: neither a bool nor anything that only converts to one."""
    if isinstance(value, bool):
        raise TypeError(message)
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(message) from None


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


def check_original_filename(value: Any) -> str | bytes | None:
    if value is None:
        return None
    if not isinstance(value, (str, bytes)):
        raise TypeError("original_filename must be a string or bytes if provided")
    if ("\0" if isinstance(value, str) else b"\0") in value:  # type: ignore[operator]
        raise ValueError("original_filename cannot contain NUL bytes")
    return value


def header_name(name: str | bytes | Path | None) -> bytes | None:
    """FNAME as CPython's gzip writes it: the Latin-1 basename less one ".gz"."""
    if name is None:
        return None
    base = os.path.basename(os.fspath(name))
    if isinstance(base, str):
        try:
            base = base.encode("latin-1")
        except UnicodeEncodeError:
            return None
    if base.endswith(b".gz"):
        base = base[:-3]
    return base or None


def check_filename(value: Any, fileobj: object) -> Filename:
    if value is None:
        if fileobj is None:
            raise ValueError("Either filename or fileobj must be provided")
        return None
    if not isinstance(value, (str, bytes, os.PathLike)):
        raise TypeError("Filename must be a string, bytes, or PathLike object")
    if not os.fspath(value):
        raise ValueError("Filename cannot be empty")
    return value  # type: ignore[return-value]


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


def check_encoding(encoding: Any) -> str:
    """The encoding to use; None means UTF-8."""
    if encoding is None:
        return "utf-8"
    if not isinstance(encoding, str):
        raise TypeError("encoding must be a str or None")
    if not encoding:
        raise ValueError("Encoding cannot be empty")
    info = codecs.lookup(encoding)
    if not info._is_text_encoding:
        raise LookupError(f"'{encoding}' is not a text encoding")
    return encoding


def check_newline(newline: Any) -> str | None:
    if newline not in (None, "", "\n", "\r", "\r\n") or not isinstance(newline, (str, type(None))):
        raise ValueError(f"illegal newline value: {newline}")
    return newline


def unsupported(what: str) -> io.UnsupportedOperation:
    return io.UnsupportedOperation(what)
