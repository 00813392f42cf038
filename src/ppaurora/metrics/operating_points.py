"""Metrics of one stretch or one point of the ROC curve, given by a public rate.

A rate is a fraction k/S in lowest terms, with S at most a million.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Generic, Protocol, Self, TypeVar

from msgspec import Meta

from ppaurora.algorithms.crossing import Crossing, Limit
from ppaurora.algorithms.curve import FP, TP, Curve, Quantity
from ppaurora.data.samples import Samples
from ppaurora.errors import MisuseError
from ppaurora.io.models import StrictModel
from ppaurora.metrics.base import Metric, scikit_learn
from ppaurora.metrics.evidence import Evidence
from ppaurora.metrics.facts import PublicCounts, SampleClass, moved_by_rates
from ppaurora.metrics.outputs import Output, Ratio
from ppaurora.metrics.query import Query
from ppaurora.metrics.registry import register
from ppaurora.metrics.sums import ListCounts
from ppaurora.sharing.shares import RingShare, WideShare
from ppaurora.statistics.areas import (
    partial_auroc,
    sensitivity_at_specificity,
    specificity_at_sensitivity,
)
from ppaurora.statistics.estimates import Estimate

MOST_PARTS = 10**6  # of one, that a rate counts


class Linear(Protocol):
    """Shares of any width, and integers."""

    def __add__(self, other: Self, /) -> Self: ...

    def __mul__(self, public: int, /) -> Self: ...


V = TypeVar("V", bound=Linear)
Multiply = Callable[[Sequence[tuple[V, V]]], Sequence[V]]  # several products, in one round


def up_to_fpr(curve: Curve, rate: Fraction) -> Limit:
    """FP/N <= rate, that is, FP·S <= k·N."""
    k, parts = _counted(rate)
    return Limit(FP, parts, (curve.size - curve.positives) * k)


def below_tpr(curve: Curve, rate: Fraction) -> Limit:
    """TP/P < rate, that is, TP·S <= k·P - 1. It must hold at the start, so the rate is not zero."""
    k, parts = _counted(rate)
    if not k:
        raise MisuseError("no true positive rate is below zero")
    return Limit(TP, parts, curve.positives * k - 1)


def _counted(rate: Fraction) -> tuple[int, int]:
    if not 0 <= rate <= 1 or rate.denominator > MOST_PARTS:
        raise MisuseError(f"a rate is a number of {MOST_PARTS:,}th parts from 0 to 1, got {rate}")
    return rate.numerator, rate.denominator


@dataclass(frozen=True)
class PartialArea(Generic[V]):
    """What partial AUROC is made of, for a largest false positive rate k/S; secrets, each a list of one.

    At n = 2^30 and S = 10^6 they are at most 2^59, 2^30, 2^50, 2^30, 2^30 and 2^58.
    """

    area: V  # twice the area up to the last end within the rate, A
    tp: V  # there, T
    overhang: V  # k·N - S·FP there: how far the rate reaches beyond it, G
    run: V  # how many more FP and TP the next end has, D and E
    rise: V
    class_product: V  # P·N


def standardised_partial_auroc(
    parts: PartialArea[V], max_fpr: Fraction, multiply: Multiply[V]
) -> tuple[V, V]:
    """(1 + (partial - min) / (max - min)) / 2, McClish's correction, as numerator and denominator.

    The curve goes on straight to the next end, so where the false positive rate is k/S it has come from T to
    T + G·E/(S·D). In units of 1/(2·P·N) the trapezoid between them is (G/S)·(2·T + G·E/(S·D)), so

        partial = (S²·A·D + G·(2·S·D·T + G·E)) / (2·S²·D·P·N)
        max = k/S         min = k²/(2·S²)         max - min = k·(2·S - k) / (2·S²)

    and the whole is

        D·(S²·A + 2·k·(S - k)·P·N) + G·(2·S·D·T + G·E)
        ----------------------------------------------
                    2·k·(2·S - k)·D·P·N

    All terms are positive, and the numerator is at most the denominator, as partial is at most max. That is
    at most 2·S²·P·N² <= 8·S²·n³/27 < 2^129 at n = 2^30. So secrets must be wide; products are in two rounds.
    """
    k, s = max_fpr.numerator, max_fpr.denominator
    if not k:
        raise MisuseError("there is no area up to a false positive rate of zero")
    run, overhang, pairs = parts.run, parts.overhang, parts.class_product
    straight = parts.area * (s * s) + pairs * (2 * k * (s - k))
    run_tp, overhang_rise, run_straight, run_pairs = multiply(
        [(run, parts.tp), (overhang, parts.rise), (run, straight), (run, pairs)]
    )
    (slanted,) = multiply([(overhang, run_tp * (2 * s) + overhang_rise)])
    return run_straight + slanted, run_pairs * (2 * k * (2 * s - k))


def as_rate(name: str, number: float) -> Fraction:
    """Return a decimal as people write it, exactly."""
    rate = Fraction(repr(number)) if 0 < number < 1 else Fraction(0)
    if not rate or rate.denominator > MOST_PARTS:
        raise ValueError(f"{name}: is above 0, below 1, and has at most six decimals")
    return rate


class OperatingPoint(Metric):
    """What is known where the curve crosses a limit."""

    needs_curve = True
    needs_area: ClassVar[bool] = False  # up to the crossing

    def outputs(self, query: Query) -> tuple[Output, ...]:
        """Return the one number, a fraction of a class."""
        return (Output(self.name, conditional=query.withholds_cells, most_digits=query.most_rate_digits),)

    @abstractmethod
    def divided(self, counts: ListCounts) -> tuple[RingShare, Fraction]:
        """Return the class that its rate divides, by owner, and the rate."""

    def enough(self, evidence: Evidence) -> tuple[RingShare, ...]:
        """Return numbers that are positive if there are enough samples in both tails: of the class that the
        rate divides, on either side."""
        if not evidence.query.withholds_cells:
            return ()
        by_owner, rate = self.divided(evidence.inputs.list_counts)
        return tuple(evidence.enough_of(by_owner, part) for part in (rate, 1 - rate))

    def quantities(self, query: Query) -> tuple[Quantity, ...]:
        return (FP,)

    @abstractmethod
    def limit(self, curve: Curve) -> Limit: ...

    @abstractmethod
    def secrets(self, limit: Limit, crossing: Crossing, area: RingShare | None) -> list[RingShare]:
        """Return what the formula needs."""


class LargestRate(StrictModel):
    max_fpr: Annotated[float, Meta(description="The largest false positive rate, for instance 0.1.")]

    def __post_init__(self) -> None:
        as_rate("max_fpr", self.max_fpr)


@register
class PartialAuroc(OperatingPoint):
    name = "partial_auroc"
    title = "partial AUROC"
    unit = "standardised area"
    description = "area under the ROC curve up to a false positive rate, standardised (McClish)"
    definition = "`roc_auc_score(y_true, y_score, max_fpr=max_fpr)`"
    Parameters = LargestRate
    sample_parameters: ClassVar[Mapping[str, Any]] = {"max_fpr": 0.1}
    parameters: LargestRate
    needs_area = True

    @property
    def rate(self) -> Fraction:
        return as_rate("max_fpr", self.parameters.max_fpr)

    def outputs(self, query: Query) -> tuple[Output, ...]:
        return (
            Output(
                self.name,
                conditional=query.withholds_cells,
                most_denominator=2 * MOST_PARTS**2 * query.most_samples**3,
            ),
        )

    def divided(self, counts: ListCounts) -> tuple[RingShare, Fraction]:
        """AUROC less this is about the negatives beyond the rate."""
        return counts.negatives, self.rate

    def limit(self, curve: Curve) -> Limit:
        return up_to_fpr(curve, self.rate)

    def secrets(self, limit: Limit, crossing: Crossing, area: RingShare | None) -> list[RingShare]:
        if area is None:
            raise MisuseError("a partial area needs the area up to the crossing")
        last, following = crossing.within, crossing.beyond
        overhang = limit.most - last.fp * limit.scale
        return [area, last.tp, overhang, following.fp - last.fp, following.tp - last.tp]

    def formula(self, secrets: Sequence[WideShare], evidence: Evidence) -> list[Ratio]:
        area, tp, overhang, run, rise = secrets
        parts = PartialArea(area, tp, overhang, run, rise, evidence.class_product)
        quotient = standardised_partial_auroc(parts, self.rate, evidence.multiply)
        return [Ratio(*quotient, positive=self.enough(evidence))]

    def reference(self, y_true: Any, y_score: Any) -> float:
        return float(scikit_learn("roc_auc_score")(y_true, y_score, max_fpr=self.parameters.max_fpr))

    def on_own_data(self, samples: Samples, level: float) -> Estimate:
        return Estimate(partial_auroc(samples.labels, samples.scores, self.parameters.max_fpr))

    def sensitivity_to_one_person(self, public: PublicCounts) -> float:
        """The curve moves up or down by 1/P with a positive, sideways by 1/N with a negative.

        So the area up to the rate r moves by at most r/P and 1/N. Standardised, it is divided by r·(2 - r).
        """
        r = self.parameters.max_fpr
        moved = moved_by_rates(public, of_positives=1 / (2 - r), of_negatives=1 / (r * (2 - r)))
        return min(moved, 1.0)


class GivenSpecificity(StrictModel):
    specificity: Annotated[float, Meta(description="The least specificity, for instance 0.9.")]

    def __post_init__(self) -> None:
        as_rate("specificity", self.specificity)


@register
class SensitivityAtSpecificity(OperatingPoint):
    """The largest TP/P at a threshold with FP/N <= 1 - specificity."""

    name = "sensitivity_at_specificity"
    title = "highest sensitivity"
    unit = "fraction of positives"
    rate_of = SampleClass.POSITIVES
    description = "largest sensitivity of a threshold that has at least a given specificity"
    definition = "`max(tpr[fpr <= 1 - specificity])` of `roc_curve(y_true, y_score)`"
    Parameters = GivenSpecificity
    sample_parameters: ClassVar[Mapping[str, Any]] = {"specificity": 0.9}
    parameters: GivenSpecificity

    def limit(self, curve: Curve) -> Limit:
        return up_to_fpr(curve, 1 - as_rate("specificity", self.parameters.specificity))

    def divided(self, counts: ListCounts) -> tuple[RingShare, Fraction]:
        return counts.negatives, as_rate("specificity", self.parameters.specificity)

    def secrets(self, limit: Limit, crossing: Crossing, area: RingShare | None) -> list[RingShare]:
        return [crossing.within.tp]

    def formula(self, secrets: Sequence[WideShare], evidence: Evidence) -> list[Ratio]:
        return [Ratio(secrets[0], evidence.positives, positive=self.enough(evidence))]

    def reference(self, y_true: Any, y_score: Any) -> float:
        rates = _rates(y_true, y_score)
        most = 1 - as_rate("specificity", self.parameters.specificity)
        return float(max(recall for false_positive_rate, recall in rates if false_positive_rate <= most))

    def on_own_data(self, samples: Samples, level: float) -> Estimate:
        rate = as_rate("specificity", self.parameters.specificity)
        return Estimate(sensitivity_at_specificity(samples.labels, samples.scores, rate))

    def sensitivity_to_one_person(self, public: PublicCounts) -> None:
        """One negative more above it can rule a threshold out, and the next one may find no positive."""


class GivenSensitivity(StrictModel):
    sensitivity: Annotated[float, Meta(description="The least sensitivity, for instance 0.9.")]

    def __post_init__(self) -> None:
        as_rate("sensitivity", self.sensitivity)


@register
class SpecificityAtSensitivity(OperatingPoint):
    """The largest 1 - FP/N at a threshold with TP/P >= sensitivity."""

    name = "specificity_at_sensitivity"
    title = "highest specificity"
    unit = "fraction of negatives"
    rate_of = SampleClass.NEGATIVES
    description = "largest specificity of a threshold that has at least a given sensitivity"
    definition = "`max(1 - fpr[tpr >= sensitivity])` of `roc_curve(y_true, y_score)`"
    Parameters = GivenSensitivity
    sample_parameters: ClassVar[Mapping[str, Any]] = {"sensitivity": 0.9}
    parameters: GivenSensitivity

    def limit(self, curve: Curve) -> Limit:
        return below_tpr(curve, as_rate("sensitivity", self.parameters.sensitivity))

    def divided(self, counts: ListCounts) -> tuple[RingShare, Fraction]:
        return counts.positives, as_rate("sensitivity", self.parameters.sensitivity)

    def secrets(self, limit: Limit, crossing: Crossing, area: RingShare | None) -> list[RingShare]:
        return [crossing.beyond.fp]

    def formula(self, secrets: Sequence[WideShare], evidence: Evidence) -> list[Ratio]:
        true_negatives = evidence.negatives - secrets[0]
        return [Ratio(true_negatives, evidence.negatives, positive=self.enough(evidence))]

    def reference(self, y_true: Any, y_score: Any) -> float:
        rates = _rates(y_true, y_score)
        least = as_rate("sensitivity", self.parameters.sensitivity)
        return float(max(1 - false_positive_rate for false_positive_rate, recall in rates if recall >= least))

    def on_own_data(self, samples: Samples, level: float) -> Estimate:
        rate = as_rate("sensitivity", self.parameters.sensitivity)
        return Estimate(specificity_at_sensitivity(samples.labels, samples.scores, rate))

    def sensitivity_to_one_person(self, public: PublicCounts) -> None:
        """One positive less above it can rule a threshold out, and the next one may call all negatives."""


def _rates(y_true: Any, y_score: Any) -> list[tuple[Fraction, Fraction]]:
    """False positive rates and recalls of scikit-learn's ROC curve, as the fractions that they are."""
    labels = [int(label) for label in y_true]
    positives = sum(labels)
    false_positive_rate, recall, _ = scikit_learn("roc_curve")(y_true, y_score, drop_intermediate=False)
    return [
        (
            Fraction(round(x * (len(labels) - positives)), len(labels) - positives),
            Fraction(round(y * positives), positives),
        )
        for x, y in zip(false_positive_rate, recall, strict=True)
    ]
