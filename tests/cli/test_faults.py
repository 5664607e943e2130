"""Each system call and each allocation of the command made to fail, at every position: the
right status and a message, no partial output and no temporary file, the input as it was. A
full disk is never a success."""

import errno
import gzip
import os
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "faults" / "preload.c"
DATA = random.Random(1).randbytes(60_000) + b"0123456789abcdef" * 4_000
CALLS = {
    "open": [errno.EINTR, errno.EIO, errno.EMFILE],
    "fstat": [errno.EIO],
    "lseek": [errno.EIO],
    "read": [-1, errno.EINTR, errno.EAGAIN, errno.EIO],
    "pread": [-1, errno.EINTR, errno.EIO],
    "write": [-1, errno.EINTR, errno.EAGAIN, errno.EIO, errno.ENOSPC, errno.EDQUOT],
    "poll": [errno.EINTR],
    "eventfd": [errno.EMFILE],
    "pthread_create": [errno.EAGAIN],
    "dup": [errno.EMFILE],
    "mkostemp": [errno.EACCES, errno.ENOSPC],
    "fsync": [errno.EIO, errno.EDQUOT],
    "close": [errno.EINTR, errno.EIO, errno.ENOSPC],
    "link": [errno.EPERM, errno.EEXIST],
    "rename": [errno.EIO],
    "unlink": [errno.EPERM],
    "memory": [0],
}


@pytest.fixture(scope="session")
def preload(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("faults") / "preload.so"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", SOURCE, "-o", target], check=True)
    return target


def plans() -> Iterator[tuple[str, int, str]]:
    for name, errors in CALLS.items():
        for error in errors:
            yield name, error, ""
        if name in ("write", "read", "pread", "close", "memory"):
            yield name, errors[-1], "+"


VERBS = ["compress", "compress -f", "decompress", "decompress -k", "verify -q", "cat"]


@pytest.mark.parametrize("verb", VERBS)
def test_each_fault(command: Path, preload: Path, tmp_path: Path, verb: str) -> None:
    name, *options = verb.split()
    source, target = ("a", "a.gz") if name == "compress" else ("a.gz", "a")
    before = DATA if name == "compress" else gzip.compress(DATA, mtime=0)
    old = b"what stood there" if "-f" in options else b""

    def attempt(plan: str, error: int) -> bool:
        """Whether the call was reached."""
        for path in tmp_path.iterdir():
            path.unlink()
        (tmp_path / source).write_bytes(before)
        if old:
            (tmp_path / target).write_bytes(old)
        run, hits = struck([command, name, *options, source], tmp_path, preload, plan)
        left = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
        assert left.keys() <= {source, target}, plan
        made = left.get(target, b"")
        if made != old:
            assert (gzip.decompress(made) if name == "compress" else made) == DATA, plan
        if run.returncode == 0:
            assert run.stderr == b"", plan
            assert run.stdout == (DATA if name == "cat" else b""), plan
            assert name in ("cat", "verify") or made != old, plan
            assert (source in left) == (name in ("cat", "verify") or "-k" in options), plan
        else:
            assert hits > 0, plan
            assert error not in (-1, errno.EINTR), plan
            assert (run.returncode, left[source]) == (2, before), plan
            assert run.stderr.endswith(b"\n"), plan
            assert b"system call failed" not in run.stderr, plan
            # All is there where but the input could not be removed.
            assert made == old or plan.startswith("unlink"), plan
        return hits > 0

    for call, error, good in plans():
        at = 1
        while attempt(f"{call}:{at}:{error}{good}", error):
            at += 1 + at // 8


def struck(
    arguments: list[str | Path], folder: Path, preload: Path, plan: str
) -> tuple[subprocess.CompletedProcess[bytes], int]:
    """Runs with a plan; also how many calls failed."""
    reader, writer = os.pipe()
    run = subprocess.run(
        arguments,
        cwd=folder,
        env={
            **os.environ,
            "LD_PRELOAD": f"{os.environ.get('LD_PRELOAD', '')} {preload}",
            "AGZ_FAULT": plan,
            "AGZ_FAULT_FD": str(writer),
            "LC_ALL": "C",
        },
        pass_fds=[writer],
        capture_output=True,
        timeout=60,
        check=False,
    )
    os.close(writer)
    with open(reader) as file:
        hits = file.read()
    return run, int(hits or "0")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("may not mount a tmpfs")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize("room", [0, 1, 50, 120])
@pytest.mark.parametrize("verb", ["compress -1", "decompress"])
def test_a_full_disk(command: Path, small_disk: Path, tmp_path: Path, verb: str, room: int) -> None:
    """The input stays, the output does not."""
    name, *options = verb.split()
    source = tmp_path / ("a" if name == "compress" else "a.gz")
    source.write_bytes(DATA if name == "compress" else gzip.compress(DATA))
    link = small_disk / source.name
    link.symlink_to(source)
    (small_disk / "filler").write_bytes(bytes((256 - room) * 1024))
    there = set(os.listdir(small_disk))
    run = subprocess.run(
        [command, name, "-k", "-f", *options, link], capture_output=True, check=False
    )
    assert run.returncode == (0 if room == 120 and name == "compress" else 2)
    if run.returncode == 2:
        assert b"No space left on device" in run.stderr
        assert set(os.listdir(small_disk)) == there
