"""This checkout beside another one, run in turns: what a change brought, whatever else the machine does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import click

from benchmarks.options import numbers, out_option
from benchmarks.saving import Results
from benchmarks.tables import Table, show
from ppaurora.cli.progress import progress_bar
from ppaurora.errors import InputError, PpauroraError
from ppaurora.metrics import DEFAULT_METRICS

SEED = 2023
HEADINGS = ("samples", "rtt ms", "what", "there", "here", "here / there")

# Runs in either checkout, so it uses only what both have: the public call.
_RUN = (
    f"METRICS = {DEFAULT_METRICS!r}"
    + """
import json, resource, sys
import numpy as np
import ppaurora
from ppaurora.channel.shaped import Network

samples, owners, rtt, seed = json.loads(sys.argv[1])
random = np.random.default_rng(seed)
scores = random.random(samples)
tied = random.random(samples) < 0.01
scores[tied] = np.round(scores[tied], 2)
labels = random.random(samples) < scores
parts = list(zip(np.array_split(labels, owners), np.array_split(scores, owners)))
report = ppaurora.evaluate(
    parts, metrics=METRICS, key_bits=64, transport="tls", timeout=3600.0,
    network=Network(rtt / 1000) if rtt else None,
)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({
    "metrics": {name: getattr(report, name) for name in report.metrics},
    "seconds": report.cost.seconds,
    "cpu_seconds": used.ru_utime + used.ru_stime,
    "bytes": report.cost.bytes,
    "rounds": report.cost.rounds,
    "peak_bytes": max(report.cost.peak_bytes_by_party.values()),
}))
"""
)


class OtherRunFailedError(PpauroraError):
    """A run in one of the checkouts did not end well, or gave another result."""

    exit_code = 3


@dataclass(frozen=True)
class Comparison:
    """Medians of the same runs in both checkouts; `there` is the other one."""

    samples: int
    owners: int
    rtt_ms: float
    runs: int
    there: dict[str, float]
    here: dict[str, float]

    def rows(self) -> list[list[str]]:
        def row(what: str, field: str, scale: float, digits: int) -> list[str]:
            there, here = (side[field] * scale for side in (self.there, self.here))
            cells = [f"{self.samples:,}", f"{self.rtt_ms:g}", what]
            return [*cells, f"{there:,.{digits}f}", f"{here:,.{digits}f}", f"{here / there:.2f}"]

        return [
            row("seconds", "seconds", 1, 2),
            row("CPU seconds", "cpu_seconds", 1, 2),
            row("MB sent", "bytes", 1e-6, 1),
            row("rounds", "rounds", 1, 0),
            row("peak MB", "peak_bytes", 1e-6, 0),
        ]


def compare(other: Path, samples: int, owners: int, rtt_ms: float, runs: int) -> Comparison:
    """The other checkout and this one in turns, on the same data."""
    here = Path(__file__).resolve().parents[1]
    sides: dict[Path, list[dict[str, Any]]] = {other: [], here: []}
    with progress_bar() as progress:
        for number in range(runs):
            for checkout, measured in sides.items():
                measured.append(_run(checkout, samples, owners, rtt_ms))
                progress(f"{samples:,} samples", 2 * number + len(measured), 2 * runs)
    results = [one["metrics"] for measured in sides.values() for one in measured]
    if any(abs(one[name] - results[0][name]) > 1e-9 for one in results for name in results[0]):
        raise OtherRunFailedError("the two checkouts do not give the same result")
    there, own = (
        {field: median(one[field] for one in measured) for field in measured[0] if field != "metrics"}
        for measured in sides.values()
    )
    return Comparison(samples, owners, rtt_ms, runs, there, own)


def _run(checkout: Path, samples: int, owners: int, rtt_ms: float) -> dict[str, Any]:
    done = subprocess.run(  # noqa: S603 (this interpreter, our own words)
        [sys.executable, "-c", _RUN, json.dumps([samples, owners, rtt_ms, SEED])],
        env={**os.environ, "PYTHONPATH": str(checkout / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise OtherRunFailedError(f"a run in {checkout} failed: {done.stderr.strip().splitlines()[-1:]}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def saved_table(rows: Sequence[dict[str, Any]]) -> Table:
    comparisons = [Comparison(**row) for row in rows]
    return Table(HEADINGS, [cells for one in comparisons for cells in one.rows()], words=("what",))


@click.command("against")
@click.argument("other", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--sizes", default="8000,1000000", show_default=True, help="Numbers of samples in all.")
@click.option("--owners", default=8, show_default=True)
@click.option("--rtt", "rtt_ms", default=0.0, show_default=True, help="Milliseconds of a round trip, added.")
@click.option("--runs", default=5, show_default=True, help="Of each checkout; medians are shown.")
@out_option("against")
def against_command(other: Path, sizes: str, owners: int, rtt_ms: float, runs: int, out: Path) -> None:
    """This checkout beside OTHER, a folder with another version, run in turns.

    Both run in this Python, so the other version must work with the packages that are installed here.
    """
    if not (other / "src" / "ppaurora").is_dir():
        raise InputError(f"{other}: is no checkout of ppaurora; it holds no src/ppaurora")
    results = Results(out / "against.json", SEED)
    done = []
    for samples in numbers(sizes, "sizes", owners):
        done.append(asdict(compare(other.resolve(), samples, owners, rtt_ms, runs)))
        results.add(done[-1])
    show(saved_table(done))
