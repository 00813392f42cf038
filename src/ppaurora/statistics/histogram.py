"""Scores by class, in bins whose edges are round numbers and so nobody's score."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

import numpy as np

from ppaurora.data import ScoreCounts

_MOST_BINS = 10  # one more if the lowest score lies between two edges
_LARGEST = float(np.finfo(np.float64).max)
_LEAST_STEP = 1e-300  # floats below are too coarse for bins


@dataclass(frozen=True)
class ScoreBin:
    """Samples from `low` up to `high`, which belongs to the next bin; of the last bin it is a part.

    The counts are the owner's own: they are not printed with the object.
    """

    low: float
    high: float
    positives: int
    negatives: int

    def __repr__(self) -> str:
        return f"<ScoreBin {self.low:g} to {self.high:g}>"


def histogram(counts: ScoreCounts) -> tuple[ScoreBin, ...]:
    """Count the scores, as the source has them, by class and bin."""
    edges = _edges(float(counts.values[0]), float(counts.values[-1]))
    places = np.searchsorted(edges[1:-1], counts.values, side="right")
    positives, negatives = (
        [int(times[places == bin_].sum()) for bin_ in range(len(edges) - 1)]
        for times in (counts.positives, counts.negatives)
    )
    return tuple(ScoreBin(*place) for place in zip(edges[:-1], edges[1:], positives, negatives, strict=True))


def span(counts: ScoreCounts) -> tuple[float, float]:
    """Between which round numbers the scores lie: two digits are enough, and are nobody's score."""
    lowest, highest = float(counts.values[0]), float(counts.values[-1])
    return _two_digits(lowest, ROUND_FLOOR), _two_digits(highest, ROUND_CEILING)


def _edges(low: float, high: float) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten, the first not above `low`, the last not below `high`."""
    least = high / _MOST_BINS - low / _MOST_BINS  # high - low may be too large for a float
    if least < _LEAST_STEP:
        return [_two_digits(low, ROUND_FLOOR), _two_digits(high, ROUND_CEILING)]
    power = math.floor(math.log10(least))
    digit = next(digit for digit in (1, 2, 5, 10) if _decimal(digit, power) >= least * (1 - 1e-9))
    step = _decimal(digit, power)
    first = math.floor(low / step)
    last = max(math.ceil(high / step), first + 1)
    edges = sorted({_decimal(number * digit, power) for number in range(first, last + 1)})
    return [min(edges[0], low), *edges[1:-1], max(edges[-1], high)]


def _decimal(digits: int, power: int) -> float:
    """Return the float nearest to digits · 10^power."""
    return _finite(float(f"{digits}e{power}"))


def _two_digits(number: float, rounding: str) -> float:
    exact = Decimal(repr(number))
    unit = Decimal(1).scaleb(exact.adjusted() - 1)
    return _finite(float((exact / unit).to_integral_value(rounding) * unit)) if exact else 0.0


def _finite(number: float) -> float:
    return min(max(number, -_LARGEST), _LARGEST)
