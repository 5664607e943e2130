#!/usr/bin/env python3
"""The rules of the tree that test themselves. Run by meson: rules.py RULE ARGUMENT...

pure ARCHIVE         codec and text reach for no I/O and start no thread; names outside
                     a file begin with agz_
exports LIBRARY      the shared library's symbols are the AGZ_API functions of the headers
headers COMPILER...  each public header compiles alone
plain COMPILER...    `cc -O2 -c src/*/*.c` is enough to build the library
hardened FILE...     what is built has full RELRO, no executable stack, no fixed address, and
                     the checks of the compiler and the C library
order                a folder includes only what stands above it
listed               every source file stands in a meson.build
version VERSION      the header, the build and the Python package name one version
"""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEADERS = sorted((ROOT / "include").rglob("*.h"))

# All that codec and text may call from outside the library. Whoever adds a name here
# has made sure that it neither waits, nor reads or writes anything but memory.
ALLOWED = re.compile(
    r"""agz_\w+
    | mem(cpy|move|set|chr|rchr|cmp) | __mem(cpy|move|set)_chk
    | str(len|cmp|ncmp|chr) | getenv | secure_getenv
    | __stack_chk_fail | _GLOBAL_OFFSET_TABLE_ | __cpu_model | __cpu_indicator_init
    | (inflate|deflate)\w* | crc32(_z|_combine\w*)? | zlibVersion | get_crc_table
    | zng_\w+ | zlibng_version
    | isal_\w+ | crc32_gzip_refl
    | libdeflate_\w+
    """,
    re.VERBOSE,
)
# The cache of free blocks is shared between threads.
ALLOWED_IN = {"text_block.c.o": re.compile(r"pthread_mutex_(lock|unlock|trylock)|madvise")}

# Folder: what its files may include. Public headers go by their own names.
ABOVE = {
    "include/agz": "agz/",
    "src/base": "base/ agz/error.h",
    "src/codec": "base/ codec/ agz/error.h agz/codec.h",
    "src/text": "base/ text/ agz/error.h agz/text.h",
    "src/pool": "base/ codec/ text/ pool/ agz/",
    "src/io": "base/ codec/ text/ pool/ io/ agz/",
    "cli": "agz.h agz/",
    "python/ext": "agz.h agz/",
    "examples/c": "agz.h agz/",
}


def nm(*args: str) -> Iterator[tuple[str, str, str]]:
    """(object file, kind, name) of every symbol with external linkage."""
    member = ""
    for line in subprocess.check_output(["nm", "-g", *args], text=True).splitlines():
        if line.endswith(":"):
            member = line[:-1]
        elif fields := line.split():
            yield member, fields[-2], fields[-1].partition("@")[0]


def pure(archive: str) -> Iterator[str]:
    seen = set()
    for member, kind, name in nm(archive):
        folder = member.partition("_")[0]
        seen.add(folder)
        if kind not in "UwV" and not name.startswith("agz_"):
            yield f"{member}: defines {name}, which does not begin with agz_"
        if kind != "U" or folder not in ("codec", "text") or ALLOWED.fullmatch(name):
            continue
        extra = ALLOWED_IN.get(member)
        if not (extra and extra.fullmatch(name)):
            yield f"{member}: calls {name}, which is not known to be free of I/O and threads"
    for folder in {"base", "codec", "text", "pool", "io"} - seen:
        yield f"{archive}: has nothing of src/{folder}"


def exports(library: str) -> Iterator[str]:
    declared: set[str] = set()
    for header in HEADERS:
        code = re.sub(r"/\*.*?\*/|^\s*#.*?$", "", header.read_text(), flags=re.S | re.M)
        declared.update(re.findall(r"AGZ_API\b[^;(]*?(\w+)\s*\(", code))
    exported = {name for _, kind, name in nm("-D", "--defined-only", library) if kind != "A"}
    for name in sorted(exported - declared):
        yield f"{library}: exports {name}, which no header declares"
    for name in sorted(declared - exported):
        yield f"{library}: does not export {name}"


def compile_each(sources: list[Path], *command: str) -> Iterator[str]:
    for source in sources:
        run = subprocess.run([*command, str(source)], capture_output=True, text=True)
        if run.returncode or run.stderr:
            yield f"{source.relative_to(ROOT)}: {' '.join(command)}\n{run.stderr}"


def headers(*compiler: str) -> Iterator[str]:
    yield from compile_each(
        HEADERS, *compiler, "-Wall", "-Wextra", "-Wundef", "-fsyntax-only", f"-I{ROOT}/include"
    )


def plain(*compiler: str) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        yield from compile_each(
            sorted((ROOT / "src").glob("*/*.c")),
            *compiler,
            "-O2",
            "-c",
            f"-I{ROOT}/include",
            f"-I{ROOT}/src",
            "-o",
            f"{folder}/out.o",
        )


def hardened(*files: str) -> Iterator[str]:
    for file in files:
        command = [
            "readelf",
            "--wide",
            "--file-header",
            "--segments",
            "--dynamic",
            "--dyn-syms",
            file,
        ]
        text = subprocess.check_output(command, text=True, env={**os.environ, "LC_ALL": "C"})
        for what, pattern in {
            "no fixed address": r"^\s+Type:\s+DYN",
            "RELRO": r"^\s+GNU_RELRO\s",
            "no lazy binding": r"\(FLAGS(_1)?\).*\bNOW\b",
            "a stack that is not executable": r"^\s+GNU_STACK\s.* RW +0x",
            "stack protection": r"\b__stack_chk_fail\b",
            "fortified calls": r"\b__\w+_chk\b",
        }.items():
            if not re.search(pattern, text, re.M):
                yield f"{file}: has not {what}"
        if re.search(r"\(TEXTREL\)|^\s+LOAD\s.* RWE ", text, re.M):
            yield f"{file}: has memory that is writable and executable"


def order() -> Iterator[str]:
    for folder, allowed in ABOVE.items():
        for path in sorted((ROOT / folder).glob("*.[ch]")):
            for included in re.findall(r'^\s*#\s*include\s+"(.*?)"', path.read_text(), re.M):
                beside = "/" not in included and (path.parent / included).exists()
                if not beside and not included.startswith(tuple(allowed.split())):
                    yield f"{path.relative_to(ROOT)}: may not include {included}"


def listed() -> Iterator[str]:
    for build, patterns in {
        "src": ["src/*/*.c"],
        "cli": ["cli/*.c"],
        "python": ["python/ext/*.c", "python/agz/*.py", "python/agz/*.pyi"],
        "tests/c": ["tests/c/*.c"],
        "tests/fuzz": ["tests/fuzz/*.c"],
        "examples/c": ["examples/c/*.c"],
    }.items():
        text = (ROOT / build / "meson.build").read_text()
        for path in sorted(path for pattern in patterns for path in ROOT.glob(pattern)):
            # A test program goes by what follows test_.
            name = path.stem.removeprefix("test_") if "tests" in build else path.name
            if not re.search(rf"['/]{re.escape(name)}(\.c)?'", text):
                yield f"{build}/meson.build: does not list {path.relative_to(ROOT)}"


def version(built: str) -> Iterator[str]:
    for name, pattern in {
        "include/agz/error.h": r'#define AGZ_VERSION "(.*)"',
        "pyproject.toml": r'^version = "(.*)"',
    }.items():
        found = re.search(pattern, (ROOT / name).read_text(), re.M)
        if not found or found[1] != built:
            yield f"{name}: version is not {built}"


RULES = {
    rule.__name__: rule
    for rule in (pure, exports, headers, plain, hardened, order, listed, version)
}


def main() -> int:
    broken = list(RULES[sys.argv[1]](*sys.argv[2:]))
    for line in broken:
        print(line)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
