"""What a report says of several models, comparisons, subgroups, sites and rows left out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ppaurora.evaluation.designed import (
    ONE_CLASS,
    Comparison,
    DesignedResults,
    SitesResult,
    SliceResult,
    SubgroupResult,
)
from ppaurora.metrics.roc import Auroc
from ppaurora.pages.report.numbers import Number, number_of, numbers_of, title_of
from ppaurora.statistics.differences import Difference
from ppaurora.statistics.estimates import Estimate, rounded_up
from ppaurora.statistics.random_effects import RandomEffects

_SIGNIFICANT = 0.05  # below it, readers take p for a difference

REASONS = {
    "missing_score": "without a score",
    "missing_label": "without a label",
    "excluded": "excluded for another reason",
}


@dataclass(frozen=True)
class DifferenceNumber(Number):
    """A difference, with the test of whether there is one."""

    z: float | None = None
    p_value: float | None = None
    degrees_of_freedom: float | None = None
    error_bound: float | None = None  # how far the standard error is at most from that of ungrouped scores
    test: str = ""  # as people read it

    @property
    def tested(self) -> str:
        """The value, with its interval and its test if there are any."""
        return "; ".join(filter(None, (self.text, self.test, self.bound)))

    @property
    def caveat(self) -> str:
        """Why the test finds a difference and the interval does not, where rounding is the reason."""
        if self.p_value is None or self.bounds is None or self.digits is None:
            return ""
        low, high = map(float, self.bounds)
        contradicts = self.p_value < _SIGNIFICANT and low <= 0 <= high
        return "the interval allows for rounding, and the test does not" if contradicts else ""

    @property
    def bound(self) -> str:
        """How far off the standard error may be, in words; nothing if it is that of ungrouped scores."""
        if not self.error_bound:
            return ""
        return f"standard error within {rounded_up(self.error_bound)} of that of ungrouped scores"


@dataclass(frozen=True)
class SliceFacts:
    """The numbers of a model and an outcome, over all samples or in one level of a subgroup."""

    model: str
    outcome: str
    level: str
    positives: int | None
    negatives: int | None
    suppressed: bool
    numbers: tuple[Number, ...]

    @property
    def name(self) -> str:
        """Model and outcome, as far as they have names."""
        return named(self.model, self.outcome)

    @property
    def single(self) -> tuple[Number, ...]:
        """Numbers that are no part of a table."""
        return tuple(number for number in self.numbers if not number.at)

    @property
    def undefined(self) -> str:
        """Why there is no number at all, although nothing is withheld; else empty."""
        return ONE_CLASS if {number.note for number in self.numbers} == {ONE_CLASS} else ""

    def get(self, metric: str) -> Number | None:
        """Return the number of a metric that is one number."""
        return next((one for one in self.single if one.metric == metric), None)


@dataclass(frozen=True)
class ComparisonFacts:
    """Two models on the same samples: the numbers of `a` minus those of `b`."""

    a: str
    b: str
    outcome: str
    numbers: tuple[DifferenceNumber, ...]

    @property
    def name(self) -> str:
        """The two models, and the outcome if it has a name."""
        return named(f"{self.a} - {self.b}", self.outcome)


@dataclass(frozen=True)
class LevelDifference:
    """The numbers of one level minus those of the first one."""

    level: str
    reference: str
    numbers: tuple[DifferenceNumber, ...]


@dataclass(frozen=True)
class SubgroupFacts:
    """The levels of a variable, for one model and outcome."""

    variable: str
    model: str
    outcome: str
    levels: tuple[SliceFacts, ...]
    differences: tuple[LevelDifference, ...]

    @property
    def name(self) -> str:
        """Model and outcome, as far as they have names."""
        return named(self.model, self.outcome)


@dataclass(frozen=True)
class EffectFacts:
    """Heterogeneity between sites in one quantity."""

    quantity: str
    title: str
    scale: str
    pooled: Number
    tau2: Number
    tau: Number
    i2: Number
    prediction_interval: tuple[float, float] | None
    shown_prediction: str
    sites: int | None
    words: str


@dataclass(frozen=True)
class SitesFacts:
    """Heterogeneity between sites, for one model and outcome."""

    model: str
    outcome: str
    effects: tuple[EffectFacts, ...]
    within: Number | None

    @property
    def name(self) -> str:
        """Model and outcome, as far as they have names."""
        return named(self.model, self.outcome)


@dataclass(frozen=True)
class DesignFacts:
    """Models, comparisons, subgroups, sites and rows left out, as reports have them; empty if plain."""

    slices: tuple[SliceFacts, ...] = ()
    comparisons: tuple[ComparisonFacts, ...] = ()
    subgroups: tuple[SubgroupFacts, ...] = ()
    sites: tuple[SitesFacts, ...] = ()
    left_out: tuple[Number, ...] = ()
    is_weighted: bool = False  # numbers of positives and negatives are sums of weights
    has_patients: bool = False  # who may have several rows

    @classmethod
    def of(cls, results: DesignedResults, settings: dict[str, str]) -> DesignFacts:
        """Take what a report says from the results; `settings` are parameters of metrics, in words."""
        slices = tuple(_slice(one, settings) for one in results.wholes)
        return cls(
            slices,
            tuple(_comparison(one) for one in results.comparisons),
            tuple(
                _subgroup(found.of(one.model, one.outcome), one, settings)
                for one in slices
                for found in results.subgroups.values()
            ),
            tuple(_sites(one) for one in results.sites),
            tuple(
                number_of(found, "", reason, f"rows {REASONS[reason]}", {})
                for reason, found in results.left_out.items()
            ),
            results.weighted,
            results.patients,
        )

    @property
    def has_several(self) -> bool:
        """Whether there are several models or outcomes."""
        return len(self.slices) > 1

    @property
    def models(self) -> tuple[str, ...]:
        """The names of the models; one that is empty if they have none."""
        return tuple(dict.fromkeys(one.model for one in self.slices))

    @property
    def outcomes(self) -> tuple[str, ...]:
        """The names of the outcomes; one that is empty if they have none."""
        return tuple(dict.fromkeys(one.outcome for one in self.slices))

    @property
    def numbers(self) -> tuple[Number, ...]:
        """The numbers of all models, outcomes and levels."""
        levels = (level for one in self.subgroups for level in one.levels)
        return tuple(number for one in (*self.slices, *levels) for number in one.numbers)

    def of_outcome(self, outcome: str) -> tuple[SliceFacts, ...]:
        """Return the models of one outcome."""
        return tuple(one for one in self.slices if one.outcome == outcome)

    def levels_of(self, whole: SliceFacts) -> tuple[SubgroupFacts, ...]:
        """Return the subgroups of a model and an outcome."""
        return tuple(one for one in self.subgroups if one.name == whole.name)


def named(model: str, outcome: str) -> str:
    """Name a model and an outcome for people, as far as they have names."""
    return ", ".join(filter(None, (model, outcome)))


def main_metric(slices: Iterable[SliceFacts]) -> str:
    """Return the metric that subgroups are first compared by: AUROC, or else the first single number."""
    there = dict.fromkeys(number.metric for one in slices for number in one.single)
    return Auroc.name if Auroc.name in there else next(iter(there), "")


def _slice(one: SliceResult, settings: dict[str, str]) -> SliceFacts:
    return SliceFacts(
        one.slice.model,
        one.slice.outcome,
        one.slice.level,
        one.positives,
        one.negatives,
        one.suppressed,
        numbers_of(one.metrics, settings),
    )


def _comparison(one: Comparison) -> ComparisonFacts:
    numbers = []
    for metric, found in one.differences.items():
        rows: Iterable[tuple[dict[str, float], Any]] = (
            [({}, found)]
            if isinstance(found, Difference)
            else [(row.at, number) for row in found for number in row.values.values()]
        )
        numbers += [difference_number(number, metric, title_of(metric), at) for at, number in rows]
    return ComparisonFacts(one.a, one.b, one.outcome, tuple(numbers))


def difference_number(
    difference: Difference, metric: str, title: str, at: dict[str, float] | None = None
) -> DifferenceNumber:
    """Return a difference as a report has it."""
    return DifferenceNumber(
        **vars(number_of(difference, metric, metric, title, at or {})),
        z=difference.z,
        p_value=difference.p_value,
        degrees_of_freedom=difference.degrees_of_freedom,
        error_bound=difference.error_bound,
        test=difference.test_line(),
    )


def _subgroup(found: SubgroupResult, whole: SliceFacts, settings: dict[str, str]) -> SubgroupFacts:
    first, *others = found
    metrics = [name for name, number in found[first].metrics.items() if isinstance(number, Estimate)]
    return SubgroupFacts(
        found.variable,
        whole.model,
        whole.outcome,
        tuple(_slice(one, settings) for one in found.values()),
        tuple(
            LevelDifference(
                level,
                first,
                tuple(
                    difference_number(found.difference(level, first, metric), metric, title_of(metric))
                    for metric in metrics
                ),
            )
            for level in others
        ),
    )


def _sites(one: SitesResult) -> SitesFacts:
    within = one.within
    return SitesFacts(
        one.slice.model,
        one.slice.outcome,
        tuple(_effect(found) for found in one.effects.values()),
        None
        if within is None
        else number_of(within, Auroc.name, Auroc.name, "AUROC within institutions", {}),
    )


def _effect(found: RandomEffects) -> EffectFacts:
    return EffectFacts(
        found.quantity,
        found.title,
        found.scale,
        number_of(
            found.pooled, found.quantity, found.quantity, f"{found.title} of an average institution", {}
        ),
        number_of(found.tau2, found.quantity, "tau2", "variance between institutions (τ²)", {}),
        number_of(found.tau, found.quantity, "tau", "standard deviation between institutions (τ)", {}),
        number_of(found.i2, found.quantity, "i2", "I²", {}),
        found.prediction_interval,
        " to ".join(filter(None, found.shown_prediction())),
        found.sites,
        found.sentence("institution"),
    )
