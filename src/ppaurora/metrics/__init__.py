"""The metrics, each one entry of a table from which everything else about it derives."""

from __future__ import annotations

from collections.abc import Sequence

from ppaurora.errors import InputError
from ppaurora.metrics import precision_recall, roc
from ppaurora.metrics.base import Denominator, Metric, SecretFraction

METRICS: dict[str, Metric] = {metric.name: metric for metric in (*roc.METRICS, *precision_recall.METRICS)}
DEFAULT_METRICS = ("auroc", "aupr")


def check_metrics(names: Sequence[str]) -> None:
    """Known ones, each once, at least one."""
    if not names:
        raise InputError(f"no metric asked for; there are: {', '.join(METRICS)}")
    for name in names:
        if name not in METRICS:
            raise InputError(f"unknown metric '{name}'; there are: {', '.join(METRICS)}")
        if list(names).count(name) > 1:
            raise InputError(f"the metric '{name}' is asked for more than once")


def described_metrics() -> str:
    """All of them in one line, for help texts."""
    return ", ".join(f"{metric.name} ({metric.description})" for metric in METRICS.values())


__all__ = [
    "DEFAULT_METRICS",
    "METRICS",
    "Denominator",
    "Metric",
    "SecretFraction",
    "check_metrics",
    "described_metrics",
]
