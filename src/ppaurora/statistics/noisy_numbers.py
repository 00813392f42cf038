"""Numbers made of released ones that have noise, and what people read: estimates that say what noise did."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ppaurora.statistics.estimates import Estimate
from ppaurora.statistics.intervals import BIAS_OF_MAGNITUDES, Interval, checked_level
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
DROWNED = "noise drowns this number: there are too few samples for this epsilon"


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


def noisy_auroc(
    above: NoisyNumber, below: NoisyNumber, samples: int, level: float | None, rows_per_person: int = 1
) -> Estimate:
    """Return AUROC from AUROC·M and (1 - AUROC)·M, where M is the size of the smaller class."""
    return _noisy_fraction(
        above,
        below,
        lambda noise, level: noisy_auroc_interval(
            above.value, below.value, samples, noise, level, rows_per_person
        ),
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
        return Estimate(None, note=DROWNED)
    value, noise = fraction(successes.value, failures.value), between(successes, failures)
    deviation = math.sqrt(float(noise(np.array(value)).variance)) / trials
    if level is None:
        return estimate_of(value, deviation)
    return estimate_with_interval(
        value, deviation, interval(noise, level), interval(_no_noise, level), level, method
    )


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
        return estimate_of(value, deviation)

    def interval(noise: Noise, level: float) -> Interval:
        far = float(reach(max(sampling, 0.0), noise, level)) / samples
        return max(value - far, low), min(value + far, high)

    return estimate_with_interval(
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
        return Estimate(None, note=DROWNED)
    numerator += max(-numerator.value, 0.0)
    value = numerator.value / denominator.value
    deviation = math.sqrt((numerator - denominator * value).noise.variance) / denominator.value
    if level is None or sampling is None:
        return estimate_of(value, deviation)
    # With r = highest·p it is a score interval, as (1 - p)·n - p·(highest·d - n) = n - r·d.
    rest, variance = denominator * highest - numerator, max(sampling, 0.0)

    def interval(noise: NoiseAt, level: float) -> Interval:
        low, high = score_interval(numerator.value, rest.value, lambda p: p * 0 + variance, noise, level)
        return low * highest, high * highest

    noise = between(numerator, rest)
    return estimate_with_interval(
        value, deviation, interval(noise, level), interval(_no_noise, level), level, "Fieller"
    )


def noisy_position(offsets: NoisyNumber, samples: NoisyNumber, bounds: Interval) -> Estimate:
    """Return the mean of samples in a bin, from the sum of how far each is from its middle, in widths."""
    low, high = bounds
    if samples.value <= 0:
        return Estimate(None, note=DROWNED)
    mean = offsets.value / samples.value
    deviation = math.sqrt((offsets - samples * mean).noise.variance) / samples.value * (high - low)
    return estimate_of(min(max((low + high) / 2 + (high - low) * mean, low), high), deviation)


@dataclass(frozen=True)
class NoisyBin:
    """What is known with noise of a bin of probabilities around a middle: counts, and the sum of
    probabilities."""

    middle: float
    positives: NoisyNumber
    negatives: NoisyNumber
    predicted: NoisyNumber

    @property
    def samples(self) -> NoisyNumber:
        return self.positives + self.negatives

    @property
    def residuals(self) -> NoisyNumber:
        return self.positives - self.predicted

    @property
    def squares(self) -> float:
        """The sum of squared residuals, as if all probabilities were the middle."""
        positives, negatives = (max(one.value, 0.0) for one in (self.positives, self.negatives))
        return positives * (1 - self.middle) ** 2 + negatives * self.middle**2


def noisy_smoothed(
    at: float, bins: Sequence[NoisyBin], weights: Sequence[float], level: float | None
) -> Estimate:
    """Return a point of a smooth calibration curve: at + the mean residual around it, by the bins' weights.

    With C = the sum of residuals and at·(that of weights), and S the sum of weights, it is C/S. If c is the
    true value, C - c·S has the mean 0, and the variance of as many proportions q = c - at + (mean
    probability).
    """
    counted = [(one, weight) for one, weight in zip(bins, weights, strict=True) if weight]
    samples = added_up([one.samples * weight for one, weight in counted])
    successes = added_up([one.residuals * weight for one, weight in counted]) + samples * at
    squared = sum(max(one.samples.value, 0.0) * weight**2 for one, weight in counted)
    predicted = sum(max(one.predicted.value, 0.0) * weight**2 for one, weight in counted)
    shift = (predicted / squared if squared > 0 else at) - at

    def sampling(c: Numbers) -> Numbers:
        q = np.clip(c + shift, 0.0, 1.0)
        return squared * q * (1 - q)

    failures = samples - successes
    return _noisy_fraction(
        successes,
        failures,
        lambda noise, level: score_interval(successes.value, failures.value, sampling, noise, level),
        level,
        "Wilson",
    )


def noisy_index(
    bins: Sequence[NoisyBin], weights: Sequence[Sequence[float]], samples: int, level: float | None
) -> Estimate:
    """Return an integrated calibration index from noisy bins: the mean of |mean residual around its bin|.

    Its noise is that of what it is to first order in all noisy numbers; what errors of the curve, with their
    noise, add to magnitudes is in the lower bound, see `index_interval`. Bins that noise has made empty do
    not count.
    """
    total, parts, gradient = 0.0, [], np.zeros(len(bins))
    of_curve, with_noise = 0.0, 0.0  # the sum of the curve's variances
    for one, row in zip(bins, weights, strict=True):
        around = added_up([other.samples * weight for other, weight in zip(bins, row, strict=True)])
        residuals = added_up([other.residuals * weight for other, weight in zip(bins, row, strict=True)])
        own = one.samples
        if own.value <= 0 or around.value <= 0:
            continue
        distance = min(max(residuals.value / around.value, -1.0), 1.0)
        q, sign = min(own.value / around.value, 1.0), math.copysign(1.0, distance)
        error = residuals - around * distance
        total += own.value * abs(distance)
        parts.append((error * q + own * distance) * sign)
        gradient += q * sign * np.array(row)
        squares = sum(other.squares * weight**2 for other, weight in zip(bins, row, strict=True))
        of_curve += own.value * min(squares / around.value**2, 1.0)
        with_noise += own.value * min((squares + error.noise.variance) / around.value**2, 1.0)
    if not parts:
        return Estimate(None, note=DROWNED)
    noise, value = added_up(parts).noise, min(total / samples, 1.0)
    deviation = math.sqrt(noise.variance) / samples
    if level is None:
        return estimate_of(value, deviation)
    sampling = float(np.array([one.squares for one in bins]) @ gradient**2)

    def interval(noise: Noise, variances: float) -> Interval:
        far = float(reach(sampling, noise, level)) / samples
        bias = BIAS_OF_MAGNITUDES * math.sqrt(variances / samples)
        return max(value - far - bias, 0.0), min(value + far, 1.0)

    both = interval(noise, with_noise), interval(Noise(), of_curve)
    return estimate_with_interval(value, deviation, *both, level, "normal, conservative")


def noisy_count(count: NoisyNumber, samples: int) -> Estimate:
    """Return a number of samples, to the nearest whole one."""
    value = float(round(min(max(count.value, 0.0), float(samples))))
    return Estimate(value, digits=0, note=_size_of(math.sqrt(count.noise.variance)))


def _no_noise(p: Numbers) -> Noise:
    return Noise()


def estimate_of(value: float, deviation: float) -> Estimate:
    """Return a number with as many decimals as its noise leaves, and how large that is."""
    digits = digits_beside(deviation)
    return Estimate(round(value, digits), digits=digits, note=_size_of(deviation))


def estimate_with_interval(
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
