"""Metrics of the ROC curve: Algorithms 1 and 2 of the paper, DeLong's standard error, and Youden's J."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ppaurora.algorithms.curve import FP, TP, Curve, Finish, Quantity
from ppaurora.algorithms.placements import begin_placement_sums, limb_weights, needs
from ppaurora.algorithms.table_curve import TableCurve
from ppaurora.algorithms.tournament import largest
from ppaurora.data.samples import Samples
from ppaurora.errors import InputError
from ppaurora.metrics.base import Area, Counts, Denominator, plain_estimate, scikit_learn
from ppaurora.metrics.evidence import Evidence
from ppaurora.metrics.facts import Figure, PublicCounts, moved_by_rates
from ppaurora.metrics.outputs import GRID_BOUND, Output, Ratio, standard_error
from ppaurora.metrics.private.auroc import AurocMechanism
from ppaurora.metrics.private.noisy import NoisyRelease
from ppaurora.metrics.query import Query
from ppaurora.metrics.registry import register
from ppaurora.sharing.shares import RingShare, WideShare, concat
from ppaurora.statistics.areas import youden_j
from ppaurora.statistics.auroc import auroc_estimate
from ppaurora.statistics.estimates import Estimate, delong_estimate
from ppaurora.statistics.intervals import half_unit
from ppaurora.statistics.noisy_numbers import noisy_auroc


@register
class Auroc(Area):
    """Algorithm 2: A, the trapezoids of TP over FP, over 2·P·N. With an interval also DeLong's variance.

    At ends of tie groups let b = TP_prev + TP and c = FP_prev + FP. With A = sum dFP·b, Q = sum dFP·b²,
    C1 = sum dTP·c = 2·P·N - A and C2 = sum dTP·c²,

        Var = [(P·C2 - C1²) / (P - 1) + (N·Q - A²) / (N - 1)] / (4·P²·N²)

    On a grid, a pair of unlike class that shares a value counts half, and before scores were read it counted
    0, 1/2 or 1; all other pairs are in the same order. So half of the pairs that share a value, over P·N,
    bound how far AUROC is from that of the raw scores.
    """

    name = "auroc"
    description = "area under the ROC curve"
    title = "AUROC"
    unit = "fraction of pairs"
    definition = "`roc_auc_score(y_true, y_score)`"
    figure = Figure.ROC_CURVE
    by_level = True
    allows_clusters = True
    line_title = "Area under the curve"
    parts_of_a_pair = 2  # ties count half
    denominator = Denominator.CLASS_PRODUCT

    def quantities(self, query: Query) -> tuple[Quantity, ...]:
        return (FP, *(needs(query.most_samples) if query.interval else ()))

    def outputs(self, query: Query) -> tuple[Output, ...]:
        area = Output(self.name)
        bound = (GRID_BOUND,) if query.tabulated else ()
        if not query.interval:
            return (area, *bound)
        error = standard_error(area, query.most_samples**6 // 16 + 1)  # its denominator is at most 4·(n²/4)³
        return (area, *bound, replace(error, conditional=True))  # classes of one sample have none

    def numerator(self, curve: Curve) -> Finish:
        return curve.trapezoids(FP, TP)

    def mechanism(self) -> AurocMechanism:
        return AurocMechanism()

    def shift(self, samples: int) -> int:
        return 1

    def begin(self, curve: Curve, query: Query) -> Callable[[], list[RingShare]]:
        begun = [self.numerator(curve)]
        if isinstance(curve, TableCurve) and not query.policy.is_private:
            begun.append(curve.tied_pairs())
        if not query.interval:
            return lambda: [finish() for finish in begun]
        placements = begin_placement_sums(curve)

        def finish() -> list[RingShare]:
            found, sums = [one() for one in begun], placements()
            return found + [number for number, _ in (*sums.of_negatives, *sums.of_positives)]

        return finish

    def formula(self, secrets: Sequence[WideShare], evidence: Evidence) -> list[Ratio]:
        a, *limbs = secrets
        released = [Ratio(a, self.secret_denominator(evidence))]
        if evidence.query.tabulated:
            tied, *limbs = limbs
            released.append(Ratio(tied, self.secret_denominator(evidence)))
        if not evidence.query.interval:
            return released
        weights = limb_weights(evidence.query.most_samples)
        q, c2 = (
            sum((limb * weight for limb, weight in zip(some, weights, strict=True)), a * 0)
            for some in (limbs[: len(weights)], limbs[len(weights) :])
        )
        p, n, product = evidence.positives, evidence.negatives, evidence.class_product
        c1 = product * 2 - a
        p_c2, c1_c1, n_q, a_a, product_squared = evidence.multiply(
            [(p, c2), (c1, c1), (n, q), (a, a), (product, product)]
        )
        rest = product - evidence.samples + 1  # (P - 1)(N - 1)
        of_positives, of_negatives, denominator = evidence.multiply(
            [(n - 1, p_c2 - c1_c1), (p - 1, n_q - a_a), (product_squared, rest)]
        )
        variance = Ratio(
            of_positives + of_negatives,
            denominator * 4,
            positive=(evidence.found.class_product - evidence.found.samples + 1,),
        )
        return [*released, variance]

    def reference(self, y_true: Any, y_score: Any) -> float:
        return float(scikit_learn("roc_auc_score")(y_true, y_score))

    def on_own_data(self, samples: Samples, level: float) -> Estimate:
        return auroc_estimate(samples.labels, samples.scores, level)

    def sensitivity_to_one_person(self, public: PublicCounts) -> float:
        """A positive's placement is one of P that are averaged, a negative's one of N."""
        return moved_by_rates(public)

    def read(self, values: Sequence[float | None], query: Query, counts: Counts) -> Estimate:
        outputs = {output.name: output for output in self.outputs(query)}
        released = dict(zip(outputs, values, strict=True))
        area, output = released[self.name], outputs[self.name]
        if area is None or query.confidence_level is None:
            estimate = plain_estimate(area, output, query)
        else:
            digits = (query.digits_of(one) for one in (output, outputs["standard_error"]))
            estimate = delong_estimate(area, released["standard_error"], query.confidence_level, *digits)
        bound = released.get(GRID_BOUND.name)
        if bound is None or query.grid is None:
            return estimate
        return estimate.read_on(query.grid, bound + half_unit(query.digits_of(GRID_BOUND)))

    def read_noisy(self, noisy: NoisyRelease, level: float | None) -> Estimate:
        return noisy_auroc(*noisy.won_and_lost(), noisy.samples, level, noisy.rows_per_person)


@register
class UntiedAuroc(Area):
    """Algorithm 1: the sum of TP[j]·(FP[j] - FP[j-1]), over P·N."""

    name = "auroc_no_ties"
    title = "AUROC as if no scores were equal"
    unit = "fraction of pairs"
    parts_of_a_pair = 1
    description = "area under the ROC curve as if no scores were equal"
    definition = "`roc_auc_score(y_true, y_score)`, if no scores are equal"
    needs = (FP,)
    denominator = Denominator.CLASS_PRODUCT
    at_ends = False
    uses_ends = False

    def numerator(self, curve: Curve) -> Finish:
        return curve.rectangles(FP, TP)

    def reference(self, y_true: Any, y_score: Any) -> float:
        if len(set(y_score)) != len(y_score):
            raise InputError("scores are tied, and 'auroc_no_ties' then has no pooled value to compare with")
        return float(scikit_learn("roc_auc_score")(y_true, y_score))

    def on_own_data(self, samples: Samples, level: float) -> Estimate:
        if len(np.unique(samples.scores)) != len(samples):
            return Estimate(None, note="undefined: some scores are equal")
        return Estimate(auroc_estimate(samples.labels, samples.scores, level).value)

    def sensitivity_to_one_person(self, public: PublicCounts) -> None:
        """Equal scores are in no defined order, which one person may change for all."""


@register
class YoudenJ(Area):
    """The largest TP/P - FP/N: over ends, the largest TP·N - FP·P, over P·N.

    At the last end it is zero, so the largest is not negative; positions that are no ends count as zero.
    """

    name = "youden_j"
    title = "Youden's J"
    unit = "difference of two rates"
    parts_of_a_pair = 1
    description = "largest distance between ROC curve and diagonal (Youden's J, Kolmogorov-Smirnov)"
    definition = "`max(tpr - fpr)` of `roc_curve(y_true, y_score)`"
    denominator = Denominator.CLASS_PRODUCT
    at_ends = False
    most_samples = 1 << 27  # whole lists go in one frame

    def numerator(self, curve: Curve) -> Finish:
        suite = curve.suite
        winners = suite.team.gather(largest(suite, curve.heights()))
        highest = largest(suite, concat(winners)) if winners else suite.constant(0)
        return lambda: highest

    def reference(self, y_true: Any, y_score: Any) -> float:
        false_positive_rate, recall, _ = scikit_learn("roc_curve")(y_true, y_score, drop_intermediate=False)
        return float((recall - false_positive_rate).max())

    def on_own_data(self, samples: Samples, level: float) -> Estimate:
        return Estimate(youden_j(samples.labels, samples.scores))

    def sensitivity_to_one_person(self, public: PublicCounts) -> float:
        """At every threshold, sensitivity moves with positives and specificity with negatives."""
        return moved_by_rates(public)
