"""Metrics at public thresholds: a sample is called positive if its score is at least the threshold."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
from msgspec import Meta

from ppaurora.io.models import StrictModel
from ppaurora.metrics.base import Counts, Metric, check_growing, plain_estimate
from ppaurora.metrics.evidence import Evidence
from ppaurora.metrics.outputs import Form, Output, Ratio
from ppaurora.metrics.query import Query
from ppaurora.metrics.registry import register
from ppaurora.metrics.sums import STEPS_PER_ONE, FalsePositives, OwnerSum, TruePositives
from ppaurora.policy.rules import EXACT, MOST_DIGITS
from ppaurora.sharing.shares import RingShare, WideShare
from ppaurora.statistics.confusion import Confusion, confusion
from ppaurora.statistics.estimates import Estimate, Row, Table, wilson_interval

_MOST_THRESHOLDS = 100
_HIGHEST_RISK = 0.99  # at which a net benefit can be asked for: harm then weighs 99 times as much


class Thresholds(StrictModel):
    thresholds: Annotated[
        tuple[float, ...],
        Meta(
            min_length=1,
            max_length=_MOST_THRESHOLDS,
            description="Scores from which on a sample is called positive, in growing order.",
        ),
    ]

    def __post_init__(self) -> None:
        check_growing("thresholds", self.thresholds)


class AtThresholds(Metric):
    """A numerator over a denominator for every threshold, both linear in the counts there."""

    Parameters = Thresholds
    parameters: Thresholds
    signed: ClassVar[bool] = False
    # How many samples are behind a proportion, if that is not known from the class counts.
    trials_name: ClassVar[str] = ""
    of_all_samples: ClassVar[bool] = False  # whether the denominator is public

    @abstractmethod
    def fraction(self, at: Confusion, threshold: float) -> tuple[Any, Any]:
        """Numerator and denominator."""

    def trials(self, at: Confusion) -> Any:
        """The samples behind a proportion that has its own denominator."""
        return self.fraction(at, 0.0)[1]

    def highest(self, threshold: float) -> int:
        return 1

    def outputs(self, query: Query) -> tuple[Output, ...]:
        outputs, close = [], set(query.close_thresholds)
        for threshold in self.parameters.thresholds:
            at = (("threshold", threshold),)
            outputs.append(
                Output(
                    self.name,
                    at,
                    signed=self.signed,
                    highest=self.highest(threshold),
                    conditional=bool(self.trials_name) or threshold in close,
                    most_digits=self._most_digits(query),
                )
            )
            if self._tells_trials(query):
                outputs.append(Output(self.trials_name, at, form=Form.COUNT, conditional=True))
        return tuple(outputs)

    def _most_digits(self, query: Query) -> int:
        if self.of_all_samples:
            return MOST_DIGITS
        return query.most_rate_digits if self.trials_name else query.most_class_digits

    def _tells_trials(self, query: Query) -> bool:
        return bool(self.trials_name) and query.tells_counts

    def thresholds(self) -> tuple[float, ...]:
        return self.parameters.thresholds

    def sums(self) -> tuple[OwnerSum, ...]:
        return tuple(
            kind(threshold)
            for threshold in self.parameters.thresholds
            for kind in (TruePositives, FalsePositives)
        )

    def formula(self, secrets: Sequence[WideShare], evidence: Evidence) -> list[Ratio]:
        ratios = []
        for threshold in self.parameters.thresholds:
            tp, fp = TruePositives(threshold), FalsePositives(threshold)
            totals = evidence.totals
            whole = Confusion(totals[tp], totals[fp], evidence.positives, evidence.negatives)
            behind = self._behind(threshold, evidence)
            between = evidence.between.get(threshold)
            numerator, denominator = self.fraction(whole, threshold)
            ratios.append(Ratio(numerator, denominator, behind, between))
            if self._tells_trials(evidence.query):
                ratios.append(Ratio(self.trials(whole), behind=behind, positive=between))
        return ratios

    def _behind(self, threshold: float, evidence: Evidence) -> RingShare | None:
        if not self.trials_name:
            return None
        counts, by_owner = evidence.inputs.list_counts, evidence.by_owner
        tp, fp = by_owner[TruePositives(threshold)], by_owner[FalsePositives(threshold)]
        behind: RingShare = self.trials(Confusion(tp, fp, counts.positives, counts.negatives))
        return behind

    def known_trials(self, counts: Counts) -> int | None:
        """The samples behind a proportion, if the class counts tell them."""
        return None

    def read(self, values: Sequence[float | None], query: Query, counts: Counts) -> Table:
        """With Wilson's interval where the number of samples behind a proportion is released."""
        rows = []
        released = iter(zip(self.outputs(query), values, strict=True))
        for output, value in released:
            trials: float | None = self.known_trials(counts)
            told: dict[str, Estimate] = {}
            if self._tells_trials(query):
                trials_output, trials = next(released)
                told[trials_output.name] = plain_estimate(trials, trials_output, query)
            rows.append(
                Row(dict(output.at), {self.name: self._estimate(value, trials, output, query), **told})
            )
        return Table(tuple(rows))

    def _estimate(self, value: float | None, trials: float | None, output: Output, query: Query) -> Estimate:
        level = query.confidence_level
        if value is None or not trials or level is None:
            return plain_estimate(value, output, query)
        return Estimate(
            value,
            digits=query.digits_of(output),
            interval=wilson_interval(value * trials, trials, level),
            method="Wilson" if query.policy.counts == EXACT else "Wilson, of rounded counts",
            confidence_level=level,
        )

    def reference(self, y_true: Any, y_score: Any) -> Any:
        """By its definition, from counts."""
        labels, scores = np.asarray(y_true), np.asarray(y_score)
        rows = []
        for threshold in self.parameters.thresholds:
            at = confusion(labels, scores >= threshold)
            numerator, denominator = self.fraction(at, threshold)
            rows.append({self.name: numerator / denominator if denominator else float("nan")})
        return rows


@register
class Sensitivity(AtThresholds):
    name = "sensitivity"
    description = "true positives among positives, at thresholds"
    definition = "`recall_score(y_true, y_score >= threshold)`"

    def fraction(self, at: Confusion, threshold: float) -> tuple[Any, Any]:
        return at.tp, at.positives

    def known_trials(self, counts: Counts) -> int | None:
        return counts.positives


@register
class Specificity(AtThresholds):
    name = "specificity"
    description = "true negatives among negatives, at thresholds"
    definition = "`recall_score(y_true, y_score >= threshold, pos_label=0)`"

    def fraction(self, at: Confusion, threshold: float) -> tuple[Any, Any]:
        return at.tn, at.negatives

    def known_trials(self, counts: Counts) -> int | None:
        return counts.negatives


@register
class PositivePredictiveValue(AtThresholds):
    name = "ppv"
    description = "positives among those called positive, at thresholds"
    definition = "`precision_score(y_true, y_score >= threshold)`"
    trials_name = "called_positive"

    def fraction(self, at: Confusion, threshold: float) -> tuple[Any, Any]:
        return at.tp, at.tp + at.fp


@register
class NegativePredictiveValue(AtThresholds):
    name = "npv"
    description = "negatives among those called negative, at thresholds"
    definition = "`precision_score(y_true, y_score >= threshold, pos_label=0)`"
    trials_name = "called_negative"

    def fraction(self, at: Confusion, threshold: float) -> tuple[Any, Any]:
        return at.tn, at.tn + at.fn


@register
class F1(AtThresholds):
    name = "f1"
    description = "harmonic mean of sensitivity and positive predictive value, at thresholds"
    definition = "`f1_score(y_true, y_score >= threshold)`"

    def fraction(self, at: Confusion, threshold: float) -> tuple[Any, Any]:
        return at.tp * 2, at.positives + at.tp + at.fp


@register
class Accuracy(AtThresholds):
    name = "accuracy"
    description = "correctly classified samples, at thresholds"
    definition = "`accuracy_score(y_true, y_score >= threshold)`"
    of_all_samples = True

    def fraction(self, at: Confusion, threshold: float) -> tuple[Any, Any]:
        return at.tp + at.tn, at.positives + at.negatives

    def known_trials(self, counts: Counts) -> int | None:
        return counts.samples


class RiskThresholds(Thresholds):
    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.thresholds[0] > 0 and self.thresholds[-1] <= _HIGHEST_RISK):
            raise ValueError(f"thresholds: of a net benefit are above 0 and at most {_HIGHEST_RISK}")


@register
class NetBenefit(AtThresholds):
    """TP/n - FP/n·t/(1 - t), the odds of the threshold in steps of 2^-32."""

    name = "net_benefit"
    description = "net benefit of treating those called positive, at risk thresholds"
    definition = "`tp / n - fp / n * t / (1 - t)` (Vickers and Elkin 2006)"
    Parameters = RiskThresholds
    of_probabilities = True
    of_all_samples = True
    signed = True

    def fraction(self, at: Confusion, threshold: float) -> tuple[Any, Any]:
        odds = round(threshold / (1 - threshold) * STEPS_PER_ONE)
        return at.tp * STEPS_PER_ONE - at.fp * odds, (at.positives + at.negatives) * STEPS_PER_ONE

    def highest(self, threshold: float) -> int:
        return int(threshold / (1 - threshold)) + 1
