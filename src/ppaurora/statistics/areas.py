"""Areas under curves and points on them, of data in the clear that has both classes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from ppaurora.statistics.curves import counts_above, precision_recall_points, roc_points


def average_precision(y_true: ArrayLike, y_score: ArrayLike, times: ArrayLike | None = None) -> float:
    """Return the sum of precisions, each weighted with the recall that it adds."""
    recall, precision = precision_recall_points(y_true, y_score, times)
    return min(float(np.sum(np.diff(recall, prepend=0.0) * precision)), 1.0)


def area_under_precision_recall(y_true: ArrayLike, y_score: ArrayLike) -> float:
    """Return the area by trapezoids, from a precision of 1 at a recall of 0."""
    recall, precision = precision_recall_points(y_true, y_score)
    return float(np.trapezoid(np.append(1.0, precision), np.append(0.0, recall)))


def youden_j(y_true: ArrayLike, y_score: ArrayLike) -> float:
    """Return the largest difference between true and false positive rate."""
    false_positive_rate, recall = roc_points(y_true, y_score)
    return float((recall - false_positive_rate).max())


def partial_auroc(y_true: ArrayLike, y_score: ArrayLike, max_fpr: float) -> float:
    """Return the area up to a false positive rate, standardised: 1/2 for guessing, 1 at best.

    D. K. McClish: Analyzing a portion of the ROC curve, Medical Decision Making 9, 1989.
    """
    false_positive_rate, recall = roc_points(y_true, y_score)
    within = int(np.searchsorted(false_positive_rate, max_fpr, side="right"))
    x = np.append(false_positive_rate[:within], max_fpr)
    y = np.append(recall[:within], np.interp(max_fpr, false_positive_rate, recall))
    lowest = max_fpr**2 / 2
    return float((1 + (np.trapezoid(y, x) - lowest) / (max_fpr - lowest)) / 2)


def sensitivity_at_specificity(y_true: ArrayLike, y_score: ArrayLike, specificity: Fraction) -> float:
    """Return the largest TP/P with FP/N <= 1 - specificity, compared in whole numbers."""
    tp, fp = counts_above(y_true, y_score)
    most = 1 - specificity
    return float(tp[fp * most.denominator <= most.numerator * fp[-1]].max() / tp[-1])


def specificity_at_sensitivity(y_true: ArrayLike, y_score: ArrayLike, sensitivity: Fraction) -> float:
    """Return the largest 1 - FP/N with TP/P >= sensitivity, compared in whole numbers."""
    tp, fp = counts_above(y_true, y_score)
    reached = tp * sensitivity.denominator >= sensitivity.numerator * tp[-1]
    return float((fp[-1] - fp[reached].min()) / fp[-1])
