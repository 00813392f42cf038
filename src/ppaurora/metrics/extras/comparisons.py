"""Two models on the same samples: differences of AUROC, Brier score and net benefit, with standard errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ppaurora.data.samples import Samples
from ppaurora.data.slices import Pair
from ppaurora.metrics.base import largest_variance_denominator
from ppaurora.metrics.calibration import Brier
from ppaurora.metrics.evidence import Evidence
from ppaurora.metrics.extras.base import Extra, Statement, StudySecrets
from ppaurora.metrics.extras.variances import clustered_variance, paired_variance
from ppaurora.metrics.outputs import Output, Ratio, standard_error
from ppaurora.metrics.parts import layout_of
from ppaurora.metrics.query import Query
from ppaurora.metrics.roc import Auroc
from ppaurora.metrics.sums import (
    STEPS_PER_ONE,
    FalsePositives,
    FourthPowers,
    SquaredErrors,
    TruePositives,
    at_least,
    in_parts,
)
from ppaurora.metrics.thresholds import NetBenefit, odds_in_steps
from ppaurora.sharing.shares import RingShare
from ppaurora.statistics.calibration import squared_errors

MOST_CLUSTERED_DENOMINATOR = 1 << 203  # 4·(P·N)⁴·I³ for 2^19 samples
HIGHEST_CLUSTERED_ERROR = 4  # with two clusters of each class, it may be above 2
_HIGHEST_ERROR = 2  # with two samples of each class, it may be above 1


def _interval(query: Query) -> bool:
    return query.confidence_level is not None


@dataclass(frozen=True)
class CrossErrors(Statement):
    """The sum over samples of the product of both models' squared errors, in steps of 2^-32."""

    pair: Pair
    words = 1

    def of(self, samples: Samples) -> Sequence[int]:
        errors = [
            squared_errors(own.labels, own.scores)
            for own in (samples.of(self.pair.a), samples.of(self.pair.b))
        ]
        return [in_parts(errors[0] * errors[1], STEPS_PER_ONE)]

    def checks(self, words: RingShare, study: StudySecrets) -> list[RingShare]:
        """It is not negative, and 2·x·y <= x² + y², up to rounding of the three sums.

        Twice a word that is too large may look small: so x·y <= x² + y² is asked for as well.
        """
        (cross,) = words.rows()
        powers = [study.parts[one].sums_by_owner(FourthPowers()) for one in (self.pair.a, self.pair.b)]
        # Sums over counts are rounded value by value, to half a step of each sample.
        samples = np.array(study.parts[self.pair.a].query.sizes, dtype=np.uint64)
        most = sum(powers[1:], powers[0]) + samples * 2 + 4
        return [cross + 1, most - cross, most - cross * 2]


@dataclass(frozen=True)
class BothCalled(Statement):
    """How many positives, and how many negatives, both models call positive at a threshold."""

    pair: Pair
    threshold: float
    words = 2

    def of(self, samples: Samples) -> Sequence[int]:
        a, b = samples.of(self.pair.a), samples.of(self.pair.b)
        both = at_least(a, self.threshold) & at_least(b, self.threshold)
        return [int(np.count_nonzero(both & (a.labels == label))) for label in (1, 0)]

    def checks(self, words: RingShare, study: StudySecrets) -> list[RingShare]:
        """At most as many as either model calls positive; at least those of both models minus the class."""
        numbers = []
        counts = study.parts[self.pair.a].inputs.list_counts
        of_class = ((TruePositives, counts.positives), (FalsePositives, counts.negatives))
        for both, (kind, own) in zip(words.rows(), of_class, strict=True):
            called = [
                study.parts[one].sums_by_owner(kind(self.threshold)) for one in (self.pair.a, self.pair.b)
            ]
            numbers += [both + 1, both - called[0] - called[1] + own + 1]
            numbers += [one - both + 1 for one in called]
        return numbers


@dataclass(frozen=True)
class AurocDifference(Extra):
    """AUROC of one model minus that of another: (A_a - A_b) / (2·P·N), exact.

    Its standard error is that of counts in coarse cells, with a bound on what these change.
    """

    pair: Pair

    def outputs(self, query: Query) -> tuple[Output, ...]:
        value = Output("auroc_difference", signed=True)
        if not _interval(query):
            return (value,)
        layout = layout_of(query)
        if layout.design.is_clustered:
            most = MOST_CLUSTERED_DENOMINATOR
            error = standard_error(value, most, highest=HIGHEST_CLUSTERED_ERROR, signed=True)
            return (value, replace(error, conditional=True))
        most = query.most_samples**6 // 16 + 1
        error = replace(standard_error(value, most, highest=_HIGHEST_ERROR, signed=True), conditional=True)
        if self.is_exact(query):
            return (value, error)
        # With a digit more than the difference, it would tell who shares a cell with whom.
        return (value, error, replace(error, name="error_bound", more_digits=value.more_digits))

    def is_exact(self, query: Query) -> bool:
        """Return whether every value of both grids has a cell of its own."""
        layout = layout_of(query)
        return layout.tabulated and all(
            layout.cells_of(one.model).are_exact for one in (self.pair.a, self.pair.b)
        )

    def ratios(self, study: StudySecrets, query: Query) -> list[Ratio]:
        evidences = [study.evidence(one) for one in (self.pair.a, self.pair.b)]
        metric = next(one for one in evidences[0].query.metrics if isinstance(one, Auroc))
        areas = [evidence.secrets[metric][0] for evidence in evidences]
        value = Ratio(areas[0] - areas[1], evidences[0].class_product * 2)
        if not _interval(query):
            return [value]
        if study.layout.design.is_clustered:
            return [value, clustered_variance(study, self.pair.a, self.pair.b)]
        with_bound = not self.is_exact(query)
        found = paired_variance(study, self.pair, with_bound=with_bound)
        return [value, found.variance, *([found.bound] if found.bound is not None else [])]


@dataclass(frozen=True)
class BrierDifference(Extra):
    """The mean of the differences of both models' squared errors."""

    pair: Pair

    def statements(self, query: Query) -> tuple[Statement, ...]:
        return (CrossErrors(self.pair),) if _with_errors(query) else ()

    def outputs(self, query: Query) -> tuple[Output, ...]:
        value = Output("brier_difference", signed=True, more_digits=1)
        if not _with_errors(query):
            return (value,)
        most = largest_variance_denominator(query.most_samples)
        return (value, standard_error(value, most, signed=True))

    def ratios(self, study: StudySecrets, query: Query) -> list[Ratio]:
        a, b = (study.evidence(one) for one in (self.pair.a, self.pair.b))
        total = a.totals[SquaredErrors()] - b.totals[SquaredErrors()]
        value = Ratio(total, a.samples * STEPS_PER_ONE)
        if not _with_errors(query):
            return [value]
        (cross,) = study.widen([study.words[CrossErrors(self.pair)].row(0).sum()])
        squares = a.totals[FourthPowers()] + b.totals[FourthPowers()] - cross * 2
        return [value, *a.variances_of_means([(total, squares * STEPS_PER_ONE)])]


@dataclass(frozen=True)
class NetBenefitDifference(Extra):
    """At every threshold, the mean of the differences of what both models gain by each sample."""

    pair: Pair
    metric: NetBenefit

    @property
    def thresholds(self) -> tuple[float, ...]:
        return self.metric.thresholds()

    def statements(self, query: Query) -> tuple[Statement, ...]:
        return tuple(BothCalled(self.pair, threshold) for threshold in self.thresholds)

    def outputs(self, query: Query) -> tuple[Output, ...]:
        outputs = []
        for threshold in self.thresholds:
            value = Output(
                "net_benefit_difference",
                (("threshold", threshold),),
                signed=True,
                highest=self.metric.highest(threshold),
                conditional=query.withholds_cells,
                more_digits=1,
            )
            outputs.append(value)
            if _with_errors(query):
                most = largest_variance_denominator(query.most_samples)
                outputs.append(standard_error(value, most, highest=2 * value.highest, signed=True))
        return tuple(outputs)

    def ratios(self, study: StudySecrets, query: Query) -> list[Ratio]:
        a, b = (study.evidence(one) for one in (self.pair.a, self.pair.b))
        totals, squares, conditions = [], [], []
        for threshold in self.thresholds:
            odds = odds_in_steps(threshold)
            tp, fp = TruePositives(threshold), FalsePositives(threshold)
            gains = [one.totals[tp] * STEPS_PER_ONE - one.totals[fp] * odds for one in (a, b)]
            totals.append(gains[0] - gains[1])
            words = study.words[BothCalled(self.pair, threshold)].rows()
            between = self._between(threshold, a, b) + self._discordant(threshold, query, words, a, b)
            conditions.append((self._behind(threshold, query, a, b), between))
            if _with_errors(query):
                both_tp, both_fp = study.widen([word.sum() for word in words])
                only_tp = a.totals[tp] + b.totals[tp] - both_tp * 2
                only_fp = a.totals[fp] + b.totals[fp] - both_fp * 2
                squares.append(only_tp * STEPS_PER_ONE**2 + only_fp * odds**2)
        denominator = a.samples * STEPS_PER_ONE
        values = [
            Ratio(total, denominator, behind, between)
            for total, (behind, between) in zip(totals, conditions, strict=True)
        ]
        if not _with_errors(query):
            return values
        variances = a.variances_of_means(list(zip(totals, squares, strict=True)))
        errors = [
            replace(variance, behind=value.behind, positive=value.positive)
            for value, variance in zip(values, variances, strict=True)
        ]
        return [ratio for both in zip(values, errors, strict=True) for ratio in both]

    @staticmethod
    def _behind(threshold: float, query: Query, *evidences: Evidence) -> tuple[RingShare, ...]:
        """Return both sides of the threshold by both models, where cells are withheld."""
        if not query.withholds_cells:
            return ()
        called = [evidence.called[threshold] for evidence in evidences]
        return tuple(side for one in called for side in (one.positive, one.negative))

    @staticmethod
    def _discordant(
        threshold: float, query: Query, both: Sequence[RingShare], a: Evidence, b: Evidence
    ) -> tuple[RingShare, ...]:
        """Return numbers above 0 if nobody, or enough people, are called by one model only.

        These are the people that the difference is about. With d rows of them, without an owner, and m the
        fewest that a cell may have, d·(d - m) + 1 > 0.
        """
        if not query.withholds_cells:
            return ()
        by_owner = a.called[threshold].positive + b.called[threshold].positive - (both[0] + both[1]) * 2
        d = by_owner.sum() - by_owner
        return (a.suite.mul(d, d - a.query.least_per_cell) + 1,)

    @staticmethod
    def _between(threshold: float, *evidences: Evidence) -> tuple[RingShare, ...]:
        return tuple(number for one in evidences for number in one.between.get(threshold, ()))


def _with_errors(query: Query) -> bool:
    """Return whether means of differences have standard errors: not over clusters."""
    return _interval(query) and query.design is not None and not query.design.is_clustered


def comparisons_of(query: Query, pair: Pair) -> tuple[Extra, ...]:
    """Return all differences of two models that the metrics of a study allow."""
    found: list[Extra] = []
    for metric in query.metrics:
        if isinstance(metric, Auroc):
            found.append(AurocDifference(pair))
        elif isinstance(metric, Brier):
            found.append(BrierDifference(pair))
        elif isinstance(metric, NetBenefit):
            found.append(NetBenefitDifference(pair, metric))
    return tuple(found)
