"""Metrics of the ROC curve: Algorithms 1 and 2 of the paper."""

from __future__ import annotations

from typing import Any

from ppaurora.algorithms.curve import FP, TP, Curve
from ppaurora.errors import InputError
from ppaurora.metrics.base import Metric, SecretFraction, scikit_learn


def auroc(curve: Curve) -> SecretFraction:
    """Algorithm 2: trapezoids of TP over FP, over 2·P·N."""
    return SecretFraction(curve.trapezoids(FP, TP), curve.class_product * 2)


def auroc_no_ties(curve: Curve) -> SecretFraction:
    """Algorithm 1: the sum of TP[j]·(FP[j] - FP[j-1]), over P·N."""
    return SecretFraction(curve.suite.dot(curve.tp, 1 - curve.labels), curve.class_product)


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
        at_ends=(TP, FP),
    ),
    Metric(
        "auroc_no_ties",
        description="area under the ROC curve as if no scores were equal",
        definition="`roc_auc_score(y_true, y_score)`, if no scores are equal",
        reference=_untied_auroc,
        fraction=auroc_no_ties,
    ),
)
