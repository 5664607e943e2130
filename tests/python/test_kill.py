"""A writer killed at any moment: what is on the disk is a prefix of the right stream, and holds
all that was flushed or closed before. AGZ_KILLS says how often; 40 unless it is set."""

import asyncio
import gzip
import os
import random
import signal
import subprocess
import sys
import time
import zlib
from pathlib import Path
from typing import Any

import pytest

N_KILLS = int(os.environ.get("AGZ_KILLS", "40"))
PER_TEST = 10  # so that no test is long

# Writes members to path, and says after each flush and close how much is safe now.
WRITER = """
import random
import agz

async def write(path, seed, acknowledge):
    draw = random.Random(seed)
    words = [draw.randbytes(draw.randrange(1, 9)) for _ in range(300)]
    safe = 0
    options = {
        "compresslevel": draw.choice([0, 1, 6, 9]),
        "fast_compress": draw.random() < 0.3,
        "chunk_size": draw.choice([4_096, 65_536, 262_144]),
        "mtime": 1,
    }
    for member in range(draw.randrange(1, 9)):
        async with agz.open(path, "ab" if member else "wb", **options) as file:
            for _ in range(draw.randrange(1, 9)):
                size = draw.choice([10, 1_000, 30_000, 150_000])
                data = draw.randbytes(size) if draw.random() < 0.5 else b"".join(
                    draw.choices(words, k=size // 5)
                )
                await file.write(data)
                safe += len(data)
                if draw.random() < 0.4:
                    await file.flush()
                    acknowledge(safe)
        acknowledge(safe)
"""

KILLED = (
    WRITER
    + """
import asyncio, os, sys
asyncio.run(write(sys.argv[1], int(sys.argv[2]), lambda n: os.write(1, b"%20d" % n)))
"""
)


def right_stream(path: Path, seed: int) -> tuple[bytes, list[int]]:
    """What the writer leaves if it is let alone, and what it says on the way."""
    said: list[int] = []
    scope: dict[str, Any] = {}
    exec(WRITER, scope)
    asyncio.run(scope["write"](path, seed, said.append))
    return path.read_bytes(), said


def killed_at(path: Path, seed: int, n_said: int, delay: float) -> int:
    """Lets it say n_said things and go on for a moment; what it said last before it died."""
    command = [sys.executable, "-c", KILLED, str(path), str(seed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        said = writer.stdout.read(20 * n_said)
        time.sleep(delay)
        writer.kill()
        said += writer.stdout.read()
    assert writer.returncode in (-signal.SIGKILL, 0)  # it may have been quicker
    return int(said[-20:] or b"0")


def decoded(gz: bytes) -> bytes:
    """Of all members, the last one cut perhaps."""
    data = b""
    while gz:
        member = zlib.decompressobj(31)
        data += member.decompress(gz)
        gz = member.unused_data
    return data


def is_valid(*command: str | Path) -> bool:
    run = subprocess.run(command, capture_output=True, check=False)
    assert run.returncode in (0, 1)
    return run.returncode == 0


@pytest.mark.parametrize("first", range(0, N_KILLS, PER_TEST))
def test_a_killed_writer(tmp_path: Path, command: Path, first: int) -> None:
    for seed in range(first, min(first + PER_TEST, N_KILLS)):
        path = tmp_path / "a.gz"
        whole, said = right_stream(path, seed)
        draw = random.Random(~seed)
        path.unlink()
        safe = killed_at(path, seed, draw.randrange(len(said) + 1), draw.random() * 0.005)
        left = path.read_bytes() if path.exists() else b""
        assert whole.startswith(left), seed
        assert len(decoded(left)) >= safe, seed
        assert gzip.decompress(whole).startswith(decoded(left)), seed
        if left:  # of a file without a byte, gzip and agz are not of one mind
            verdict = is_valid(command, "verify", "-q", path)
            assert verdict == is_valid("gzip", "-t", path) == ends(left), seed


def ends(gz: bytes) -> bool:
    """With a member's trailer."""
    try:
        gzip.decompress(gz)
    except EOFError:
        return False
    return True
