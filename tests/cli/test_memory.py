"""Memory does not grow with the file, whatever the ratio: the largest resident size of the
command, read while its last output waits in a pipe."""

import gzip
import os
import subprocess
import threading
import zlib
from pathlib import Path

import pytest

MIB = 1 << 20


def peak_kib(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    pytest.skip("no VmHWM in /proc")


def take(run: subprocess.Popen[bytes], nbytes: int) -> int:
    assert run.stdout is not None
    crc = 0
    while nbytes > 0:
        chunk = os.read(run.stdout.fileno(), min(nbytes, MIB))
        assert chunk
        crc = zlib.crc32(chunk, crc)
        nbytes -= len(chunk)
    return crc


def test_cat_of_a_gib(command: Path, tmp_path: Path) -> None:
    """Zeros at 1000:1, one member after another of 64 MiB."""
    path = tmp_path / "zeros.gz"
    path.write_bytes(gzip.compress(bytes(64 * MIB), 9) * 16)
    with subprocess.Popen([command, "cat", path], stdout=subprocess.PIPE) as run:
        take(run, 1023 * MIB)
        peak = peak_kib(run.pid)
        take(run, MIB)
    assert run.returncode == 0
    assert peak < 16 * 1024


def test_compress_of_noise(command: Path) -> None:
    """What a pipe gives goes out again, not into memory."""
    noise = os.urandom(MIB)
    args: list[str | Path] = [command, "compress", "--level", "0"]
    with subprocess.Popen(args, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as run:

        def feed() -> None:
            assert run.stdin is not None
            for _ in range(256):
                run.stdin.write(noise)
            run.stdin.close()

        feeder = threading.Thread(target=feed)
        feeder.start()
        take(run, 255 * MIB)
        peak = peak_kib(run.pid)
        assert run.stdout is not None
        assert len(run.stdout.read()) > MIB
        feeder.join()
    assert run.returncode == 0
    assert peak < 16 * 1024
