#!/usr/bin/env python3
"""Runs the peer's own tests on the installed agz, less tests/compat/exceptions.txt, none of
which may pass.

The runner is a program beside the checkout (../shared/compat/compat.py, or $AGZ_COMPAT); it
takes the peer's tests from PyPI. Where there is none, this says so and ends well.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXCEPTIONS = ROOT / "tests" / "compat" / "exceptions.txt"


def exceptions() -> list[str]:
    lines = EXCEPTIONS.read_text(encoding="utf-8").splitlines()
    return [line.split("  #")[0].strip() for line in lines if line and not line.startswith("#")]


def failures(path: Path) -> list[str]:
    """The ids of what did not pass: lines such as "failed tests/test_x.py::test_y[z]"."""
    words = (line.split() for line in path.read_text(encoding="utf-8").splitlines())
    return [line[1] for line in words if len(line) > 1 and line[0] in ("failed", "error")]


def main() -> int:
    runner = Path(os.environ.get("AGZ_COMPAT", ROOT.parent / "shared" / "compat" / "compat.py"))
    if not runner.exists():
        print(f"skipped: {runner} is not there (AGZ_COMPAT names another)")
        return 0
    excused = exceptions()
    with tempfile.TemporaryDirectory() as scratch:
        failed = Path(scratch) / "failures"
        run = subprocess.run(
            [sys.executable, runner, "--module", "agz", "--failures", failed, *sys.argv[1:]]
        )
        if not failed.exists():
            print(f"the peer's tests did not run: exit status {run.returncode}")
            return 1
        ids = failures(failed)
    unexpected = [name for name in ids if not any(name.startswith(ok) for ok in excused)]
    for name in unexpected:
        print(f"does not pass, and is no exception: {name}")
    whole = "--only" not in sys.argv
    idle = [ok for ok in excused if whole and not any(name.startswith(ok) for name in ids)]
    for name in idle:
        print(f"passes, and stands in the exceptions: {name}")
    print(f"{len(ids) - len(unexpected)} excused by {EXCEPTIONS.relative_to(ROOT)}")
    return 1 if unexpected or idle else 0


if __name__ == "__main__":
    sys.exit(main())
