"""Logistic recalibration: the calibration intercept and the calibration slope, from the pooled table."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from ppaurora.algorithms.elementary import Floats
from ppaurora.algorithms.logit_nodes import logits
from ppaurora.algorithms.pooled_table import PooledTable
from ppaurora.algorithms.recalibration import (
    LARGEST_INTERCEPT,
    LOWEST_SLOPE,
    Intercept,
    Masses,
    Slope,
    find_intercept,
    find_slope,
    masses,
)
from ppaurora.data.grid import Grid
from ppaurora.data.samples import Samples
from ppaurora.metrics.base import Counts, Metric, mean_estimate
from ppaurora.metrics.evidence import Evidence
from ppaurora.metrics.facts import PublicCounts
from ppaurora.metrics.outputs import Output, Ratio, standard_error
from ppaurora.metrics.private.noisy import NoisyRelease
from ppaurora.metrics.private.table import Cell, Cut, CutKind, TableMechanism
from ppaurora.metrics.query import Query
from ppaurora.metrics.registry import register
from ppaurora.sharing.shares import RingShare, WideShare, concat
from ppaurora.statistics.estimates import Estimate, normal_estimate
from ppaurora.statistics.intervals import Interval
from ppaurora.statistics.noisy_recalibration import LogitCell, noisy_recalibration
from ppaurora.statistics.recalibration import Coefficient, recalibration_intercept, recalibration_slope
from ppaurora.suites.base import Suite

_ANYWHERE: Interval = (-math.inf, math.inf)
_OFFSET = 1 << 63  # makes numbers of either sign positive on their way to wide integers
_INFORMATION_SCALE = 26  # of the information, as `algorithms.recalibration` returns it
_SCORES_AHEAD = 7  # bits by which scores are finer than that
_CHANGES_BEHIND = 4  # bits by which derivatives are coarser
_HIGHEST_ERROR = 10
_MOST_BITS = 31  # of a number of samples
# Of private studies: evenly spaced on the scale of logits.
_CUT_REACH, _CUT_WIDTH = 7.0, 0.35
_CUTS = tuple(
    Cut(round(1 / (1 + math.exp(_CUT_REACH - _CUT_WIDTH * number)), 6), CutKind.EDGE_ABOVE)
    for number in range(round(2 * _CUT_REACH / _CUT_WIDTH) + 1)
)
# Scores of which one must have enough samples on both sides, where few must not be told apart.
_SIDES = (0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
_PLACES = 16  # in a cell that are looked at, at most
_WITHOUT = "undefined: no such model fits, or a probability is 0 or 1"


class Recalibration(Metric):
    """A coefficient of a logistic regression of the label on the logit of the probability.

    It is withheld, with its standard error, where the model has no finite root, or none within reach; where
    its standard error is 10 or more, or 128 / sqrt(n) or more: then samples tell so little that fixed-point
    numbers would not have all its digits.
    """

    unit = "log odds"
    is_fraction = False
    of_probabilities = True
    needs_table = True
    by_level = True
    with_slope: ClassVar[bool]
    highest: ClassVar[int]
    most_denominator: ClassVar[int]
    most_variance_denominator: ClassVar[int]

    def outputs(self, query: Query) -> tuple[Output, ...]:
        value = Output(
            self.name,
            highest=self.highest,
            signed=True,
            conditional=True,
            most_denominator=self.most_denominator,
        )
        if not query.interval:
            return (value,)
        return (value, standard_error(value, self.most_variance_denominator, highest=_HIGHEST_ERROR))

    def from_table(self, suite: Suite, table: PooledTable, query: Query) -> list[RingShare]:
        x = logits(table.grid.values, table.grid.step)
        return self.search(suite, masses(suite, x, table.positives, table.negatives, query.samples))

    @abstractmethod
    def search(self, suite: Suite, table: Masses) -> list[RingShare]:
        """Return what the formula needs of the point next to the root; numbers from 0 to 2^64."""

    def mechanism(self) -> TableMechanism:
        return TableMechanism(_CUTS)

    def read_noisy(self, noisy: NoisyRelease, level: float | None) -> Estimate:
        """Samples whose probability is below the first cut or above the last one are left out."""
        cells = []
        for low, high in pairwise(_CUTS):
            x, widths = _places(low.value, high.value, noisy.grid)
            if len(x):
                counts = (noisy.count(Cell(low, high), label) for label in (1, 0))
                cells.append(LogitCell(x, widths, *counts))
        return noisy_recalibration(cells, level, with_slope=self.with_slope)

    def read(self, values: Sequence[float | None], query: Query, counts: Counts) -> Estimate:
        error = values[-1] if query.interval else None
        return mean_estimate(values[0], error, self.outputs(query)[0], query, within=_ANYWHERE)

    @staticmethod
    @abstractmethod
    def fitted(y_true: Any, y_score: Any) -> Coefficient | None:
        """Return it on data in the clear."""

    def reference(self, y_true: Any, y_score: Any) -> float:
        found = self.fitted(y_true, y_score)
        return math.nan if found is None else found.value

    def on_own_data(self, samples: Samples, level: float) -> Estimate:
        found = self.fitted(samples.labels, samples.scores)
        if found is None:
            return Estimate(None, note=_WITHOUT)
        return normal_estimate(found.value, found.standard_error, level, within=_ANYWHERE)

    def sensitivity_to_one_person(self, public: PublicCounts) -> None:
        """One person far from the others moves a slope without a bound."""


@register
class CalibrationIntercept(Recalibration):
    """a of logit(P(y = 1)) = a + logit(p), from -16 to 16.

    At the point a_0 next to the root there are the score F, the information I and its derivative T. The root
    is F / (I + T·d/2) further, d = F/I, with an error of the third order in d; the variance is one over the
    information there, I + T·d.
    """

    name = "calibration_intercept"
    title = "calibration intercept"
    description = "intercept of a logistic recalibration, with its slope fixed at 1"
    definition = "`coef(glm(y ~ offset(qlogis(p)), binomial))`, in R"
    with_slope = False
    highest = LARGEST_INTERCEPT
    most_denominator = 1 << 68
    most_variance_denominator = 1 << 62
    fitted = staticmethod(recalibration_intercept)

    def search(self, suite: Suite, table: Masses) -> list[RingShare]:
        at = find_intercept(suite, table)
        return [at.found, at.steps, *(one + _OFFSET for one in (at.f, at.iaa, at.t))]

    def formula(self, secrets: Sequence[WideShare], evidence: Evidence) -> list[Ratio]:
        steps = secrets[1]
        f, i, t = (one - _OFFSET for one in secrets[2:])
        i_i, t_f, i_f = evidence.multiply([(i, i), (t * (1 << _CHANGES_BEHIND), f), (i, f)])
        scale = 1 << _SCORES_AHEAD
        middle, root = i_i * (2 * scale) + t_f, i_i * scale + t_f  # I + T·d/2 and I + T·d, times so many I
        (steps_middle,) = evidence.multiply([(steps, middle)])
        per_one = Intercept.steps_per_one
        lowest = middle * (LARGEST_INTERCEPT * per_one)
        variance = _variance(i * scale, root, evidence.query.samples)
        positive = concat([evidence.found.secrets[self][0], *_conditions(evidence, variance)])
        value = Ratio(steps_middle - lowest + i_f * (2 * per_one), middle * per_one, positive=(positive,))
        return [value, Ratio(*variance, positive=(positive,))][: len(self.outputs(evidence.query))]


@register
class CalibrationSlope(Recalibration):
    """b of logit(P(y = 1)) = a + b·logit(p), from -1 to 5; the weighted standard deviation of logit(p), by
    what each sample tells, must be above 1/32.

    At the point next to the root there are scores F and G, the information I, a matrix, and its derivatives.
    With d = (u, v) / det I the step of Newton's method, I changes by T·d. The root is (I + T·d/2)^-1·(F, G)
    further, with an error of the third order; the variance is that of the inverse of I + T·d.
    """

    name = "calibration_slope"
    title = "calibration slope"
    description = "slope of a logistic recalibration"
    definition = "`coef(glm(y ~ qlogis(p), binomial))[2]`, in R"
    with_slope = True
    highest = 6
    most_denominator = 1 << 196
    most_variance_denominator = 1 << 190
    fitted = staticmethod(recalibration_slope)

    def search(self, suite: Suite, table: Masses) -> list[RingShare]:
        at = find_slope(suite, table)
        signed = (at.steps, at.f, at.g, at.iaa, at.iab, at.ibb, *at.t)
        return [*at.found, *(one + _OFFSET for one in signed)]

    def formula(self, secrets: Sequence[WideShare], evidence: Evidence) -> list[Ratio]:
        multiply = evidence.multiply
        steps, f, g, aa, ab, bb, *rest = (one - _OFFSET for one in secrets[2:])
        t = [one * (1 << _CHANGES_BEHIND) for one in rest]
        aa_bb, ab_ab, aa_aa, f_bb, g_ab, g_aa, f_ab = multiply(
            [(aa, bb), (ab, ab), (aa, aa), (f, bb), (g, ab), (g, aa), (f, ab)]
        )
        det, u, v = aa_bb - ab_ab, f_bb - g_ab, g_aa - f_ab
        pairs = [(aa, det), (ab, det), (bb, det)]
        for place in range(3):
            pairs += [(t[place], u), (t[place + 1], v)]
        products = multiply(pairs)
        changes = [products[3 + 2 * place] + products[4 + 2 * place] for place in range(3)]
        scale = 1 << _SCORES_AHEAD
        middle = [one * (2 * scale) + change for one, change in zip(products, changes, strict=False)]
        root = [one * scale + change for one, change in zip(products, changes, strict=False)]
        m_aa_bb, m_ab_ab, r_aa_bb, r_ab_ab, g_m, f_m, r_det = multiply(
            [
                (middle[0], middle[2]),
                (middle[1], middle[1]),
                (root[0], root[2]),
                (root[1], root[1]),
                (g, middle[0]),
                (f, middle[1]),
                (root[0], det),
            ]
        )
        m_det = m_aa_bb - m_ab_ab
        steps_m, further = multiply([(steps, m_det), (det, g_m - f_m)])
        per_one = Slope.steps_per_one
        lowest = m_det * (LOWEST_SLOPE * per_one)
        variance = _variance(r_det * scale, r_aa_bb - r_ab_ab, evidence.query.samples)
        spread = det * (1 << 10) - aa_aa
        coarse, fine = evidence.found.secrets[self][:2]
        once = [coarse, 2 - coarse, fine, 2 - fine]
        positive = [concat([*once, *_conditions(evidence, variance, spread)])]
        if evidence.query.withholds_cells:
            positive.append(_enough_apart(evidence))
        value = Ratio(steps_m + lowest + further * (2 * per_one), m_det * per_one, positive=tuple(positive))
        return [value, Ratio(*variance, positive=tuple(positive))][: len(self.outputs(evidence.query))]


def _variance(numerator: WideShare, denominator: WideShare, samples: int) -> tuple[WideShare, WideShare]:
    """Return a variance by the information of the table as that by the information of all samples."""
    bits = samples.bit_length() - _INFORMATION_SCALE
    return numerator * (1 << max(-bits, 0)), denominator * (1 << max(bits, 0))


def _conditions(
    evidence: Evidence, variance: tuple[WideShare, WideShare], *above_zero: WideShare
) -> list[RingShare]:
    """1 where the variance is small enough, and where further numbers are above 0."""
    numerator, denominator = variance
    most = min(Fraction(_HIGHEST_ERROR**2), Fraction(1 << 14, evidence.query.samples))
    room = denominator * most.numerator - numerator * most.denominator
    numbers = [room, *above_zero]
    negative, _ = evidence.suite.absolute(concat([0 - number for number in numbers]))
    return [negative[place] for place in range(len(numbers))]


def _enough_apart(evidence: Evidence) -> RingShare:
    """Return a number that is above 0 if some public score has enough samples on both of its sides.

    Enough is the policy's floor of a cell, without any one owner. Else a slope would be about the few whose
    scores differ from all others'.
    """
    tables = evidence.inputs.owner_tables
    beyond = [np.tile(tables.grid.values >= side, 2).astype(np.uint64) for side in _SIDES]
    numbers: list[RingShare] = []
    for above in tables.weighted(beyond).rows():
        below = evidence.inputs.list_counts.sizes - above
        numbers += [evidence.enough_of(side, Fraction(1)) for side in (above, below)]
    ends = range(0, sum(map(len, numbers)) + 1, len(numbers[0]) * 2)
    groups = [list(range(*span)) for span in pairwise(ends)]
    return evidence.suite.all_positive(concat(numbers), groups).sum()


def most_apart(scores: Floats) -> int:
    """Return how many samples one owner has on the smaller side of the public score that has the most."""
    above = [int(np.count_nonzero(scores >= side)) for side in _SIDES]
    return max(min(one, len(scores) - one) for one in above)


def _places(low: float, high: float, grid: Grid | None) -> tuple[Floats, Floats]:
    """Return where samples between two cuts may be on the scale of logits, and how wide a stretch each place
    stands for. Of many values of a grid, or without one, evenly spaced places do.
    """
    if grid is not None:
        x = logits(grid.values, grid.step)
        inside = (grid.values > low) & (grid.values <= high)
        if np.count_nonzero(inside) <= _PLACES:
            return x[inside], np.gradient(x)[inside]
    start, end = (math.log(value / (1 - value)) for value in (low, high))
    width = (end - start) / _PLACES
    return start + width * (np.arange(_PLACES, dtype=np.float64) + 0.5), np.full(_PLACES, width)
