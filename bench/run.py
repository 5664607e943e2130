"""Running the rows: a worker for each contender, one measurement at a time, rounds interleaved."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.inputs import Inputs
from bench.libraries import CONTENDERS, OURS, REFERENCE
from bench.row import Row

PATIENCE = 120  # seconds for a measurement; only one that hangs needs so many
ROOT = Path(__file__).resolve().parent.parent

Answer = dict[str, Any]


class Worker:
    """The process of a contender."""

    def __init__(self, name: str, folder: Path, environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.worker", name, str(folder)],
            cwd=ROOT,
            env=os.environ | dict(CONTENDERS[name].environment) | environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, request: dict[str, Any]) -> Answer:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        timer = threading.Timer(PATIENCE, self._process.kill)
        timer.start()
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            timer.cancel()
        if not line:
            return {"error": f"the process ended with status {self._process.wait()}"}
        answer: Answer = json.loads(line)
        return answer

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def end(self) -> None:
        """Its input ends, so it does; with patience, as threads may still have work."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()


@dataclass
class Result:
    """What one contender did of a row at one point."""

    values: list[float] = field(default_factory=list)
    note: str = ""  # why it does not count: "wrong", "failed: ...", "other bytes", "12 % larger"
    size: int | None = None

    @property
    def broken(self) -> bool:
        return self.note.startswith(("wrong", "failed"))


Results = dict[str, Result]  # by contender, in the order of CONTENDERS


class Bench:
    def __init__(self, folder: Path, scale: float, repeat: int, engines: Iterable[str]) -> None:
        self.folder = folder
        self.repeat = repeat
        (folder / "inputs").mkdir()
        self.inputs = Inputs(folder / "inputs", scale)
        left_out = {name for name in CONTENDERS if name.startswith("agz ")}
        left_out -= {"agz uvloop", *(f"agz {engine}" for engine in engines)}
        self._contenders = [name for name in CONTENDERS if name not in left_out]
        self._workers: dict[str, Worker] = {}

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers.values():
            worker.end()

    def run(self, row: Row) -> dict[int, Results]:
        """By point."""
        return {point: self._run_point(row, point) for point in row.points}

    def _run_point(self, row: Row, point: int) -> Results:
        names = [name for name in self._contenders if name in row.contenders]
        given = row.given(self.inputs, point) | {"x": point}
        rounds = min(self.repeat, row.rounds or self.repeat)
        results: Results = {name: Result() for name in names}
        for number in range(rounds):
            request = {"row": row.name, "given": given, "thorough": number == 0}
            answers = {}
            first = number % len(names)
            for name in names[first:] + names[:first]:  # nobody is always the first
                if name in results:
                    answers[name] = self._ask(row, point, name, request)
            _judge(row, answers, results)
        return results

    def _ask(self, row: Row, point: int, name: str, request: dict[str, Any]) -> Answer:
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        if row.fresh:
            worker = Worker(name, folder, row.environment(point))
            try:
                return worker.ask(request)
            finally:
                worker.end()
        if name not in self._workers or not self._workers[name].alive:
            if name in self._workers:
                self._workers[name].end()
            self._workers[name] = Worker(name, folder, {})
        return self._workers[name].ask(request)


def _judge(row: Row, answers: dict[str, Answer], results: Results) -> None:
    """Enters a round's answers, each held against what gzip, or else the first, has given."""
    for name in [name for name, answer in answers.items() if "unsupported" in answer]:
        del answers[name], results[name]
    right = [name for name in results if "error" not in answers[name]]
    gauge = answers[right[0]] if right else {}
    for name, answer in answers.items():
        result = results[name]
        if "error" in answer:
            result.note = f"failed: {answer['error']}"
            continue
        result.values.append(answer["value"])
        result.size = answer["size"]
        if answer["check"] != gauge["check"]:
            result.note = f"wrong: {answer['check']}, not {gauge['check']}"[:200]
        elif row.same_bytes and not answer["same"] and name != REFERENCE:
            # agz promises them
            result.note = result.note or ("wrong: other bytes" if name in OURS else "other bytes")
        elif row.larger is not None and answer["size"] > gauge["size"] * (1 + row.larger):
            growth = answer["size"] / gauge["size"] - 1
            result.note = result.note or f"{growth:.0%} larger"
