"""What models, comparisons, subgroups and patients cost beside one model, in one run.

Seconds are of one machine; bytes and rounds are exact, and what the ratios are of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np

from benchmarks.options import out_option
from benchmarks.plain import TOLERANCE, WrongResultError
from benchmarks.progress import progress_of
from benchmarks.saving import Results
from benchmarks.tables import Table, show
from ppaurora.data.grid import Grid
from ppaurora.evaluation.evaluate import evaluate
from ppaurora.metrics.roc import Auroc
from ppaurora.protocols import GridProtocol
from ppaurora.protocols.names import ProtocolName
from ppaurora.session import Progress

SEED = 2026
OWNERS, SAMPLES = 8, 125_000
QUICK = 500
CLUSTERED = 2_000  # samples of an owner with patients: at most 2^19 in all are possible
LEVEL = 0.95
LEVELS = tuple(f"region {number:02}" for number in range(16))
USUAL = Grid(decimals=4)
HEADINGS = ("protocol", "study", "samples", "seconds", "MB sent", "rounds", "x one model's MB")

ONE, TWO, COMPARED = "one model", "two models", "two models, compared"
IN_LEVELS, PATIENTS = "one model, 16 levels", "one model, patients"


@dataclass(frozen=True)
class DesignMeasurement:
    """What one study took."""

    protocol: str
    study: str
    samples: int
    seconds: float
    bytes: int
    rounds: int
    rounds_by_step: dict[str, int]


def settings() -> list[tuple[ProtocolName, str]]:
    """Return every protocol with the studies that it is measured with; that of one model first."""
    return [
        *(("grid", study) for study in (ONE, TWO, COMPARED, IN_LEVELS, PATIENTS)),
        *(("fast", study) for study in (ONE, TWO, COMPARED)),
    ]


def make_owners(samples: int) -> list[dict[str, Any]]:
    """Draw owners' tables: two models' risks, regions, and patients with some three rows each."""
    random = np.random.default_rng(SEED)
    owners = []
    for _ in range(OWNERS):
        died = random.random(samples) < 0.2
        risks = [
            1 / (1 + np.exp(-(random.normal(size=samples) + strength * died - 1))) for strength in (1.4, 1.0)
        ]
        owners.append(
            {
                "died": died.astype(int),
                "new": np.round(risks[0], USUAL.decimals),
                "old": np.round(risks[1], USUAL.decimals),
                "region": np.array(LEVELS)[random.integers(len(LEVELS), size=samples)],
                "patient": random.integers(max(samples // 3, 1), size=samples),
            }
        )
    return owners


def options_of(protocol: str, study: str) -> dict[str, Any]:
    """Return what `evaluate` is given for a study."""
    options: dict[str, Any] = {"score": "new", "label": "died"}
    if study in (TWO, COMPARED):
        options["score"] = {"new": "new", "old": "old"}
    if study == COMPARED:
        options["comparisons"] = "all"
        options["models"] = {name: {"grid": USUAL} for name in ("new", "old")}
    if study == IN_LEVELS:
        options["subgroups"] = {"region": LEVELS}
    if study == PATIENTS:
        options["patient"] = "patient"
    if protocol == GridProtocol.name:
        options["decimals"] = USUAL.decimals
    return options


def measure(protocol: ProtocolName, study: str, samples: int, progress: Progress) -> DesignMeasurement:
    """Run it once over TLS, and check its AUROC against the pooled one."""
    from sklearn.metrics import roc_auc_score

    samples = min(samples, CLUSTERED) if study == PATIENTS else samples
    owners = make_owners(samples)
    report = evaluate(
        owners,
        metrics=[Auroc()],
        confidence_level=LEVEL,
        protocol=protocol,
        transport="tls",
        progress=progress,
        timeout=600.0,
        **options_of(protocol, study),
    )
    labels, scores = (np.concatenate([owner[of] for owner in owners]) for of in ("died", "new"))
    difference = abs(report.auroc - roc_auc_score(labels, scores))
    if difference > TOLERANCE:
        raise WrongResultError(f"{protocol}, {study}: differs from scikit-learn's AUROC by {difference:.1e}")
    cost = report.cost
    return DesignMeasurement(
        protocol,
        study,
        samples * OWNERS,
        cost.seconds,
        cost.bytes,
        cost.rounds,
        cost.rounds_by_step,
    )


def saved_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """All measurements, as docs/performance.md shows them."""
    measured = [DesignMeasurement(**row) for row in rows]
    alone = {one.protocol: one.bytes for one in measured if one.study == ONE}
    cells = [
        [
            f"`{one.protocol}`",
            one.study,
            f"{one.samples:,}",
            f"{one.seconds:.2f}",
            f"{one.bytes / 1e6:,.1f}",
            str(one.rounds),
            f"{one.bytes / alone[one.protocol]:.2f}",
        ]
        for one in measured
    ]
    return Table(HEADINGS, cells, words=("protocol", "study"))


@click.command("designs")
@click.option("--quick", is_flag=True, help=f"With {QUICK} samples of every owner.")
@out_option("designs", "designs.json, which is written anew")
def designs_command(quick: bool, out: Path) -> None:
    """What several models, comparisons, subgroups and patients cost beside one model."""
    results = Results(out / "designs.json", SEED, keep_earlier=False)
    for protocol, study in settings():
        with progress_of(f"{protocol}, {study}") as progress:
            results.add(asdict(measure(protocol, study, QUICK if quick else SAMPLES, progress)))
    show(saved_table(results.rows()))
