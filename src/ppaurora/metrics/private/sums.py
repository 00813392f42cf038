"""The mechanism of Brier score, observed to expected and calibration in the large: sums over all samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ppaurora.data.samples import Samples
from ppaurora.metrics.private.mechanism import Coordinate, Ingredients, Mechanism
from ppaurora.metrics.sums import STEPS_PER_ONE, Fit, Ordered, OwnerSum
from ppaurora.sharing.shares import RingShare, concat
from ppaurora.statistics.calibration import squared_errors
from ppaurora.suites.base import Suite

Numbers = NDArray[np.float64]


class Moment(Enum):
    """What is summed up of a sample with probability p and label y, whose squared error is x = (p - y)²."""

    PREDICTED = "p"
    ERROR = "x"
    HALF_ERROR = "x/2"
    SPREAD = "x - x²"


_OF_SAMPLE: Mapping[Moment, Callable[[Numbers, Numbers], Numbers]] = {
    Moment.PREDICTED: lambda p, x: p,
    Moment.ERROR: lambda p, x: x,
    Moment.HALF_ERROR: lambda p, x: x / 2,
    Moment.SPREAD: lambda p, x: x - x * x,
}


@dataclass(frozen=True)
class MomentSum(OwnerSum):
    """A moment, summed up in steps of 2^-32 to which every sample's is rounded."""

    moment: Moment

    parts = STEPS_PER_ONE

    def of_each(self, samples: Samples) -> Numbers:
        return _OF_SAMPLE[self.moment](samples.scores, squared_errors(samples.labels, samples.scores))

    def of(self, samples: Samples) -> int:
        return int(self.weights(samples).sum())


@dataclass(frozen=True)
class SumsMechanism(Mechanism):
    """Sums over all samples: of what depends on what is asked for, so that one vector serves all.

        for                                        vector                    sensitivity
        Brier score                                x, x - x²                 1
        observed to expected, and in the large     y, p, x/2                 2
        both                                       y, p, x, x - x²           5/2

    **Sensitivity.** One person's part moves from (y, p) to (y', p').

    x, x - x²: let it move from a to b or back, 0 <= a <= b <= 1. Then (b - a)·(1 + |1 - a - b|) is
    (b - a)·(2 - a - b) <= b·(2 - b) <= 1 if a + b <= 1, and b² - a² <= 1 otherwise.

    y, p, w·x: with the same label it moves by |p - p'| + w·|x - x'| <= 1 + w. Otherwise let r = 1 - p' be the
    error of the one that is positive and p that of the other, and s = p + r. Then y moves by 1, p by |s - 1|
    and x by |p - r|·s <= min(s, 2 - s)·s. For s <= 1, 1 - s + w·s² <= 1 with w <= 1. For s >= 1,
    s - 1 + w·(2 - s)·s is at most 1 for w = 1/2 (it grows up to s = 2), and at most 5/4 for w = 1 (that is
    at s = 3/2). So all three move by at most 2 for w = 1/2, and by at most 9/4 for w = 1.

    y, p, x, x - x²: as x - x² is from 0 to 1/4, by at most 9/4 + 1/4.

    **Levels of a subgroup.** A person that leaves one level and joins another moves sums by all that it
    counts in each: x and x - x² together by at most 1, as x·(2 - x) is; y, p and x/2 by at most 2, where
    y = p = 1; y, p, x and x - x² by at most 9/4: for y = 1 and e = 1 - p it is 2 - e + 2·e² - e⁴ < 2.08, and
    for y = 0 at most 2. So twice as much in all.

    **In steps.** What a sample counts is rounded to a step of 2^-32. Floating point errs by less than 2^-50
    before that, so it is off by less than 3/4 of a step, and moves by less than 3/2 steps more, in every sum
    but that of labels.
    """

    name = "sums"
    in_the_large: bool = False  # whether observed and expected events are asked for
    squared_errors: bool = False  # whether the Brier score is

    def __or__(self, other: SumsMechanism) -> SumsMechanism:
        return SumsMechanism(
            self.in_the_large or other.in_the_large, self.squared_errors or other.squared_errors
        )

    @property
    def sensitivity(self) -> Fraction:
        exact = {(False, True): Fraction(1), (True, False): Fraction(2), (True, True): Fraction(5, 2)}
        rounding = Fraction(3, 2) * len(self.moments) / STEPS_PER_ONE
        return exact[self.in_the_large, self.squared_errors] + rounding

    @property
    def sensitivity_of_levels(self) -> Fraction:
        exact = {(False, True): Fraction(2), (True, False): Fraction(4), (True, True): Fraction(9, 2)}
        rounding = Fraction(3, 2) * len(self.moments) / STEPS_PER_ONE
        return exact[self.in_the_large, self.squared_errors] + rounding

    @property
    def moments(self) -> tuple[Moment, ...]:
        """What is summed up besides labels."""
        errors = (Moment.ERROR, Moment.SPREAD) if self.squared_errors else (Moment.HALF_ERROR,)
        return (Moment.PREDICTED, *errors) if self.in_the_large else errors

    @property
    def coordinates(self) -> tuple[Coordinate, ...]:
        positives = (Coordinate("positives"),) if self.in_the_large else ()
        return (*positives, *(Coordinate(moment.value, STEPS_PER_ONE) for moment in self.moments))

    @property
    def sums(self) -> tuple[OwnerSum, ...]:
        return tuple(map(MomentSum, self.moments))

    @property
    def fits(self) -> tuple[Fit, ...]:
        if not self.squared_errors:
            return ()
        return (Ordered(MomentSum(Moment.ERROR), MomentSum(Moment.SPREAD)),)

    def integers(self, suite: Suite, given: Ingredients) -> RingShare:
        positives = [given.positives] if self.in_the_large else []
        return concat([*positives, *(given.totals[total] for total in self.sums)])
