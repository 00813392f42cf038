"""Scores of a neural network: float32, for which shorter keys suffice, and fewer bytes are sent.

Networks mostly compute in float32. Such scores keep their exact order in 32 bits, and `key_bits=32`
says so; without it the data is looked at, and in a study the plan says it. A network of PyTorch goes
in the same way:

    with torch.no_grad():
        y_score = torch.sigmoid(network(x)).squeeze(1).cpu().numpy()  # float32; no .double(), no round
"""

from __future__ import annotations

import sys

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score
from sklearn.neural_network import MLPClassifier

import ppaurora


def main() -> int:
    data = load_breast_cancer()
    malignant = (data.target == 0).astype(int)
    features = data.data[:, [4, 8, 18]]
    train, *hospitals = np.split(np.random.default_rng(1).permutation(569), [150, 350, 480])
    features = (features - features[train].mean(axis=0)) / features[train].std(axis=0)
    features = features.astype(np.float32)
    network = MLPClassifier((8,), alpha=1.0, learning_rate_init=0.02, max_iter=500, random_state=0)
    network.fit(features[train], malignant[train])

    owners = [(malignant[rows], network.predict_proba(features[rows])[:, 1]) for rows in hospitals]
    print("scores are", *sorted({str(y_score.dtype) for _, y_score in owners}))
    narrow = ppaurora.evaluate(owners, metrics=("auroc",), key_bits=32)
    wide = ppaurora.evaluate(owners, metrics=("auroc",), key_bits=64)

    y_true, y_score = (np.concatenate(column) for column in zip(*owners, strict=True))
    expected = roc_auc_score(y_true, y_score)
    print(f"AUROC {narrow.auroc:.10f}, scikit-learn on the pooled samples {expected:.10f}")
    print(f"{narrow.cost.bytes:,} bytes with 32 bits for a score, {wide.cost.bytes:,} with 64")
    if narrow.auroc != wide.auroc or abs(narrow.auroc - expected) > 1e-9 or y_score.dtype != np.float32:
        print("FAILED: the results differ from those of the pooled samples", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
