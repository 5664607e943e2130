"""The command ``agz``, also as ``python -m agz``.

The command is a program of its own, in C; it lies inside the package, and what
stands here hands over to it.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

__all__ = ["main", "run"]

_COMMAND = Path(__file__).with_name("_command") / "agz"


def run() -> NoReturn:
    """Become the command."""
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # by Python, when it started
        signal.signal(ignored, signal.SIG_DFL)
    os.execv(_COMMAND, ["agz", *sys.argv[1:]])


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its status, for callers in this process.

    What ``inspect`` and ``verify`` report goes through ``sys.stdout`` and
    ``sys.stderr``. As in ``aiogzip``, their status is 1 for a file that could not be
    read too, and wrong usage, ``--help`` and ``--version`` are a ``SystemExit``.
    """
    args = list(sys.argv[1:] if argv is None else argv)
    if args[:1] in (["compress"], ["decompress"], ["cat"]):
        return subprocess.call([_COMMAND, *args])

    done = subprocess.run([_COMMAND, *args], capture_output=True, encoding="utf-8", check=False)
    sys.stdout.write(done.stdout)
    sys.stderr.write(done.stderr)
    reported = done.stdout or done.stderr.startswith("FAILED: ")
    if args[:1] in (["inspect"], ["verify"]) and (done.returncode < 2 or reported):
        return min(done.returncode, 1)
    raise SystemExit(done.returncode)


if __name__ == "__main__":
    run()
