"""The metrics, each one class from which everything else about it derives; and what leaves of a result."""

from __future__ import annotations

# In the order in which people are shown them.
# isort: off
from ppaurora.metrics import roc, precision_recall, operating_points, thresholds, curves, calibration
from ppaurora.metrics import bins, smooth_calibration, recalibration

# isort: on
from ppaurora.metrics.base import Metric
from ppaurora.metrics.names import MetricName
from ppaurora.metrics.query import Query
from ppaurora.metrics.registry import METRICS, check_metrics, described_metrics, find_metric, metrics_named
from ppaurora.policy.rules import Policy

DEFAULT_METRICS: tuple[MetricName, ...] = ("auroc", "aupr")


def default_metrics(policy: Policy) -> tuple[MetricName, ...]:
    """Return what is computed unless metrics are named: with noise, those of them that have a mechanism."""
    if not policy.is_private:
        return DEFAULT_METRICS
    return tuple(name for name in DEFAULT_METRICS if METRICS[name].sample().mechanism() is not None)


__all__ = [
    "DEFAULT_METRICS",
    "METRICS",
    "Metric",
    "Query",
    "bins",
    "calibration",
    "check_metrics",
    "curves",
    "default_metrics",
    "described_metrics",
    "find_metric",
    "metrics_named",
    "operating_points",
    "precision_recall",
    "recalibration",
    "roc",
    "smooth_calibration",
    "thresholds",
]
