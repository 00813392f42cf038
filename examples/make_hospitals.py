"""Make three hospitals' test samples from a data set that ships with scikit-learn.

A forest of 25 trees is trained on a third of the Wisconsin breast cancer data; the rest is split
among three hospitals of unequal size. A score is the fraction of trees that vote "malignant", so
many samples have equal scores, within and across hospitals.

    python examples/make_hospitals.py FOLDER
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

HOSPITALS = {"north": 0.48, "harbour": 0.30, "valley": 0.22}


def make_hospitals(folder: Path) -> list[Path]:
    """Write one CSV file per hospital; returns their paths."""
    data = load_breast_cancer()
    malignant = (data.target == 0).astype(int)
    order = np.random.default_rng(2023).permutation(len(malignant))
    train, test = order[: len(order) // 3], order[len(order) // 3 :]
    forest = RandomForestClassifier(n_estimators=25, max_depth=3, random_state=0)
    # Few features make an honestly imperfect model.
    features = data.data[:, [4, 8, 18]]
    forest.fit(features[train], malignant[train])
    votes = np.mean([tree.predict(features[test]) for tree in forest.estimators_], axis=0)

    folder.mkdir(parents=True, exist_ok=True)
    ends = np.cumsum([round(share * len(test)) for share in HOSPITALS.values()])[:-1]
    paths = []
    for name, rows in zip(HOSPITALS, np.split(np.arange(len(test)), ends), strict=True):
        path = folder / f"{name}.csv"
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["patient", "score", "label"])
            writer.writerows(
                (f"{name}-{number:03d}", repr(float(votes[row])), malignant[test[row]])
                for number, row in enumerate(rows, start=1)
            )
        paths.append(path)
    return paths


if __name__ == "__main__":
    for written in make_hospitals(Path(sys.argv[1])):
        print(written)
