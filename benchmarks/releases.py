"""What intervals, sums and a release policy cost, beside AUROC and AUPR alone, in turns within one run.

Every released number is checked: without a policy it is the reference's, with one it is that rounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import click
import numpy as np

from benchmarks.by_name import evaluate_by_name
from benchmarks.options import network_options, numbers, out_option
from benchmarks.plain import TOLERANCE, WrongResultError
from benchmarks.progress import progress_of
from benchmarks.saving import Results
from benchmarks.synthetic import Owner, synthetic_owners
from benchmarks.tables import Table, show
from ppaurora.channel.shaped import Network
from ppaurora.evaluation.report import Report
from ppaurora.metrics import DEFAULT_METRICS, METRICS, Metric, metrics_named
from ppaurora.metrics.roc import UntiedAuroc
from ppaurora.policy.rules import Policy
from ppaurora.statistics.estimates import Estimate

SEED = 2023
OWNERS = 8
SIZES = (8_000, 1_000_000)
LEVEL = 0.95
_UNITS_OF_NOISE = 1000  # a standard deviation of noise has 3 to 30 units of the last digit that is shown
HEADINGS = ("samples", "what", "network", "seconds", "x", "MB sent", "x ", "rounds", "more")

_AREAS = metrics_named(*DEFAULT_METRICS)
_SAMPLES = [
    metric.sample()
    for metric in METRICS.values()
    if metric is not UntiedAuroc and not metric.needs_table  # studies here are of lists alone
]
_SUMS = tuple(metric for metric in _SAMPLES if not metric.needs_curve and not metric.discloses_counts)
_EVERY = (
    *_AREAS,
    *_SUMS,
    *(metric for metric in _SAMPLES if metric.needs_curve and metric not in _AREAS),
)
_WITH_NOISE = tuple(metric for metric in _SAMPLES if metric.mechanism() is not None)
_OF_COUNTS = tuple(metric for metric in _SAMPLES if metric.discloses_counts)


@dataclass(frozen=True)
class Kind:
    """What is asked for."""

    title: str
    metrics: tuple[Metric, ...]
    policy: Policy
    confidence_level: float | None = LEVEL


BASE = Kind("AUROC and AUPR", _AREAS, Policy.exact(), None)
KINDS = (
    BASE,
    Kind("... with the interval", _AREAS, Policy.exact()),
    Kind("... and the policy", _AREAS, Policy()),
    Kind("... and all sums", (*_AREAS, *_SUMS), Policy()),
    Kind("every metric, policy", _EVERY, Policy()),
    Kind("every metric, counts rounded", (*_EVERY, *_OF_COUNTS), Policy(counts="rounded")),
    Kind("what noise is known for, exact", _WITH_NOISE, Policy.exact()),
    Kind("... and private", _WITH_NOISE, Policy.private()),
)


@dataclass(frozen=True)
class Measurement:
    """The median of several runs, and the same over that of AUROC and AUPR alone."""

    samples: int
    what: str
    network: str
    seconds: float
    times_seconds: float
    bytes: int
    times_bytes: float
    rounds: int
    more_rounds: int

    def cells(self) -> list[str]:
        return [
            f"{self.samples:,}",
            self.what,
            self.network,
            f"{self.seconds:.2f}",
            f"{self.times_seconds:.2f}",
            f"{self.bytes / 1e6:,.1f}",
            f"{self.times_bytes:.3f}",
            str(self.rounds),
            f"{self.more_rounds:+d}",
        ]


def check(kind: Kind, report: Report, owners: Sequence[Owner]) -> None:
    """The numbers that are no table, against scikit-learn's and numpy's on the pooled data."""
    labels, scores = (np.concatenate(column) for column in zip(*owners, strict=True))
    for metric in kind.metrics:
        found = report.metrics[metric.name]
        if isinstance(found, Estimate):
            step = 0.0 if found.digits is None else 0.5 * 10.0**-found.digits
            if kind.policy.is_private:
                step *= _UNITS_OF_NOISE
            expected = metric.reference(labels.astype(int), scores)
            if found.value is None or abs(found.value - expected) > step + TOLERANCE:
                raise WrongResultError(f"{kind.title}: {metric.name} differs from the pooled value")


def measure(samples: int, repeats: int, transport: str, network: Network | None) -> list[Measurement]:
    owners = synthetic_owners([samples // OWNERS] * OWNERS, SEED, ties=True)
    reports: dict[str, list[Report]] = {kind.title: [] for kind in KINDS}
    for turn in range(repeats):
        for kind in KINDS:
            with progress_of(f"{samples:,}, {kind.title} ({turn + 1} of {repeats})") as progress:
                report = evaluate_by_name(
                    owners,
                    metrics=kind.metrics,
                    confidence_level=kind.confidence_level,
                    policy=kind.policy,
                    transport=transport,
                    network=network,
                    progress=progress,
                    timeout=600.0,
                )
            check(kind, report, owners)
            reports[kind.title].append(report)
    base = reports[BASE.title][0].cost
    base_seconds = median(report.cost.seconds for report in reports[BASE.title])
    rows = []
    for title, of_kind in reports.items():
        seconds, cost = median(report.cost.seconds for report in of_kind), of_kind[0].cost
        rows.append(
            Measurement(
                samples,
                title,
                "loopback" if network is None else str(network),
                seconds,
                seconds / base_seconds,
                cost.bytes,
                cost.bytes / base.bytes,
                cost.rounds,
                cost.rounds - base.rounds,
            )
        )
    return rows


def table(measurements: Sequence[Measurement]) -> Table:
    return Table(HEADINGS, [one.cells() for one in measurements], words=("what", "network"))


def saved_table(rows: Sequence[dict[str, Any]]) -> Table:
    return table([Measurement(**row) for row in rows])


@click.command("release")
@click.option("--sizes", default=",".join(map(str, SIZES)), show_default=True, help="Numbers of samples.")
@click.option("--repeats", default=5, show_default=True, help="Runs of each kind, in turns.")
@click.option("--transport", type=click.Choice(["memory", "tls"]), default="tls", show_default=True)
@network_options
@out_option("release")
def release_command(sizes: str, repeats: int, transport: str, network: Network | None, out: Path) -> None:
    """What intervals, sums and a release policy cost beside AUROC and AUPR alone; 8 owners."""
    results = Results(out / "release.json", SEED)
    done: list[Measurement] = []
    for samples in numbers(sizes, "sizes", 800):
        for row in measure(samples // OWNERS * OWNERS, max(repeats, 1), transport, network):
            done.append(row)
            results.add(asdict(row))
    show(table(done))
