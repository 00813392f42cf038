"""A study through real nodes beside the same data in one call: what durable submissions and attempts cost."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from benchmarks.by_name import evaluate_by_name
from benchmarks.options import out_option
from benchmarks.plain import WrongResultError
from benchmarks.saving import Results
from benchmarks.synthetic import Owner, synthetic_owners
from benchmarks.tables import Table, show
from ppaurora.agreement.terms import Terms
from ppaurora.data import check_samples
from ppaurora.evaluation.report import Report
from ppaurora.owner.report import StudyReport
from ppaurora.owner.study import Study
from ppaurora.testing.consortium import NODES, Consortium

SEED = 2023
HEADINGS = ("samples", "owners", "evaluate s", "study s", "submitting s", "attempt s", "study / evaluate")


@dataclass(frozen=True)
class Measurement:
    """Seconds of both, from the data in memory to the result; of the study also its two parts."""

    samples: int
    owners: int
    evaluate_seconds: float
    study_seconds: float
    submit_seconds: float
    attempt_seconds: float

    @property
    def ratio(self) -> float:
        return self.study_seconds / self.evaluate_seconds

    def cells(self) -> list[str]:
        """As a row of a table."""
        seconds = (self.evaluate_seconds, self.study_seconds, self.submit_seconds, self.attempt_seconds)
        return [f"{self.samples:,}", str(self.owners), *(f"{s:.2f}" for s in seconds), f"{self.ratio:.2f}"]


def measure(samples: int, owners: int) -> Measurement:
    data = synthetic_owners([samples // owners] * owners, SEED, ties=True)
    with tempfile.TemporaryDirectory(prefix="ppaurora-") as folder:
        names = [f"owner-{number}" for number in range(owners)]
        consortium = Consortium(Path(folder), names, silence=120.0)
        start = time.perf_counter()
        report = _in_one_call(consortium.manifest.terms, data)
        evaluate_seconds = time.perf_counter() - start
        consortium.accept()
        consortium.start()
        try:
            study_seconds, submit_seconds, released = _run(consortium, dict(zip(names, data, strict=True)))
            attempt_seconds = _attempt_seconds(consortium)
        finally:
            consortium.stop()
    if released.metrics != report.metrics:
        raise WrongResultError("the study's result is not what one call computes")
    return Measurement(
        samples // owners * owners,
        owners,
        evaluate_seconds,
        study_seconds,
        submit_seconds,
        attempt_seconds,
    )


def _in_one_call(terms: Terms, data: Sequence[Owner]) -> Report:
    return evaluate_by_name(
        data,
        metrics=terms.metrics,
        confidence_level=terms.confidence_level,
        policy=terms.policy,
        protocol=terms.protocol.name,
        transport="tls",
        **terms.protocol.settings(),
    )


def _run(consortium: Consortium, data: dict[str, Owner]) -> tuple[float, float, StudyReport]:
    """Seconds until the result, and until all had submitted."""
    start = time.perf_counter()

    def submit(name: str) -> None:
        labels, scores = data[name]
        Study(consortium.kit(name)).submit(check_samples(name, labels, scores, None))

    with ThreadPoolExecutor(len(data)) as pool:
        list(pool.map(submit, data))
    submitted = time.perf_counter() - start
    released = Study(consortium.kit(next(iter(data)))).wait()
    return time.perf_counter() - start, submitted, released


def _attempt_seconds(consortium: Consortium) -> float:
    """By the leader's log, from the beginning of the attempt to the release."""
    when = {event["event"]: datetime.fromisoformat(event["time"]) for event in consortium.events(NODES[0])}
    return (when["result released"] - when["attempt begins"]).total_seconds()


def table(measurements: Iterable[Measurement]) -> Table:
    return Table(HEADINGS, [measurement.cells() for measurement in measurements])


def saved_table(rows: Sequence[dict[str, Any]]) -> Table:
    return table(Measurement(**row) for row in rows)


@click.command("study")
@click.option("--samples", type=click.IntRange(min=100), default=1_000_000, show_default=True, help="In all.")
@click.option("--owners", type=click.IntRange(min=3, max=64), default=8, show_default=True)
@out_option("study")
def study_command(samples: int, owners: int, out: Path) -> None:
    """A study through three nodes on this machine, beside the same data in one call of evaluate."""
    results = Results(out / "study.json", SEED)
    measurement = measure(samples, owners)
    results.add(asdict(measurement))
    show(table([measurement]))
