"""The charts, as SVG: one of all rows measured against gzip, and one a row that grows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench.libraries import REFERENCE
from bench.report import Line, Report, best, figure, short, sweeps

COLOURS = {"gzip": "#8c8c8c", "aiogzip": "#e8a33d", "aiogzip-ng": "#c8641e", "agz": "#1f6fb2"}
UNITS = {"s": "seconds", "KiB": "KiB", "ms": "ms", "threads": "threads", "part": "part of the work"}


def draw(report: Report, folder: Path) -> list[Path]:
    """Raises ImportError without matplotlib."""
    import matplotlib

    matplotlib.use("svg")
    # The same numbers make the same file.
    matplotlib.rcParams |= {"svg.hashsalt": "agz", "svg.fonttype": "none", "font.size": 9}
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    single = [n for n in report["lines"] if n["unit"] == "s" and not n["axis"]]
    if single:
        paths.append(_bars(single, folder / "bench.svg"))
    for name, lines in sweeps(report).items():
        paths.append(_curves(lines, folder / f"{name}.svg"))
    return paths


def _figure(width: float, height: float) -> tuple[Any, Any]:
    from matplotlib import pyplot

    drawing, axes = pyplot.subplots(figsize=(width, height), layout="constrained")
    axes.spines[["top", "right"]].set_visible(False)
    return drawing, axes


def _save(drawing: Any, path: Path) -> Path:
    from matplotlib import pyplot

    drawing.savefig(path, metadata={"Date": None})
    pyplot.close(drawing)
    return path


def _bars(lines: list[Line], path: Path) -> Path:
    drawing, axes = _figure(8, 1 + 0.42 * len(lines))
    series: dict[str, tuple[str, list[str | None]]] = {
        "best of aiogzip": ("aiogzip", [best(line, "aiogzip") for line in lines]),
        "best of all peers": ("gzip", [best(line) for line in lines]),
        "agz": ("agz", ["agz"] * len(lines)),
    }
    for place, (label, (colour, names)) in enumerate(series.items()):
        values = [
            (figure(line, n) or 0.0) if n else 0.0 for line, n in zip(lines, names, strict=True)
        ]
        heights = [i + 0.27 * (place - 1) for i in range(len(lines))]
        axes.barh(heights, values, 0.27, label=label, color=COLOURS[colour])
    targets = [(line["target"], i) for i, line in enumerate(lines) if line["target"]]
    if targets:
        axes.plot(*zip(*targets, strict=True), "k|", ms=11, label="to be reached")
    axes.axvline(1, color="black", linewidth=0.8, linestyle=":")
    axes.set_yticks(range(len(lines)), [line["title"] for line in lines])
    axes.invert_yaxis()
    axes.set_xlabel("times as fast as gzip (level 6)")
    axes.legend(frameon=False, loc="lower right")
    return _save(drawing, path)


def _curves(lines: list[Line], path: Path) -> Path:
    drawing, axes = _figure(6, 3.6)
    for name in COLOURS:
        points = [
            (line["point"], line["results"][name])
            for line in lines
            if "median" in line["results"].get(name, {})
        ]
        if not points:
            continue
        xs = [x for x, _ in points]
        medians = [entry["median"] for _, entry in points]
        below = [entry["median"] - entry["min"] for _, entry in points]
        above = [entry["max"] - entry["median"] for _, entry in points]
        style = "o--" if name == REFERENCE else "o-"
        axes.errorbar(xs, medians, [below, above], fmt=style, ms=4, label=name, color=COLOURS[name])
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(xs := [line["point"] for line in lines], [short(x) for x in xs])
    axes.minorticks_off()
    axes.set_xlabel(lines[0]["axis"])
    axes.set_ylabel(UNITS[lines[0]["unit"]])
    axes.set_title(f"{lines[0]['title']}\n{lines[0]['sentence']}", fontsize=9, loc="left")
    axes.legend(frameon=False)
    return _save(drawing, path)
