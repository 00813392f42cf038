"""Whether integers look like draws of a two-sided geometric distribution, also called discrete Laplace."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ppaurora.algorithms.noise import two_sided_geometric
from ppaurora.protocols import Fast
from ppaurora.suites.base import Suite
from ppaurora.suites.cleartext import CleartextSuite
from ppaurora.testing import World

Draw = Callable[[Sequence[Fraction]], NDArray[np.int64]]

CELLS = 20  # of the test, each about equally likely
MOST_DEVIATIONS = (
    6.5  # of a chi-square sum from what is expected: less likely to be passed by chance than 1e-10
)


def drawn_by(suite: Suite, rates: Sequence[Fraction]) -> NDArray[np.int64]:
    return two_sided_geometric(suite, rates).values.astype(np.int64)


def in_the_clear(rates: Sequence[Fraction]) -> NDArray[np.int64]:
    return drawn_by(CleartextSuite(), rates)


def by_parties(rates: Sequence[Fraction]) -> NDArray[np.int64]:
    run = World(Fast()).run(lambda suite: two_sided_geometric(suite, rates))
    values: NDArray[Any] = run.value
    return values.astype(np.int64)


def at_most(k: int, rate: float) -> float:
    """P(X <= k): of the tail below or above, a geometric sum."""
    if k < 0:
        return math.exp(rate * k) / (1 + math.exp(-rate))
    return 1 - math.exp(-rate * (k + 1)) / (1 + math.exp(-rate))


def cuts(rate: float) -> list[int]:
    """Where cells end, so that none is unlikely: at the quantiles, or at neighbouring integers."""
    found: list[int] = []
    below = 0.0
    for part in range(1, CELLS):
        tail = min(part, CELLS - part) / CELLS
        size = round(-math.log(tail * (1 + math.exp(-rate))) / rate)
        cut = -size if 2 * part <= CELLS else size
        if (not found or cut > found[-1]) and at_most(cut, rate) - below > 0.01:
            found.append(cut)
            below = at_most(cut, rate)
    return found if 1 - below > 0.01 else found[:-1]


def deviations(values: NDArray[np.int64], rate: float) -> float:
    """By how many standard deviations Pearson's chi-square is larger than expected (Wilson and Hilferty)."""
    ends = cuts(rate)
    upto = np.array([0.0, *(at_most(cut, rate) for cut in ends), 1.0])
    expected = np.diff(upto) * len(values)
    counts = np.bincount(np.searchsorted(ends, values, side="left"), minlength=len(expected))
    chi_square = float(((counts - expected) ** 2 / expected).sum())
    freedom = len(expected) - 1
    spread = 2 / (9 * freedom)
    return (math.cbrt(chi_square / freedom) - (1 - spread)) / math.sqrt(spread)


def fits(values: NDArray[np.int64], rate: Fraction) -> bool:
    return deviations(values, float(rate)) < MOST_DEVIATIONS
