"""What `grid` costs beside `fast`: the same samples, whatever their number; and more and fewer values.

Owners' tables are drawn directly, so that a billion samples take no longer than a thousand. `fast` gets the
samples of the very same tables, as long as there are not too many for a list.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.plain import TOLERANCE, WrongResultError
from benchmarks.progress import progress_of
from benchmarks.saving import Results
from benchmarks.tables import Table, show
from ppaurora.data.count_table import CountTable
from ppaurora.data.grid import Grid
from ppaurora.data.samples import Samples
from ppaurora.evaluation.evaluate import evaluate_samples
from ppaurora.metrics import DEFAULT_METRICS
from ppaurora.protocols import Fast, GridProtocol
from ppaurora.session import Progress

SEED = 2026
OWNERS = 8
LEVEL = 0.95
MOST_AS_A_LIST = 1_000_000
SIZES = (8_000, 1_000_000, 1_000_000_000)
USUAL = Grid(decimals=4)
OTHERS = (
    Grid(decimals=2),
    Grid(decimals=3),
    Grid(high=65.535, decimals=3),
    Grid(high=1_048_575.0, decimals=0),
)
HEADINGS = ("protocol", "values", "samples", "seconds", "MB sent", "rounds", "peak MB", "`fast` / `grid` s")


@dataclass(frozen=True)
class GridSetting:
    """One run to measure."""

    protocol: str
    grid: Grid
    samples: int

    def __str__(self) -> str:
        return f"{self.protocol}, {self.grid.cells:,} values, {self.samples:,} samples"


@dataclass(frozen=True)
class GridMeasurement:
    """What it took; memory is a server's peak."""

    protocol: str
    cells: int
    samples: int
    seconds: float
    bytes: int
    bytes_by_step: dict[str, int]
    rounds: int
    rounds_by_step: dict[str, int]
    peak_bytes: dict[str, int]
    difference: float


def settings() -> list[GridSetting]:
    """Numbers of samples on the usual grid, by both protocols where a list is possible; and other grids."""
    by_size = [
        GridSetting(name, USUAL, samples)
        for samples in SIZES
        for name in (Fast.name, GridProtocol.name)
        if name != Fast.name or samples <= MOST_AS_A_LIST
    ]
    by_grid = [GridSetting(GridProtocol.name, grid, 1_000_000) for grid in OTHERS]
    return by_size + by_grid


def make_tables(setting: GridSetting) -> list[CountTable]:
    """Draw owners' tables: few high risks, and as many events as predicted."""
    random = np.random.default_rng(SEED)
    grid = setting.grid
    risk = np.linspace(0.0, 1.0, grid.cells)
    density = np.exp(-3 * risk)
    tables = []
    for number in range(OWNERS):
        samples = random.multinomial(setting.samples // OWNERS, density / density.sum())
        positives = random.binomial(samples, risk)
        both = positives.astype(np.uint32), (samples - positives).astype(np.uint32)
        tables.append(CountTable(f"owner {number}", grid, *both))
    return tables


def as_samples(table: CountTable) -> Samples:
    """Return the samples that a table counts."""
    values = table.grid.values
    scores = np.concatenate([np.repeat(values, counts) for counts in (table.positives, table.negatives)])
    positives = int(table.positives.sum())
    labels = (np.arange(len(scores)) < positives).astype(np.uint8)
    return Samples(table.source, scores, labels)


def expected_values(tables: Sequence[CountTable]) -> dict[str, float]:
    """AUROC and AUPR by scikit-learn, each value and class weighted by its count."""
    from sklearn.metrics import auc, precision_recall_curve, roc_auc_score

    values = tables[0].grid.values
    positives, negatives = (
        sum(getattr(table, of).astype(np.uint64) for table in tables) for of in ("positives", "negatives")
    )
    labels = np.repeat([1, 0], len(values))
    scores, weights = np.tile(values, 2), np.concatenate([positives, negatives])
    seen = weights > 0
    weighted = {"sample_weight": weights[seen]}
    precision, recall, _ = precision_recall_curve(labels[seen], scores[seen], **weighted)
    found = roc_auc_score(labels[seen], scores[seen], **weighted), auc(recall, precision)
    return dict(zip(DEFAULT_METRICS, map(float, found), strict=True))


def measure(setting: GridSetting, progress: Progress) -> GridMeasurement:
    """Run it once over TLS, checked against scikit-learn."""
    tables = make_tables(setting)
    is_list = setting.protocol == Fast.name
    report = evaluate_samples(
        [as_samples(table) if is_list else table for table in tables],
        metrics=DEFAULT_METRICS,
        protocol=setting.protocol,
        parameters={},
        transport="tls",
        progress=progress,
        timeout=600.0,
        confidence_level=LEVEL,
    )
    expected = expected_values(tables)
    difference = max(abs(float(getattr(report, name)) - value) for name, value in expected.items())
    if difference > TOLERANCE:
        raise WrongResultError(f"{setting}: differs from scikit-learn's value by {difference:.1e}")
    cost = report.cost
    return GridMeasurement(
        protocol=setting.protocol,
        cells=setting.grid.cells,
        samples=setting.samples,
        seconds=cost.seconds,
        bytes=cost.bytes,
        bytes_by_step=cost.bytes_by_step,
        rounds=cost.rounds,
        rounds_by_step=cost.rounds_by_step,
        peak_bytes=cost.peak_bytes_by_party,
        difference=difference,
    )


def run(out: Path) -> None:
    """Measure every setting, save each, and show all."""
    results = Results(out / "grids.json", SEED, keep_earlier=False)
    for setting in settings():
        with progress_of(setting) as progress:
            results.add(asdict(measure(setting, progress)))
    show(saved_table(results.rows()))


def saved_table(rows: Sequence[dict[str, Any]]) -> Table:
    """All measurements, as docs/performance.md shows them."""
    measured = [GridMeasurement(**row) for row in rows]
    return Table(HEADINGS, list(_cells(measured)), words=("protocol",))


def _cells(measured: Sequence[GridMeasurement]) -> Iterator[list[str]]:
    lists = {(one.cells, one.samples): one for one in measured if one.protocol == Fast.name}
    for one in measured:
        beside = lists.get((one.cells, one.samples))
        ratio = "" if beside is None or beside is one else f"{beside.seconds / one.seconds:.1f}"
        yield [
            f"`{one.protocol}`",
            f"{one.cells:,}",
            f"{one.samples:,}",
            f"{one.seconds:.2f}",
            f"{one.bytes / 1e6:,.1f}",
            str(one.rounds),
            f"{max(one.peak_bytes.values()) / 1e6:,.0f}",
            ratio,
        ]
