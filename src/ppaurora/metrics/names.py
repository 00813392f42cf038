"""Metrics' names as a type: an editor completes them, and a type checker finds a typo.

The registry decides which names there are; a test compares.
"""

from __future__ import annotations

from typing import Literal

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
    "brier",
    "observed_expected",
    "calibration_in_the_large",
    "reliability",
    "histogram",
]
"""A metric, as `evaluate` and reports take it; `METRICS` describes them."""
