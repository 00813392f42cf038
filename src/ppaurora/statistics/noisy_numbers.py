"""Numbers made of released ones that have noise, and what people read: estimates that say what noise did."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ppaurora.statistics.estimates import Estimate
from ppaurora.statistics.intervals import Interval, checked_level
from ppaurora.statistics.noisy import (
    Noise,
    NoiseAt,
    Numbers,
    fraction,
    noisy_auroc_interval,
    noisy_proportion_interval,
    reach,
    score_interval,
)

_MOST_DIGITS = 6
_MOST_TIMES = 10  # as wide as without noise: up to here it is told how much wider
_DROWNED = "noise drowns this number: there are too few samples for this epsilon"


@dataclass(frozen=True)
class Sources:
    """Independent noises, each with its own variance and fourth cumulant."""

    variances: Numbers
    fourths: Numbers

    @classmethod
    def of(cls, noises: Sequence[Noise]) -> Sources:
        """Return these noises as sources."""
        return cls(np.array([one.variance for one in noises]), np.array([one.fourth for one in noises]))

    def mixed(self, weights: Numbers) -> Noise:
        """Return the noise of a weighted sum; of several, row by row."""
        squares = weights * weights
        return Noise(squares @ self.variances, (squares * squares) @ self.fourths)


@dataclass(frozen=True, eq=False)
class NoisyNumber:
    """A number that is linear in noisy ones: its value, and by how much each noise counts in it."""

    value: float
    weights: Numbers = field(repr=False)
    sources: Sources = field(repr=False)

    @property
    def noise(self) -> Noise:
        return self.sources.mixed(self.weights)

    def __add__(self, other: NoisyNumber | float) -> NoisyNumber:
        if isinstance(other, NoisyNumber):
            return NoisyNumber(self.value + other.value, self.weights + other.weights, self.sources)
        return NoisyNumber(self.value + other, self.weights, self.sources)

    def __mul__(self, factor: float) -> NoisyNumber:
        return NoisyNumber(self.value * factor, self.weights * factor, self.sources)

    def __sub__(self, other: NoisyNumber | float) -> NoisyNumber:
        return self + other * -1

    __radd__ = __add__
    __rmul__ = __mul__


def independent(values: Sequence[float], noises: Sequence[Noise]) -> list[NoisyNumber]:
    """Return released numbers, each with its own noise."""
    sources, weights = Sources.of(noises), np.eye(len(noises))
    return [NoisyNumber(value, row, sources) for value, row in zip(values, weights, strict=True)]


def added_up(numbers: Sequence[NoisyNumber]) -> NoisyNumber:
    """Return the sum of numbers with the same sources, of which there is one at least."""
    weights: Numbers = np.sum([one.weights for one in numbers], axis=0)
    return NoisyNumber(math.fsum(one.value for one in numbers), weights, numbers[0].sources)


def given_total(numbers: Sequence[NoisyNumber], total: float) -> list[NoisyNumber]:
    """Return numbers of equal noise, moved alike so that they add up to a total that is known.

    That is the least change, and takes away the noise that all have in common: of the sum of half of them,
    half of its variance.
    """
    surplus = (added_up(numbers) - total) * (1 / len(numbers))
    return [one - surplus for one in numbers]


def between(successes: NoisyNumber, failures: NoisyNumber) -> NoiseAt:
    """Return the noise of two numbers that may have some in common, as score intervals take it.

    In (1 - p)·s - p·f a noise counts (1 - p)·v - p·w, so that cumulants of all noises together are
    polynomials in p, of which the binomial theorem gives the coefficients.
    """
    sources, v, w = successes.sources, successes.weights, -failures.weights
    variance, fourth = (
        [math.comb(order, k) * float((v ** (order - k) * w**k) @ cumulants) for k in range(order + 1)]
        for order, cumulants in ((2, sources.variances), (4, sources.fourths))
    )

    def at(p: Numbers, coefficients: Sequence[float]) -> Numbers:
        order = len(coefficients) - 1
        terms = (one * (1 - p) ** (order - k) * p**k for k, one in enumerate(coefficients))
        return np.maximum(sum(terms, np.zeros_like(p)), 0.0)

    return lambda p: Noise(at(p, variance), at(p, fourth))


def digits_beside(deviation: float) -> int:
    """Return how many decimals are worth showing: a unit of the last is at most a third of the deviation."""
    if deviation <= 0:
        return _MOST_DIGITS
    return min(max(math.ceil(-math.log10(deviation / 3)), 0), _MOST_DIGITS)


def noisy_proportion(successes: NoisyNumber, failures: NoisyNumber, level: float | None) -> Estimate:
    """Return s/(s + f), both of which are counts of independent samples."""
    return _noisy_fraction(
        successes,
        failures,
        lambda noise, level: noisy_proportion_interval(successes.value, failures.value, noise, level),
        level,
        "Wilson",
    )


def noisy_auroc(above: NoisyNumber, below: NoisyNumber, samples: int, level: float | None) -> Estimate:
    """Return AUROC from AUROC·M and (1 - AUROC)·M, where M is the size of the smaller class."""
    return _noisy_fraction(
        above,
        below,
        lambda noise, level: noisy_auroc_interval(above.value, below.value, samples, noise, level),
        level,
        "Newcombe",
    )


def _noisy_fraction(
    successes: NoisyNumber,
    failures: NoisyNumber,
    interval: Callable[[NoiseAt, float], Interval],
    level: float | None,
    method: str,
) -> Estimate:
    trials = (successes + failures).value
    if trials <= 0:
        return Estimate(None, note=_DROWNED)
    value, noise = fraction(successes.value, failures.value), between(successes, failures)
    deviation = math.sqrt(float(noise(np.array(value)).variance)) / trials
    if level is None:
        return _estimate(value, deviation)
    return _with_interval(value, deviation, interval(noise, level), interval(_no_noise, level), level, method)


def noisy_mean(
    total: NoisyNumber, samples: int, sampling: float, level: float | None, within: Interval
) -> Estimate:
    """Return a total over all samples, divided by their number; what is beyond the bounds counts as at them.

    `sampling` is the variance of the total, about which the release tells.
    """
    low, high = within
    value = min(max(total.value / samples, low), high)
    deviation = math.sqrt(total.noise.variance) / samples
    if level is None:
        return _estimate(value, deviation)

    def interval(noise: Noise, level: float) -> Interval:
        far = float(reach(max(sampling, 0.0), noise, level)) / samples
        return max(value - far, low), min(value + far, high)

    return _with_interval(
        value, deviation, interval(total.noise, level), interval(Noise(), level), level, "normal"
    )


def noisy_ratio(
    numerator: NoisyNumber,
    denominator: NoisyNumber,
    sampling: float | None,
    level: float | None,
    highest: float,
) -> Estimate:
    """Return n/d, from 0 to the highest, with the r for which |n - r·d| <= reach, by Fieller.

    `sampling` is the variance of n - r·d; None if the release does not tell it, so that there is no interval.
    """
    if denominator.value <= 0 or numerator.value > highest * denominator.value:
        return Estimate(None, note=_DROWNED)
    numerator += max(-numerator.value, 0.0)
    value = numerator.value / denominator.value
    deviation = math.sqrt((numerator - denominator * value).noise.variance) / denominator.value
    if level is None or sampling is None:
        return _estimate(value, deviation)
    # With r = highest·p it is a score interval, as (1 - p)·n - p·(highest·d - n) = n - r·d.
    rest, variance = denominator * highest - numerator, max(sampling, 0.0)

    def interval(noise: NoiseAt, level: float) -> Interval:
        low, high = score_interval(numerator.value, rest.value, lambda p: p * 0 + variance, noise, level)
        return low * highest, high * highest

    noise = between(numerator, rest)
    return _with_interval(
        value, deviation, interval(noise, level), interval(_no_noise, level), level, "Fieller"
    )


def noisy_position(offsets: NoisyNumber, samples: NoisyNumber, bounds: Interval) -> Estimate:
    """Return the mean of samples in a bin, from the sum of how far each is from its middle, in widths."""
    low, high = bounds
    if samples.value <= 0:
        return Estimate(None, note=_DROWNED)
    mean = offsets.value / samples.value
    deviation = math.sqrt((offsets - samples * mean).noise.variance) / samples.value * (high - low)
    return _estimate(min(max((low + high) / 2 + (high - low) * mean, low), high), deviation)


def noisy_count(count: NoisyNumber, samples: int) -> Estimate:
    """Return a number of samples, to the nearest whole one."""
    value = float(round(min(max(count.value, 0.0), float(samples))))
    return Estimate(value, digits=0, note=_size_of(math.sqrt(count.noise.variance)))


def _no_noise(p: Numbers) -> Noise:
    return Noise()


def _estimate(value: float, deviation: float) -> Estimate:
    digits = digits_beside(deviation)
    return Estimate(round(value, digits), digits=digits, note=_size_of(deviation))


def _with_interval(
    value: float, deviation: float, interval: Interval, without: Interval, level: float, method: str
) -> Estimate:
    """Say how much wider noise makes the interval, beside the one that the same numbers give without it."""
    digits = digits_beside(deviation)
    value, (low, high), plain = round(value, digits), interval, without[1] - without[0]
    wider = ""
    if high - low < _MOST_TIMES * plain:  # beside hardly any sampling error, it says nothing
        wider = f"noise makes the interval {max((high - low) / plain - 1, 0) * 100:.0f} % wider"
    return Estimate(
        value,
        interval=(min(low, value), max(high, value)),
        method=f"{method}, with noise",
        confidence_level=checked_level(level),
        digits=digits,
        note=wider or _size_of(deviation),
    )


def _size_of(deviation: float) -> str:
    return f"noise has a standard deviation of {deviation:.2g}"
