"""What pip installed is hardened: the extension and the command, as scripts/rules.py asks of
all that is built."""

import subprocess
import sys
from pathlib import Path

import agz._agz
import pytest

RULES = Path(__file__).parents[2] / "scripts" / "rules.py"


@pytest.mark.skipif(sys.platform != "linux", reason="reads ELF headers")
def test_hardened(command: Path) -> None:
    files = [agz._agz.__file__, str(command.resolve())]
    run = subprocess.run(
        [sys.executable, str(RULES), "hardened", *files], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stdout + run.stderr
