"""The points of ROC and precision-recall curves, of data that the reader holds in the clear."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Points = tuple[NDArray[np.float64], NDArray[np.float64]]

_COLUMNS = 400  # more than a chart has places beside each other


def roc_points(y_true: ArrayLike, y_score: ArrayLike) -> Points:
    """False and true positive rates at every threshold, from (0, 0) to (1, 1); both classes must be there."""
    tp, fp = _counts_above(y_true, y_score)
    return fp / fp[-1], tp / tp[-1]


def precision_recall_points(y_true: ArrayLike, y_score: ArrayLike) -> Points:
    """Recall and precision at every threshold, from the highest on; there must be a positive."""
    tp, fp = _counts_above(y_true, y_score)
    return tp[1:] / tp[-1], tp[1:] / (tp[1:] + fp[1:])


def _counts_above(y_true: ArrayLike, y_score: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Positives and negatives at or above every distinct score, from the highest on; first none."""
    labels, scores = np.asarray(y_true), np.asarray(y_score, dtype=np.float64)
    order = np.argsort(-scores, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(scores[order])), len(scores) - 1)
    tp = np.cumsum(labels[order] == 1, dtype=np.int64)[ends]
    return np.append(0, tp), np.append(0, ends + 1 - tp)


def thinned(x: Sequence[float] | NDArray[np.float64], y: Sequence[float] | NDArray[np.float64]) -> Points:
    """Few enough points to draw, of a curve along growing x, that look the same.

    Of all points in a column that is thinner than the line, the first, the lowest, the highest and the last
    are kept: U. Jugel and others, M4: a visualization-oriented time series data aggregation, VLDB 2014.
    """
    across, up = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if len(across) <= _COLUMNS:
        return across, up
    columns = np.floor((across - across[0]) / ((across[-1] - across[0]) or 1.0) * _COLUMNS)
    starts = np.append(0, np.flatnonzero(np.diff(columns)) + 1)
    kept: set[int] = set()
    for start, end in zip(starts, [*starts[1:], len(across)], strict=True):
        inside = up[start:end]
        kept |= {int(start), int(start + inside.argmin()), int(start + inside.argmax()), int(end) - 1}
    chosen = sorted(kept)
    return across[chosen], up[chosen]
