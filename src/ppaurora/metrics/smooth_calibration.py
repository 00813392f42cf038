"""The smooth calibration curve, and the integrated calibration index that is made of it.

Both are functions of what bins have: samples, positives, and the sum of probabilities. A bin weighs by how
far its middle is from that of another, with weights that are public, so nothing finer than a bin is ever
summed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import chain, pairwise
from operator import add
from typing import Annotated, Any, ClassVar

from msgspec import Meta

from ppaurora.data.samples import Samples
from ppaurora.metrics.base import Counts, plain_estimate
from ppaurora.metrics.bins import MOST_BINS, InProbabilityBins, ProbabilityBins
from ppaurora.metrics.evidence import Evidence
from ppaurora.metrics.facts import Figure, PublicCounts
from ppaurora.metrics.outputs import Output, Ratio, standard_error
from ppaurora.metrics.private.noisy import NoisyRelease
from ppaurora.metrics.query import Query
from ppaurora.metrics.registry import register
from ppaurora.metrics.sums import (
    STEPS_PER_ONE,
    ExpectedIn,
    Fit,
    Ordered,
    OwnerSum,
    PositivesIn,
    SamplesIn,
    SquaredErrorsIn,
)
from ppaurora.sharing.shares import RingShare, WideShare, concat, stack
from ppaurora.statistics.calibration import Bin
from ppaurora.statistics.estimates import Estimate, Row, Table, index_estimate, smoothed_estimate, within_unit
from ppaurora.statistics.noisy_numbers import NoisyBin, noisy_index, noisy_smoothed
from ppaurora.statistics.smoothing import (
    WEIGHT_PARTS,
    CalibrationIndex,
    calibration_index,
    smoothed_residuals,
    smoothing_weights,
)

_OBSERVED = "observed"
_ANY_CURVE = "the lower bound is that of any curve: some bins have few samples"
_QUOTIENT_BITS = 32  # of what a bin's samples are of all around it


class SmoothingBins(ProbabilityBins):
    bins: Annotated[
        tuple[float, ...],
        Meta(
            min_length=2,
            max_length=MOST_BINS + 1,
            description="Edges of the bins, in increasing order; by default 20 equal bins from 0 to 1.",
        ),
    ] = tuple(edge / 20 for edge in range(21))
    bandwidth: Annotated[
        float,
        Meta(
            gt=0,
            le=1,
            description="How far around a point the samples of other bins count, the less the farther.",
        ),
    ] = 0.1


@dataclass(frozen=True)
class Smoothing:
    """Public weights of bins in the curve at the middle of each."""

    bins: Sequence[Bin]
    rows: Sequence[Sequence[int]]  # in parts of one

    def around(self, place: int) -> list[Bin]:
        """Return the bins that count in the curve at the middle of one."""
        return [one for one, weight in zip(self.bins, self.rows[place], strict=True) if weight]

    def total(self, evidence: Evidence, kind: Any, place: int, power: int = 1) -> WideShare:
        """Add up a sum of all bins, by their weights or the squares of these."""
        weighted = (
            evidence.totals[kind(one)] * weight**power
            for one, weight in zip(self.bins, self.rows[place], strict=True)
            if weight
        )
        total: WideShare = reduce(add, weighted)
        return total


class Smoothed(InProbabilityBins):
    """Made of y - p, smoothed over bins.

    For weights K in parts of one, samples n, positives Y and expected events E of bins, the curve at the
    middle x of a bin is x + R/S with R = sum of K·(Y - E), S = sum of K·n.
    """

    Parameters = SmoothingBins
    parameters: SmoothingBins
    # Those of other metrics' bins, so that all examples go together.
    sample_parameters: ClassVar[Mapping[str, Any]] = {"bins": ProbabilityBins().bins, "bandwidth": 0.2}

    @cached_property
    def _smoothing(self) -> Smoothing:
        bins = self.bins()
        return Smoothing(bins, smoothing_weights(bins, self.parameters.bandwidth))

    def _residuals(self, evidence: Evidence, place: int) -> WideShare:
        """Return R, in parts and steps."""
        positives, expected = (
            self._smoothing.total(evidence, kind, place) for kind in (PositivesIn, ExpectedIn)
        )
        return positives * STEPS_PER_ONE - expected

    def _reach(self) -> float:
        """Return how far a sample may be from the middle of a bin in which it counts."""
        widest = max(high - low for low, high in pairwise(self.parameters.bins))
        return self.parameters.bandwidth + widest / 2

    def _noisy_bins(self, noisy: NoisyRelease) -> list[NoisyBin]:
        """Return what the noisy table tells of every bin."""
        found = []
        for one, mean in zip(self.bins(), self.offsets(), strict=True):
            positives, negatives = (noisy.count(mean.bin, label) for label in (1, 0))
            offsets = noisy.offsets(mean) * (one.high - one.low)
            predicted = (positives + negatives) * one.middle + offsets
            found.append(NoisyBin(one.middle, positives, negatives, predicted))
        return found

    def _weights(self) -> list[list[float]]:
        return [[weight / WEIGHT_PARTS for weight in row] for row in self._smoothing.rows]


@register
class SmoothCalibration(Smoothed):
    """A point for every bin. Its interval is made of two more numbers.

    With q = sum of K²·E over that of K²·n, the mean residual d has a variance of about
    (q + d)·(1 - q - d)·A, A = sum of K²·n over S²: that of a proportion among 1/A samples, see
    `smoothed_estimate`. q is released, and sqrt(A)/2.

    A bin that counts in a point must have enough samples without any one owner, or none: then a number tells
    no more than such bins do, whatever is subtracted from it.
    """

    name = "smooth_calibration"
    title = "smooth calibration curve"
    unit = "probability"
    figure = Figure.CALIBRATION_CURVE
    has_own_table = True
    description = "observed against predicted probability, smoothed over bins"
    definition = "`x + sum(K * (y_true - y_score)) / sum(K)`, `K` by how far the bin of `y_score` is from `x`"

    def outputs(self, query: Query) -> tuple[Output, ...]:
        outputs, most = [], query.most_samples * WEIGHT_PARTS
        for one in self.bins():
            observed = Output(
                _OBSERVED,
                (("probability", one.middle),),
                signed=True,
                conditional=True,
                most_denominator=most * STEPS_PER_ONE,
                most_digits=query.most_rate_digits,
            )
            outputs.append(observed)
            if query.interval:
                predicted = replace(
                    observed,
                    name="mean_predicted",
                    signed=False,
                    most_denominator=most * WEIGHT_PARTS * STEPS_PER_ONE,
                )
                outputs += [predicted, standard_error(observed, 4 * most**2)]
        return tuple(outputs)

    def formula(self, secrets: Sequence[WideShare], evidence: Evidence) -> list[Ratio]:
        bins, ratios = self.bins(), []
        told = dict(zip(bins, _none_or_enough(evidence, bins), strict=True))
        samples = concat([self._smoothing.total(evidence, SamplesIn, place) for place in range(len(bins))])
        squares = evidence.suite.mul(samples, samples) if evidence.query.interval else samples
        for place in range(len(bins)):
            around = self._smoothing.around(place)
            own = [Ratio(self._residuals(evidence, place), samples[place] * STEPS_PER_ONE)]
            if evidence.query.interval:
                predicted, squared = (
                    self._smoothing.total(evidence, kind, place, power=2) for kind in (ExpectedIn, SamplesIn)
                )
                own += [Ratio(predicted, squared * STEPS_PER_ONE), Ratio(squared, squares[place] * 4)]
            behind = (reduce(add, (evidence.by_owner[SamplesIn(one)] for one in around)),)
            positive = tuple(part for one in around for part in told[one])
            ratios += [replace(ratio, behind=behind, positive=positive) for ratio in own]
        return ratios

    def read(self, values: Sequence[float | None], query: Query, counts: Counts) -> Table:
        outputs, each = self.outputs(query), 3 if query.interval else 1
        rows = []
        for place, one in enumerate(self.bins()):
            own = slice(each * place, each * place + each)
            rows.append(
                Row(
                    {"probability": one.middle},
                    {_OBSERVED: self._point(one, outputs[own], values[own], query)},
                )
            )
        return Table(tuple(rows))

    def _point(
        self, one: Bin, outputs: Sequence[Output], values: Sequence[float | None], query: Query
    ) -> Estimate:
        """Return the point of a bin, with its interval if there are numbers for it."""
        level, residual = query.confidence_level, values[0]
        if residual is None:
            return plain_estimate(None, outputs[0], query)
        if len(values) == 1 or level is None:
            return plain_estimate(within_unit(one.middle + residual), outputs[0], query)
        _, predicted, error = (value or 0.0 for value in values)
        digits, error_digits = query.digits_of(outputs[0]), query.digits_of(outputs[2])
        return smoothed_estimate(one.middle, residual, predicted, error, level, digits, error_digits)

    def read_noisy(self, noisy: NoisyRelease, level: float | None) -> Table:
        bins = self._noisy_bins(noisy)
        return Table(
            tuple(
                Row({"probability": one.middle}, {_OBSERVED: noisy_smoothed(one.middle, bins, row, level)})
                for one, row in zip(bins, self._weights(), strict=True)
            )
        )

    def on_own_data(self, samples: Samples, level: float) -> Table:
        found = smoothed_residuals(
            samples.labels, samples.scores_of_source, self.bins(), self.parameters.bandwidth
        )
        rows = []
        for one, point in zip(self.bins(), found, strict=True):
            estimate = Estimate(None, note="no samples around this point")
            if point is not None:
                estimate = smoothed_estimate(
                    point.at, point.residual, point.predicted, point.largest_error, level
                )
            rows.append(Row({"probability": one.middle}, {_OBSERVED: estimate}))
        return Table(tuple(rows))

    def reference(self, y_true: Any, y_score: Any) -> Any:
        found = smoothed_residuals(y_true, y_score, self.bins(), self.parameters.bandwidth)
        return [{_OBSERVED: math.nan if one is None else within_unit(one.at + one.residual)} for one in found]

    def sensitivity_to_one_person(self, public: PublicCounts) -> float:
        """A person has at most one part in as many as its bin has, of a mean of numbers y + x - p, which are
        from -reach to 1 + reach. The mean of the others is between what it was and what it is, or the
        same."""
        return min(1.0, (1 + 2 * self._reach()) / public.per_cell)


def _none_or_enough(evidence: Evidence, bins: Sequence[Bin]) -> list[tuple[RingShare, ...]]:
    """Return, for every bin, numbers that are above 0 if it has enough samples without any one owner, or
    none.

    With n samples, d without an owner, and m the fewest that a cell may have: n·(d - m) + 1 > 0. So a bin in
    which one owner is alone does not count as empty. Where no cell is withheld, nothing.
    """
    if not evidence.query.withholds_cells:
        return [()] * len(bins)
    by_owner = [evidence.by_owner[SamplesIn(one)] for one in bins]
    every = stack([own.sum() + own * 0 for own in by_owner])
    others = stack([own.sum() - own for own in by_owner])
    products = evidence.suite.mul(every, others - evidence.query.least_per_cell)
    return [(row + 1,) for row in products.rows()]


@register
class IntegratedCalibrationIndex(Smoothed):
    """The mean over samples of |curve - diagonal| at the middle of their bins: sum of n·|R|/S, over all.

    With q = n/S and s the sign of R, it is the sum of q·s·R, linear in residuals once q and s are known. So
    with g = sum of K·q·s of the bins in which a bin counts, and Q the sum of squared residuals in it, its
    variance is the sum of Q·g², over all samples squared. What errors of the curve add to magnitudes is
    bounded by the mean variance of the curve, the sum of n·V/S² over all, V = sum of K²·Q; see
    `index_interval`.

    Quotients are rounded down to 2^-32, and S is off by one in 2^32, so that the index is off by less than
    2^-29.

    One person moves the index and its standard error by a few parts in n. But the mean variance of the curve
    is about bins/n, of which somebody who is alone in a bin and around it has a part as large as that of any
    bin. So it is told only if every bin has enough samples, or none. Else its largest value is taken: as n <=
    S and V <= S, the sum of n·V/S² is at most the number of bins. The upper bound needs none of that.

    P. C. Austin, E. W. Steyerberg: The Integrated Calibration Index (ICI) and related metrics for quantifying
    the calibration of logistic regression models, Statistics in Medicine 2019.
    """

    name = "ici"
    title = "integrated calibration index"
    unit = "probability"
    description = (
        "integrated calibration index: mean distance of the smooth calibration curve from the diagonal"
    )
    definition = "`abs(curve(y_score) - y_score).mean()` of `smooth_calibration` at the bins of `y_score`"

    def outputs(self, query: Query) -> tuple[Output, ...]:
        n, parts = query.most_samples, WEIGHT_PARTS << _QUOTIENT_BITS
        index = Output(self.name, more_digits=1, most_denominator=n * STEPS_PER_ONE * parts)
        if not query.interval:
            return (index,)
        error = standard_error(index, n**2 * STEPS_PER_ONE * parts**2)
        return (
            index,
            error,
            replace(
                error,
                name="curve_error",
                most_denominator=n << 2 * _QUOTIENT_BITS,
                conditional=query.withholds_cells,
            ),
        )

    def sums(self, query: Query) -> tuple[OwnerSum, ...]:
        squares = tuple(map(SquaredErrorsIn, self.bins())) if query.interval else ()
        return (*super().sums(query), *squares)

    def fits(self, query: Query) -> tuple[Fit, ...]:
        squares = (Ordered(SamplesIn(one), SquaredErrorsIn(one)) for one in self.bins())
        return (*super().fits(query), *(squares if query.interval else ()))

    def formula(self, secrets: Sequence[WideShare], evidence: Evidence) -> list[Ratio]:
        suite, bins, n, parts = (
            evidence.suite,
            self.bins(),
            evidence.query.samples,
            WEIGHT_PARTS << _QUOTIENT_BITS,
        )
        places, interval = range(len(bins)), evidence.query.interval
        residuals = concat([self._residuals(evidence, place) for place in places])
        negative, magnitudes = suite.absolute(residuals)
        # S and a little more, so that it is not 0.
        around = [self._smoothing.total(evidence, SamplesIn, place) * WEIGHT_PARTS + 1 for place in places]
        pairs = [
            (evidence.totals[SamplesIn(one)] * WEIGHT_PARTS**2, s)
            for one, s in zip(bins, around, strict=True)
        ]
        if interval:
            pairs += [
                (self._smoothing.total(evidence, SquaredErrorsIn, place, power=2), s * STEPS_PER_ONE)
                for place, s in zip(places, around, strict=True)
            ]
        bound = (evidence.query.most_samples + 1) * WEIGHT_PARTS**2 * STEPS_PER_ONE
        quotients = evidence.quotients(pairs, _QUOTIENT_BITS, bound)
        q = quotients[: len(bins)]
        index = Ratio(suite.mul(q, magnitudes).sum(), n * STEPS_PER_ONE * parts)
        if not interval:
            return [index]
        signed = q - suite.mul(suite.widen(negative), q) * 2
        gradient = concat([_weighted(signed, row) for row in self._smoothing.rows])
        squares = concat([evidence.totals[SquaredErrorsIn(one)] for one in bins])
        variance = suite.mul(squares, suite.mul(gradient, gradient)).sum()
        of_curve = suite.mul(q, quotients[len(bins) :]).sum()
        return [
            index,
            Ratio(variance, n**2 * STEPS_PER_ONE * parts**2),
            Ratio(of_curve, n << 2 * _QUOTIENT_BITS, positive=tuple(chain(*_none_or_enough(evidence, bins)))),
        ]

    def read(self, values: Sequence[float | None], query: Query, counts: Counts) -> Estimate:
        outputs = self.outputs(query)
        level = query.confidence_level
        if values[0] is None or level is None:
            return plain_estimate(values[0], outputs[0], query)
        index, error, curve_error = values[0], values[1] or 0.0, values[2]
        digits, error_digits = (query.digits_of(output) for output in outputs[:2])
        if curve_error is None:
            largest = math.sqrt(min(len(self.bins()) / query.samples, 1.0))
            estimate = index_estimate(index, error, largest, level, digits, error_digits)
            return replace(estimate, note=_ANY_CURVE)
        return index_estimate(index, error, curve_error, level, digits, error_digits)

    def read_noisy(self, noisy: NoisyRelease, level: float | None) -> Estimate:
        return noisy_index(self._noisy_bins(noisy), self._weights(), noisy.samples, level)

    def on_own_data(self, samples: Samples, level: float) -> Estimate:
        found = self._on(samples.labels, samples.scores_of_source)
        return index_estimate(found.value, found.standard_error, found.curve_error, level)

    def reference(self, y_true: Any, y_score: Any) -> float:
        return self._on(y_true, y_score).value

    def _on(self, y_true: Any, y_score: Any) -> CalibrationIndex:
        return calibration_index(y_true, y_score, self.bins(), self.parameters.bandwidth)

    def sensitivity_to_one_person(self, public: PublicCounts) -> float:
        """Who leaves or joins moves n·|R|/S by at most its weight times the range of residuals around it, as
        S is at least the n that stay; and one sample more or less counts at most 1."""
        weights = max(map(sum, self._weights()))
        return min(1.0, 2 * ((1 + 2 * self._reach()) * weights + 1) / public.samples)


def _weighted(numbers: WideShare, weights: Sequence[int]) -> WideShare:
    return reduce(add, (numbers[place] * weight for place, weight in enumerate(weights) if weight))
