"""The contenders of the benchmark: a library, in the environment that makes it the one meant."""

from __future__ import annotations

import asyncio
import gzip
import importlib
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

LEVEL = 6
REFERENCE = "gzip"


class Unsupported(Exception):
    """The library has nothing to do this with."""


@dataclass(frozen=True)
class Sync:
    """A module made after gzip, and the one made after zlib behind it."""

    open: Callable[..., Any]  # (path, mode, ...), as gzip.open; level 6, or the nearest to it
    whole: Any = None  # has compress and decompress
    zlib: Any = None  # has decompressobj
    level: int = LEVEL

    def need(self, name: str) -> Any:
        module = getattr(self, name)
        if module is None:
            raise Unsupported
        return module


def _open(function: Callable[..., Any], level: int, path: Any, mode: str, **more: Any) -> Any:
    return function(path, mode, **({"compresslevel": level} if "w" in mode else {}), **more)


def _sync(module: str, codec: str | None = None, level: int = LEVEL) -> Sync:
    library = importlib.import_module(module)
    opener = partial(_open, library.open, level)
    if codec is None:
        return Sync(opener, level=level)
    return Sync(opener, library, importlib.import_module(codec), level)


@dataclass(frozen=True)
class Contender:
    library: Callable[[], Any]  # loads it; a Sync, or a module with the names of aiogzip
    asynchronous: bool = False
    uvloop: bool = False
    environment: tuple[tuple[str, str], ...] = ()

    def loop(self) -> asyncio.AbstractEventLoop:
        name = "uvloop" if self.uvloop else "asyncio"
        loop: asyncio.AbstractEventLoop = importlib.import_module(name).new_event_loop()
        return loop


def _aio(module: str, uvloop: bool = False, **environment: str) -> Contender:
    load = partial(importlib.import_module, module)
    return Contender(load, True, uvloop, tuple(environment.items()))


_ISAL_LEVEL = 3  # the highest that it has

CONTENDERS: dict[str, Contender] = {
    REFERENCE: Contender(lambda: Sync(partial(_open, gzip.open, LEVEL), gzip, zlib)),
    "igzip": Contender(partial(_sync, "isal.igzip", "isal.isal_zlib", _ISAL_LEVEL)),
    "igzip_threaded": Contender(partial(_sync, "isal.igzip_threaded", level=_ISAL_LEVEL)),
    "gzip_ng": Contender(partial(_sync, "zlib_ng.gzip_ng", "zlib_ng.zlib_ng")),
    "gzip_ng_threaded": Contender(partial(_sync, "zlib_ng.gzip_ng_threaded")),
    "aiogzip": _aio("aiogzip", AIOGZIP_ENGINE="stdlib"),
    "aiogzip-ng": _aio("aiogzip", AIOGZIP_ENGINE=""),
    "aiogzip-ng uvloop": _aio("aiogzip", True, AIOGZIP_ENGINE=""),
    "agz": _aio("agz", AGZ_ENGINE=""),
    "agz uvloop": _aio("agz", True, AGZ_ENGINE=""),
    "agz zlib": _aio("agz", AGZ_ENGINE="zlib"),
    "agz zlib-ng": _aio("agz", AGZ_ENGINE="zlib-ng"),
    "agz isal": _aio("agz", AGZ_ENGINE="isal"),
    "agz libdeflate": _aio("agz", AGZ_ENGINE="libdeflate"),
}
ENGINES = {name.split()[1]: name for name in list(CONTENDERS)[-4:]}  # of agz, each alone
OURS = frozenset(name for name in CONTENDERS if name.startswith("agz"))
AGZ = frozenset(ENGINES.values())
PLAIN = frozenset(CONTENDERS) - AGZ
PEERS = [name for name in CONTENDERS if name not in OURS and name != REFERENCE]
PACKAGES = ("agz", "aiogzip", "isal", "zlib-ng", "uvloop", "matplotlib")
