"""The same metrics in plain text: scikit-learn on the pooled data, as reference and as yardstick."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.environment import not_installed
from benchmarks.synthetic import Owner
from ppaurora.errors import InputError, PpauroraError

TOLERANCE = 1e-9


class WrongResultError(PpauroraError):
    """A measured run gave another number than scikit-learn on the pooled data."""


def checked_difference(what: str, found: Mapping[str, float], expected: Mapping[str, float]) -> float:
    """The largest difference between the two; too large a one is an error, not a measurement."""
    difference = max(abs(found[name] - expected[name]) for name in expected)
    if difference > TOLERANCE:
        raise WrongResultError(f"{what}: differs from the pooled value by {difference:.1e}")
    return difference


def pooled(owners: Sequence[Owner], metrics: Sequence[str]) -> tuple[dict[str, float], float]:
    """The metrics on everyone's samples together, and the seconds they took."""
    labels, scores = (np.concatenate(column) for column in zip(*owners, strict=True))
    functions = _functions()
    start = time.perf_counter()
    values = {name: float(functions[name](labels, scores)) for name in metrics}
    return values, time.perf_counter() - start


def _functions() -> dict[str, Callable[[Any, Any], float]]:
    try:
        from sklearn.metrics import auc, average_precision_score, precision_recall_curve, roc_auc_score
    except ImportError:
        raise not_installed("benchmarks compare with scikit-learn") from None

    def aupr(labels: Any, scores: Any) -> float:
        precision, recall, _ = precision_recall_curve(labels, scores)
        return float(auc(recall, precision))

    def auroc_no_ties(labels: Any, scores: Any) -> float:
        if len(np.unique(scores)) != len(scores):
            raise InputError("scores are tied, and 'auroc_no_ties' then has no pooled value to compare with")
        return float(roc_auc_score(labels, scores))

    return {
        "auroc": roc_auc_score,
        "auroc_no_ties": auroc_no_ties,
        "aupr": aupr,
        "ap": average_precision_score,
    }
