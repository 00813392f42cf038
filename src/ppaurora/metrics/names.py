"""Metrics' names as types: an editor completes them, and a type checker finds a typo.

The registry decides which names there are; a test compares.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

MetricName = Literal[
    "auroc",
    "auroc_no_ties",
    "youden_j",
    "aupr",
    "ap",
    "partial_auroc",
    "sensitivity_at_specificity",
    "specificity_at_sensitivity",
    "sensitivity",
    "specificity",
    "ppv",
    "npv",
    "f1",
    "accuracy",
    "net_benefit",
    "roc_curve",
    "precision_recall_curve",
    "brier",
    "observed_expected",
    "calibration_in_the_large",
    "reliability",
    "histogram",
    "smooth_calibration",
    "ici",
    "calibration_intercept",
    "calibration_slope",
]
"""A metric, as `evaluate` and reports take it; `METRICS` describes them."""


class MetricAttributes:
    """What a report has of every metric by its name, as `report.auroc`: its value, or its table."""

    if TYPE_CHECKING:
        auroc: Any
        auroc_no_ties: Any
        youden_j: Any
        aupr: Any
        ap: Any
        partial_auroc: Any
        sensitivity_at_specificity: Any
        specificity_at_sensitivity: Any
        sensitivity: Any
        specificity: Any
        ppv: Any
        npv: Any
        f1: Any
        accuracy: Any
        net_benefit: Any
        roc_curve: Any
        precision_recall_curve: Any
        brier: Any
        observed_expected: Any
        calibration_in_the_large: Any
        reliability: Any
        histogram: Any
        smooth_calibration: Any
        ici: Any
        calibration_intercept: Any
        calibration_slope: Any
