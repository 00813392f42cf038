"""The points of ROC and precision-recall curves, of data that the reader holds in the clear."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Points = tuple[NDArray[np.float64], NDArray[np.float64]]


def roc_points(y_true: ArrayLike, y_score: ArrayLike, times: ArrayLike | None = None) -> Points:
    """False and true positive rates at every threshold, from (0, 0) to (1, 1); both classes must be there."""
    tp, fp = counts_above(y_true, y_score, times)
    return fp / fp[-1], tp / tp[-1]


def precision_recall_points(y_true: ArrayLike, y_score: ArrayLike, times: ArrayLike | None = None) -> Points:
    """Recall and precision at every threshold, from the highest on; there must be a positive."""
    tp, fp = counts_above(y_true, y_score, times)
    return tp[1:] / tp[-1], tp[1:] / (tp[1:] + fp[1:])


def counts_above(
    y_true: ArrayLike, y_score: ArrayLike, times: ArrayLike | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Positives and negatives at or above every distinct score, from the highest on; first none.

    Each sample counts once, or so many times.
    """
    labels, scores = np.asarray(y_true), np.asarray(y_score, dtype=np.float64)
    order = np.argsort(-scores, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(scores[order])), len(scores) - 1)
    each = np.ones(len(scores), dtype=np.int64) if times is None else np.asarray(times, dtype=np.int64)[order]
    tp = np.cumsum(each * (labels[order] == 1))[ends]
    return np.append(0, tp), np.append(0, np.cumsum(each)[ends] - tp)


def net_benefit_of_all(prevalence: float, threshold: float) -> float:
    """Return the net benefit of treating everybody: prevalence − (1 − prevalence)·t / (1 − t)."""
    return prevalence - (1 - prevalence) * threshold / (1 - threshold)
