"""The load of bench/load.py for seconds: nothing is wrong, and it says what it has to say."""

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import LOOPS

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.parametrize("kind", LOOPS)
def test_a_short_load(kind: str) -> None:
    arguments = ["--minutes", "0.05", "--files", "100", "--loop", kind]
    done = subprocess.run(
        [sys.executable, "-m", "bench.load", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    for words in ("100 files at once", " 0 errors", "MiB: ", "99.9 %"):
        assert words in done.stdout
