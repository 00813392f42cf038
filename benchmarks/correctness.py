"""The paper's correctness experiments, on data that scikit-learn ships: private against pooled values.

The paper has one set of test samples with ties and one without, splits them over owners, and finds
the same areas as on the pooled samples. And it shows why pooling matters: how much an AUROC on few
samples varies.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from benchmarks.by_name import evaluate_by_name
from benchmarks.drawing import COLOURS, new_figure, save_figure
from benchmarks.environment import not_installed
from benchmarks.options import out_option
from benchmarks.plain import checked_difference, pooled
from benchmarks.saving import Results
from benchmarks.synthetic import Owner
from benchmarks.tables import Table, show
from ppaurora.metrics.precision_recall import Aupr, AveragePrecision
from ppaurora.metrics.roc import Auroc, UntiedAuroc

SEED = 2023
DATA_SETS = "the data sets come with scikit-learn"
PROTOCOLS = ("paper", "fast")
DRAWS = 1000
FEW = (10, 15, 20, 30, 50, 75, 100, 150, 200, 300)


@dataclass(frozen=True)
class ScoredSet:
    """Labels and a model's scores, and how many owners they are split over."""

    name: str
    labels: NDArray[np.bool_]
    scores: NDArray[np.float64]
    owners: int

    @property
    def tied(self) -> int:
        """Samples that share their score with another."""
        _, counts = np.unique(self.scores, return_counts=True)
        return int(counts[counts > 1].sum())

    @property
    def metrics(self) -> list[str]:
        areas = [Auroc.name, Aupr.name, AveragePrecision.name]
        return areas if self.tied else [UntiedAuroc.name, *areas]

    def split(self) -> list[Owner]:
        """At random, into parts of unequal sizes."""
        random = np.random.default_rng(SEED)
        order = random.permutation(len(self.labels))
        cuts = np.sort(random.choice(np.arange(1, len(order)), self.owners - 1, replace=False))
        return [(self.labels[part], self.scores[part]) for part in np.split(order, cuts)]

    def one_of_each_score(self) -> ScoredSet:
        """A subset without ties: of samples that share a score, one at random."""
        order = np.random.default_rng(SEED).permutation(len(self.labels))
        _, first = np.unique(self.scores[order], return_index=True)
        kept = order[first]
        return ScoredSet(f"{self.name}, one of each score", self.labels[kept], self.scores[kept], self.owners)


def forest_on_breast_cancer() -> ScoredSet:
    """A random forest's votes: many ties."""
    try:
        from sklearn.datasets import load_breast_cancer
        from sklearn.ensemble import RandomForestClassifier
        from sklearn.model_selection import train_test_split
    except ImportError:
        raise not_installed(DATA_SETS) from None
    features, target = load_breast_cancer(return_X_y=True)
    few = features[:, [4, 8, 9]]  # the mean smoothness, symmetry and fractal dimension: no easy task
    train, test, train_labels, labels = train_test_split(few, target == 0, test_size=191, random_state=SEED)
    model = RandomForestClassifier(n_estimators=50, random_state=SEED).fit(train, train_labels)
    return ScoredSet("breast cancer, random forest", labels, model.predict_proba(test)[:, 1], 4)


def line_on_diabetes() -> ScoredSet:
    """Logistic regression on few samples: no ties."""
    try:
        from sklearn.model_selection import train_test_split
    except ImportError:
        raise not_installed(DATA_SETS) from None
    features, labels = _diabetes()
    train, test, train_labels, test_labels = train_test_split(
        features, labels, test_size=54, random_state=SEED
    )
    scores = _logistic_regression().fit(train, train_labels).predict_proba(test)[:, 1]
    return ScoredSet("diabetes, logistic regression", test_labels, scores, 3)


def scored_sets() -> list[ScoredSet]:
    tied = forest_on_breast_cancer()
    return [tied, tied.one_of_each_score(), line_on_diabetes()]


def compare(scored: ScoredSet) -> Iterator[dict[str, Any]]:
    """A row per protocol and metric."""
    owners = scored.split()
    expected, _ = pooled(owners, scored.metrics)
    for protocol in PROTOCOLS:
        report = evaluate_by_name(owners, metrics=scored.metrics, protocol=protocol, transport="tls")
        checked_difference(f"{scored.name}, {protocol}", report, expected)
        for metric in scored.metrics:
            yield {
                "data": scored.name,
                "sizes": [len(labels) for labels, _ in owners],
                "tied": scored.tied,
                "metric": metric,
                "protocol": protocol,
                "private": getattr(report, metric),
                "pooled": expected[metric],
                "alone": _alone(owners, metric),
            }


def _alone(owners: Sequence[Owner], metric: str) -> list[float | None]:
    """What every owner would find on its own samples; nothing where it has one class only."""
    return [
        pooled([owner], [metric])[0][metric] if len(np.unique(owner[0])) == 2 else None for owner in owners
    ]


def correctness_table(rows: Sequence[dict[str, Any]]) -> Table:
    """Both protocols beside the pooled value."""
    keys = list(dict.fromkeys((row["data"], row["metric"]) for row in rows))
    by_key = {(row["data"], row["metric"], row["protocol"]): row for row in rows}
    cells = []
    for name, metric in keys:
        found = [by_key[name, metric, protocol] for protocol in PROTOCOLS]
        alone = [value for value in found[0]["alone"] if value is not None]
        cells.append(
            [
                name,
                metric,
                " + ".join(map(str, found[0]["sizes"])),
                str(found[0]["tied"]),
                f"{found[0]['pooled']:.9f}",
                *(f"{row['private']:.9f}" for row in found),
                f"{max(abs(row['private'] - row['pooled']) for row in found):.0e}",
                f"{min(alone):.3f} to {max(alone):.3f}",
            ]
        )
    headings = ["data and model", "metric", "samples", "tied", "pooled", *PROTOCOLS, "largest difference"]
    return Table([*headings, "owners alone"], cells, words=headings[:2])


def stability() -> list[dict[str, Any]]:
    """Quantiles of the AUROC of few samples, drawn at random from all that there are."""
    try:
        from sklearn.metrics import roc_auc_score
        from sklearn.model_selection import cross_val_predict
    except ImportError:
        raise not_installed(DATA_SETS) from None
    features, labels = _diabetes()
    scores = cross_val_predict(_logistic_regression(), features, labels, cv=10, method="predict_proba")[:, 1]
    random = np.random.default_rng(SEED)
    rows = []
    for samples in (*FEW, len(labels)):
        values: list[float] = []
        while len(values) < DRAWS:
            part = random.choice(len(labels), samples, replace=False)
            if len(np.unique(labels[part])) == 2:
                values.append(roc_auc_score(labels[part], scores[part]))
        low, median, high = np.quantile(values, [0.05, 0.5, 0.95])
        rows.append({"samples": samples, "low": float(low), "median": float(median), "high": float(high)})
    return rows


def draw_stability(rows: Sequence[dict[str, Any]], path: Path) -> Path:
    figure = new_figure(width=6.0, height=3.6)
    panel = figure.subplots()
    samples = [row["samples"] for row in rows]
    panel.fill_between(
        samples,
        [row["low"] for row in rows],
        [row["high"] for row in rows],
        color=COLOURS["band"],
        label="nine draws in ten",
    )
    medians = [row["median"] for row in rows]
    panel.plot(samples, medians, color=COLOURS["fast"], marker="s", markersize=4, label="median")
    panel.axhline(rows[-1]["median"], color=COLOURS["printed"], linestyle="--", label="all samples")
    panel.set(xscale="log", xlabel="test samples", ylabel="AUROC", xticks=samples)
    panel.set_xticklabels([str(number) for number in samples])
    panel.minorticks_off()
    panel.grid(alpha=0.3)
    panel.legend(frameon=False, loc="lower right")
    return save_figure(figure, path, list(rows))


def _diabetes() -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Does the disease progress faster than in half of the patients?"""
    from sklearn.datasets import load_diabetes

    features, progression = load_diabetes(return_X_y=True)
    return features, progression > np.median(progression)


def _logistic_regression() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression()


@click.command("correctness")
@out_option("correctness", "correctness.json, stability.json and the figure")
def correctness_command(out: Path) -> None:
    """Private against pooled values on real test sets, and how unsteady an AUROC of few samples is."""
    compared = Results(out / "correctness.json", SEED, keep_earlier=False)
    for scored in scored_sets():
        click.echo(f"{scored.name}: {len(scored.labels)} samples", err=True)
        for row in compare(scored):
            compared.add(row)
    show(correctness_table(compared.rows()))
    click.echo(f"AUROC of few samples, {DRAWS} draws each", err=True)
    unsteady = Results(out / "stability.json", SEED, keep_earlier=False)
    for row in stability():
        unsteady.add(row)
    click.echo(f"drawn: {draw_stability(unsteady.rows(), out / 'stability.svg')}")
