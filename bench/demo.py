"""The main job: twenty gzip files at once, lines and JSON, while another task ticks.

    python bench/demo.py

Writes the inputs line by line to twenty gzip files at once, reads them back line by line at
once, and parses the JSON: with agz, and with what else there is, each in a process of its own.
What each wrote and read is checked against sync gzip. Then one table says how fast each was,
and for how long at most the event loop let no other task run.
"""

from __future__ import annotations

import asyncio
import gzip
import importlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Awaitable
from importlib.metadata import version
from pathlib import Path
from typing import Any

if not __package__:  # run as a file
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from bench.contenders import CONTENDERS
from bench.inputs import Input, make_sources, make_syntax

N_FILES = 20  # half of them sources, half of them JSON
SOURCES_NBYTES = 30_000_000
SYNTAX_NBYTES = 20_000_000
READINGS = 2  # the fastest counts, but the longest silence of all
TICK = 0.001
PATIENCE = 300  # seconds for a contender; only one that hangs needs so many
REFEREE = "gzip"  # the first of them

Report = dict[str, Any]


class Failure(Exception):
    """The demo ends here, and the message is the line that says why."""


# ---- one contender, in its own process ---------------------------------------------------------


class Ticker:
    """A task that runs each millisecond, if it is let."""

    def __init__(self) -> None:
        self.longest = 0.0
        self.last = time.perf_counter()

    async def run(self) -> None:
        while True:
            await asyncio.sleep(TICK)
            self.tick()

    def tick(self) -> None:
        now = time.perf_counter()
        self.longest = max(self.longest, now - self.last)
        self.last = now


async def measure(work: list[Awaitable[Any]]) -> tuple[float, float, list[Any]]:
    """Does all the work at once: the seconds, the ticker's longest silence, the results."""
    ticker = Ticker()
    task = asyncio.create_task(ticker.run())
    await asyncio.sleep(0)
    start = time.perf_counter()
    results = await asyncio.gather(*work)
    end = time.perf_counter()
    ticker.tick()
    task.cancel()
    return end - start, ticker.longest, results


def lines_of(path: Path) -> list[str]:
    with path.open(encoding="utf-8", newline="\n") as stream:
        return stream.readlines()


async def contend(name: str, inputs: list[Path], outputs: Path) -> Report:
    """The rows of a contender, {row: [seconds, silence]}, and what it read, {row: sums}."""
    loops = CONTENDERS[name].loops()
    paths = [outputs / f"{path.name}.gz" for path in inputs]
    lines = [lines_of(path) for path in inputs]

    seconds, silence, _ = await measure([*map(loops.write, paths, lines)])
    rows = {"write": [seconds, silence]}
    del lines

    sums = {"check": await asyncio.gather(*map(loops.check, paths))}
    for row, loop in ("lines", loops.count), ("json", loops.parse):
        of = [path for path in paths if row != "json" or ".jsonl" in path.suffixes]
        rounds = [await measure([*map(loop, of)]) for _ in range(READINGS)]
        rows[row] = [min(r[0] for r in rounds), max(r[1] for r in rounds)]
        sums[row] = rounds[0][2]
    return {"rows": rows, "sums": sums}


# ---- all of them -------------------------------------------------------------------------------


def say(text: str) -> None:
    print(f"demo: {text}", file=sys.stderr, flush=True)


def run_contender(name: str, inputs: list[Input], outputs: Path) -> Report:
    outputs.mkdir()
    command = [sys.executable, __file__, name, str(outputs), *(str(i.path) for i in inputs)]
    environment = os.environ | CONTENDERS[name].environment
    try:
        done = subprocess.run(
            command, env=environment, stdout=subprocess.PIPE, timeout=PATIENCE, check=True
        )
    except subprocess.TimeoutExpired:
        raise Failure(f"{name}: not done after {PATIENCE} seconds") from None
    except subprocess.CalledProcessError as error:
        raise Failure(f"{name}: ended with status {error.returncode}") from None
    report: Report = json.loads(done.stdout)
    return report


def check(name: str, report: Report, gauge: Report, inputs: list[Input], outputs: Path) -> None:
    """What was written is right for sync gzip, and what was read is what sync gzip read."""
    for source, (n_lines, crc32) in zip(inputs, report["sums"]["check"], strict=True):
        path = outputs / f"{source.path.name}.gz"
        try:
            data = gzip.decompress(path.read_bytes())
        except (OSError, EOFError, zlib.error) as error:
            raise Failure(f"{name}: {path.name} is not for sync gzip: {error}") from None
        if (data.count(b"\n"), zlib.crc32(data)) != (source.n_lines, source.crc32):
            raise Failure(f"{name}: what it wrote of {source.path.name} is something else")
        if (n_lines, crc32) != (source.n_lines, source.crc32):
            raise Failure(f"{name}: what it read of {source.path.name} is something else")
    if report["sums"] != gauge["sums"]:
        raise Failure(f"{name}: what it counted is not what {REFEREE} counted")


def table(reports: dict[str, Report], inputs: list[Input]) -> str:
    structured = [source for source in inputs if source.path.suffix == ".jsonl"]
    titles = {
        "write": ("write line by line", inputs),
        "lines": ("read line by line", inputs),
        "json": ("read line by line, json.loads", structured),
    }
    text = ""
    for row, (title, of) in titles.items():
        nbytes, n_lines = sum(i.nbytes for i in of), sum(i.n_lines for i in of)
        heading = f"{title}, {len(of)} files"
        text += f"{heading:<44}{'MB/s':>9}{'lines/s':>13}{'x gzip':>9}{'silence':>13}\n"
        for name, report in reports.items():
            seconds, silence = report["rows"][row]
            times = reports[REFEREE]["rows"][row][0] / seconds
            text += (
                f"  {name:<42}{nbytes / seconds / 1e6:>9.1f}{n_lines / seconds:>13,.0f}"
                f"{times:>9.2f}{silence * 1e3:>10,.1f} ms\n"
            )
        text += "\n"
    return text


def demo(directory: Path) -> None:
    start = time.perf_counter()
    try:
        agz: Any = importlib.import_module("agz")
        peers = ", ".join(f"{name} {version(name)}" for name in ("aiogzip", "zlib-ng"))
    except ImportError as error:
        raise Failure(f"{error}; `make demo` sets up what is needed") from None

    say("making the inputs from the standard library's sources and their syntax trees")
    folder = directory / "inputs"
    folder.mkdir()
    inputs = make_sources(folder, N_FILES // 2, SOURCES_NBYTES)
    inputs += make_syntax(folder, N_FILES // 2, SYNTAX_NBYTES)
    nbytes, n_lines = sum(i.nbytes for i in inputs), sum(i.n_lines for i in inputs)
    say(f"{N_FILES} files, {nbytes / 1e6:.1f} MB, {n_lines:,} lines")

    reports: dict[str, Report] = {}
    for name in CONTENDERS:
        say(f"{name} writes and reads them")
        outputs = directory / name
        reports[name] = run_contender(name, inputs, outputs)
        check(name, reports[name], reports[REFEREE], inputs, outputs)

    print()
    print(table(reports, inputs), end="")
    print(f"""\
MB: 10^6 bytes of text. silence: the longest time for which a task that wants to run every
millisecond did not. Written once, read {READINGS} times: the fastest reading, the longest silence.
All at level 6, and all checked by count and CRC-32 against sync gzip.

Python {platform.python_version()}, {peers}, {len(os.sched_getaffinity(0))} processors
agz {agz.__version__}, {agz.engine_info()}
inputs, work and checks took {time.perf_counter() - start:.0f} seconds""")


def main(arguments: list[str]) -> int:
    if arguments:
        name, outputs, *paths = arguments
        report = asyncio.run(contend(name, [*map(Path, paths)], Path(outputs)))
        print(json.dumps(report))
        return 0
    try:
        with tempfile.TemporaryDirectory(prefix="agz-demo-") as directory:
            demo(Path(directory))
    except (Failure, OSError) as failure:
        say(str(failure))
        return 1
    except KeyboardInterrupt:
        say("interrupted")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
