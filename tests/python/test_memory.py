"""Memory does not depend on what a file says or holds: a gibibyte as pieces and as lines, both
ways, and bombs, each in a process of its own, at its peak held against a bare interpreter."""

import gzip
from functools import cache
from pathlib import Path

import pytest
from support import python, source_text, zeros_file

MIB = 1 << 20

# Of this process image alone: getrusage() still knows the parent's before exec.
PEAK = """
import asyncio, sys
def peak():
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
"""


@cache
def bare() -> int:
    return int(python(PEAK + "print(peak())"))


def over(code: str, *args: object) -> int:
    """How far the peak of a program with a main(path) goes over a bare interpreter with asyncio."""
    program = f"import agz\n{PEAK}\n{code}\nasyncio.run(main(*sys.argv[1:]))\nprint(peak())"
    return int(python(program, *args).split()[-1]) - bare()


@pytest.fixture(scope="module")
def gibibyte(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same member over and over: 1 GiB of text, quickly made."""
    path = tmp_path_factory.mktemp("gib") / "f.gz"
    text = source_text(100_000).splitlines(keepends=True)
    part = b"".join(text * (1 + 8 * MIB // 100_000))[: 8 * MIB - 1] + b"\n"
    member = gzip.compress(part, 6)
    with path.open("wb") as file:
        for _ in range(128):
            file.write(member)
    return path


PIECES = """
async def main(path):
    total = 0
    async with agz.open(path) as file:
        while piece := await file.read(65536):
            total += len(piece)
    assert total == 1 << 30, total
"""

LINES = """
async def main(path):
    total = 0
    async with agz.open(path, "{mode}", **{options}) as file:
        async for line in file:
            total += len(line)
    assert total == 1 << 30, total
"""

BATCHES = """
async def main(path):
    total = 0
    async with agz.open(path, "rt", encoding="latin-1") as file:
        async for lines in file.iter_batches(1 << 16):
            total += sum(map(len, lines))
    assert total == 1 << 30, total
"""

LATIN = {"encoding": "latin-1"}


@pytest.mark.parametrize(
    "code",
    [
        PIECES,
        LINES.format(mode="rb", options={}),
        LINES.format(mode="rt", options=LATIN),
        BATCHES,
        "main = agz.verify",
        "main = agz.inspect",
    ],
    ids=["read(65536)", "lines", "lines of text", "batches", "verify", "inspect"],
)
def test_a_gibibyte(gibibyte: Path, code: str) -> None:
    assert over(code, gibibyte) <= 24 * MIB


def test_a_gibibyte_written(tmp_path: Path) -> None:
    code = """
async def main(path):
    piece = bytes(range(256)) * 256
    async with agz.open(path, "wb", compresslevel=1) as file:
        for _ in range((1 << 30) // len(piece)):
            await file.write(piece)
"""
    assert over(code, tmp_path / "f.gz") <= 24 * MIB


@pytest.fixture(scope="module")
def bomb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bomb") / "f.gz"
    zeros_file(path, 256)
    assert path.stat().st_size < 300_000
    return path


@pytest.mark.parametrize(
    "call",
    ["read(1)", "read1(1)", "peek(1)", "readline(1)", "readinto(bytearray(1))", "read(100000)"],
)
@pytest.mark.parametrize("chunk", [1000, 128 * MIB])
def test_one_byte_of_a_bomb(bomb: Path, call: str, chunk: int) -> None:
    code = f"""
async def main(path):
    async with agz.open(path, chunk_size={chunk}) as file:
        assert await file.{call}
"""
    assert over(code, bomb) <= 12 * MIB


def test_one_character_of_a_bomb(bomb: Path) -> None:
    code = """
async def main(path):
    for encoding in ("utf-8", "gb18030"):
        async with agz.open(path, "rt", encoding=encoding) as file:
            assert await file.read(1) == "\\0"
"""
    assert over(code, bomb) <= 12 * MIB


def test_a_bomb_through_the_codec(bomb: Path) -> None:
    code = """
async def main(path):
    packed = open(path, "rb").read()
    async def source():
        yield packed
    total = 0
    async for chunk in agz.decompress_chunks(source()):
        total += len(chunk)
    assert total == 256 << 20
    decoder = agz.GzipDecoder(output_chunk_size=1000)
    operation = decoder.feed(packed)
    assert len(next(operation)) == 1000
    assert decoder.uncompressed_size < 1 << 20
    operation.close()
"""
    assert over(code, bomb) <= 12 * MIB


def test_a_seek_over_a_bomb(bomb: Path) -> None:
    code = """
async def main(path):
    async with agz.open(path) as file:
        assert await file.seek(0, 2) == 256 << 20
        assert await file.seek(200 << 20) == 200 << 20
        assert await file.read(1) == b"\\0"
"""
    assert over(code, bomb) <= 12 * MIB


def test_a_header_that_promises_much(tmp_path: Path) -> None:
    """ISIZE says 4 GiB: no more is asked for than the compressed bytes could give."""
    path = tmp_path / "f.gz"
    path.write_bytes(gzip.compress(b"x" * 100_000)[:-4] + b"\xff" * 4)
    code = """
import gzip
async def main(path):
    try:
        await agz.read(path)
    except gzip.BadGzipFile:
        return
    raise AssertionError("no error")
"""
    assert over(code, path) <= 12 * MIB


def test_a_thousand_files(tmp_path: Path) -> None:
    """Open, their first line read, and nothing more asked of them."""
    path = tmp_path / "f.gz"
    path.write_bytes(gzip.compress(b"line\n" * 2000))
    code = """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (2000, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
async def main(path):
    files = []
    for _ in range(1000):
        file = await agz.open(path).open()
        assert await file.readline() == b"line\\n"
        files.append(file)
    for file in files:
        await file.close()
"""
    assert over(code, path) <= 80 * MIB
