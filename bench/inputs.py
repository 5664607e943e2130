"""The inputs: real text and real structure that every machine with Python has.

sources    the standard library's sources, one module after the other
syntax     JSON Lines made from their syntax trees: one object a statement, its expressions
           as nested objects

and for the benchmark English text, equal lines, random bytes, many members, many files.

All are the same in each run on a machine. Nothing is cached: they are made in a few seconds.
"""

from __future__ import annotations

import ast
import gzip
import importlib
import itertools
import json
import os
import random
import sysconfig
import warnings
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SKIPPED = {"site-packages", "dist-packages", "__pycache__"}
_AHEAD = 32


@dataclass(frozen=True)
class Input:
    """A file of whole lines in UTF-8, and what is true of it."""

    path: Path
    n_lines: int
    nbytes: int
    crc32: int

    def take(self) -> bytes:
        """The content; the file is gone after it."""
        content = self.path.read_bytes()
        self.path.unlink()
        return content


def make_sources(directory: Path, n_files: int, nbytes: int) -> list[Input]:
    """Files of Python sources, `nbytes` in all or a little more."""
    return _deal(map(_text, _modules()), directory, "sources-{:02}.txt", n_files, nbytes)


def make_syntax(directory: Path, n_files: int, nbytes: int) -> list[Input]:
    """Files of JSON Lines, `nbytes` in all or a little more; made by all processors."""
    with ProcessPoolExecutor() as pool:
        records = _ahead(pool, _records, _modules())
        return _deal(records, directory, "syntax-{:02}.jsonl", n_files, nbytes)


def _ahead(
    pool: Executor, function: Callable[[Path], bytes], modules: Iterable[Path]
) -> Iterator[bytes]:
    """map() in the pool that does only a few modules more than are asked for."""
    results: deque[Future[bytes]] = deque()
    for module in modules:
        results.append(pool.submit(function, module))
        if len(results) > _AHEAD:
            yield results.popleft().result()
    while results:
        yield results.popleft().result()


def _deal(
    pieces: Iterable[bytes], directory: Path, name: str, n_files: int, nbytes: int
) -> list[Input]:
    """Fills one file after the other; begins again where there is too little for all."""
    inputs = []
    supply = itertools.cycle(pieces)
    for number in range(n_files):
        content = bytearray()
        while len(content) < nbytes // n_files:
            content += next(supply)
        path = directory / name.format(number)
        path.write_bytes(content)
        inputs.append(Input(path, content.count(b"\n"), len(content), zlib.crc32(content)))
    return inputs


def _modules() -> list[Path]:
    modules: list[Path] = []
    for folder, subfolders, names in os.walk(sysconfig.get_path("stdlib")):
        subfolders[:] = set(subfolders) - _SKIPPED
        modules += [Path(folder, name) for name in names if name.endswith(".py")]
    if not modules:
        raise FileNotFoundError("the sources of the standard library are not installed")
    return sorted(modules)


def _text(module: Path) -> bytes:
    """Its text with line ends "\\n", also the last; nothing if it cannot be read as UTF-8."""
    try:
        text = module.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return b""  # a link to nowhere; some of the library's tests
    return (text if text.endswith("\n") else text + "\n").encode()


# ---- syntax trees ------------------------------------------------------------------------

_BLOCKS = (ast.stmt, ast.excepthandler, ast.match_case)
_SCOPES = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def _records(module: Path) -> bytes:
    """A line of JSON for each statement; nothing if the module is not one to be parsed."""
    text = _text(module)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            body = ast.parse(text).body
        text_lines = text.decode().split("\n")
        records = [
            json.dumps({"module": module.stem} | record) + "\n"
            for record in _statements(body, text_lines, [])
        ]
    except (SyntaxError, ValueError, RecursionError):
        return b""  # as above
    return "".join(records).encode()


def _statements(body: list[Any], text: list[str], within: list[str]) -> Iterator[dict[str, Any]]:
    """The statements of a block, each before those of its own blocks."""
    for node in body:
        parts, blocks = {}, []
        for field, value in ast.iter_fields(node):
            if isinstance(value, list) and value and isinstance(value[0], _BLOCKS):
                blocks.append(value)
            elif value is not None and value != []:
                parts[field] = _tree(value)
        place = node.pattern if isinstance(node, ast.match_case) else node
        last = place.lineno if blocks else place.end_lineno
        yield {
            "within": within,
            "line": place.lineno,
            "kind": type(node).__name__,
            "parts": parts,
            "text": "\n".join(text[place.lineno - 1 : last]),
        }
        inner = [*within, node.name] if isinstance(node, _SCOPES) else within
        for block in blocks:
            yield from _statements(block, text, inner)


def _tree(node: Any) -> Any:
    """An expression as JSON has it: names are text, all else that has parts is an object."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return {"get": node.attr, "of": _tree(node.value)}
    if isinstance(node, ast.Constant):
        return {"value": _constant(node.value)}
    if isinstance(node, list):
        return [_tree(item) for item in node]
    if not isinstance(node, ast.AST):
        return node
    tree = {"node": type(node).__name__}
    for field, value in ast.iter_fields(node):
        if value is not None and value != [] and field != "ctx":
            tree[field] = _tree(value)
    return tree


def _constant(value: object) -> object:
    if isinstance(value, int) and abs(value) >= 1 << 63:
        return hex(value)
    return value if value is None or isinstance(value, str | int | float) else repr(value)


# ---- the benchmark's ---------------------------------------------------------------------


class Inputs:
    """Files for the benchmark's rows, the same bytes for all, each made when first asked for.

    What they give is for JSON: the paths of a file as it is ("raw") and compressed by sync
    gzip ("gz"), its "nbytes" and its number of lines, "n_lines".
    """

    def __init__(self, folder: Path, scale: float) -> None:
        self.folder = folder
        self.scale = scale
        self._made: dict[str, dict[str, Any]] = {}
        self._supplies: dict[str, bytes] = {}

    def count(self, full: int, least: int = 1) -> int:
        """How many, of things or bytes, there are at this scale."""
        return max(least, int(full * self.scale))

    def file(self, name: str, make: Callable[[], bytes]) -> dict[str, Any]:
        if name not in self._made:
            data = make()
            self._made[name] = self._write(name, data, gzip.compress(data, 6, mtime=0)) | {
                "nbytes": len(data),
                "n_lines": data.count(b"\n"),
            }
        return self._made[name]

    def _write(self, name: str, data: bytes, wire: bytes) -> dict[str, Any]:
        raw, gz = self.folder / name, self.folder / f"{name}.gz"
        raw.write_bytes(data)
        gz.write_bytes(wire)
        return {"raw": str(raw), "gz": str(gz), "wire_nbytes": len(wire)}

    def sources(self, nbytes: int) -> dict[str, Any]:
        return self._real("sources", make_sources, 31_500_000, nbytes)

    def records(self, nbytes: int) -> dict[str, Any]:
        """JSON Lines."""
        return self._real("records", make_syntax, 16_000_000, nbytes)

    def _real(
        self, name: str, make: Callable[[Path, int, int], list[Input]], full: int, nbytes: int
    ) -> dict[str, Any]:
        """So many bytes of whole lines, out of `full` of them, over and over if need be."""
        nbytes = self.count(nbytes, 4096)

        def content() -> bytes:
            if name not in self._supplies:
                self._supplies[name] = make(self.folder, 1, self.count(full, 4096))[0].take()
            supply = self._supplies[name]
            data = supply * (nbytes // len(supply) + 1)
            return data[: data.index(b"\n", min(nbytes, len(data) - 1)) + 1]

        return self.file(f"{name}-{nbytes}", content)

    def text(self, nbytes: int, scaled: bool = True) -> dict[str, Any]:
        """English, in short lines that end with LF: the language reference, over and over."""
        nbytes = self.count(nbytes, 4096) if scaled else nbytes
        return self.file(f"text-{nbytes}", lambda: self.prose(nbytes))

    def prose(self, nbytes: int) -> bytes:
        if "text" not in self._supplies:
            topics = importlib.import_module("pydoc_data.topics").topics
            text = "".join(topics[name] for name in sorted(topics))
            self._supplies["text"] = text.encode("ascii", "replace")
        supply = self._supplies["text"]
        return (supply * (nbytes // len(supply) + 1))[:nbytes]

    def equal(self, line: bytes, n_lines: int) -> dict[str, Any]:
        """Highly compressible: the same line again and again."""
        n_lines = self.count(n_lines, 10)
        return self.file(f"equal-{len(line)}-{n_lines}", lambda: line * n_lines)

    def random(self, nbytes: int) -> dict[str, Any]:
        nbytes = self.count(nbytes, 4096)
        return self.file(f"random-{nbytes}", lambda: random.Random(1).randbytes(nbytes))

    def members(self, n_members: int, nbytes: int) -> dict[str, Any]:
        """A file of many members, each of so many bytes of text; of a line each if 0."""
        name = f"members-{n_members}-{nbytes}"
        if name not in self._made:
            text = self.prose(max(1 << 20, nbytes))
            if nbytes == 0:
                pieces = list(itertools.islice(itertools.cycle(text.splitlines(True)), n_members))
            else:
                starts = (i * 997 % (len(text) - nbytes + 1) for i in range(n_members))
                pieces = [text[start : start + nbytes] for start in starts]
            wire = b"".join(gzip.compress(piece, 6, mtime=0) for piece in pieces)
            data = b"".join(pieces)
            self._made[name] = self._write(name, data, wire) | {
                "nbytes": len(data),
                "n_members": n_members,
            }
        return self._made[name]

    def small(self, n_files: int, nbytes: int) -> dict[str, Any]:
        """Many small files of text, of which 64 are different."""
        name = f"small-{n_files}-{nbytes}"
        if name not in self._made:
            folder = self.folder / name
            folder.mkdir()
            text = self.prose(nbytes + (1 << 16))
            wires = [
                gzip.compress(text[start : start + nbytes], 6, mtime=0)
                for start in range(0, 997 * min(n_files, 64), 997)
            ]
            for i in range(n_files):
                (folder / f"{i:05}.gz").write_bytes(wires[i % len(wires)])
            self._made[name] = {"folder": str(folder), "n_files": n_files, "nbytes": nbytes}
        return self._made[name]
