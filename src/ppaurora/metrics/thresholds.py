"""Metrics at public thresholds: a sample is called positive if its score is at least the threshold."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar

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
    wilson_estimate,
)
from ppaurora.metrics.evidence import Evidence
from ppaurora.metrics.facts import Figure, PublicCounts, SampleClass
from ppaurora.metrics.outputs import Form, Output, Ratio, standard_error
from ppaurora.metrics.private.noisy import NoisyRelease
from ppaurora.metrics.private.table import Cut, CutKind, TableMechanism
from ppaurora.metrics.query import Query
from ppaurora.metrics.registry import register
from ppaurora.metrics.sums import STEPS_PER_ONE, FalsePositives, OwnerSum, TruePositives, at_least
from ppaurora.policy.rules import MOST_DIGITS
from ppaurora.sharing.shares import RingShare, WideShare
from ppaurora.statistics.confusion import Confusion, confusion
from ppaurora.statistics.estimates import Estimate, Row, Table, own_mean
from ppaurora.statistics.intervals import Interval, wilson_interval
from ppaurora.statistics.noisy_numbers import noisy_count, noisy_mean, noisy_proportion, noisy_ratio

MOST_THRESHOLDS = 100
_HIGHEST_RISK = 0.99  # at which a net benefit can be asked for: harm then weighs 99 times as much

_CALLED_NEGATIVE = "called_negative"


class Thresholds(StrictModel):
    thresholds: Annotated[
        tuple[float, ...],
        Meta(
            min_length=1,
            max_length=MOST_THRESHOLDS,
            description="Scores at or above which a sample is called positive, in increasing order.",
        ),
    ]

    def __post_init__(self) -> None:
        check_growing("thresholds", self.thresholds)


class AtThresholds(Metric):
    """A numerator over a denominator for every threshold, both linear in the counts there."""

    Parameters = Thresholds
    parameters: Thresholds
    sample_parameters: ClassVar[Mapping[str, Any]] = {"thresholds": (0.1, 0.2, 0.5)}
    signed: ClassVar[bool] = False
    # How many samples are behind a proportion, if that is not known from the class counts.
    trials_name: ClassVar[str] = ""
    of_all_samples: ClassVar[bool] = False  # whether the denominator is public
    more_digits: ClassVar[int] = 0
    by_level = True
    is_proportion: ClassVar[bool] = True  # of samples, each of which counts or does not

    @abstractmethod
    def fraction(self, at: Confusion, threshold: float) -> tuple[Any, Any]:
        """Return numerator and denominator of the number at a threshold."""

    def trials(self, at: Confusion) -> Any:
        """Return the samples behind a proportion that has its own denominator."""
        return self.fraction(at, 0.0)[1]

    def highest(self, threshold: float) -> int:
        return 1

    def outputs(self, query: Query) -> tuple[Output, ...]:
        outputs, conditional = [], bool(self.trials_name) or query.withholds_cells
        for threshold in self.parameters.thresholds:
            at = (("threshold", threshold),)
            outputs.append(
                Output(
                    self.name,
                    at,
                    signed=self.signed,
                    highest=self.highest(threshold),
                    conditional=conditional,
                    more_digits=self.more_digits,
                    most_digits=MOST_DIGITS if self.of_all_samples else query.most_rate_digits,
                )
            )
            if self._tells_trials(query):
                outputs.append(Output(self.trials_name, at, form=Form.COUNT, conditional=True))
        return tuple(outputs)

    def _tells_trials(self, query: Query) -> bool:
        return bool(self.trials_name) and query.tells_counts

    def thresholds(self) -> tuple[float, ...]:
        return self.parameters.thresholds

    def sums(self, query: Query) -> tuple[OwnerSum, ...]:
        return tuple(
            kind(threshold)
            for threshold in self.parameters.thresholds
            for kind in (TruePositives, FalsePositives)
        )

    def mechanism(self) -> TableMechanism:
        return TableMechanism(tuple(Cut(one, CutKind.THRESHOLD) for one in self.parameters.thresholds))

    def formula(self, secrets: Sequence[WideShare], evidence: Evidence) -> list[Ratio]:
        ratios = []
        for threshold in self.parameters.thresholds:
            tp, fp = TruePositives(threshold), FalsePositives(threshold)
            totals = evidence.totals
            whole = Confusion(totals[tp], totals[fp], evidence.positives, evidence.negatives)
            behind = self._behind(threshold, evidence)
            between = evidence.between.get(threshold, ())
            numerator, denominator = self.fraction(whole, threshold)
            ratios.append(Ratio(numerator, denominator, behind, between))
            if self._tells_trials(evidence.query):
                ratios.append(Ratio(self.trials(whole), behind=behind, positive=between))
        return ratios

    def _behind(self, threshold: float, evidence: Evidence) -> tuple[RingShare, ...]:
        """Return both sides of the threshold, the one that the number is a fraction of first.

        Where no cell is withheld, that one only, which must not be empty.
        """
        called = evidence.called[threshold]
        sides = (called.positive, called.negative)
        if self.trials_name == _CALLED_NEGATIVE:
            sides = sides[::-1]
        if evidence.query.withholds_cells:
            return sides
        return sides[:1] if self.trials_name else ()

    def fewest_trials(self, query: Query, counts: Counts) -> int | None:
        """Return the fewest samples that may be behind a proportion, if the class counts tell them."""
        policy = query.policy
        by_class = {
            SampleClass.POSITIVES: (counts.positives, policy.minimum_positives),
            SampleClass.NEGATIVES: (counts.negatives, policy.minimum_negatives),
        }
        if self.rate_of is None:
            return None
        released, floor = by_class[self.rate_of]
        return None if released is None else query.least_count(released, floor)

    def read(self, values: Sequence[float | None], query: Query, counts: Counts) -> Table:
        """With Wilson's interval where the number of samples behind a proportion is released."""
        rows = []
        released = iter(zip(self.outputs(query), values, strict=True))
        for output, value in released:
            trials = self.fewest_trials(query, counts)
            told: dict[str, Estimate] = {}
            if self._tells_trials(query):
                trials_output, count = next(released)
                told[trials_output.name] = plain_estimate(count, trials_output, query)
                trials = None if count is None else query.least_count(count, query.policy.minimum_per_cell)
            estimate = wilson_estimate(value, trials, output, query)
            rows.append(Row(dict(output.at), {self.name: estimate, **told}))
        return Table(tuple(rows))

    def read_noisy(self, noisy: NoisyRelease, level: float | None) -> Table:
        rows = []
        for threshold in self.parameters.thresholds:
            at = noisy.confusion(threshold)
            numbers = {self.name: self.noisy_estimate(at, threshold, noisy.samples, level)}
            if self.trials_name:
                numbers[self.trials_name] = noisy_count(self.trials(at), noisy.samples)
            rows.append(Row({"threshold": threshold}, numbers))
        return Table(tuple(rows))

    def noisy_estimate(self, at: Confusion, threshold: float, samples: int, level: float | None) -> Estimate:
        """Return the number at a threshold from noisy counts: by default of a proportion."""
        numerator, denominator = self.fraction(at, threshold)
        return noisy_proportion(numerator, denominator - numerator, level)

    def on_own_data(self, samples: Samples, level: float) -> Table:
        rows = []
        for threshold in self.parameters.thresholds:
            at = confusion(samples.labels, at_least(samples, threshold))
            value = self._value(at, threshold)
            estimate = Estimate(None, note="no samples")
            if value is not None:
                estimate = self.own_estimate(value, at, threshold, level)
            rows.append(Row({"threshold": threshold}, {self.name: estimate}))
        return Table(tuple(rows))

    def own_estimate(self, value: float, at: Confusion, threshold: float, level: float) -> Estimate:
        """Return an owner's own number, with Wilson's interval if it is a proportion."""
        if not self.is_proportion:
            return Estimate(value)
        interval = wilson_interval(*self.fraction(at, threshold), level)
        return Estimate(value, interval=interval, method="Wilson", confidence_level=level)

    @abstractmethod
    def moved_by_one(self, public: PublicCounts, threshold: float) -> float:
        """Bound how far replacing one person moves the number at a threshold."""

    def sensitivity_to_one_person(self, public: PublicCounts) -> float:
        return max(self.moved_by_one(public, threshold) for threshold in self.parameters.thresholds)

    def _value(self, at: Confusion, threshold: float) -> float | None:
        numerator, denominator = self.fraction(at, threshold)
        return float(numerator / denominator) if denominator else None

    def reference(self, y_true: Any, y_score: Any) -> Any:
        """Compute it by its definition, from counts."""
        labels, scores = np.asarray(y_true), np.asarray(y_score)
        rows = []
        for threshold in self.parameters.thresholds:
            found = self._value(confusion(labels, scores >= threshold), threshold)
            rows.append({self.name: math.nan if found is None else found})
        return rows


@register
class Sensitivity(AtThresholds):
    name = "sensitivity"
    title = "sensitivity"
    unit = "fraction of positives"
    rate_of = SampleClass.POSITIVES
    description = "true positives among positives, at thresholds"
    definition = "`recall_score(y_true, y_score >= threshold)`"

    def fraction(self, at: Confusion, threshold: float) -> tuple[Any, Any]:
        return at.tp, at.positives

    def moved_by_one(self, public: PublicCounts, threshold: float) -> float:
        return 1 / public.positives


@register
class Specificity(AtThresholds):
    name = "specificity"
    title = "specificity"
    unit = "fraction of negatives"
    rate_of = SampleClass.NEGATIVES
    description = "true negatives among negatives, at thresholds"
    definition = "`recall_score(y_true, y_score >= threshold, pos_label=0)`"

    def fraction(self, at: Confusion, threshold: float) -> tuple[Any, Any]:
        return at.tn, at.negatives

    def moved_by_one(self, public: PublicCounts, threshold: float) -> float:
        return 1 / public.negatives


@register
class PositivePredictiveValue(AtThresholds):
    name = "ppv"
    title = "positive predictive value"
    unit = "fraction of those called positive"
    description = "positives among those called positive, at thresholds"
    definition = "`precision_score(y_true, y_score >= threshold)`"
    trials_name = "called_positive"

    def fraction(self, at: Confusion, threshold: float) -> tuple[Any, Any]:
        return at.tp, at.tp + at.fp

    def moved_by_one(self, public: PublicCounts, threshold: float) -> float:
        return 1 / public.per_cell


@register
class NegativePredictiveValue(AtThresholds):
    name = "npv"
    title = "negative predictive value"
    unit = "fraction of those called negative"
    description = "negatives among those called negative, at thresholds"
    definition = "`precision_score(y_true, y_score >= threshold, pos_label=0)`"
    trials_name = _CALLED_NEGATIVE

    def fraction(self, at: Confusion, threshold: float) -> tuple[Any, Any]:
        return at.tn, at.tn + at.fn

    def moved_by_one(self, public: PublicCounts, threshold: float) -> float:
        return 1 / public.per_cell


@register
class F1(AtThresholds):
    name = "f1"
    title = "F1 score"
    unit = "harmonic mean of two fractions"
    description = "harmonic mean of sensitivity and positive predictive value, at thresholds"
    definition = "`f1_score(y_true, y_score >= threshold)`"
    is_proportion = False

    def fraction(self, at: Confusion, threshold: float) -> tuple[Any, Any]:
        return at.tp * 2, at.positives + at.tp + at.fp

    def noisy_estimate(self, at: Confusion, threshold: float, samples: int, level: float | None) -> Estimate:
        return noisy_ratio(*self.fraction(at, threshold), sampling=None, level=level, highest=1)

    def moved_by_one(self, public: PublicCounts, threshold: float) -> float:
        """Most where no positive is called, and one is then: from 0 to 2/(P + 1)."""
        return 2 / (public.positives + 1)


@register
class Accuracy(AtThresholds):
    name = "accuracy"
    title = "accuracy"
    unit = "fraction of samples"
    description = "correctly classified samples, at thresholds"
    definition = "`accuracy_score(y_true, y_score >= threshold)`"
    of_all_samples = True

    def fraction(self, at: Confusion, threshold: float) -> tuple[Any, Any]:
        return at.tp + at.tn, at.positives + at.negatives

    def fewest_trials(self, query: Query, counts: Counts) -> int | None:
        return counts.samples

    def moved_by_one(self, public: PublicCounts, threshold: float) -> float:
        return 1 / public.samples


class RiskThresholds(Thresholds):
    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.thresholds[0] > 0 and self.thresholds[-1] <= _HIGHEST_RISK):
            raise ValueError(f"thresholds: of a net benefit must be above 0 and at most {_HIGHEST_RISK}")


@register
class NetBenefit(AtThresholds):
    """TP/n - FP/n·t/(1 - t), the odds of the threshold in steps of 2^-32.

    It is the mean of numbers that are 1 for a true positive, minus the odds for a false one, and else 0; that
    gives its standard error.
    """

    name = "net_benefit"
    title = "net benefit"
    unit = "true positives per sample"
    figure = Figure.DECISION_CURVE
    description = "net benefit of treating those called positive, at risk thresholds"
    definition = "`tp / n - fp / n * t / (1 - t)` (Vickers and Elkin 2006)"
    Parameters = RiskThresholds
    of_probabilities = True
    of_all_samples = True
    more_digits = 1  # its scale is that of the prevalence
    is_proportion = False
    is_fraction = False
    signed = True

    def fraction(self, at: Confusion, threshold: float) -> tuple[Any, Any]:
        odds = odds_in_steps(threshold)
        return at.tp * STEPS_PER_ONE - at.fp * odds, (at.positives + at.negatives) * STEPS_PER_ONE

    def outputs(self, query: Query) -> tuple[Output, ...]:
        values = super().outputs(query)
        if not query.interval:
            return values
        most = largest_variance_denominator(query.most_samples)
        return tuple(output for value in values for output in (value, standard_error(value, most)))

    def formula(self, secrets: Sequence[WideShare], evidence: Evidence) -> list[Ratio]:
        values = super().formula(secrets, evidence)
        if not evidence.query.interval:
            return values
        sums = []
        for threshold, value in zip(self.parameters.thresholds, values, strict=True):
            tp, fp = (evidence.totals[kind(threshold)] for kind in (TruePositives, FalsePositives))
            squares = tp * STEPS_PER_ONE**2 + fp * odds_in_steps(threshold) ** 2
            sums.append((value.numerator, squares))
        variances = [
            replace(variance, behind=value.behind, positive=value.positive)
            for value, variance in zip(values, evidence.variances_of_means(sums), strict=True)
        ]
        return [ratio for both in zip(values, variances, strict=True) for ratio in both]

    def read(self, values: Sequence[float | None], query: Query, counts: Counts) -> Table:
        if not query.interval:
            return super().read(values, query, counts)
        rows = []
        numbers = zip(self.outputs(query)[::2], values[::2], values[1::2], strict=True)
        for threshold, (output, value, error) in zip(self.parameters.thresholds, numbers, strict=True):
            estimate = mean_estimate(value, error, output, query, within=_benefits(threshold))
            rows.append(Row(dict(output.at), {self.name: estimate}))
        return Table(tuple(rows))

    def own_estimate(self, value: float, at: Confusion, threshold: float, level: float) -> Estimate:
        weights = np.repeat([1.0, -_odds(threshold), 0.0], [at.tp, at.fp, at.tn + at.fn])
        return own_mean(value, weights, level, within=_benefits(threshold))

    def noisy_estimate(self, at: Confusion, threshold: float, samples: int, level: float | None) -> Estimate:
        """The variance is that of a number that is 1 for TP of n samples, -odds for FP, and else 0."""
        odds = _odds(threshold)
        benefit = at.tp - at.fp * odds
        sampling = at.tp.value + odds**2 * at.fp.value - benefit.value**2 / samples
        return noisy_mean(benefit, samples, sampling, level, within=_benefits(threshold))

    def moved_by_one(self, public: PublicCounts, threshold: float) -> float:
        """A person adds 1, or nothing, or takes the odds away."""
        return (1 + _odds(threshold)) / public.samples

    def highest(self, threshold: float) -> int:
        return int(threshold / (1 - threshold)) + 1


def _benefits(threshold: float) -> Interval:
    """Return the least and the largest net benefit: only false positives, or only true ones."""
    return -_odds(threshold), 1.0


def _odds(threshold: float) -> float:
    """Return the odds of a threshold, as near to it as whole steps are."""
    return odds_in_steps(threshold) / STEPS_PER_ONE


def odds_in_steps(threshold: float) -> int:
    return round(threshold / (1 - threshold) * STEPS_PER_ONE)
