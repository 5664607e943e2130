"""The benchmark: each row runs at the smallest size, and what all contenders did is right."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent.parent

needs_peers = pytest.mark.skipif(
    importlib.util.find_spec("aiogzip") is None, reason="aiogzip is not installed"
)


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "bench", *arguments],
        cwd=ROOT,
        env=os.environ | {"COLUMNS": "80"},
        capture_output=True,
        text=True,
        timeout=110,
    )


def measure(tmp_path: Path, category: str) -> tuple[dict[str, Any], str]:
    target = tmp_path / "bench.json"
    done = bench(
        *("--category", category, "--size", "0.001", "--repeat", "1", "--all"),
        *("--engine", "none"),
        *("--json", str(target), "--charts", str(tmp_path / "charts")),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    report: dict[str, Any] = json.loads(target.read_text())
    return report, done.stdout


@needs_peers
@pytest.mark.parametrize(
    "category", ["io", "scenarios", "concurrency", "streaming", "micro", "memory", "latency"]
)
def test_category(tmp_path: Path, category: str) -> None:
    report, text = measure(tmp_path, category)
    named = bench("--category", category, "--list").stdout.splitlines()
    assert {line["row"] for line in report["lines"]} == {line.split()[1] for line in named}
    for line in report["lines"]:
        assert line["title"] in text
        assert "median" in line["results"]["agz"], line
        for name, entry in line["results"].items():
            assert not entry["note"].startswith(("wrong", "failed")), (line["row"], name, entry)


@needs_peers
def test_a_report_is_held_against_an_older_one(tmp_path: Path) -> None:
    old = tmp_path / "old.json"
    arguments = ["--row", "readlines", "--size", "0.001", "--repeat", "2", "--engine", "none"]
    arguments += ["--charts", str(tmp_path)]
    assert bench(*arguments, "--json", str(old)).returncode == 0
    [line] = json.loads(old.read_text())["lines"]
    assert len(line["results"]["agz"]["values"]) == 2
    assert "agz zlib" not in line["results"]
    done = bench(*arguments, "--compare", str(old))
    assert done.returncode == 0
    assert "then" in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["--category", "nothing"],
        ["--row", "nothing"],
        ["--engine", "nothing"],
        ["--size", "0"],
        ["--repeat", "0"],
    ],
)
def test_arguments_that_are_refused(arguments: list[str]) -> None:
    done = bench(*arguments)
    assert done.returncode == 2
    assert "error:" in done.stderr
    assert "Traceback" not in done.stderr
