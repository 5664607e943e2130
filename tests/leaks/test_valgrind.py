"""Broken input leaks nothing and touches no memory that is not ours: the command and the
package under valgrind, on a truncated, a bit-flipped and an over-long file. The library's own
tests run under it too (the suite `leaks`)."""

import gzip
import random
import subprocess
import sys
import sysconfig
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import pytest

TEXT = b"".join(b"line %d\n" % random.Random(i).getrandbits(40) for i in range(10_000))
WHOLE = gzip.compress(TEXT, 6, mtime=1)
HALF = len(WHOLE) // 2

BROKEN = {
    "whole": WHOLE,
    "truncated": WHOLE[:HALF],
    "flipped": WHOLE[:HALF] + bytes([WHOLE[HALF] ^ 4]) + WHOLE[HALF + 1 :],
    "over-long": WHOLE + b"garbage behind the last member",
    "two, the second truncated": WHOLE + WHOLE[:HALF],
}

# Each way to read meets the file; the cap is what makes the whole one over-long too.
READS = """
import asyncio, gzip, sys
import agz

async def attempt(read):
    try:
        await read
    except (gzip.BadGzipFile, OSError):
        return 1
    return 0

async def read_all(path, mode, **options):
    async with agz.open(path, mode, **options) as f:
        await f.read()

async def read_lines(path, mode):
    async with agz.open(path, mode) as f:
        async for line in f:
            pass

async def check(path, broken):
    failures = [
        await attempt(read_all(path, "rb")),
        await attempt(read_all(path, "rt")),
        await attempt(read_lines(path, "rb")),
        await attempt(read_lines(path, "rt")),
    ]
    assert failures == [broken] * 4, (path, failures)
    assert await attempt(read_all(path, "rb", max_decompressed_size=1000)) == 1

async def main(paths):
    for path in paths:
        await check(path, int(not path.endswith("/whole.gz")))

asyncio.run(main(sys.argv[1:]))
"""


def valgrind(report: Path, status: int, *command: object) -> Iterator[str]:
    """The reports that have a frame of ours."""
    run = subprocess.run(
        [
            "valgrind",
            "--xml=yes",
            f"--xml-file={report}",
            "--leak-check=full",
            "--show-leak-kinds=definite,indirect",
            *map(str, command),
        ],
        env={"PYTHONMALLOC": "malloc", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == status, run.stderr
    for error in ET.parse(report).getroot().iter("error"):
        frames = [
            f"{frame.findtext('obj')}: {frame.findtext('fn')}" for frame in error.iter("frame")
        ]
        if any("agz" in frame for frame in frames):
            yield "\n".join([error.findtext("kind", ""), *frames])


@pytest.mark.parametrize("verb", ["verify", "inspect", "cat", "decompress"])
@pytest.mark.parametrize("kind", BROKEN)
def test_command(command: Path, tmp_path: Path, kind: str, verb: str) -> None:
    path = tmp_path / "input.gz"
    path.write_bytes(BROKEN[kind])
    status = 0 if kind == "whole" else 1
    assert not [*valgrind(tmp_path / "report", status, command, verb, path)]


def test_package(tmp_path: Path) -> None:
    paths = [tmp_path / f"{kind}.gz" for kind in BROKEN]
    for path in paths:
        path.write_bytes(BROKEN[path.stem])
    python = Path(sysconfig.get_path("scripts")) / Path(sys.executable).name
    reports = [*valgrind(tmp_path / "report", 0, python, "-c", READS, *paths)]
    assert not reports, "\n\n".join(reports)
