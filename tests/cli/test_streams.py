"""Streams that are slow, or were made non-blocking by somebody else."""

import gzip
import os
import subprocess
import threading
import zlib
from pathlib import Path

import pytest


def test_what_has_arrived_comes_out(command: Path) -> None:
    """The next line is written only when the one before has been read."""
    deflate = zlib.compressobj(wbits=31)
    with subprocess.Popen([command, "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as run:
        assert run.stdin is not None
        assert run.stdout is not None
        for i in range(100):
            line = b"line %d\n" % i
            run.stdin.write(deflate.compress(line) + deflate.flush(zlib.Z_SYNC_FLUSH))
            run.stdin.flush()
            assert run.stdout.readline() == line
        run.stdin.write(deflate.flush())
        run.stdin.close()
        assert run.stdout.read() == b""
    assert run.returncode == 0


def feed(fd: int, data: bytes, verb: str) -> None:
    with open(fd, "wb") as file:
        file.write(gzip.compress(data, 0) if verb == "cat" else data)


@pytest.mark.parametrize("verb", ["cat", "compress"])
def test_non_blocking(command: Path, verb: str) -> None:
    data = os.urandom(1 << 20)
    source_read, source_write = os.pipe()
    sink_read, sink_write = os.pipe()
    os.set_blocking(source_read, False)
    os.set_blocking(sink_write, False)
    with subprocess.Popen([command, verb], stdin=source_read, stdout=sink_write) as run:
        os.close(source_read)
        os.close(sink_write)
        feeder = threading.Thread(target=feed, args=[source_write, data, verb])
        feeder.start()
        with open(sink_read, "rb") as file:
            got = file.read()
        feeder.join()
    assert run.returncode == 0
    assert (got if verb == "cat" else gzip.decompress(got)) == data


def test_a_failure_waits_for_nobody(command: Path) -> None:
    """Input that nobody needs any more does not hold up the end."""
    with (
        open("/dev/full", "wb") as full,
        subprocess.Popen(
            [command, "cat"], stdin=subprocess.PIPE, stdout=full, stderr=subprocess.PIPE
        ) as run,
    ):
        assert run.stdin is not None
        run.stdin.write(gzip.compress(b"x"))
        run.stdin.flush()
        assert run.wait(60) == 2
