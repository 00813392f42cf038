"""What an owner reads of a study under each kind of policy: the package's own reading, of exact numbers."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ppaurora.data.samples import Samples
from ppaurora.metrics import Metric, Query
from ppaurora.metrics.base import Counts
from ppaurora.metrics.bins import Reliability
from ppaurora.metrics.calibration import Brier, CalibrationInTheLarge, ObservedToExpected
from ppaurora.metrics.outputs import Form, Output
from ppaurora.metrics.precision_recall import AveragePrecision
from ppaurora.metrics.private.budget import rates
from ppaurora.metrics.private.noisy import NoisyRelease
from ppaurora.metrics.recalibration import CalibrationIntercept, CalibrationSlope
from ppaurora.metrics.roc import Auroc
from ppaurora.metrics.smooth_calibration import IntegratedCalibrationIndex, SmoothCalibration
from ppaurora.metrics.thresholds import (
    Accuracy,
    NegativePredictiveValue,
    NetBenefit,
    PositivePredictiveValue,
    Sensitivity,
    Specificity,
)
from ppaurora.policy.rules import Policy
from ppaurora.statistics.estimates import Estimate, Row, Table
from ppaurora.statistics.intervals import Interval
from ppaurora.statistics.smoothing import calibration_index, smoothed_residuals
from ppaurora.testing.private import exact_integers

At = tuple[tuple[str, float], ...]
Intervals = dict[str, Interval | None]  # by metric; None: there is none

_ANY_LEVEL = 0.95


_PLAIN = (Auroc, AveragePrecision, Brier, ObservedToExpected, CalibrationInTheLarge)
_SMOOTH = (SmoothCalibration, IntegratedCalibrationIndex)
_POINT = 2  # of the smooth curve, that is looked at
_AT_THRESHOLDS = (
    *(Sensitivity, Specificity, PositivePredictiveValue, NegativePredictiveValue),
    *(Accuracy, NetBenefit),
)


def metrics_at(threshold: float) -> tuple[Metric, ...]:
    """Return every metric of a number with an interval, at one threshold and in three bins."""
    return (
        *(metric() for metric in _PLAIN),
        *(metric(thresholds=(threshold,)) for metric in _AT_THRESHOLDS),
        Reliability(bins=(0.0, threshold / 2, threshold, 1.0)),
    )


def smooth_metrics_at(threshold: float) -> tuple[Metric, ...]:
    """Return the metrics of a smooth curve, in bins that are narrow below a threshold."""
    edges = (0.0, *(threshold * quarters / 4 for quarters in (1, 2, 3, 4, 6)), 1.0)
    return tuple(one(bins=edges, bandwidth=threshold / 2) for one in _SMOOTH)


def plans_at(threshold: float) -> tuple[tuple[Metric, ...], ...]:
    """Return what is asked for together: with noise, metrics of one plan share its epsilon."""
    return metrics_at(threshold), smooth_metrics_at(threshold)


def recalibration_plan() -> tuple[Metric, ...]:
    """Return the metrics of a logistic recalibration."""
    return CalibrationIntercept(), CalibrationSlope()


@dataclass(frozen=True)
class Study:
    """Exact numbers of one study, by metric, place and name."""

    samples: Samples
    sizes: tuple[int, ...]
    metrics: tuple[Metric, ...]
    numbers: Mapping[tuple[str, At, str], float | None]

    @classmethod
    def of(cls, samples: Samples, owners: int, metrics: tuple[Metric, ...]) -> Study:
        """Return a study whose samples are spread evenly over its owners."""
        numbers: dict[tuple[str, At, str], float | None] = {}
        for metric in metrics:
            found = metric.on_own_data(samples, _ANY_LEVEL)
            rows = (Row({}, {metric.name: found}),) if isinstance(found, Estimate) else found.rows
            for row in rows:
                at = tuple(row.at.items())
                for name, estimate in row.values.items():
                    numbers[metric.name, at, name] = estimate.value
                    numbers[metric.name, at, "standard_error"] = estimate.standard_error
                for name, count in _counts(samples, row.at).items():
                    numbers[metric.name, at, name] = count
            numbers |= _of_the_curve(metric, samples)
        return cls(samples, (len(samples) // owners,) * owners, metrics, numbers)

    @property
    def positives(self) -> int:
        return int(self.samples.labels.sum())

    @property
    def private_metrics(self) -> tuple[Metric, ...]:
        """Those that have a mechanism."""
        return tuple(metric for metric in self.metrics if metric.mechanism() is not None)

    @cached_property
    def integers(self) -> NDArray[np.int64]:
        """Those to which noise is added, whatever epsilon is."""
        query = Query(self.private_metrics, self.sizes, Policy.private())
        return np.array(exact_integers(query.mechanisms, self.samples), dtype=np.int64)


def _of_the_curve(metric: Metric, samples: Samples) -> dict[tuple[str, At, str], float | None]:
    """Return the numbers that are released for intervals of the smooth curve, and of the index."""
    if isinstance(metric, SmoothCalibration):
        found = smoothed_residuals(samples.labels, samples.scores, metric.bins(), metric.parameters.bandwidth)
        points = [(((("probability", one.at),)), one) for one in found if one is not None]
        return {
            (metric.name, at, name): value
            for at, one in points
            for name, value in (
                ("observed", one.residual),
                ("mean_predicted", one.predicted),
                ("standard_error", one.largest_error),
            )
        }
    if isinstance(metric, IntegratedCalibrationIndex):
        index = calibration_index(samples.labels, samples.scores, metric.bins(), metric.parameters.bandwidth)
        return {(metric.name, (), "curve_error"): index.curve_error}
    return {}


def _counts(samples: Samples, place: Mapping[str, float]) -> dict[str, int]:
    """Return the numbers of samples that are released with those at a place."""
    if "threshold" in place:
        called = int(np.count_nonzero(samples.scores >= place["threshold"]))
        return {"called_positive": called, "called_negative": len(samples) - called}
    if "low" in place:
        inside = (samples.scores > place["low"]) & (samples.scores <= place["high"])
        return {"samples": int(np.count_nonzero(inside))}
    return {}


class Kind(ABC):
    """One kind of policy, and how results are read under it."""

    title: str

    @abstractmethod
    def intervals(self, study: Study, level: float, random: np.random.Generator) -> Intervals:
        """Return the intervals that an owner makes of what is released."""


@dataclass(frozen=True)
class Rounding(Kind):
    """Numbers are rounded as the policy says, and counts to fives."""

    title: str
    policy: Policy

    def intervals(self, study: Study, level: float, random: np.random.Generator) -> Intervals:
        query = Query(study.metrics, study.sizes, self.policy, level)
        counts = Counts(query.samples, round(rounded_count(query, study.positives)))
        return {
            metric.name: _interval(
                metric.name,
                metric.read(
                    [
                        self.released(query, output, study.numbers.get((metric.name, output.at, output.name)))
                        for output in metric.outputs(query)
                    ],
                    query,
                    counts,
                ),
            )
            for metric in study.metrics
        }

    def released(self, query: Query, output: Output, number: float | None) -> float | None:
        """Return a number as the policy lets it out."""
        if number is None:
            return None
        if output.form is Form.COUNT:
            return rounded_count(query, number)
        digits = query.digits_of(output)
        if digits is None:
            return number
        return math.copysign(math.floor(abs(number) * 10**digits + 0.5) / 10**digits, number)


def rounded_count(query: Query, count: float) -> float:
    step = query.policy.count_step
    return step * math.floor(count / step + 0.5)


@dataclass(frozen=True)
class WithNoise(Kind):
    """One plan with all metrics that have a mechanism: epsilon is divided between three of them."""

    title: str
    policy: Policy

    def intervals(self, study: Study, level: float, random: np.random.Generator) -> Intervals:
        metrics = study.private_metrics
        query = Query(metrics, study.sizes, self.policy, level)
        mechanisms, every_rate = query.mechanisms, rates(self.policy, query.mechanisms)
        scales = [float(rate) for own in every_rate for rate in own]
        chances = -np.expm1(-np.array(scales))
        noise = random.geometric(chances) - random.geometric(chances)
        integers = (study.integers + noise).tolist()
        noisy = NoisyRelease.of(query.samples, mechanisms, every_rate, integers, negated=False)
        return {metric.name: _interval(metric.name, metric.read_noisy(noisy, level)) for metric in metrics}


def _interval(name: str, found: Estimate | Table) -> Interval | None:
    """Return the interval of a number; of reliability, that of what was observed in the middle bin; of the
    smooth curve, that of one point."""
    if isinstance(found, Estimate):
        return found.interval
    if name == SmoothCalibration.name:
        return found[_POINT]["observed"].interval
    return found[1]["observed"].interval if name == Reliability.name else found[0][name].interval


EXACT = Rounding("exact", Policy.exact())
PUBLICATION = Rounding("publication", Policy())
KINDS: tuple[Kind, ...] = (
    PUBLICATION,
    *(WithNoise(f"private, epsilon {epsilon:g}", Policy.private(epsilon)) for epsilon in (1.0, 2.0, 4.0)),
)
