"""A scikit-learn pipeline, evaluated over three hospitals whose test samples stay where they are.

The pipeline is trained once and handed to everybody. Each hospital scores its own patients;
`predict_proba(...)[:, 1]` is what goes in, unrounded. The result is compared with scikit-learn's on
the pooled samples, which nobody could compute outside of an example.
"""

from __future__ import annotations

import sys

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, brier_score_loss, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import ppaurora


def main() -> int:
    data = load_breast_cancer()
    malignant = (data.target == 0).astype(int)
    features = data.data[:, [4, 8, 18]]  # few of them make an honestly imperfect model
    train, north, harbour, valley = np.split(np.random.default_rng(1).permutation(569), [150, 350, 480])
    pipeline = make_pipeline(StandardScaler(), LogisticRegression()).fit(features[train], malignant[train])

    hospitals = {
        name: (malignant[rows], pipeline.predict_proba(features[rows])[:, 1])
        for name, rows in {"north": north, "harbour": harbour, "valley": valley}.items()
    }
    report = ppaurora.evaluate(hospitals, metrics=("auroc", "ap", "brier"), confidence_level=0.95)

    y_true, y_score = (np.concatenate(column) for column in zip(*hospitals.values(), strict=True))
    pooled = {
        "auroc": roc_auc_score(y_true, y_score),
        "ap": average_precision_score(y_true, y_score),
        "brier": brier_score_loss(y_true, y_score),
    }
    print(report["auroc"].line("AUROC"))
    for name, expected in pooled.items():
        print(f"{name:6} {getattr(report, name):.10f}, scikit-learn on the pooled samples {expected:.10f}")
    if any(abs(getattr(report, name) - expected) > 1e-9 for name, expected in pooled.items()):
        print("FAILED: the results differ from those of the pooled samples", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
