"""How well probabilities fit the labels, of data in the clear."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

_DECIMALS = 12  # of a float64, as people see it


def brier_score(y_true: ArrayLike, y_score: ArrayLike) -> float:
    """Return the mean squared difference between probability and label."""
    return float(np.mean(squared_errors(y_true, y_score)))


def squared_errors(y_true: ArrayLike, y_score: ArrayLike) -> NDArray[np.float64]:
    """Return every squared difference between probability and label."""
    errors: NDArray[np.float64] = (np.asarray(y_score) - np.asarray(y_true)) ** 2
    return errors


def observed_to_expected(y_true: ArrayLike, y_score: ArrayLike) -> float | None:
    """Return the number of events over the sum of probabilities; None if no events are expected."""
    expected = float(np.sum(y_score))
    return None if expected == 0 else float(np.sum(y_true)) / expected


def observed_to_expected_error(y_true: ArrayLike, y_score: ArrayLike) -> float:
    """Return the standard error of the logarithm of that ratio, by the delta method; both must be above 0."""
    labels, scores = np.asarray(y_true, dtype=np.float64), np.asarray(y_score, dtype=np.float64)
    return float(np.sqrt(np.sum((labels / labels.sum() - scores / scores.sum()) ** 2)))


def calibration_in_the_large(y_true: ArrayLike, y_score: ArrayLike) -> float:
    """Return the mean label minus the mean probability."""
    return float(np.asarray(y_true).mean() - np.asarray(y_score).mean())


@dataclass(frozen=True)
class Bin:
    """A stretch of scores, with or without its ends."""

    low: float
    high: float
    with_low: bool
    with_high: bool

    @property
    def middle(self) -> float:
        """Return the number halfway between both ends, as people write it."""
        return round((self.low + self.high) / 2, _DECIMALS)

    def holds(self, scores: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return for each score whether it is in the bin."""
        above: NDArray[np.bool_] = (scores > self.low) | (self.with_low & (scores == self.low))
        below: NDArray[np.bool_] = (scores < self.high) | (self.with_high & (scores == self.high))
        return above & below


def reliability(
    y_true: ArrayLike, y_score: ArrayLike, bins: Sequence[Bin]
) -> list[tuple[float, float] | None]:
    """Return the mean probability and the fraction of positives in every bin; None in an empty one."""
    labels, scores = np.asarray(y_true), np.asarray(y_score, dtype=np.float64)
    masks = [one.holds(scores) for one in bins]
    return [
        (float(scores[inside].mean()), float(labels[inside].mean())) if inside.any() else None
        for inside in masks
    ]


def class_counts(y_true: ArrayLike, y_score: ArrayLike, bins: Sequence[Bin]) -> list[tuple[int, int]]:
    """Return the numbers of positives and of negatives in every bin."""
    is_positive, scores = np.asarray(y_true) == 1, np.asarray(y_score, dtype=np.float64)
    masks = [one.holds(scores) for one in bins]
    return [(int((inside & is_positive).sum()), int((inside & ~is_positive).sum())) for inside in masks]
