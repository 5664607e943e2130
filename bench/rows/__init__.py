"""The rows of the benchmark, a file for each category."""

from __future__ import annotations

from bench.row import Row
from bench.rows import concurrency, io, latency, memory, micro, scenarios, streaming

ROWS: dict[str, Row] = {
    row.name: row
    for module in (io, scenarios, concurrency, streaming, micro, memory, latency)
    for row in module.ROWS
}
