"""Metrics of the ROC curve: Algorithms 1 and 2 of the paper, and Youden's J."""

from __future__ import annotations

from typing import Any

import numpy as np

from ppaurora.algorithms.curve import FP, TP, Curve
from ppaurora.errors import InputError
from ppaurora.metrics.base import Denominator, Metric, SecretFraction, scikit_learn
from ppaurora.sharing.shares import RingShare, concat
from ppaurora.suites.base import Suite


def auroc(curve: Curve) -> SecretFraction:
    """Algorithm 2: trapezoids of TP over FP, over 2·P·N."""
    return SecretFraction(curve.trapezoids(FP, TP), Denominator.CLASS_PRODUCT, shift=1)


def auroc_no_ties(curve: Curve) -> SecretFraction:
    """Algorithm 1: the sum of TP[j]·(FP[j] - FP[j-1]), over P·N."""
    return SecretFraction(curve.rectangles(FP, TP), Denominator.CLASS_PRODUCT)


def youden_j(curve: Curve) -> SecretFraction:
    """The largest TP/P - FP/N: over ends, the largest TP·N - FP·P = n·TP[j] - j·P, over P·N.

    At the last end it is zero, so the largest is not negative; positions that are no ends count as zero.
    """
    suite = curve.suite
    positions = np.arange(1, curve.size + 1, dtype=np.uint64)
    height = curve[TP][1:] * curve.size - curve.positives * positions
    largest = _largest(suite, suite.mul(suite.to_ring(curve.ends), height))
    return SecretFraction(lambda: largest, Denominator.CLASS_PRODUCT)


def _largest(suite: Suite, values: RingShare) -> RingShare:
    """By a tournament: pairs are compared, the larger ones go on."""
    while len(values) > 1:
        pairs = len(values) // 2
        one, other = values[: 2 * pairs : 2], values[1 : 2 * pairs : 2]
        winners = suite.mux(one, other, suite.is_positive(other - one))
        values = concat([winners, values[2 * pairs :]])
    return values


def _largest_gap(y_true: Any, y_score: Any) -> float:
    false_positive_rate, recall, _ = scikit_learn("roc_curve")(y_true, y_score, drop_intermediate=False)
    return float((recall - false_positive_rate).max())


def _untied_auroc(y_true: Any, y_score: Any) -> float:
    if len(set(y_score)) != len(y_score):
        raise InputError("scores are tied, and 'auroc_no_ties' then has no pooled value to compare with")
    return float(scikit_learn("roc_auc_score")(y_true, y_score))


METRICS = (
    Metric(
        "auroc",
        description="area under the ROC curve",
        definition="`roc_auc_score(y_true, y_score)`",
        reference=scikit_learn("roc_auc_score"),
        fraction=auroc,
        needs=(FP,),
    ),
    Metric(
        "auroc_no_ties",
        description="area under the ROC curve as if no scores were equal",
        definition="`roc_auc_score(y_true, y_score)`, if no scores are equal",
        reference=_untied_auroc,
        fraction=auroc_no_ties,
        needs=(FP,),
        at_ends=False,
        uses_ends=False,
    ),
    Metric(
        "youden_j",
        description="largest distance between ROC curve and diagonal (Youden's J, Kolmogorov-Smirnov)",
        definition="`max(tpr - fpr)` of `roc_curve(y_true, y_score)`",
        reference=_largest_gap,
        fraction=youden_j,
        at_ends=False,
    ),
)
