"""The inputs: real text and real structure that every machine with Python has.

sources    the standard library's sources, one module after the other
syntax     JSON Lines made from their syntax trees: one object a statement, its expressions
           as nested objects

Both are the same in each run on a machine. Nothing is cached: they are made in a few seconds.
"""

from __future__ import annotations

import ast
import itertools
import json
import os
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
