"""ROC and precision-recall curves at public thresholds: points, each made of numbers that are metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, ClassVar

from msgspec import Meta

from ppaurora.data.samples import Samples
from ppaurora.metrics.base import Counts, Metric
from ppaurora.metrics.evidence import Evidence
from ppaurora.metrics.facts import Figure, PublicCounts
from ppaurora.metrics.outputs import Output, Ratio
from ppaurora.metrics.private.noisy import NoisyRelease
from ppaurora.metrics.private.table import TableMechanism
from ppaurora.metrics.query import Query
from ppaurora.metrics.registry import register
from ppaurora.metrics.sums import OwnerSum
from ppaurora.metrics.thresholds import (
    MOST_THRESHOLDS,
    AtThresholds,
    PositivePredictiveValue,
    Sensitivity,
    Specificity,
    Thresholds,
)
from ppaurora.sharing.shares import WideShare
from ppaurora.statistics.estimates import Row, Table


class CurveThresholds(Thresholds):
    thresholds: Annotated[
        tuple[float, ...],
        Meta(
            min_length=1,
            max_length=MOST_THRESHOLDS,
            description="Scores at or above which a sample is called positive, in increasing order; by "
            "default from 0.1 to 0.9.",
        ),
    ] = tuple(step / 10 for step in range(1, 10))


class CurveAtThresholds(Metric):
    """A point for every threshold, whose two numbers are what other metrics have there.

    Its numbers are released, withheld and read as theirs are, because they are theirs.
    """

    Parameters = CurveThresholds
    parameters: CurveThresholds
    has_own_table = True
    columns: ClassVar[Mapping[str, type[AtThresholds]]]  # by the name that the curve has for it

    @cached_property
    def _metrics(self) -> tuple[AtThresholds, ...]:
        return tuple(kind(thresholds=self.parameters.thresholds) for kind in self.columns.values())

    def components(self) -> tuple[Metric, ...]:
        return self._metrics

    def thresholds(self) -> tuple[float, ...]:
        return self.parameters.thresholds

    def outputs(self, query: Query) -> tuple[Output, ...]:
        return tuple(output for metric in self._metrics for output in metric.outputs(query))

    def sums(self, query: Query) -> tuple[OwnerSum, ...]:
        return self._metrics[0].sums(query)

    def mechanism(self) -> TableMechanism:
        return self._metrics[0].mechanism()

    def formula(self, secrets: Sequence[WideShare], evidence: Evidence) -> list[Ratio]:
        return [ratio for metric in self._metrics for ratio in metric.formula(secrets, evidence)]

    def read(self, values: Sequence[float | None], query: Query, counts: Counts) -> Table:
        rest = iter(values)
        return self._joined(
            lambda metric: metric.read([next(rest) for _ in metric.outputs(query)], query, counts)
        )

    def read_noisy(self, noisy: NoisyRelease, level: float | None) -> Table:
        return self._joined(lambda metric: metric.read_noisy(noisy, level))

    def on_own_data(self, samples: Samples, level: float) -> Table:
        return self._joined(lambda metric: metric.on_own_data(samples, level))

    def _joined(self, of: Callable[[AtThresholds], Table]) -> Table:
        """Put the tables of both metrics beside each other, under the curve's names."""
        tables = [of(metric) for metric in self._metrics]
        return Table(
            tuple(
                Row(rows[0].at, self._renamed([row.values for row in rows]))
                for rows in zip(*tables, strict=True)
            )
        )

    def _renamed(self, numbers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        names = {kind.name: name for name, kind in self.columns.items()}
        return {names.get(name, name): number for own in numbers for name, number in own.items()}

    def sensitivity_to_one_person(self, public: PublicCounts) -> float:
        return max(metric.sensitivity_to_one_person(public) for metric in self._metrics)

    def reference(self, y_true: Any, y_score: Any) -> Any:
        tables = [metric.reference(y_true, y_score) for metric in self._metrics]
        return [self._renamed(rows) for rows in zip(*tables, strict=True)]


@register
class RocCurve(CurveAtThresholds):
    name = "roc_curve"
    title = "ROC curve at thresholds"
    unit = "fractions of positives and of negatives"
    description = "points of the ROC curve: sensitivity and specificity, at thresholds"
    definition = "`recall_score(y_true, y_score >= threshold)`, and that with `pos_label=0`"
    figure = Figure.ROC_POINTS
    columns: ClassVar[Mapping[str, type[AtThresholds]]] = {
        Sensitivity.name: Sensitivity,
        Specificity.name: Specificity,
    }


@register
class PrecisionRecallCurve(CurveAtThresholds):
    name = "precision_recall_curve"
    title = "precision-recall curve at thresholds"
    unit = "fractions of those called positive and of positives"
    description = "points of the precision-recall curve, at thresholds"
    definition = "`precision_score(y_true, y_score >= threshold)`, and `recall_score`"
    figure = Figure.PRECISION_RECALL_POINTS
    columns: ClassVar[Mapping[str, type[AtThresholds]]] = {
        "precision": PositivePredictiveValue,
        "recall": Sensitivity,
    }
