"""Three hospitals, three server processes over TLS, and the pooled result under each of the three policies.

Ends with exit code 1 if the exact numbers differ from scikit-learn's on the pooled samples by more than 1e-9,
or if what a study releases by default is not these numbers, rounded, with an interval around theirs.
"""

from __future__ import annotations

import csv
import math
import sys
import textwrap
from pathlib import Path

import numpy as np
from sklearn.metrics import average_precision_score, brier_score_loss, roc_auc_score

import ppaurora
from make_hospitals import make_hospitals
from ppaurora.pages.report.facts import evaluation_facts
from ppaurora.statistics.auroc import delong_variance

FOLDER = Path(__file__).resolve().parent.parent / "build" / "demo"
TOLERANCE = 1e-9
METRICS = {"auroc": "AUROC", "ap": "average precision", "brier": "Brier score"}
NOISY = ("auroc", "brier")  # average precision has no mechanism that adds little enough noise


def read(path: Path) -> tuple[list[int], list[float]]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [int(row["label"]) for row in rows], [float(row["score"]) for row in rows]


def delong_interval(labels, scores) -> tuple[float, float, float]:
    """AUROC and its 95% interval, on samples in the clear."""
    auroc = roc_auc_score(labels, scores)
    reach = 1.959963984540054 * math.sqrt(delong_variance(labels, scores))
    return auroc, auroc - reach, auroc + reach


def evaluate(hospitals, metrics, policy) -> ppaurora.Report:
    return ppaurora.evaluate(
        hospitals, metrics=metrics, confidence_level=0.95, policy=policy, transport="tls"
    )


def show(report) -> None:
    for name, found in report.metrics.items():
        interval = f" ({found.shown_level()} {found.shown_span()})" if found.interval else ""
        note = f"; {found.note}" if found.note else ""
        print(f"  {METRICS[name]} {found.shown()}{interval}{note}")


def main() -> int:
    hospitals = {path.stem: read(path) for path in make_hospitals(FOLDER)}
    print("Three hospitals, each with its own test samples:")
    for name, (labels, scores) in hospitals.items():
        auroc, low, high = delong_interval(labels, scores)
        print(f"  {name:8} {len(labels):4} samples, AUROC alone {auroc:.3f} (95% CI {low:.3f}-{high:.3f})")

    print("\nEach splits its samples into two shares. Proxy 0, proxy 1 and the helper compute on shares ...")
    exact = evaluate(hospitals, METRICS, ppaurora.Policy.exact())
    labels, scores = (np.concatenate(column) for column in zip(*hospitals.values(), strict=True))
    pooled = {
        "auroc": roc_auc_score(labels, scores),
        "ap": average_precision_score(labels, scores),
        "brier": brier_score_loss(labels, scores),
    }
    print(f"\nInside, the numbers are exact:\n{'':20}{'ppaurora':>16}{'pooled, plain':>16}{'difference':>14}")
    for name, expected in pooled.items():
        found = exact[name].value
        print(f"  {METRICS[name]:18}{found:16.12f}{expected:16.12f}{abs(found - expected):14.1e}")
    cost = exact.cost
    print(f"{cost.seconds:.2f} s once started, {cost.bytes / 1e6:.2f} MB in total, {cost.rounds} rounds.")
    print(f"Values opened to the servers: {sum(exact.openings.values())}.")

    print("\nWhat leaves is agreed on. Policy 'private' adds noise that protects every person (epsilon 2):")
    show(evaluate(hospitals, NOISY, ppaurora.Policy.private(epsilon=2.0)))
    print("\nPolicy 'publication', the default, rounds, and withholds what too few samples are behind:")
    published = evaluate(hospitals, METRICS, ppaurora.Policy())
    show(published)
    print("\nFor the paper:")
    print(
        textwrap.fill(evaluation_facts(published).results, 100, initial_indent="  ", subsequent_indent="  ")
    )

    right = max(abs(exact[name].value - expected) for name, expected in pooled.items()) <= TOLERANCE
    rounded = all(published[name].shown() == f"{pooled[name]:.{published[name].digits}f}" for name in METRICS)
    low, high = published["auroc"].interval
    _, plain_low, plain_high = delong_interval(labels, scores)
    if not (right and rounded and low <= plain_low < plain_high <= high):
        print("FAILED: the results differ from those of the pooled samples", file=sys.stderr)
        return 1
    print("\nSee the whole story in a browser, with three real nodes: .venv/bin/ppaurora app")
    return 0


if __name__ == "__main__":
    sys.exit(main())
