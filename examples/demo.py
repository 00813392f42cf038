"""Three hospitals, three server processes over TLS, and the pooled result next to scikit-learn's.

Ends with exit code 1 if the two differ by more than 1e-9.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np
from sklearn.metrics import auc, precision_recall_curve, roc_auc_score

import ppaurora
from make_hospitals import make_hospitals

FOLDER = Path(__file__).resolve().parent.parent / "build" / "demo"
TOLERANCE = 1e-9


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
        print(f"  {name:8} {len(labels):4} samples, {different:3} different scores, AUROC alone {alone:.3f}")

    print("\nEach splits its samples into two shares. Proxy 0, proxy 1 and the helper compute on shares ...")
    report = ppaurora.evaluate(list(hospitals.values()), metrics=("auroc", "aupr"), transport="tls")

    labels, scores = (np.concatenate(column) for column in zip(*hospitals.values(), strict=True))
    precision, recall, _ = precision_recall_curve(labels, scores)
    pooled = {"auroc": roc_auc_score(labels, scores), "aupr": auc(recall, precision)}

    print(f"\n{'':8}{'ppaurora':>16}{'pooled, plain':>16}{'difference':>14}")
    worst = 0.0
    for name, expected in pooled.items():
        value = report.metrics[name]
        worst = max(worst, abs(value - expected))
        print(f"{name:8}{value:16.12f}{expected:16.12f}{abs(value - expected):14.1e}")
    cost = report.cost
    print(f"\n{cost.seconds:.2f} s once started, {cost.bytes / 1e6:.2f} MB in all, {cost.rounds} rounds.")
    print(f"Values opened to the servers: {sum(report.openings.values())}.")
    if worst > TOLERANCE:
        print(f"FAILED: the results differ by more than {TOLERANCE}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
