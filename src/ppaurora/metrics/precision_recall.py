"""Metrics of the precision-recall curve: Algorithm 4 of the paper, and average precision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ppaurora.algorithms.curve import PRECISION, TP, Curve, Finish, precision_bits
from ppaurora.data.samples import Samples
from ppaurora.metrics.base import Area, Counts, Denominator, plain_estimate, scikit_learn
from ppaurora.metrics.evidence import Evidence
from ppaurora.metrics.facts import Figure, PublicCounts, moved_average_precision
from ppaurora.metrics.outputs import Ratio
from ppaurora.metrics.query import Query
from ppaurora.metrics.registry import register
from ppaurora.sharing.shares import WideShare
from ppaurora.statistics.areas import area_under_precision_recall, average_precision
from ppaurora.statistics.estimates import Estimate
from ppaurora.statistics.intervals import ap_logit_interval, half_unit


class UnderPrecision(Area):
    """An area under precisions, each of which is at most one step off: the area is at most P steps off.

    What is rounded to so many digits is the area and P steps, which is not below the exact one. So an area
    that lies exactly between two grid points is rounded up, as it must be.
    """

    needs = (PRECISION,)
    denominator = Denominator.POSITIVES
    unit = "mean precision"
    precisions: ClassVar[int]  # that are added up at every step of TP

    def shift(self, samples: int) -> int:
        return precision_bits(samples) + self.precisions - 1

    def formula(self, secrets: Sequence[WideShare], evidence: Evidence) -> list[Ratio]:
        area = secrets[0]
        if evidence.query.policy.decimals is not None:
            area = area + evidence.positives * self.precisions
        return [Ratio(area, self.secret_denominator(evidence))]


@register
class Aupr(UnderPrecision):
    """Algorithm 4, with recall's numerator TP as x axis: trapezoids of precision over TP, over 2·P."""

    name = "aupr"
    title = "AUPR"
    description = "area under the precision-recall curve, by trapezoids"
    definition = "`auc(recall, precision)` of `precision_recall_curve(y_true, y_score)`"
    precisions = 2

    def numerator(self, curve: Curve) -> Finish:
        return curve.trapezoids(TP, PRECISION)

    def reference(self, y_true: Any, y_score: Any) -> float:
        precision, recall, _ = scikit_learn("precision_recall_curve")(y_true, y_score)
        return float(scikit_learn("auc")(recall, precision))

    def on_own_data(self, samples: Samples, level: float) -> Estimate:
        return Estimate(area_under_precision_recall(samples.labels, samples.scores))

    def sensitivity_to_one_person(self, public: PublicCounts) -> None:
        """If all positives have one score, a negative just above them takes half of the area away."""


@register
class AveragePrecision(UnderPrecision):
    """The sum over ends of precision·(TP - TP_prev), over P."""

    name = "ap"
    title = "average precision"
    figure = Figure.PRECISION_RECALL_CURVE
    description = "average precision"
    definition = "`average_precision_score(y_true, y_score)`"
    precisions = 1

    def numerator(self, curve: Curve) -> Finish:
        return curve.rectangles(TP, PRECISION)

    def reference(self, y_true: Any, y_score: Any) -> float:
        return float(scikit_learn("average_precision_score")(y_true, y_score))

    def on_own_data(self, samples: Samples, level: float) -> Estimate:
        value = average_precision(samples.labels, samples.scores)
        return _with_logit_interval(value, int(samples.labels.sum()), level, digits=None)

    def sensitivity_to_one_person(self, public: PublicCounts) -> float:
        return moved_average_precision(public)

    def read(self, values: Sequence[float | None], query: Query, counts: Counts) -> Estimate:
        """With the logit interval of Boyd, Eng and Page (2013), which takes the number of positives."""
        (value,) = values
        (output,) = self.outputs(query)
        if value is None or query.confidence_level is None:
            return plain_estimate(value, output, query)
        digits = query.digits_of(output)
        if counts.positives is None:
            note = "no interval: it would take the number of positives, which the policy hides"
            return Estimate(value=value, digits=digits, note=note)
        positives = query.least_count(counts.positives, query.policy.minimum_positives)
        return _with_logit_interval(value, positives, query.confidence_level, digits)


def _with_logit_interval(value: float, positives: int, level: float, digits: int | None) -> Estimate:
    interval = ap_logit_interval(value, positives, level, slack=half_unit(digits))
    if interval is None:
        return Estimate(value, digits=digits, note="no interval: the logit method has none at 0 and 1")
    return Estimate(
        value,
        digits=digits,
        interval=interval,
        method="logit (Boyd, Eng, Page 2013)",
        confidence_level=level,
    )
