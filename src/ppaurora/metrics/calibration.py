"""How well probabilities fit, in one number: Brier score, observed to expected, calibration in the large."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from ppaurora.data.samples import Samples
from ppaurora.metrics.base import (
    Counts,
    Metric,
    largest_variance_denominator,
    mean_estimate,
    plain_estimate,
    scikit_learn,
)
from ppaurora.metrics.evidence import Evidence
from ppaurora.metrics.facts import PublicCounts
from ppaurora.metrics.outputs import Output, Ratio, standard_error
from ppaurora.metrics.private.noisy import NoisyRelease
from ppaurora.metrics.private.sums import Moment, SumsMechanism
from ppaurora.metrics.query import Query
from ppaurora.metrics.registry import register
from ppaurora.metrics.sums import (
    STEPS_PER_ONE,
    ExpectedAmongPositives,
    ExpectedEvents,
    Fit,
    FourthPowers,
    Ordered,
    OwnerSum,
    SquaredErrors,
    SquaredProbabilities,
)
from ppaurora.sharing.shares import WideShare
from ppaurora.statistics.calibration import (
    brier_score,
    calibration_in_the_large,
    observed_to_expected,
    observed_to_expected_error,
    squared_errors,
)
from ppaurora.statistics.estimates import Estimate, log_estimate, own_mean
from ppaurora.statistics.noisy_numbers import (
    noisy_mean,
    noisy_ratio,
)

_HIGHEST_RATIO = 100
_STEPS_AT_HIGHEST_RATIO = -(-STEPS_PER_ONE // _HIGHEST_RATIO)  # that are expected of every event, rounded up
# At P = 1 and a ratio of 100 the standard error of its logarithm is at most sqrt(1 + 100); with sums that do
# not belong together, but fit the list, sqrt(3 + 100).
_HIGHEST_LOG_ERROR = 11
_OF_THE_RATIO = (ExpectedAmongPositives(), SquaredProbabilities())


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
    by_level = True

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
    by_level = True

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
    by_level = True

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
