"""Each case is a script and what it must give: NAME.sh, and NAME.out, NAME.err and
NAME.status, which stand for nothing, nothing and 0 where they are missing. It runs in an
empty folder, with `agz` in PATH and the functions of prelude.sh at hand.

AGZ_UPDATE=1 writes what a case gives now as what it must give: read the difference.
"""

import os
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
CASES = sorted((HERE / "cases").glob("*.sh"))


@pytest.mark.parametrize("script", CASES, ids=lambda path: path.stem)
def test_case(script: Path, command: Path, tmp_path: Path) -> None:
    environment = os.environ | {
        "PATH": f"{command.parent}:{os.environ['PATH']}",
        "BASH_ENV": str(HERE / "prelude.sh"),
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
    }
    run = subprocess.run(
        ["bash", str(script)],
        cwd=tmp_path,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
        umask=0o022,
    )
    given = {
        ".out": run.stdout,
        ".err": run.stderr,
        ".status": b"%d\n" % run.returncode if run.returncode else b"",
    }
    for suffix, data in given.items():
        expected = script.with_suffix(suffix)
        if os.environ.get("AGZ_UPDATE"):
            expected.unlink(missing_ok=True)
            if data:
                expected.write_bytes(data)
        wanted = expected.read_bytes() if expected.exists() else b""
        assert data.decode(errors="replace") == wanted.decode(errors="replace"), suffix
