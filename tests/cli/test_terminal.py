"""What the command does where a terminal is: the bar, and what it will not write there."""

import gzip
import os
import re
import select
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    ours, theirs = os.openpty()
    yield ours, theirs
    os.close(ours)
    os.close(theirs)


def read_until(fd: int, wanted: bytes) -> bytes:
    text = b""
    while wanted not in text:
        ready, _, _ = select.select([fd], [], [], 60)
        assert ready, text
        text += os.read(fd, 4096)
    return text


def test_bar_shows_and_goes(command: Path, terminal: tuple[int, int]) -> None:
    """Waits for a pipe; the bar comes by itself, and is gone before the report."""
    ours, theirs = terminal
    data = gzip.compress(bytes(1000))
    with subprocess.Popen(
        [command, "verify", "-"], stdin=subprocess.PIPE, stdout=theirs, stderr=theirs
    ) as run:
        assert run.stdin is not None
        run.stdin.write(data)
        run.stdin.flush()
        assert b"\r0.0 MB, " in read_until(ours, b" MB/s")
        run.stdin.close()
        text = read_until(ours, b"uncompressed")
        shown, _, report = text.partition(b"OK: ")
        assert shown.endswith(b"\r" + b" " * 72 + b"\r")
        assert b"MB" not in report
    assert run.returncode == 0


def test_bar_of_known_size(command: Path, terminal: tuple[int, int], tmp_path: Path) -> None:
    """Held up by its reader for its first second, it shows how far it has come."""
    ours, theirs = terminal
    path = tmp_path / "noise.gz"
    path.write_bytes(gzip.compress(os.urandom(8_000_000), 0))
    with subprocess.Popen([command, "cat", path], stdout=subprocess.PIPE, stderr=theirs) as run:
        assert run.stdout is not None
        run.stdout.read(1)
        time.sleep(1.1)
        assert len(run.stdout.read()) == 8_000_000 - 1
        assert re.search(rb"\r +\d+% \[#* *\]  \d\.\d MB, ", read_until(ours, b" MB/s"))
    assert run.returncode == 0


@pytest.mark.parametrize("args", [["compress"], ["compress", "-c", "plain"]])
def test_no_compressed_bytes(
    command: Path, terminal: tuple[int, int], tmp_path: Path, args: list[str]
) -> None:
    _, theirs = terminal
    (tmp_path / "plain").write_bytes(b"x")
    run = subprocess.run(
        [command, *args],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=subprocess.PIPE,
        check=False,
    )
    assert run.returncode == 2
    assert b"not written to a terminal" in run.stderr
    forced: list[str | Path] = [command, args[0], "-f", *args[1:]]
    subprocess.run(forced, cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=theirs, check=True)
