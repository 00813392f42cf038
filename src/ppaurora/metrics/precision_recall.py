"""Metrics of the precision-recall curve: Algorithm 4 of the paper, and average precision."""

from __future__ import annotations

from typing import Any

from ppaurora.algorithms.curve import PRECISION, TP, Curve, precision_bits
from ppaurora.metrics.base import Denominator, Metric, SecretFraction, scikit_learn


def aupr(curve: Curve) -> SecretFraction:
    """Algorithm 4, with recall's numerator TP as x axis: trapezoids of precision over TP, over 2·P."""
    area = curve.trapezoids(TP, PRECISION)
    return SecretFraction(area, Denominator.POSITIVES, shift=1 + precision_bits(curve.size))


def ap(curve: Curve) -> SecretFraction:
    """Average precision: the sum over ends of precision·(TP - TP_prev), over P."""
    area = curve.rectangles(TP, PRECISION)
    return SecretFraction(area, Denominator.POSITIVES, shift=precision_bits(curve.size))


def _trapezoids(y_true: Any, y_score: Any) -> float:
    precision, recall, _ = scikit_learn("precision_recall_curve")(y_true, y_score)
    return float(scikit_learn("auc")(recall, precision))


METRICS = (
    Metric(
        "aupr",
        description="area under the precision-recall curve, by trapezoids",
        definition="`auc(recall, precision)` of `precision_recall_curve(y_true, y_score)`",
        reference=_trapezoids,
        fraction=aupr,
        needs=(PRECISION,),
    ),
    Metric(
        "ap",
        description="average precision",
        definition="`average_precision_score(y_true, y_score)`",
        reference=scikit_learn("average_precision_score"),
        fraction=ap,
        needs=(PRECISION,),
    ),
)
