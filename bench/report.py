"""The report: what was measured, as JSON, as tables to read, and held against an older one."""

from __future__ import annotations

import dataclasses
import importlib
import itertools
import math
import os
import platform
import statistics
import zlib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from bench.libraries import CONTENDERS, OURS, PACKAGES, REFERENCE
from bench.row import Row
from bench.run import Results

# A line of the report, as in its JSON:
#   {"row", "title", "category", "unit", "target", "growth", "axis", "sentence", "point",
#    "results": {contender: {"values", "median", "min", "max", "times", "size", "note"}}}
# "times" is how many times as fast as gzip, if the unit is seconds.
Line = dict[str, Any]
Report = dict[str, Any]  # {"about": {...}, "lines": [...]}

NOISE = 1.1  # what counts as a change between two runs
APART = 8
STEEPER = 0.15  # by how much a power may be steeper, for the same reason


# ---- what is reported ----------------------------------------------------------------------


def about(scale: float, repeat: int) -> dict[str, Any]:
    agz = importlib.import_module("agz")
    engines = importlib.import_module("agz._agz").engines()
    packages = {}
    for name in PACKAGES:
        try:
            packages[name] = version(name)
        except PackageNotFoundError:
            packages[name] = agz.__version__ if name == "agz" else "none"
    return {
        "processor": processor(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
        "zlib": zlib.ZLIB_RUNTIME_VERSION,
        "packages": packages,
        "agz engines": {name: number for name, number, *_ in engines},
        "agz default": dataclasses.asdict(agz.engine_info()),
        "scale": scale,
        "repeat": repeat,
    }


def processor() -> str:
    model = platform.processor() or platform.machine()
    path = Path("/proc/cpuinfo")
    if path.exists():
        for text in path.read_text().splitlines():
            if text.startswith("model name"):
                model = text.partition(":")[2].strip()
                break
    return f"{model}, {len(os.sched_getaffinity(0))} processors"


def lines_of(row: Row, by_point: dict[int, Results]) -> list[Line]:
    return [
        {
            "row": row.name,
            "title": row.title,
            "category": row.category,
            "unit": row.unit,
            "target": row.target,
            "growth": row.growth,
            "axis": row.axis,
            "sentence": row.sentence,
            "point": point,
            "results": _summary(row, results),
        }
        for point, results in by_point.items()
    ]


def _summary(row: Row, results: Results) -> dict[str, Any]:
    summary: dict[str, Any] = {}
    for name, result in results.items():
        entry: dict[str, Any] = {"values": result.values, "size": result.size, "note": result.note}
        if result.values and not result.broken:
            entry["median"] = statistics.median(result.values)
            entry["min"], entry["max"] = min(result.values), max(result.values)
            gauge = summary.get(REFERENCE, entry if name == REFERENCE else {})
            if row.unit == "s" and "median" in gauge:
                entry["times"] = gauge["median"] / entry["median"]
        summary[name] = entry
    return summary


# ---- what is read in it ----------------------------------------------------------------------


def figure(line: Line, name: str) -> float | None:
    """What is compared of a contender: times gzip's speed, or the median in the unit."""
    entry = line["results"].get(name, {})
    value: float | None = entry.get("times" if line["unit"] == "s" else "median")
    return value


def counts(line: Line, name: str) -> bool:
    return figure(line, name) is not None and not line["results"][name]["note"]


def best(line: Line, prefix: str = "") -> str | None:
    """The best of the peers, or of those whose name begins so."""
    names = [
        name
        for name in line["results"]
        if name not in OURS and name != REFERENCE and name.startswith(prefix) and counts(line, name)
    ]
    if not names:
        return None
    choose = max if line["unit"] == "s" else min
    return str(choose(names, key=lambda name: figure(line, name) or 0.0))


def met(line: Line) -> bool | None:
    """Whether agz reaches the target; None if there is none."""
    if line["target"] is None:
        return None
    value = figure(line, "agz")
    if value is None or not counts(line, "agz"):
        return False
    return bool(value >= line["target"] if line["unit"] == "s" else value <= line["target"])


def broken(line: Line) -> list[str]:
    return [
        f"{name}: {entry['note']}"
        for name, entry in line["results"].items()
        if entry["note"].startswith(("wrong", "failed"))
    ]


def sweeps(report: Report) -> dict[str, list[Line]]:
    """The rows with more than one point."""
    found: dict[str, list[Line]] = {}
    for line in report["lines"]:
        found.setdefault(line["row"], []).append(line)
    return {name: lines for name, lines in found.items() if len(lines) > 1}


def steepest(lines: list[Line], name: str = "agz") -> float | None:
    """The steepest power of the axis by which a contender's figure grows.

    Of the least in all rounds, and between two points that are far enough apart: what other
    programs add is noise, and shall not look like growth.
    """
    points = [
        (line["point"], line["results"][name]["min"])
        for line in lines
        if line["results"].get(name, {}).get("min")
    ]
    slopes = [
        math.log(y2 / y1) / math.log(x2 / x1)
        for (x1, y1), (x2, y2) in itertools.combinations(points, 2)
        if x2 / x1 >= APART or len(points) == 2
    ]
    return max(slopes, default=None)


# ---- to read ---------------------------------------------------------------------------------


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}" if value < 1 else f"{value:.2f}"


def short(number: int) -> str:
    for power, letters in ((20, "Mi"), (10, "Ki")):
        if number >= 1 << power and number % (1 << power) == 0:
            return f"{number >> power} {letters}"
    return f"{number:,}"


def _title(line: Line) -> str:
    at = f", {short(line['point'])} {line['axis']}" if line["axis"] else ""
    unit = "" if line["unit"] == "s" else f" [{line['unit']}]"
    return f"{line['title']}{at}{unit}"


def _table(head: list[str], body: list[list[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(head, *body, strict=True)]
    rows = [head, ["-" * width for width in widths], *body]
    return "".join(
        f"{row[0]:<{widths[0]}}  "
        + "  ".join(f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True))
        + "\n"
        for row in rows
    )


def _spread(line: Line, name: str) -> str:
    entry = line["results"].get(name, {})
    if "median" not in entry:
        return "-"
    low, high = entry["min"], entry["max"]
    if line["unit"] == "s":
        gauge = line["results"].get(REFERENCE, {}).get("median")
        if gauge is None:
            return "-"
        low, high = gauge / high, gauge / low
    return f"{_number(low)}-{_number(high)}"


def summary(report: Report) -> str:
    """A line a row: gzip, the best peers, agz, the target."""
    head = ["row", "gzip ms", "aiogzip", "best peer", "which", "agz", "min-max", "target", "met"]
    body = []
    for line in report["lines"]:
        gauge = line["results"].get(REFERENCE, {}).get("median") if line["unit"] == "s" else None
        aiogzip, peer = best(line, "aiogzip"), best(line)
        verdict = {True: "yes", False: "NO", None: ""}[met(line)]
        body.append(
            [
                _title(line),
                _number(gauge * 1e3 if gauge else None),
                _number(figure(line, aiogzip) if aiogzip else None),
                _number(figure(line, peer) if peer else None),
                peer or "",
                _number(figure(line, "agz")) + ("" if counts(line, "agz") else "!"),
                _spread(line, "agz"),
                _number(line["target"]) if line["target"] is not None else "",
                verdict,
            ]
        )
    return _table(head, body)


def matrix(report: Report) -> str:
    """Each contender's figure for each row; "*" where it does not count."""
    names = [n for n in CONTENDERS if any(n in line["results"] for line in report["lines"])]
    body = []
    for line in report["lines"]:
        cells = []
        for name in names:
            note = line["results"].get(name, {}).get("note", "")
            cells.append(_number(figure(line, name)) + ("*" if note else ""))
        body.append([_title(line), *cells])
    return _table(["row", *names], body)


def notes(report: Report) -> str:
    """Who does not count for a row, and why."""
    return "".join(
        f"{_title(line)}: {name}: {entry['note']}\n"
        for line in report["lines"]
        for name, entry in line["results"].items()
        if entry["note"]
    )


def growth(report: Report) -> str:
    """A sentence for each row that grows, and how it grows."""
    text = ""
    for lines in sweeps(report).values():
        slope, first = steepest(lines), lines[0]
        if slope is None:
            continue
        verdict = "as it should" if slope <= first["growth"] + STEEPER else "FASTER THAN IT SHOULD"
        text += f"{first['title']}: {first['sentence']}\n"
        text += f"    at the steepest as the power {slope:.2f} of the {first['axis']}: {verdict}\n"
    return text


def behind(report: Report) -> str:
    """The rows in which a peer is ahead of agz."""
    lost = []
    for line in report["lines"]:
        peer, value = best(line), figure(line, "agz")
        if peer is None or value is None:
            continue
        rival = figure(line, peer) or 0.0
        if value < rival if line["unit"] == "s" else value > rival:
            lost.append(f"{_title(line)} ({peer})")
    return f"a peer is ahead in {len(lost)}: {'; '.join(lost)}\n" if lost else ""


def heading(report: Report) -> str:
    of = report["about"]
    packages = ", ".join(f"{name} {number}" for name, number in of["packages"].items())
    engines = ", ".join(f"{name} {number}" for name, number in of["agz engines"].items())
    default = ", ".join(f"{what} {name}" for what, name in of["agz default"].items())
    scaled = "" if of["scale"] == 1 else f"; sizes and counts in the titles times {of['scale']:g}"
    return (
        f"{of['processor']}; {of['system']}\n"
        f"Python {of['python']}, zlib {of['zlib']}; {packages}\n"
        f"agz engines: {engines}; by default {default}\n"
        f"medians of {of['repeat']} (memory, and rows that grow: at most 3), interleaved{scaled}\n"
        "figures are times as fast as gzip at level 6, the higher the better, unless a [unit] "
        "says\nwhat they are, the lower the better\n"
    )


def text(report: Report, everyone: bool) -> str:
    parts = [heading(report), summary(report)]
    if everyone:
        parts.append("every contender\n\n" + matrix(report))
    if excluded := notes(report):
        parts.append("who does not count, and why\n\n" + excluded)
    if grows := growth(report):
        parts.append("as the work grows\n\n" + grows)
    targets = [verdict for line in report["lines"] if (verdict := met(line)) is not None]
    parts.append(f"{sum(targets)} of {len(targets)} targets met\n{behind(report)}")
    return "\n".join(parts)


# ---- against an older one --------------------------------------------------------------------


def comparison(report: Report, old: Report) -> str:
    """Each row's figure of agz then and now."""
    then = {(line["row"], line["point"]): line for line in old["lines"]}
    body = []
    for line in report["lines"]:
        before = figure(then.get((line["row"], line["point"]), {"results": {}, "unit": ""}), "agz")
        now = figure(line, "agz")
        if not before or not now:
            continue
        gain = now / before if line["unit"] == "s" else before / now
        word = "better" if gain > NOISE else "WORSE" if gain < 1 / NOISE else ""
        body.append([_title(line), _number(before), _number(now), f"{gain:.2f}", word])
    if not body:
        return "nothing to compare\n"
    warning = ""
    for key in ("processor", "python", "scale"):
        if report["about"][key] != old["about"][key]:
            warning += f"not the same {key}: {old['about'][key]}, now {report['about'][key]}\n"
    return warning + _table(["agz", "then", "now", "gain", ""], body)
