"""Displays of a study with a design: rows of values with whiskers, beside a line to compare them with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from ppaurora.errors import InputError
from ppaurora.evaluation.report import MetricValues
from ppaurora.metrics import find_metric
from ppaurora.metrics.roc import Auroc
from ppaurora.plot.displays import GUIDE, MARKS, Display, once
from ppaurora.plot.numbers import Column, in_words, missing
from ppaurora.statistics.estimates import Estimate, Row

_SIDE = 0.12  # that a further report in the same axes is drawn below the first
_MARGIN = 0.6  # above the first row and below the last
_WIDTH, _HEIGHT, _ROW = 7.2, 1.6, 0.42  # in inches, of a new figure: without rows, and of a row
_EDGE = 0.12  # in inches, beside labels
_MOST_STEPS = 5  # between ticks of the axis of values, so that their labels have room


@dataclass(kw_only=True)
class ForestDisplay(Display):
    """Values below each other, with whiskers for their intervals.

    Attributes
    ----------
    labels
        What the rows are, from the top.
    values
        The numbers: arrays `values`, `lower` and `upper`, with NaN for what is withheld or not there.
    reference
        Where a dashed line stands; None if there is none.
    title, of
        What the axis of values shows; and the model and the outcome, if they have names.
    """

    reference_label: ClassVar[str]
    # Above the rows, none of which it may cover.
    legend_place: ClassVar[Mapping[str, Any]] = {
        "loc": "lower right",
        "bbox_to_anchor": (1.0, 1.01),
        "borderaxespad": 0.0,
    }
    labels: tuple[str, ...]
    values: Column
    reference: float | None
    title: str
    of: str = ""

    @classmethod
    def _made(
        cls,
        report: MetricValues,
        rows: dict[str, Estimate],
        reference: float | None,
        title: str,
        of: str = "",
    ) -> Self:
        """Make the display of numbers by label."""
        column = Column.of([Row({}, {"": one}) for one in rows.values()], "")
        if not np.isfinite(column.values).any():
            raise InputError("nothing to draw: the release policy withholds all of these numbers")
        released = in_words(report, (column,))
        return cls(
            labels=tuple(rows), values=column, reference=reference, title=title, of=of, released=released
        )

    def _new_axes(self) -> Axes:
        """Return the axes of a new figure that is as high as its rows need."""
        from matplotlib import pyplot

        figure, ax = pyplot.subplots(figsize=(_WIDTH, _HEIGHT + _ROW * len(self.labels)))
        figure.set_layout_engine("constrained", w_pad=_EDGE)
        return ax

    def _draw(self, ax: Axes, name: str, style: dict[str, Any]) -> None:
        """Draw a row for every label; a further display in the same axes is drawn a little below."""
        shared = bool(ax.containers)  # the legend then says which models there are
        if self.reference is not None:
            ax.axvline(self.reference, label=once(ax, self.reference_label), linestyle="--", **GUIDE)
        values, drawn = self.values, np.isfinite(self.values.values)
        places = np.arange(len(self.labels)) + _SIDE * len(ax.containers)
        level = values.level and f"whiskers: {values.level}"
        ax.errorbar(
            values.values[drawn],
            places[drawn],
            xerr=values.whiskers[:, drawn],
            label=self._label(", ".join(filter(None, (self.of, name))), level, missing(drawn)),
            **{**MARKS, **style},
        )
        ax.set_yticks(range(len(self.labels)), self.labels)
        ax.set_ylim(len(self.labels) - 1 + _MARGIN, -_MARGIN)
        ax.xaxis.set_major_locator(MaxNLocator(_MOST_STEPS, steps=[1, 2, 5, 10]))
        ax.set_xlabel(self.title if shared or not self.of else f"{self.title} of {self.of}")


@dataclass(kw_only=True)
class SubgroupDisplay(ForestDisplay):
    """A number in every level of the subgroups, below that of all samples, at which a line stands."""

    reference_label = "all samples"

    @classmethod
    def from_report(
        cls,
        report: MetricValues,
        ax: Axes | None = None,
        *,
        name: str = "pooled",
        metric: str = Auroc.name,
        model: str = "",
        outcome: str = "",
        **style: Any,
    ) -> Self:
        """Take a metric of a model and an outcome, by default the first ones, and draw it as `plot` does.

        Raises `InputError` if the report has no subgroups, or no such single number.
        """
        return cls._chosen(report, metric, model, outcome).plot(ax, name=name, **style)

    @classmethod
    def _of(cls, report: MetricValues) -> Self:
        return cls._chosen(report, Auroc.name, "", "")

    @classmethod
    def _chosen(cls, report: MetricValues, metric: str, model: str, outcome: str) -> Self:
        if not report.subgroups:
            raise InputError("nothing to draw: this report has no subgroups")
        whole = report.results.whole(model, outcome)
        rows = {"all samples": whole.metrics.get(metric)}
        for variable, levels in report.subgroups.items():
            for level, one in levels.of(model, outcome).items():
                rows[f"{variable}: {level}"] = one.metrics.get(metric)
        numbers = {label: one for label, one in rows.items() if isinstance(one, Estimate)}
        if len(numbers) < len(rows):
            there = ", ".join(name for name, one in whole.metrics.items() if isinstance(one, Estimate))
            raise InputError(f"'{metric}' is no single number of subgroups; there is: {there or 'none'}")
        title, of = find_metric(metric).title, str(whole.slice)
        return cls._made(report, numbers, numbers["all samples"].value, title, of)


@dataclass(kw_only=True)
class ComparisonDisplay(ForestDisplay):
    """Differences between models on the same samples, beside a line at 0."""

    reference_label = "no difference"

    @classmethod
    def _of(cls, report: MetricValues) -> Self:
        if not report.comparisons:
            raise InputError("nothing to draw: this report compares no models")
        rows: dict[str, Estimate] = {}
        for compared in report.comparisons:
            for metric, found in compared.differences.items():
                label = f"{find_metric(metric).title}, {compared.title}"
                if isinstance(found, Estimate):
                    rows[label] = found
                    continue
                for row in found:
                    rows |= {f"{label}, {row.shown_place()}": one for one in row.values.values()}
        return cls._made(report, rows, 0.0, "difference")
