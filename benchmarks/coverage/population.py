"""Patients without number, of whom all true values are known: probabilities that are more or less off."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from ppaurora.data.samples import Samples
from ppaurora.metrics.bins import Reliability
from ppaurora.metrics.calibration import Brier, CalibrationInTheLarge, ObservedToExpected
from ppaurora.metrics.precision_recall import AveragePrecision
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

Numbers = NDArray[np.float64]

_SPREAD = 1.4  # of the logits of predicted probabilities
_QUANTILES = 200_000  # of the population, for its true values


def expit(x: Numbers) -> Numbers:
    expected: Numbers = 1 / (1 + np.exp(-x))
    return expected


@dataclass(frozen=True)
class Population:
    """Logits of predictions are normal; events have the probability expit(intercept + slope·logit)."""

    prevalence: float
    slope: float = 0.9  # true logits are less extreme than predicted ones
    intercept: float = 0.0

    @cached_property
    def centre(self) -> float:
        """The mean logit that gives this prevalence."""
        return _root(lambda centre: float(self._chances(self._logits(centre)).mean()) - self.prevalence)

    def draw(self, random: np.random.Generator, size: int) -> Samples:
        """Return samples of so many patients; there is one of either class at least."""
        while True:
            logits = random.normal(self.centre, _SPREAD, size)
            labels = (random.random(size) < self._chances(logits)).astype(np.uint8)
            if 0 < labels.sum() < size:
                return Samples("study", expit(logits), labels)

    def truths(self, threshold: float, low: float, high: float) -> dict[str, float]:
        """Return the true value of everything: at a threshold, and between two probabilities."""
        logits = self._logits(self.centre)[::-1]
        p, q = expit(logits), self._chances(logits)
        tp, fp = np.cumsum(q), np.cumsum(1 - q)
        recall, precision = tp / tp[-1], tp / (tp + fp)
        called, inside = p >= threshold, (p > low) & (p <= high)
        odds = threshold / (1 - threshold)
        won = 1 - (fp - (1 - q) / 2) / fp[-1]  # of negatives, those below
        mean_tp, mean_fp = float(np.mean(q * called)), float(np.mean((1 - q) * called))
        return {
            Auroc.name: float(np.sum(won * q) / tp[-1]),
            AveragePrecision.name: float(np.sum(precision * np.diff(recall, prepend=0.0))),
            Sensitivity.name: mean_tp / float(q.mean()),
            Specificity.name: 1 - mean_fp / float((1 - q).mean()),
            PositivePredictiveValue.name: float(q[called].mean()),
            NegativePredictiveValue.name: float((1 - q[~called]).mean()),
            Accuracy.name: mean_tp + float(np.mean((1 - q) * ~called)),
            NetBenefit.name: mean_tp - odds * mean_fp,
            Brier.name: float(np.mean(q * (1 - p) ** 2 + (1 - q) * p**2)),
            ObservedToExpected.name: float(q.mean() / p.mean()),
            CalibrationInTheLarge.name: float(q.mean() - p.mean()),
            Reliability.name: float(q[inside].mean()),
            SmoothCalibration.name: _smoothed(p, q, threshold),
            IntegratedCalibrationIndex.name: float(np.abs(q - p).mean()),
            CalibrationIntercept.name: _root(lambda a: float((expit(a + logits) - q).mean())),
            CalibrationSlope.name: self.slope,
        }

    def _chances(self, logits: Numbers) -> Numbers:
        """Return true probabilities of an event, given predicted logits."""
        return expit(self.intercept + self.slope * logits)

    def _logits(self, centre: float) -> Numbers:
        """Return quantiles of the population, from the lowest on."""
        return centre + _SPREAD * _standard_quantiles()


def _root(function: Callable[[float], float]) -> float:
    """Return where an increasing function is 0, found by halving."""
    low, high = -20.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if function(middle) > 0 else (middle, high)
    return low


def _smoothed(p: Numbers, q: Numbers, threshold: float) -> float:
    """Return what smoothing makes of the true curve between a half and three quarters of a threshold.

    The bin is one of four below the threshold; the bandwidth is twice its width, so that its neighbours weigh
    3/4, and others nothing.
    """
    quarter = np.ceil(p / (threshold / 4)).astype(int)  # 3: the bin itself
    weights = np.select([quarter == 3, (quarter == 2) | (quarter == 4)], [1.0, 0.75], 0.0)
    return float(threshold * 5 / 8 + (weights @ (q - p)) / weights.sum())


@lru_cache
def _standard_quantiles() -> Numbers:
    """Return the middles of equally likely stretches of a standard normal variable."""
    edges = np.linspace(-9.0, 9.0, 20_001)
    below = np.array([0.5 * math.erfc(-x / math.sqrt(2)) for x in edges.tolist()])
    middles: Numbers = np.interp((np.arange(_QUANTILES) + 0.5) / _QUANTILES, below, edges)
    return middles
