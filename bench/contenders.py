"""The contenders: the same four loops over gzip files, with each library that there is.

    write(path, lines)    line by line
    count(path)           lines and characters
    parse(path)           lines of JSON, and a sum over what is in them
    check(path)           lines, and the CRC-32 of all that was read

All give the same arguments, so all do the same work. They are plain loops, one beside the
other, because a loop that is shared would cost what is to be measured.
"""

from __future__ import annotations

import asyncio
import gzip
import importlib
import json
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

Sums = tuple[int, int]  # the number of lines, and what depends on all that was read
Opener = Callable[..., Any]

WRITING: dict[str, Any] = {"mode": "wt", "compresslevel": 6, "encoding": "utf-8"}
READING: dict[str, Any] = {"mode": "rt", "encoding": "utf-8"}


# ---- asynchronous ----------------------------------------------------------------------------


async def _write(opener: Opener, path: Path, lines: list[str]) -> None:
    async with opener(path, **WRITING) as stream:
        for line in lines:
            await stream.write(line)


async def _count(opener: Opener, path: Path) -> Sums:
    n_lines = n_characters = 0
    async with opener(path, **READING) as stream:
        async for line in stream:
            n_lines += 1
            n_characters += len(line)
    return n_lines, n_characters


async def _parse(opener: Opener, path: Path) -> Sums:
    n_lines = total = 0
    async with opener(path, **READING) as stream:
        async for line in stream:
            record = json.loads(line)
            n_lines += 1
            total += record["line"] + len(record["parts"])
    return n_lines, total


async def _check(opener: Opener, path: Path) -> Sums:
    n_lines = crc = 0
    async with opener(path, **READING) as stream:
        async for line in stream:
            n_lines += 1
            crc = zlib.crc32(line.encode(), crc)
    return n_lines, crc


# ---- synchronous -----------------------------------------------------------------------------


def _write_sync(path: Path, lines: list[str]) -> None:
    with gzip.open(path, **WRITING) as stream:
        for line in lines:
            stream.write(line)


def _count_sync(path: Path) -> Sums:
    n_lines = n_characters = 0
    with gzip.open(path, **READING) as stream:
        for line in stream:
            n_lines += 1
            n_characters += len(line)
    return n_lines, n_characters


def _parse_sync(path: Path) -> Sums:
    n_lines = total = 0
    with gzip.open(path, **READING) as stream:
        for line in stream:
            record = json.loads(line)
            n_lines += 1
            total += record["line"] + len(record["parts"])
    return n_lines, total


def _check_sync(path: Path) -> Sums:
    n_lines = crc = 0
    with gzip.open(path, **READING) as stream:
        for line in stream:
            n_lines += 1
            crc = zlib.crc32(line.encode(), crc)
    return n_lines, crc


async def _here(function: Callable[..., Any], *arguments: Any) -> Any:
    return function(*arguments)


# ---- what is made of them ----------------------------------------------------------------------


@dataclass(frozen=True)
class Loops:
    write: Callable[[Path, list[str]], Awaitable[None]]
    count: Callable[[Path], Awaitable[Sums]]
    parse: Callable[[Path], Awaitable[Sums]]
    check: Callable[[Path], Awaitable[Sums]]


def _asynchronous(module: str) -> Loops:
    opener = importlib.import_module(module).AsyncGzipFile
    return Loops(
        partial(_write, opener),
        partial(_count, opener),
        partial(_parse, opener),
        partial(_check, opener),
    )


def _synchronous(call: Callable[..., Awaitable[Any]]) -> Loops:
    return Loops(
        partial(call, _write_sync),
        partial(call, _count_sync),
        partial(call, _parse_sync),
        partial(call, _check_sync),
    )


@dataclass(frozen=True)
class Contender:
    """Loops to be made in a process of their own, with this added to its environment."""

    loops: Callable[[], Loops]
    environment: dict[str, str] = field(default_factory=dict)


CONTENDERS = {
    "gzip": Contender(lambda: _synchronous(_here)),
    "gzip in threads": Contender(lambda: _synchronous(asyncio.to_thread)),
    "aiogzip, zlib": Contender(lambda: _asynchronous("aiogzip"), {"AIOGZIP_ENGINE": "stdlib"}),
    "aiogzip, zlib-ng": Contender(lambda: _asynchronous("aiogzip"), {"AIOGZIP_ENGINE": ""}),
    "agz": Contender(lambda: _asynchronous("agz")),
}
