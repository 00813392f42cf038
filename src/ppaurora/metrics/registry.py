"""Which metrics there are. The only place that maps a metric's name to its class."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ppaurora.errors import InputError
from ppaurora.metrics.names import MetricName

if TYPE_CHECKING:
    from ppaurora.metrics.base import Metric

METRICS: dict[MetricName, type[Metric]] = {}
"""By name the class of each metric, with its `description`, its `definition` and its `Parameters`."""

M = TypeVar("M", bound="type[Metric]")


def register(metric: M) -> M:
    """Make a metric known by its name; to be used as a decorator."""
    METRICS[cast(MetricName, metric.name)] = metric
    return metric


def find_metric(name: Any) -> type[Metric]:
    if not isinstance(name, str) or name not in METRICS:
        raise InputError(f"unknown metric '{name}'; there are: {', '.join(METRICS)}")
    return METRICS[name]


def metrics_named(*names: str) -> tuple[Metric, ...]:
    """Metrics whose parameters, if any, are the default ones."""
    return tuple(find_metric(name)() for name in names)


def check_metrics(metrics: Iterable[Metric]) -> None:
    """Refuse metrics unless there is one at least, and each stands once."""
    names = [metric.name for metric in metrics]
    if not names:
        raise InputError(f"no metric asked for; there are: {', '.join(METRICS)}")
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"the metric '{name}' is asked for more than once")


def described_metrics() -> str:
    """Return all metrics in one line, for help texts."""
    return ", ".join(f"{metric.name} ({metric.description})" for metric in METRICS.values())
