"""Three hospitals, three server processes over TLS, and the pooled result next to scikit-learn's.

Ends with exit code 1 if the two differ by more than 1e-9, or if what a study's policy lets out is
not the pooled result, rounded.
"""

from __future__ import annotations

import csv
import math
import sys
from pathlib import Path

import numpy as np
from sklearn.metrics import auc, brier_score_loss, precision_recall_curve, roc_auc_score

import ppaurora
from make_hospitals import make_hospitals
from ppaurora.statistics.auroc import delong_variance

FOLDER = Path(__file__).resolve().parent.parent / "build" / "demo"
TOLERANCE = 1e-9
METRICS = ("auroc", "aupr", "brier")


def read(path: Path) -> tuple[list[int], list[float]]:
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return [int(row["label"]) for row in rows], [float(row["score"]) for row in rows]


def main() -> int:
    hospitals = {path.stem: read(path) for path in make_hospitals(FOLDER)}
    print("Three hospitals, each with its own test samples:")
    for name, (labels, scores) in hospitals.items():
        alone = roc_auc_score(labels, scores)
        different = len(set(scores))
        print(f"  {name:8} {len(labels):4} samples, {different:3} distinct scores, AUROC alone {alone:.3f}")

    print("\nEach splits its samples into two shares. Proxy 0, proxy 1 and the helper compute on shares ...")
    owners = list(hospitals.values())
    report = ppaurora.evaluate(owners, metrics=METRICS, confidence_level=0.95, transport="tls")

    labels, scores = (np.concatenate(column) for column in zip(*hospitals.values(), strict=True))
    precision, recall, _ = precision_recall_curve(labels, scores)
    pooled = {
        "auroc": roc_auc_score(labels, scores),
        "aupr": auc(recall, precision),
        "brier": brier_score_loss(labels, scores),
        "standard error of auroc": math.sqrt(delong_variance(labels, scores)),
    }
    found = {
        "auroc": report.auroc,
        "aupr": report.aupr,
        "brier": report.brier,
        "standard error of auroc": report["auroc"].standard_error,
    }
    print(f"\n{'':24}{'ppaurora':>16}{'pooled, plain':>16}{'difference':>14}")
    for name, expected in pooled.items():
        difference = abs(found[name] - expected)
        print(f"{name:24}{found[name]:16.12f}{expected:16.12f}{difference:14.1e}")
    print(report["auroc"].line("Area under the curve"))
    cost = report.cost
    print(f"\n{cost.seconds:.2f} s once started, {cost.bytes / 1e6:.2f} MB in total, {cost.rounds} rounds.")
    print(f"Values opened to the servers: {sum(report.openings.values())}.")

    print("\nA study between organisations releases less; this is what its policy allows:")
    policy = ppaurora.Policy(largest_owner_fraction=0.6)  # by default nobody has more than half
    released = ppaurora.evaluate(owners, metrics=METRICS, policy=policy, transport="tls")
    for name in METRICS:
        print(f"  {name:8} {released[name].shown()}")

    worst = max(abs(found[name] - expected) for name, expected in pooled.items())
    rounded = all(
        abs(released[name].value - pooled[name]) <= 0.5 / 10 ** released[name].digits for name in METRICS
    )
    if worst > TOLERANCE or not rounded:
        print("FAILED: the results differ from those of the pooled samples", file=sys.stderr)
        return 1
    print("\nSee the whole story in a browser, with three real nodes: .venv/bin/ppaurora app")
    return 0


if __name__ == "__main__":
    sys.exit(main())
