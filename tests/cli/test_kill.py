"""The command killed at any moment: under the name of an output stands nothing, or all of it,
or what stood there before; and as long as it is not all, the input is still there. AGZ_KILLS
says how often; 40 unless it is set."""

import gzip
import os
import random
import subprocess
import time
from pathlib import Path

import pytest

N_KILLS = int(os.environ.get("AGZ_KILLS", "40"))
NOISE = random.Random(1).randbytes(400_000)
DATA = NOISE + b"0123456789abcdef" * 100_000 + NOISE


def compressed(command: Path, folder: Path, *options: str) -> bytes:
    path = folder / "sample"
    path.write_bytes(DATA)
    os.utime(path, (1_000_000_000, 1_000_000_000))
    run = subprocess.run(
        [command, "compress", *options, "-c", path], capture_output=True, check=True
    )
    path.unlink()
    return run.stdout


def how_long(arguments: list[str | Path], folder: Path) -> float:
    start = time.perf_counter()
    subprocess.run(arguments, cwd=folder, check=True)
    return time.perf_counter() - start


VERBS = [
    "compress",
    "compress -k -1",
    "compress -f",
    "decompress",
    "decompress -k",
    "decompress -f",
]


@pytest.mark.parametrize("verb", VERBS)
def test_a_killed_command(command: Path, tmp_path: Path, verb: str) -> None:
    name, *options = verb.split()
    level = ["-1"] if "-1" in options else []
    gz = compressed(command, tmp_path, *level)
    source, target = ("sample", "sample.gz") if name == "compress" else ("sample.gz", "sample")
    before, after = (DATA, gz) if name == "compress" else (gz, DATA)
    old = b"what stood there" if "-f" in options else None
    arguments: list[str | Path] = [command, name, *options, source]
    draw = random.Random(verb)
    longest = 0.0
    for i in range(max(N_KILLS // len(VERBS), 1) + 1):
        folder = tmp_path / str(i)
        folder.mkdir()
        (folder / source).write_bytes(before)
        os.utime(folder / source, (1_000_000_000, 1_000_000_000))
        if old is not None:
            (folder / target).write_bytes(old)
        if i == 0:
            longest = how_long(arguments, folder) * 1.1
        else:
            with subprocess.Popen(arguments, cwd=folder) as run:
                time.sleep(draw.random() * longest)
                run.kill()
        left = {path.name: path.read_bytes() for path in folder.iterdir()}
        # What is left of one that was killed has a name of its own.
        others = {one for one in left if one.startswith(".agz-")}
        assert len(others) <= (i > 0)
        assert left.keys() - others <= {source, target}
        done = left.get(target) == after
        assert done or left.get(target) == old
        assert left.get(source) in ((before, None) if done and "-k" not in options else (before,))


def test_the_sample_is_what_gzip_reads(command: Path, tmp_path: Path) -> None:
    assert gzip.decompress(compressed(command, tmp_path)) == DATA
