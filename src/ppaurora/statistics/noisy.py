"""Intervals of numbers to which independent noise was added before they were released.

Nothing here is secret: whoever has the released numbers, and knows in public how noise was drawn, computes
these. An interval contains all values that the released numbers do not contradict; so noise makes it wider,
and never needs a number that was not released.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ppaurora.errors import MisuseError
from ppaurora.statistics.auroc import newcombe_variance
from ppaurora.statistics.intervals import Interval, quantile

Numbers = NDArray[np.float64]
NoiseAt = Callable[[Numbers], "Noise"]  # the noise in (1 - p)·s - p·f of two released numbers, at every p

_POINTS = 32  # at which a bound is looked for at once
_ROUNDS = 7  # each is so many times finer than the one before: a bound is found to 2^-35 of its distance


@dataclass(frozen=True)
class Noise:
    """What is public of symmetric noise: its second and fourth cumulant, which add up for independent ones.

    Variances may be arrays, one for each value that an interval is asked about.
    """

    variance: Any = 0.0
    fourth: Any = 0.0

    @classmethod
    def two_sided_geometric(cls, ratio: float) -> Noise:
        """Return that of G1 - G2, each k >= 0 with probability (1 - ratio)·ratio^k: discrete Laplace.

        A geometric variable has the cumulants q/(1 - q)² and q·(1 + 4·q + q²)/(1 - q)⁴; even ones of a
        difference add up.
        """
        if not 0 <= ratio < 1:
            raise MisuseError(f"the ratio of a geometric variable is from 0 to below 1, got {ratio}")
        rest = (1 - ratio) ** 2
        return cls(2 * ratio / rest, 2 * ratio * (1 + 4 * ratio + ratio**2) / rest**2)

    def __add__(self, other: Noise) -> Noise:
        return Noise(self.variance + other.variance, self.fourth + other.fourth)

    def scaled(self, factor: Any) -> Noise:
        """Return that of the noise times a factor."""
        return Noise(self.variance * factor**2, self.fourth * factor**4)


def reach(sampling: Any, noise: Noise, level: float) -> Any:
    """Return how far a number is from its mean at most, with probability `level`: q·sqrt(sampling + noise).

    Sampling error is normal and has the variance `sampling`. Noise has longer tails, so its excess kurtosis,
    diluted by the sampling error to k, moves the quantile: q = z + k·(z³ - 3·z)/24, by Cornish and Fisher,
    but not below z. For Laplace noise alone it covers 90.2, 95.3 and 99.5 % where 90, 95 and 99 are nominal.
    """
    z = quantile(level)
    variance = np.asarray(sampling + noise.variance, dtype=np.float64)
    excess = np.divide(noise.fourth, variance**2, out=np.zeros_like(variance), where=variance > 0)
    return np.maximum(z, z + excess * (z**3 - 3 * z) / 24) * np.sqrt(variance)


def apart(of_successes: Noise, of_failures: Noise) -> NoiseAt:
    """Return the noise of two numbers, each with its own, as score intervals take it."""
    return lambda p: of_successes.scaled(1 - p) + of_failures.scaled(p)


def score_interval(
    successes: float,
    failures: float,
    sampling: Callable[[Numbers], Numbers],
    noise: NoiseAt,
    level: float,
) -> Interval:
    """Return the p from 0 to 1 with |(1 - p)·s - p·f| <= reach: a score interval of s/(s + f).

    If p is the true fraction, (1 - p)·s - p·f has the mean 0; its variance is `sampling(p)` and that of the
    noise in it. Without noise, and with sampling(p) = n·p·(1 - p), it is Wilson's interval; with noise it is
    of Fieller's type.

    A number below 0 by more than a standard deviation of its noise counts as below by that much, or the
    interval would end at 0 (or 1) the sooner the farther noise has gone. For s < s' <= 0 <= f,
    |(1 - p)·s' - p·f| <= |(1 - p)·s - p·f|: every p that s itself would allow stays.
    """
    of_successes, of_failures = (math.sqrt(noise(np.array(p)).variance) for p in (0.0, 1.0))
    s, f = max(successes, -of_successes), max(failures, -of_failures)

    def within(p: Numbers) -> NDArray[np.bool_]:
        inside: NDArray[np.bool_] = np.abs((1 - p) * s - p * f) <= reach(sampling(p), noise(p), level)
        return inside

    middle = fraction(s, f)
    return _bound(within, middle, 0.0), _bound(within, middle, 1.0)


def noisy_proportion_interval(successes: float, failures: float, noise: NoiseAt, level: float) -> Interval:
    """Return Wilson's interval with noise, of a proportion of which successes and failures are released."""
    trials = max(successes, 0.0) + max(failures, 0.0)
    return score_interval(successes, failures, lambda p: trials * p * (1 - p), noise, level)


def noisy_auroc_interval(
    above: float, below: float, samples: int, noise: NoiseAt, level: float, rows_per_person: int = 1
) -> Interval:
    """Return Newcombe's interval of AUROC, with noise, from AUROC·M and (1 - AUROC)·M.

    M is the size of the smaller class, which the two tell about; at least one sample, at most half of all.
    Where a person has up to k rows, the variance is k times as large: as if all rows of a person were alike.
    """
    m = min(max(max(above, 0.0) + max(below, 0.0), 1.0), samples / 2)
    return score_interval(
        above,
        below,
        lambda p: rows_per_person * m * m * newcombe_variance(p, m, samples - m),
        noise,
        level,
    )


def fraction(successes: float, failures: float) -> float:
    """Return s/(s + f) of numbers that noise may have made negative, cut off at 0 and 1; 1/2 of nothing."""
    s, f = max(successes, 0.0), max(failures, 0.0)
    return s / (s + f) if s + f > 0 else 0.5


def _bound(within: Callable[[Numbers], NDArray[np.bool_]], inside: float, end: float) -> float:
    """Return the bound of an interval towards `end`, from a point inside; where it is not `end`, not inside.

    Of points from the end on, the first that is within is the bound, up to the distance of two points;
    between it and the one before, the bound is looked for again.
    """
    outside = end
    for _ in range(_ROUNDS):
        points = np.linspace(outside, inside, _POINTS + 1)
        found = within(points)
        found[-1] = True  # the point inside
        first = int(np.argmax(found))
        if first == 0:
            return float(points[0])
        outside, inside = float(points[first - 1]), float(points[first])
    return outside
