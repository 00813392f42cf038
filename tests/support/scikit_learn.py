"""What scikit-learn says of data that is put together."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from sklearn.metrics import auc, average_precision_score, precision_recall_curve, roc_auc_score


def pooled_by_scikit_learn(data: Iterable[tuple[np.ndarray, np.ndarray]]) -> dict[str, float]:
    """What a study's default metrics are on everybody's labels and scores."""
    labels, scores = (np.concatenate(column) for column in zip(*data, strict=True))
    precision, recall, _ = precision_recall_curve(labels, scores)
    return {
        "auroc": float(roc_auc_score(labels, scores)),
        "aupr": float(auc(recall, precision)),
        "ap": float(average_precision_score(labels, scores)),
    }
