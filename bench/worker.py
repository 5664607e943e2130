"""A contender's process: takes a measurement a line, as JSON, and answers with one.

    {"row": "read-text", "given": {...}, "thorough": true}
    {"value": 0.25, "check": [31500000, 123], "size": null, "same": null}

or with "unsupported", or with the "error" in words.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sys
import warnings
from pathlib import Path
from typing import Any

from bench.libraries import CONTENDERS, Unsupported
from bench.row import Job, resident
from bench.rows import ROWS

Answer = dict[str, Any]


def measure(contender: str, runner: asyncio.Runner, job: Job, row_name: str) -> Answer:
    row = ROWS[row_name]
    who = CONTENDERS[contender]
    if (row.aio if who.asynchronous else row.sync) is None:
        return {"unsupported": True}
    try:
        check: Any = None
        if who.asynchronous and row.aio:
            check = runner.run(row.aio(who.library(), job))
        elif row.sync:
            check = row.sync(who.library(), job)
    except (Unsupported, ModuleNotFoundError):
        return {"unsupported": True}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    return {"value": job.value, "check": check, "size": job.size, "same": job.same}


async def _nothing() -> None:
    await asyncio.sleep(0)


def main(contender: str, folder: str) -> None:
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is not an answer
    warnings.simplefilter("ignore")  # aiogzip's of an engine that it was told not to use
    with asyncio.Runner(loop_factory=CONTENDERS[contender].loop) as runner:
        runner.run(_nothing())
        baseline = resident("VmRSS")
        for line in sys.stdin:
            request = json.loads(line)
            job = Job(request["given"], Path(folder), request["thorough"], baseline)
            answer = measure(contender, runner, job, request["row"])
            print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
