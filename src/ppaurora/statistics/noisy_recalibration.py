"""Logistic recalibration from counts in cells of the logit scale, of which only noisy ones are known.

With P and N the positives and negatives of a cell, x the middle of its samples and m(a, b) the mean of
s(a + b·x) over where they may be, the score equations are

    sum over cells of w·((1 - m)·P - m·N) = 0        sum over cells of w·x·((1 - m)·P - m·N) = 0

They are linear in the counts, so noise enters linearly: at the true a and b every term has the mean 0, and
its variance is known. w is larger where samples outweigh the noise. It is made of the counts of neighbouring
cells only, so that a cell's weight is independent of its noise; with weights of its own count, noise that
adds positives would count more than noise that takes some away.

Where in a cell its samples are is not known, only where they may be. Their density is taken to grow or fall
exponentially as it does from the cells before to the cells behind.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ppaurora.statistics.estimates import Estimate
from ppaurora.statistics.intervals import Interval
from ppaurora.statistics.noisy import Noise, reach
from ppaurora.statistics.noisy_numbers import DROWNED, NoisyNumber, estimate_of, estimate_with_interval
from ppaurora.statistics.recalibration import expit

Floats = NDArray[np.float64]

_ROUNDS = 80
_SETTLED = 40  # rounds after which weights stay as they are
_SMALL_STEP = 1e-9
_LARGEST_STEP = 0.5
_MOST = 16.0  # of a coefficient, in magnitude
_HIGHEST_ERROR = 0.5  # above it the equations are too far from linear for an interval
_SHRINK = 4.0  # standard deviations of noise, added to counts before a density is taken from them


@dataclass(frozen=True)
class LogitCell:
    """Counts of samples, and the logits that they may have: each stands for a stretch of the scale."""

    x: Floats
    widths: Floats
    positives: NoisyNumber = field(repr=False)
    negatives: NoisyNumber = field(repr=False)


@dataclass(frozen=True)
class _Solution:
    value: float
    sampling: float  # variance
    noise: Noise


def noisy_recalibration(cells: Sequence[LogitCell], level: float | None, *, with_slope: bool) -> Estimate:
    """Return the slope, or the intercept with the slope fixed at 1; cells are in increasing order.

    A grid may have values in no cell, or in one.
    """
    if len(cells) < 1 + with_slope:
        return Estimate(None, note=DROWNED)
    found = _solved(_Table(cells), with_slope=with_slope)
    if found is None or found.sampling + float(found.noise.variance) > _HIGHEST_ERROR**2:
        return Estimate(None, note=DROWNED)
    deviation = math.sqrt(float(found.noise.variance))
    if level is None:
        return estimate_of(found.value, deviation)

    def interval(noise: Noise, level: float) -> Interval:
        far = float(reach(found.sampling, noise, level))
        return found.value - far, found.value + far

    with_noise, without = interval(found.noise, level), interval(Noise(), level)
    return estimate_with_interval(found.value, deviation, with_noise, without, level, "normal")


class _Table:
    """Cells as arrays: rows of places, padded with places in which nobody is."""

    def __init__(self, cells: Sequence[LogitCell]) -> None:
        self.cells = cells
        self.positives, self.negatives = (
            np.array([getattr(cell, name).value for cell in cells]) for name in ("positives", "negatives")
        )
        self.of_noise = np.array(
            [[float(one.noise.variance) for one in (cell.positives, cell.negatives)] for cell in cells]
        )
        self.samples = self.positives + self.negatives
        self.x, widths = (np.zeros((len(cells), max(len(cell.x) for cell in cells))) for _ in ("x", "widths"))
        for row, cell in enumerate(cells):
            self.x[row, : len(cell.x)], widths[row, : len(cell.x)] = cell.x, cell.widths
        self.neighbours, growth = self._beside(widths.sum(axis=1))
        middle = (self.x * widths).sum(axis=1, keepdims=True) / widths.sum(axis=1, keepdims=True)
        shares = widths * np.exp(growth[:, None] * (self.x - middle))
        self.shares = shares / shares.sum(axis=1, keepdims=True)
        self.middle = (self.shares * self.x).sum(axis=1)

    def _beside(self, widths: Floats) -> tuple[Floats, Floats]:
        """Return how many samples a cell would have by its neighbours, two on either side; and by how much
        the logarithm of the density grows with x."""
        centres = np.array([float(np.average(cell.x, weights=cell.widths)) for cell in self.cells])
        samples, stretch, noise, places, cells = (
            _on_either_side(values)
            for values in (self.samples, widths, self.of_noise.sum(axis=1), centres, np.ones_like(widths))
        )
        expected = np.maximum(samples.sum(axis=0), 0.0) / np.maximum(stretch.sum(axis=0), 1e-9) * widths
        growth = np.zeros_like(expected)
        inner = (cells > 0).all(axis=0)
        shrunk = np.maximum(samples, 0.0) + _SHRINK * np.sqrt(noise)
        before, behind = np.log(shrunk[:, inner] / stretch[:, inner])
        first, last = places[:, inner] / cells[:, inner]
        growth[inner] = (behind - before) / (last - first)
        return expected, growth


def _on_either_side(values: Floats) -> Floats:
    """Return the sums of the two values before each, and of the two behind it, as far as there are any."""
    padded = np.pad(values, 2)
    return np.stack([padded[:-4] + padded[1:-3], padded[3:-1] + padded[4:]])


def _solved(table: _Table, *, with_slope: bool) -> _Solution | None:
    """Solve the equations by Newton's method; None if it does not end, or ends nowhere near."""
    columns = np.stack([np.ones_like(table.middle), table.middle][: 1 + with_slope])
    found = np.array([0.0, 1.0])
    weights = np.zeros_like(table.middle)
    for number in range(_ROUNDS):
        s = expit(found[0] + found[1] * table.x)
        mean, slopes = (table.shares * s).sum(axis=1), table.shares * s * (1 - s)
        slope = slopes.sum(axis=1)
        if number < _SETTLED:
            told = table.neighbours * slope
            weights = told / (told + table.of_noise[:, 0] * (1 - mean) ** 2 + table.of_noise[:, 1] * mean**2)
        residuals = weights * ((1 - mean) * table.positives - mean * table.negatives)
        by_coefficient = np.stack([slope, (slopes * table.x).sum(axis=1)][: 1 + with_slope])
        information = (columns * weights * table.samples) @ by_coefficient.T
        if np.linalg.eigvalsh(information + information.T).min() <= 0:
            return None
        step = np.linalg.solve(information, columns @ residuals)
        found[: len(step)] += step * min(1.0, _LARGEST_STEP / max(float(np.abs(step).max()), _SMALL_STEP))
        if np.abs(found).max() > _MOST:
            return None
        if np.abs(step).max() < _SMALL_STEP:
            break
    else:
        return None
    by_cell = np.linalg.solve(information, columns * weights)[-1]  # by how much a residual moves the root
    sampling = float((by_cell**2 * np.maximum(table.samples, 0.0) * mean * (1 - mean)).sum())
    parts = zip(table.cells, by_cell * (1 - mean), by_cell * mean, strict=True)
    moved = [cell.positives * own - cell.negatives * other for cell, own, other in parts]
    total = sum(moved[1:], moved[0])
    return _Solution(float(found[int(with_slope)]), sampling, total.noise)
