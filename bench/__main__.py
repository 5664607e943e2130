"""agz against gzip and every peer, measured in one run.

python -m bench                                  all of it, some fifteen minutes
python -m bench --size 0.1 --repeat 3            all of it, small
python -m bench --category io,micro --json new.json --compare old.json
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import tempfile
import time
from pathlib import Path

from bench import charts, report
from bench.libraries import ENGINES
from bench.row import CATEGORIES, Row
from bench.rows import ROWS
from bench.run import Bench


def say(text: str) -> None:
    print(f"bench: {text}", file=sys.stderr, flush=True)


def _of(names: str, allowed: list[str]) -> list[str]:
    chosen = [name.strip() for name in names.split(",")]
    for name in chosen:
        if name not in allowed:
            raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(allowed)}")
    return chosen


def _engines() -> list[str]:
    """Those that this agz was built with."""
    try:
        built = {name for name, *_ in importlib.import_module("agz._agz").engines()}
    except ImportError as error:
        raise SystemExit(f"bench: {error}; `make bench` sets up what is needed") from None
    return [name for name in ENGINES if name in built]


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--category", type=lambda names: _of(names, list(CATEGORIES)), help=", ".join(CATEGORIES))
    add("--row", type=lambda names: _of(names, list(ROWS)), help="only these; --list names them")
    add("--list", action="store_true", help="name the rows, measure nothing")
    add("--size", type=float, default=1.0, metavar="FACTOR", help="of all sizes and counts (1)")
    add("--repeat", type=int, default=7, metavar="N", help="rounds (7)")
    add(
        "--engine",
        type=lambda names: _of(names, ["all", "none", *ENGINES]),
        default=["all"],
        help=f"of agz, each also alone: {', '.join(ENGINES)}; all (the default) or none",
    )
    add("--all", action="store_true", help="a second table, with every contender")
    add("--json", type=Path, metavar="FILE", help="write what was measured")
    add("--compare", type=Path, metavar="FILE", help="an older one, to hold agz against")
    add("--charts", type=Path, metavar="FOLDER", default=Path("build/bench"), help="for the SVGs")
    options = parser.parse_args(arguments)
    if options.size <= 0 or options.repeat <= 0:
        parser.error("--size and --repeat must be more than 0")
    return options


def choose(options: argparse.Namespace) -> list[Row]:
    return [
        row
        for row in ROWS.values()
        if (not options.category or row.category in options.category)
        and (not options.row or row.name in options.row)
    ]


def measure(rows: list[Row], options: argparse.Namespace, engines: list[str]) -> report.Report:
    about = report.about(options.size, options.repeat)
    lines: list[report.Line] = []
    with (
        tempfile.TemporaryDirectory(prefix="agz-bench-") as folder,
        Bench(Path(folder), options.size, options.repeat, engines) as bench,
    ):
        for number, row in enumerate(rows, 1):
            say(f"{number}/{len(rows)} {row.title}")
            lines += report.lines_of(row, bench.run(row))
    return {"about": about, "lines": lines}


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    rows = choose(options)
    if options.list:
        for row in rows:
            print(f"{row.category:<12} {row.name:<20} {row.title}")
        return 0
    built = _engines()
    engines = built if "all" in options.engine else options.engine
    old = json.loads(options.compare.read_text()) if options.compare else None
    start = time.perf_counter()
    measured = measure(rows, options, [name for name in engines if name in built])
    measured["about"]["seconds"] = round(time.perf_counter() - start)
    print(report.text(measured, options.all))
    if old:
        print(report.comparison(measured, old))
    if options.json:
        options.json.write_text(json.dumps(measured, indent="\t") + "\n")
    try:
        for path in charts.draw(measured, options.charts):
            say(f"drew {path}")
    except ImportError:
        say("no charts without matplotlib: pip install agz[bench]")
    say(f"{measured['about']['seconds']} seconds")
    failures = [note for line in measured["lines"] for note in report.broken(line)]
    for note in failures:
        say(note)
    return 1 if failures else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        say("interrupted")
        sys.exit(130)
