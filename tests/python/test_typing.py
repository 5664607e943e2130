"""What type checkers make of the package: both pass on a file that uses every name."""

import json
import subprocess
import sys
from pathlib import Path

import agz

SAMPLE = Path(__file__).with_name("typing_names.py")
PACKAGE = Path(agz.__file__).parent


def test_the_sample_uses_every_name() -> None:
    text = SAMPLE.read_text()
    assert [name for name in agz.__all__ if f"agz.{name}" not in text] == []


def checked(*command: str | Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", *command], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_mypy(tmp_path: Path) -> None:
    """On the sample; the package's own source is checked by `make lint`."""
    checked(
        "mypy", "--strict", "--warn-unused-ignores", "--python-version=3.11",
        "--config-file=", f"--cache-dir={tmp_path}", SAMPLE,
    )  # fmt: skip


def test_pyright(tmp_path: Path) -> None:
    """On the sample and the package, by basedpyright: pyright with its own node."""
    config = tmp_path / "pyrightconfig.json"
    rules = {
        "include": [str(SAMPLE), str(PACKAGE)],
        "typeCheckingMode": "standard",
        "pythonVersion": "3.11",
        "extraPaths": [str(PACKAGE.parent)],
        "reportMissingModuleSource": False,
        "reportUnnecessaryTypeIgnoreComment": True,
        "enableTypeIgnoreComments": False,
    }
    config.write_text(json.dumps(rules))
    checked("basedpyright", "--project", config, "--pythonpath", sys.executable)
