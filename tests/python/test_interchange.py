"""What other programs write, agz reads, and the other way round: ten kinds of input,
through the command and through the package."""

import asyncio
import gzip
import json
import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from support import json_lines, source_text

# Program: the levels that differ in kind.
PROGRAMS = {
    "gzip": "169",
    "pigz": "169",
    "libdeflate-gzip": "169",
    "igzip": "0123",
    "Python": "0169",
}


def dna(n: int) -> bytes:
    return bytes(random.Random(2).choices(b"ACGT", k=n))


def far_matches() -> bytes:
    """The same noise again at the longest distance there is, and just beyond it."""
    noise = random.Random(3).randbytes(32768)
    return noise + noise + b"!" + noise


INPUTS: dict[str, Callable[[], bytes]] = {
    "empty": lambda: b"",
    "one byte": lambda: b"\n",
    "zeros": lambda: bytes(1_000_000),
    "noise": lambda: random.Random(4).randbytes(200_000),
    "sources": lambda: source_text(300_000),
    "JSON Lines": lambda: json_lines(2_000),
    "UTF-8": lambda: "Größe 名前 имя 😀 ".encode() * 5_000,
    "CRLF": lambda: source_text(100_000).replace(b"\n", b"\r\n"),
    "four letters": lambda: dna(100_000),
    "far matches": far_matches,
}


@pytest.fixture(scope="module", params=INPUTS)
def data(request: pytest.FixtureRequest) -> bytes:
    return INPUTS[request.param]()


@pytest.fixture(params=PROGRAMS)
def program(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    if name not in present():
        pytest.skip(f"{name} is not installed")
    return name


def present() -> list[str]:
    return [name for name in PROGRAMS if name == "Python" or shutil.which(name)]


def run(*command: str | Path) -> bytes:
    return subprocess.run(command, capture_output=True, check=True).stdout


def theirs(program: str, plain: Path, level: str) -> bytes:
    if program == "Python":
        return gzip.compress(plain.read_bytes(), int(level))
    return run(program, f"-{level}", "-c", plain)


def read_by(program: str, path: Path) -> bytes:
    if program == "Python":
        return gzip.decompress(path.read_bytes())
    return run(program, "-dc", path)


@pytest.fixture
def their_files(program: str, data: bytes, tmp_path: Path) -> list[Path]:
    plain = tmp_path / "plain"
    plain.write_bytes(data)
    files = []
    for level in PROGRAMS[program]:
        files.append(tmp_path / f"level{level}.gz")
        files[-1].write_bytes(theirs(program, plain, level))
    return files


def test_command_reads(command: Path, their_files: list[Path], data: bytes) -> None:
    assert run(command, "cat", *their_files) == data * len(their_files)
    for line in run(command, "verify", "--json", *their_files).splitlines():
        assert json.loads(line)["uncompressed_size"] == len(data)


def test_package_reads(their_files: list[Path], data: bytes) -> None:
    agz = pytest.importorskip("agz")
    for path in their_files:
        assert asyncio.run(agz.read(path)) == data


def test_command_writes(command: Path, data: bytes, tmp_path: Path) -> None:
    plain, written = tmp_path / "plain", tmp_path / "plain.gz"
    plain.write_bytes(data)
    for options in ("-1", "-6", "-9", "--level=0", "--fast -1", "--fast"):
        run(command, "compress", "-kf", *options.split(), plain)
        for program in present():
            assert read_by(program, written) == data, (options, program)


@pytest.mark.parametrize("fast", [False, True])
def test_package_writes(data: bytes, tmp_path: Path, fast: bool) -> None:
    agz = pytest.importorskip("agz")
    path = tmp_path / "plain.gz"
    for level in (0, 1, 6, 9):
        asyncio.run(agz.write(path, data, compresslevel=level, fast_compress=fast))
        for program in present():
            assert read_by(program, path) == data, (level, program)


def test_members_of_all(data: bytes, command: Path, tmp_path: Path) -> None:
    """One file, its members by every program there is."""
    plain, whole = tmp_path / "plain", tmp_path / "whole.gz"
    plain.write_bytes(data)
    whole.write_bytes(b"".join(theirs(name, plain, "1") for name in present()))
    assert run(command, "cat", whole) == data * len(present())
    with gzip.open(whole) as file:
        assert file.read() == data * len(present())
