"""The command from Python: `python -m agz`, the script that pip installs, and main()."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("agz")

from agz.__main__ import main

MODULE = [sys.executable, "-m", "agz"]


@pytest.fixture
def valid(tmp_path: Path) -> Path:
    path = tmp_path / "valid.gz"
    path.write_bytes(gzip.compress(b"text\n" * 100, mtime=1))
    return path


@pytest.fixture
def corrupt(valid: Path) -> Path:
    path = valid.with_name("corrupt.gz")
    path.write_bytes(valid.read_bytes()[:-8] + bytes(8))
    return path


@pytest.mark.parametrize("start", [MODULE, [str(Path(sys.executable).with_name("agz"))]])
def test_is_the_command(command: Path, start: list[str], valid: Path, corrupt: Path) -> None:
    for args in (
        ["verify", "--json", valid],
        ["inspect", valid, corrupt],
        ["verify", "missing"],
        ["cat", valid],
        ["compress", "-c", valid],
        ["--version"],
        ["--bogus"],
        [],
    ):
        ours = subprocess.run([command, *args], capture_output=True, check=False)
        run = subprocess.run([*start, *args], capture_output=True, check=False)
        assert run.returncode == ours.returncode
        assert run.stdout == ours.stdout
        assert run.stderr == ours.stderr


def test_a_reader_that_goes_away(tmp_path: Path) -> None:
    """Python ignores SIGPIPE; the command it becomes must not."""
    path = tmp_path / "large.gz"
    path.write_bytes(gzip.compress(bytes(4_000_000)))
    with subprocess.Popen([*MODULE, "cat", path], stdout=subprocess.PIPE) as run:
        assert run.stdout is not None
        run.stdout.read(1)
        run.stdout.close()
    assert run.returncode == -13


def test_main_reports(
    valid: Path, corrupt: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", "--json", str(valid)]) == 0
    assert json.loads(capsys.readouterr().out)["uncompressed_size"] == 500
    assert main(["inspect", str(corrupt)]) == 1
    assert capsys.readouterr().err.startswith("FAILED: ")
    assert main(["verify", "--json", str(corrupt)]) == 1
    assert "CRC" in json.loads(capsys.readouterr().out)["error"]
    assert main(["verify", str(tmp_path / "missing")]) == 1
    assert "FAILED" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("args", "status"), [([], 2), (["bogus"], 2), (["verify"], 2), (["--version"], 0)]
)
def test_main_usage(args: list[str], status: int, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(args)
    assert stop.value.code == status
    text = capsys.readouterr()
    assert text.err if status else text.out


def test_main_of_the_other_verbs(valid: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["cat", str(valid)]) == 0
    assert capfdbinary.readouterr().out == b"text\n" * 100
    assert main(["decompress", str(valid)]) == 0
    assert not valid.exists()
