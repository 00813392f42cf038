"""What several workers of a party cost and save against one, and a projection, from saved measurements.

The model: every worker has a core and a link of its own. A worker's part of the computing is the CPU time of
all servers, by three servers and W workers; what that grows by, from one worker to several, is taken to grow
with the logarithm of W, because so does the number of layers at borders. A worker's link carries the W-th
part of what the busiest server's links carry. Rounds stay as many, whatever W is: their waiting is a floor.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.growth import MINUTE, Line
from benchmarks.scale import LOCAL, Measurement
from benchmarks.tables import Table

PROJECTED_WORKERS = (1, 4, 16, 64)
SERVERS = 3
LINK_BITS_PER_SECOND = 1e9
ROUND_TRIP = 0.01
MEGABYTE = 1e6


def saved_tables(rows: Sequence[dict[str, Any]]) -> str:
    """What was measured, the latest of a setting, and what follows for more workers."""
    latest = {(row["samples"], row["workers"], row["engine"]): Measurement(**row) for row in rows}
    measured = sorted(latest.values(), key=lambda one: (one.samples, one.engine != LOCAL, one.workers))
    return f"{_measured_table(measured).markdown()}\n\n{_projection_table(measured).markdown()}"


def _measured_table(measured: Sequence[Measurement]) -> Table:
    headings = (
        "samples",
        "workers",
        "engine",
        "seconds",
        "x one worker",
        "CPU seconds",
        "x one worker's",
        "GB sent",
        "GB between workers",
        "rounds",
        "MB per worker",
    )
    rows = []
    for one in measured:
        alone = _alone(measured, one.samples)
        known = one.cpu_seconds and alone.cpu_seconds
        rows.append(
            [
                f"{one.samples:,}",
                str(one.workers),
                one.engine if one.workers > 1 else "",
                f"{one.seconds:.1f}",
                f"{one.seconds / alone.seconds:.2f}",
                f"{one.cpu_seconds:.1f}" if known else "",
                f"{one.cpu_seconds / alone.cpu_seconds:.2f}" if known else "",
                f"{one.bytes / 1e9:.3f}",
                f"{one.inside_bytes / 1e9:.3f}",
                str(one.rounds),
                f"{max(one.peak_bytes.values()) / MEGABYTE:,.0f}",
            ]
        )
    return Table(headings, rows, words=("engine",))


def _alone(measured: Sequence[Measurement], samples: int) -> Measurement:
    (alone,) = (one for one in measured if (one.samples, one.workers) == (samples, 1))
    return alone


@dataclass(frozen=True)
class WorkerModel:
    """A model of one size, from local runs of several numbers of workers."""

    cpu: Line  # seconds of all servers, over log2 of the number of workers
    memory: Line  # bytes of one worker, over one by the number of workers
    busiest_bytes: int  # that the links of one server carry
    rounds: int

    @classmethod
    def of(cls, measured: Sequence[Measurement]) -> WorkerModel:
        last = max(measured, key=lambda one: one.workers)
        return cls(
            Line.through((math.log2(one.workers), one.cpu_seconds) for one in measured),
            Line.through((1 / one.workers, max(one.peak_bytes.values())) for one in measured),
            last.bytes - last.bytes_by_party["proxy 1"],
            last.rounds,
        )

    def computing(self, workers: int) -> float:
        """Seconds of one worker's core."""
        return self.cpu.at(math.log2(workers)) / SERVERS / workers

    def on_the_wire(self, workers: int) -> float:
        return 8 * self.busiest_bytes / workers / LINK_BITS_PER_SECOND

    def waiting(self) -> float:
        return self.rounds * ROUND_TRIP


def _projection_table(measured: Sequence[Measurement]) -> Table:
    """Project the largest size that was measured with several workers."""
    samples = max(one.samples for one in measured if one.workers > 1)
    local = [one for one in measured if one.samples == samples and one.engine == LOCAL]
    model = WorkerModel.of(local)
    headings = (
        f"workers, {samples:,} samples",
        "MB per worker",
        "minutes of computing",
        "minutes on a link of 1 Gbit/s each",
        "minutes of waiting, 10 ms a round",
    )
    rows = [
        [
            f"{workers}, projected",
            f"{model.memory.at(1 / workers) / MEGABYTE:,.0f}",
            f"{model.computing(workers) / MINUTE:.2f}",
            f"{model.on_the_wire(workers) / MINUTE:.2f}",
            f"{model.waiting() / MINUTE:.2f}",
        ]
        for workers in PROJECTED_WORKERS
    ]
    return Table(headings, rows, words=headings[:1])
