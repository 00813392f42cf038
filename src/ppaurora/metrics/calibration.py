"""How well probabilities fit: Brier score, observed to expected, reliability; and a histogram of scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Annotated, Any

import numpy as np
from msgspec import Meta

from ppaurora.data.samples import Samples
from ppaurora.io.models import StrictModel
from ppaurora.metrics.base import (
    Counts,
    Metric,
    check_growing,
    largest_variance_denominator,
    mean_estimate,
    plain_estimate,
    scikit_learn,
    wilson_estimate,
)
from ppaurora.metrics.evidence import Evidence
from ppaurora.metrics.facts import Figure, PublicCounts
from ppaurora.metrics.outputs import Form, Output, Ratio, standard_error
from ppaurora.metrics.private.noisy import NoisyRelease
from ppaurora.metrics.private.sums import Moment, SumsMechanism
from ppaurora.metrics.private.table import Cell, Cut, CutKind, OffsetsIn, TableMechanism
from ppaurora.metrics.query import Query
from ppaurora.metrics.registry import register
from ppaurora.metrics.sums import (
    STEPS_PER_ONE,
    Disjoint,
    ExpectedAmongPositives,
    ExpectedEvents,
    ExpectedIn,
    Fit,
    FourthPowers,
    NegativesIn,
    Ordered,
    OwnerSum,
    PositivesIn,
    SamplesIn,
    SquaredErrors,
    SquaredProbabilities,
)
from ppaurora.sharing.shares import WideShare
from ppaurora.statistics.calibration import (
    Bin,
    brier_score,
    calibration_in_the_large,
    class_counts,
    observed_to_expected,
    observed_to_expected_error,
    reliability,
    squared_errors,
)
from ppaurora.statistics.estimates import Estimate, Row, Table, log_estimate, own_mean
from ppaurora.statistics.intervals import proportion_interval
from ppaurora.statistics.noisy_numbers import (
    noisy_count,
    noisy_mean,
    noisy_position,
    noisy_proportion,
    noisy_ratio,
)

_HIGHEST_RATIO = 100
_STEPS_AT_HIGHEST_RATIO = -(-STEPS_PER_ONE // _HIGHEST_RATIO)  # that are expected of every event, rounded up
# At P = 1 and a ratio of 100 the standard error of its logarithm is at most sqrt(1 + 100); with sums that do
# not belong together, but fit the list, sqrt(3 + 100).
_HIGHEST_LOG_ERROR = 11
_OF_THE_RATIO = (ExpectedAmongPositives(), SquaredProbabilities())
MOST_BINS = 100
_OBSERVED = "observed"
_IN_A_BIN = ("mean_predicted", _OBSERVED)


@register
class Brier(Metric):
    """S2/n, with S2 the sum of squared errors. Its variance is (n·S4 - S2²) / (n²·(n - 1)), S4 that of fourth
    powers."""

    name = "brier"
    title = "Brier score"
    unit = "squared probability"
    description = "Brier score: mean squared error of the probabilities"
    definition = "`brier_score_loss(y_true, y_score)`"
    of_probabilities = True

    def outputs(self, query: Query) -> tuple[Output, ...]:
        score = Output(self.name, more_digits=1)  # its scale is that of the prevalence
        return (score, *_errors_of_means(score, query))

    def sums(self, query: Query) -> tuple[OwnerSum, ...]:
        return (SquaredErrors(), *((FourthPowers(),) if query.interval else ()))

    def fits(self, query: Query) -> tuple[Fit, ...]:
        return (Ordered(SquaredErrors(), FourthPowers()),) if query.interval else ()

    def mechanism(self) -> SumsMechanism:
        return SumsMechanism(squared_errors=True)

    def read_noisy(self, noisy: NoisyRelease, level: float | None) -> Estimate:
        """The variance of the sum of x is that of x² - (mean of x)², and x² is x less x - x²."""
        x, n = noisy.moment(Moment.ERROR), noisy.samples
        sampling = x.value - noisy.moment(Moment.SPREAD).value - x.value**2 / n
        return noisy_mean(x, n, sampling, level, within=(0.0, 1.0))

    def formula(self, secrets: Sequence[WideShare], evidence: Evidence) -> list[Ratio]:
        errors = evidence.totals[SquaredErrors()]
        score = Ratio(errors, evidence.samples * STEPS_PER_ONE)
        if not evidence.query.interval:
            return [score]
        squares = evidence.totals[FourthPowers()] * STEPS_PER_ONE
        return [score, *evidence.variances_of_means([(errors, squares)])]

    def read(self, values: Sequence[float | None], query: Query, counts: Counts) -> Estimate:
        return mean_estimate(values[0], values[-1], self.outputs(query)[0], query)

    def reference(self, y_true: Any, y_score: Any) -> float:
        return float(scikit_learn("brier_score_loss")(y_true, y_score))

    def on_own_data(self, samples: Samples, level: float) -> Estimate:
        score = brier_score(samples.labels, samples.scores)
        return own_mean(score, squared_errors(samples.labels, samples.scores), level)

    def sensitivity_to_one_person(self, public: PublicCounts) -> float:
        """A squared error is from 0 to 1."""
        return 1 / public.samples


@register
class ObservedToExpected(Metric):
    """P over the sum of probabilities, E. From 100 on it is withheld.

    By the delta method for a ratio of two means, with C the sum of the positives' probabilities and S that of
    squared probabilities, the variance of its logarithm is

        sum over samples of (y/P - p/E)² = (E² - 2·E·C + P·S) / (P·E²)
    """

    name = "observed_expected"
    title = "ratio of observed to expected events"
    unit = "ratio of events"
    description = "observed events over expected events"
    definition = "`y_true.sum() / y_score.sum()`"
    is_fraction = False
    of_probabilities = True

    def outputs(self, query: Query) -> tuple[Output, ...]:
        ratio = Output(self.name, highest=_HIGHEST_RATIO, conditional=True)
        if not query.interval:
            return (ratio,)
        most = largest_variance_denominator(query.most_samples)
        return (ratio, standard_error(ratio, most, highest=_HIGHEST_LOG_ERROR, signed=True))

    def sums(self, query: Query) -> tuple[OwnerSum, ...]:
        return (ExpectedEvents(), *(_OF_THE_RATIO if query.interval else ()))

    def fits(self, query: Query) -> tuple[Fit, ...]:
        return tuple(Ordered(ExpectedEvents(), one) for one in _OF_THE_RATIO) if query.interval else ()

    def mechanism(self) -> SumsMechanism:
        return SumsMechanism(in_the_large=True)

    def read_noisy(self, noisy: NoisyRelease, level: float | None) -> Estimate:
        """Where the ratio is near 1, the variance of observed less expected events is the sum of x."""
        observed, expected = noisy.sum_of_labels(), noisy.moment(Moment.PREDICTED)
        return noisy_ratio(observed, expected, noisy.moment(Moment.ERROR).value, level, _HIGHEST_RATIO)

    def formula(self, secrets: Sequence[WideShare], evidence: Evidence) -> list[Ratio]:
        by_owner = evidence.by_owner[ExpectedEvents()]
        below_highest = by_owner.sum() - evidence.found.positives * _STEPS_AT_HIGHEST_RATIO
        conditions = [below_highest]
        if evidence.query.withholds_cells:
            conditions.append(evidence.enough_of(by_owner, Fraction(1, STEPS_PER_ONE)))
        positives, expected = evidence.positives * STEPS_PER_ONE, evidence.totals[ExpectedEvents()]
        ratio = Ratio(positives, expected, positive=tuple(conditions))
        if not evidence.query.interval:
            return [ratio]
        among_positives, squares = (evidence.totals[total] for total in _OF_THE_RATIO)
        e_e, e_c, p_s = evidence.multiply(
            [(expected, expected), (expected, among_positives), (positives, squares)]
        )
        (p_e_e,) = evidence.multiply([(evidence.positives, e_e)])
        return [ratio, Ratio(e_e - e_c * 2 + p_s, p_e_e, positive=ratio.positive)]

    def read(self, values: Sequence[float | None], query: Query, counts: Counts) -> Estimate:
        """With an interval that is even on the scale of logarithms; its standard error is of that scale."""
        ratio, error, level = values[0], values[-1], query.confidence_level
        output = self.outputs(query)[0]
        if ratio is None or error is None or level is None:
            return plain_estimate(ratio, output, query)
        digits, error_digits = (query.digits_of(output) for output in self.outputs(query))
        return log_estimate(ratio, error, level, digits, error_digits)

    def reference(self, y_true: Any, y_score: Any) -> float:
        found = observed_to_expected(y_true, y_score)
        return math.nan if found is None else found

    def on_own_data(self, samples: Samples, level: float) -> Estimate:
        found = observed_to_expected(samples.labels, samples.scores)
        if found is None:
            return Estimate(None, note="undefined: no events expected")
        if found == 0:
            return Estimate(found, note="no interval: no events observed")
        return log_estimate(found, observed_to_expected_error(samples.labels, samples.scores), level)

    def sensitivity_to_one_person(self, public: PublicCounts) -> None:
        """Few expected events are doubled by one person."""


@register
class CalibrationInTheLarge(Metric):
    """(P - E)/n, the mean of y - p. It is not the intercept of a logistic recalibration, which often has the
    same name."""

    name = "calibration_in_the_large"
    title = "calibration in the large (difference of means)"
    unit = "probability"
    description = "mean observed minus mean predicted probability; not a logistic intercept"
    definition = "`y_true.mean() - y_score.mean()`"
    is_fraction = False
    of_probabilities = True

    def outputs(self, query: Query) -> tuple[Output, ...]:
        gap = Output(self.name, signed=True, more_digits=1)
        return (gap, *_errors_of_means(gap, query))

    def sums(self, query: Query) -> tuple[OwnerSum, ...]:
        return (ExpectedEvents(), *((SquaredErrors(),) if query.interval else ()))

    def mechanism(self) -> SumsMechanism:
        return SumsMechanism(in_the_large=True)

    def read_noisy(self, noisy: NoisyRelease, level: float | None) -> Estimate:
        gap, n = noisy.sum_of_labels() - noisy.moment(Moment.PREDICTED), noisy.samples
        sampling = noisy.moment(Moment.ERROR).value - gap.value**2 / n
        return noisy_mean(gap, n, sampling, level, within=(-1.0, 1.0))

    def formula(self, secrets: Sequence[WideShare], evidence: Evidence) -> list[Ratio]:
        total = evidence.positives * STEPS_PER_ONE - evidence.totals[ExpectedEvents()]
        gap = Ratio(total, evidence.samples * STEPS_PER_ONE)
        if not evidence.query.interval:
            return [gap]
        squares = evidence.totals[SquaredErrors()] * STEPS_PER_ONE
        return [gap, *evidence.variances_of_means([(total, squares)])]

    def read(self, values: Sequence[float | None], query: Query, counts: Counts) -> Estimate:
        return mean_estimate(values[0], values[-1], self.outputs(query)[0], query, within=(-1.0, 1.0))

    def reference(self, y_true: Any, y_score: Any) -> float:
        return calibration_in_the_large(y_true, y_score)

    def on_own_data(self, samples: Samples, level: float) -> Estimate:
        gap = calibration_in_the_large(samples.labels, samples.scores)
        return own_mean(gap, samples.labels - samples.scores, level, within=(-1.0, 1.0))

    def sensitivity_to_one_person(self, public: PublicCounts) -> float:
        """A label minus a probability is from -1 to 1."""
        return 2 / public.samples


def _errors_of_means(value: Output, query: Query) -> tuple[Output, ...]:
    """Return the standard error of a mean of sums that owners have rounded, if intervals are asked for."""
    most = largest_variance_denominator(query.most_samples)
    return (standard_error(value, most, signed=True),) if query.interval else ()


class Bins(StrictModel):
    bins: Annotated[
        tuple[float, ...],
        Meta(
            min_length=2,
            max_length=MOST_BINS + 1,
            description="Edges of the bins, in increasing order; by default ten equal bins from 0 to 1.",
        ),
    ] = tuple(edge / 10 for edge in range(11))

    def __post_init__(self) -> None:
        check_growing("bins", self.bins, what="edges ")


class ProbabilityBins(Bins):
    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bins[0] != 0 or self.bins[-1] != 1:
            raise ValueError("bins: edges must go from 0 to 1")


class InProbabilityBins(Metric):
    """Made of how many samples and positives every bin has, and of their probabilities.

    Bins are open below, but the first.
    """

    Parameters = ProbabilityBins
    parameters: ProbabilityBins
    of_probabilities = True

    def edges(self) -> tuple[float, ...]:
        return self.parameters.bins

    def bins(self) -> list[Bin]:
        edges = self.parameters.bins
        return [Bin(low, high, low == edges[0], with_high=True) for low, high in pairwise(edges)]

    def sums(self, query: Query) -> tuple[OwnerSum, ...]:
        return tuple(kind(one) for one in self.bins() for kind in (SamplesIn, PositivesIn, ExpectedIn))

    def fits(self, query: Query) -> tuple[Fit, ...]:
        bins = self.bins()
        return (
            *(Disjoint(tuple(map(kind, bins))) for kind in (SamplesIn, PositivesIn)),
            *(Ordered(SamplesIn(one), kind(one)) for one in bins for kind in (PositivesIn, ExpectedIn)),
        )

    def mechanism(self) -> TableMechanism:
        cuts = tuple(Cut(edge, CutKind.EDGE_ABOVE) for edge in self.parameters.bins[1:-1])
        return TableMechanism(cuts, tuple(self.offsets()))

    def offsets(self) -> list[OffsetsIn]:
        """Every probability is at least the first edge and at most the last, which are no cuts therefore."""
        edges = self.parameters.bins
        cuts = (None, *(Cut(edge, CutKind.EDGE_ABOVE) for edge in edges[1:-1]), None)
        ends = zip(pairwise(cuts), pairwise(edges), strict=True)
        return [OffsetsIn(Cell(low, high), *bounds) for (low, high), bounds in ends]


@register
class Reliability(InProbabilityBins):
    """For every bin the mean probability and the fraction of positives.

    Where counts are hidden, numbers of a bin have few decimals: more would tell how many samples it has.
    """

    name = "reliability"
    title = "observed and predicted probabilities in bins"
    unit = "probability"
    figure = Figure.RELIABILITY_DIAGRAM
    has_own_table = True
    description = "mean predicted and observed probability, in bins"
    definition = "`calibration_curve(y_true, y_score)`"

    def outputs(self, query: Query) -> tuple[Output, ...]:
        outputs = []
        for one in self.bins():
            at = (("low", one.low), ("high", one.high))
            outputs += [
                Output(name, at, conditional=True, most_digits=query.most_rate_digits) for name in _IN_A_BIN
            ]
            if query.tells_counts:
                outputs.append(Output("samples", at, form=Form.COUNT, conditional=True))
        return tuple(outputs)

    def read_noisy(self, noisy: NoisyRelease, level: float | None) -> Table:
        rows = []
        for one in self.offsets():
            positives, negatives = (noisy.count(one.bin, label) for label in (1, 0))
            samples = positives + negatives
            numbers = (
                noisy_position(noisy.offsets(one), samples, (one.low, one.high)),
                noisy_proportion(positives, negatives, level),
                noisy_count(samples, noisy.samples),
            )
            rows.append(
                Row(
                    {"low": one.low, "high": one.high},
                    dict(zip((*_IN_A_BIN, "samples"), numbers, strict=True)),
                )
            )
        return Table(tuple(rows))

    def formula(self, secrets: Sequence[WideShare], evidence: Evidence) -> list[Ratio]:
        ratios = []
        for one in self.bins():
            samples, behind = evidence.totals[SamplesIn(one)], (evidence.by_owner[SamplesIn(one)],)
            ratios += [
                Ratio(evidence.totals[ExpectedIn(one)], samples * STEPS_PER_ONE, behind),
                Ratio(evidence.totals[PositivesIn(one)], samples, behind),
            ]
            if evidence.query.tells_counts:
                ratios.append(Ratio(samples, behind=behind))
        return ratios

    def read(self, values: Sequence[float | None], query: Query, counts: Counts) -> Table:
        """With Wilson's interval of what was observed, where the samples in a bin are released."""
        table = read_rows(self.outputs(query), values, query)
        if not query.tells_counts:
            return table
        outputs = {output.at: output for output in self.outputs(query) if output.name == _OBSERVED}
        return Table(tuple(self._with_interval(row, outputs[tuple(row.at.items())], query) for row in table))

    def _with_interval(self, row: Row, output: Output, query: Query) -> Row:
        samples = row["samples"].value
        trials = None if samples is None else query.least_count(samples, query.policy.minimum_per_cell)
        observed = wilson_estimate(row[_OBSERVED].value, trials, output, query)
        return Row(row.at, {**row.values, _OBSERVED: observed})

    def reference(self, y_true: Any, y_score: Any) -> Any:
        found = reliability(y_true, y_score, self.bins())
        return [dict(zip(_IN_A_BIN, row or (math.nan, math.nan), strict=True)) for row in found]

    def on_own_data(self, samples: Samples, level: float) -> Table:
        scores = samples.scores_of_source
        found = reliability(samples.labels, scores, self.bins())
        return Table(
            tuple(
                Row({"low": one.low, "high": one.high}, _own_row(row, int(one.holds(scores).sum()), level))
                for one, row in zip(self.bins(), found, strict=True)
            )
        )

    def sensitivity_to_one_person(self, public: PublicCounts) -> float:
        """One sample that leaves a bin, joins it or changes in it moves its means by at most 1/samples."""
        return 1 / public.per_cell


def _own_row(row: tuple[float, float] | None, trials: int, level: float) -> dict[str, Estimate]:
    """Return the numbers in a bin of an owner's own data."""
    if row is None:
        return dict.fromkeys(_IN_A_BIN, Estimate(None, note="no samples in this bin"))
    predicted, observed = row
    interval = proportion_interval(observed, trials, level)
    estimate = Estimate(observed, interval=interval, method="Wilson", confidence_level=level)
    return dict(zip(_IN_A_BIN, (Estimate(predicted), estimate), strict=True))


@register
class Histogram(Metric):
    """Bins are open above, but the last; scores outside are not counted."""

    name = "histogram"
    title = "scores by class"
    unit = "samples"
    description = "numbers of positives and negatives, in bins of scores"
    definition = "`numpy.histogram(y_score[y_true == 1], bins)`, and of `y_score[y_true == 0]`"
    figure = Figure.SCORES_BY_CLASS
    has_own_table = True
    Parameters = Bins
    parameters: Bins
    discloses_counts = True

    def edges(self) -> tuple[float, ...]:
        return self.parameters.bins

    def _bins(self) -> list[Bin]:
        edges = self.parameters.bins
        return [Bin(low, high, with_low=True, with_high=high == edges[-1]) for low, high in pairwise(edges)]

    def outputs(self, query: Query) -> tuple[Output, ...]:
        return tuple(
            Output(name, (("low", one.low), ("high", one.high)), form=Form.COUNT, conditional=True)
            for one in self._bins()
            for name in ("positives", "negatives")
        )

    def sums(self, query: Query) -> tuple[OwnerSum, ...]:
        return tuple(kind(one) for one in self._bins() for kind in (PositivesIn, NegativesIn))

    def fits(self, query: Query) -> tuple[Fit, ...]:
        return tuple(Disjoint(tuple(map(kind, self._bins()))) for kind in (PositivesIn, NegativesIn))

    def mechanism(self) -> TableMechanism:
        return TableMechanism(tuple(sorted({cut for cell in self._cells() for cut in cell})))

    def _cells(self) -> list[tuple[Cut, Cut]]:
        *below, last = self.parameters.bins
        cuts = [*(Cut(edge, CutKind.EDGE_BELOW) for edge in below), Cut(last, CutKind.EDGE_ABOVE)]
        return list(pairwise(cuts))

    def read_noisy(self, noisy: NoisyRelease, level: float | None) -> Table:
        rows = []
        for low, high in self._cells():
            counts = {
                name: noisy_count(noisy.count(Cell(low, high), label), noisy.samples)
                for name, label in (("positives", 1), ("negatives", 0))
            }
            rows.append(Row({"low": low.value, "high": high.value}, counts))
        return Table(tuple(rows))

    def formula(self, secrets: Sequence[WideShare], evidence: Evidence) -> list[Ratio]:
        return [
            Ratio(evidence.totals[total], behind=(evidence.by_owner[total],))
            for total in self.sums(evidence.query)
        ]

    def read(self, values: Sequence[float | None], query: Query, counts: Counts) -> Table:
        return read_rows(self.outputs(query), values, query)

    def reference(self, y_true: Any, y_score: Any) -> Any:
        labels, scores = np.asarray(y_true), np.asarray(y_score)
        by_class = [np.histogram(scores[labels == label], self.parameters.bins)[0] for label in (1, 0)]
        return [
            {"positives": int(positives), "negatives": int(negatives)}
            for positives, negatives in zip(*by_class, strict=True)
        ]

    def on_own_data(self, samples: Samples, level: float) -> Table:
        found = class_counts(samples.labels, samples.scores_of_source, self._bins())
        return Table(
            tuple(
                Row(
                    {"low": one.low, "high": one.high},
                    {
                        "positives": Estimate(positives, digits=0),
                        "negatives": Estimate(negatives, digits=0),
                    },
                )
                for one, (positives, negatives) in zip(self._bins(), found, strict=True)
            )
        )

    def sensitivity_to_one_person(self, public: PublicCounts) -> float:
        """A person leaves one count and joins another."""
        return 1.0


def read_rows(outputs: Sequence[Output], values: Sequence[float | None], query: Query) -> Table:
    """Outputs that are of one place make a row."""
    rows: dict[tuple[tuple[str, float], ...], dict[str, Estimate]] = {}
    for output, value in zip(outputs, values, strict=True):
        rows.setdefault(output.at, {})[output.name] = plain_estimate(value, output, query)
    return Table(tuple(Row(dict(at), estimates) for at, estimates in rows.items()))
