"""A smooth calibration curve and the integrated calibration index, of data in the clear.

The curve at x is x and the mean of y - p around x, with Epanechnikov's weights of bins by how far their
middles are from x. Whatever the distribution of p, the mean of y - p is 0 where the model is calibrated, so
that smoothing bends no curve of such a model; that of y alone would be bent wherever there are more samples
on one side of x than on the other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ppaurora.statistics.calibration import Bin, squared_errors

Numbers = NDArray[np.float64]

WEIGHT_PARTS = 1 << 16  # of one, in which weights are rounded


def smoothing_weights(bins: Sequence[Bin], bandwidth: float) -> list[list[int]]:
    """Return 1 - u² of every bin in the curve at the middle of each, in parts; u is in bandwidths, up to
    1."""
    middles = np.array([one.middle for one in bins])
    distances = (middles[np.newaxis] - middles[:, np.newaxis]) / bandwidth
    weights: list[list[int]] = np.rint(np.maximum(1 - distances**2, 0) * WEIGHT_PARTS).astype(int).tolist()
    return weights


@dataclass(frozen=True)
class BinTotals:
    """What every bin has: samples, the sum of residuals y - p, that of p, and that of squared residuals."""

    samples: Numbers
    residuals: Numbers
    predicted: Numbers
    squares: Numbers

    @classmethod
    def of(cls, y_true: ArrayLike, y_score: ArrayLike, bins: Sequence[Bin]) -> BinTotals:
        """Add up the samples of every bin."""
        labels, scores = np.asarray(y_true, dtype=np.float64), np.asarray(y_score, dtype=np.float64)
        inside = np.array([one.holds(scores) for one in bins], dtype=np.float64)
        return cls(
            inside.sum(axis=1),
            inside @ (labels - scores),
            inside @ scores,
            inside @ squared_errors(labels, scores),
        )


@dataclass(frozen=True)
class SmoothedResidual:
    """The mean residual around a point, and what its interval is made of.

    `predicted` is the mean probability by squared weights, `largest_error` the standard error that it would
    have if half of the samples were positive.
    """

    at: float
    residual: float
    predicted: float
    largest_error: float


def smoothed_residuals(
    y_true: ArrayLike, y_score: ArrayLike, bins: Sequence[Bin], bandwidth: float
) -> list[SmoothedResidual | None]:
    """Return one at the middle of every bin; None where no samples are near."""
    totals, found = BinTotals.of(y_true, y_score, bins), []
    for one, row in zip(bins, smoothing_weights(bins, bandwidth), strict=True):
        weights = np.array(row) / WEIGHT_PARTS
        samples, squared = float(weights @ totals.samples), float(weights**2 @ totals.samples)
        found.append(
            SmoothedResidual(
                one.middle,
                float(weights @ totals.residuals) / samples,
                float(weights**2 @ totals.predicted) / squared,
                math.sqrt(squared) / (2 * samples),
            )
            if samples
            else None
        )
    return found


@dataclass(frozen=True)
class CalibrationIndex:
    """The mean distance of the smooth curve from the diagonal, over samples.

    `standard_error` is by the delta method, `curve_error` the root of the mean variance of the curve.
    """

    value: float
    standard_error: float
    curve_error: float


def calibration_index(
    y_true: ArrayLike, y_score: ArrayLike, bins: Sequence[Bin], bandwidth: float
) -> CalibrationIndex:
    """Return the integrated calibration index of at least one sample.

    With s the sign of the curve's distance in a bin and q what a bin's samples are of all around it, the
    index is the sum over bins of q·s·(weighted residuals around it), over all samples: linear in residuals.
    """
    totals = BinTotals.of(y_true, y_score, bins)
    weights = np.array(smoothing_weights(bins, bandwidth)) / WEIGHT_PARTS
    around, samples = weights @ totals.samples, float(totals.samples.sum())
    per_sample = np.divide(1, around, out=np.zeros_like(around), where=around > 0)
    distances = weights @ totals.residuals * per_sample
    variances = weights**2 @ totals.squares * per_sample**2
    gradient = weights.T @ (np.sign(distances) * totals.samples * per_sample)
    return CalibrationIndex(
        float(totals.samples @ np.abs(distances) / samples),
        math.sqrt(float(totals.squares @ gradient**2)) / samples,
        math.sqrt(totals.samples @ variances / samples),
    )
