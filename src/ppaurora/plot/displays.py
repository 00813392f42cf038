"""Displays: each draws one kind of figure of a report, and can be drawn again in other axes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as MatplotlibFigure
from matplotlib.figure import SubFigure
from matplotlib.ticker import FuncFormatter

from ppaurora.evaluation.report import MetricValues
from ppaurora.metrics.facts import Figure
from ppaurora.metrics.thresholds import PositivePredictiveValue, Sensitivity, Specificity
from ppaurora.plot.numbers import (
    Column,
    area_of,
    counts_in_words,
    in_words,
    missing,
    nothing_to_draw,
    prevalence_of,
    tables_of,
)
from ppaurora.statistics.curves import net_benefit_of_all
from ppaurora.statistics.estimates import Row, Table

_EDGE = 0.02  # beyond 0 and 1, so that marks there are whole
_BAND_OPACITY = 0.2
MARKS: dict[str, Any] = {"fmt": "o", "markersize": 4, "capsize": 2, "elinewidth": 0.8}
GUIDE: dict[str, Any] = {"color": "0.45", "linewidth": 1}
_DASHED: dict[str, Any] = {"linewidth": 1, "linestyle": "--"}
_STEPS = 100  # of a curve that is known everywhere


@dataclass(kw_only=True)
class Display(ABC):
    """Numbers of a report that are drawn together.

    Attributes
    ----------
    released
        What was done to the numbers before they were released, in words, for the legend.
    ax_, figure_
        The axes and the figure of the last plot.
    """

    figure: ClassVar[Figure]
    legend_place: ClassVar[Mapping[str, Any]] = {}  # by default, where Matplotlib finds room
    released: str
    ax_: Axes = field(init=False, repr=False)
    figure_: MatplotlibFigure | SubFigure = field(init=False, repr=False)

    @classmethod
    def from_report(
        cls, report: MetricValues, ax: Axes | None = None, *, name: str = "pooled", **style: Any
    ) -> Self:
        """Take the numbers of a report, and draw them as `plot` does.

        Raises `InputError` if the report has none of them.
        """
        return cls._of(report).plot(ax, name=name, **style)

    def plot(self, ax: Axes | None = None, *, name: str = "pooled", **style: Any) -> Self:
        """Draw in these axes, or in those of a new figure, and return the display.

        Parameters
        ----------
        ax
            Axes of Matplotlib; several displays in the same axes compare reports.
        name
            How the legend names what is drawn.
        **style
            How Matplotlib draws it, for instance `color="C3"`.
        """
        ax = self._new_axes() if ax is None else ax
        self.ax_, self.figure_ = ax, ax.figure
        self._draw(ax, name, style)
        ax.legend(fontsize="small", **self.legend_place)
        return self

    def _new_axes(self) -> Axes:
        """Return the axes of a new figure."""
        from matplotlib import pyplot

        return pyplot.subplots(layout="constrained")[1]

    @classmethod
    @abstractmethod
    def _of(cls, report: MetricValues) -> Self:
        """Take the numbers out of a report."""

    @abstractmethod
    def _draw(self, ax: Axes, name: str, style: dict[str, Any]) -> None:
        """Draw them, with titles of both axes, and labels for the legend."""

    def _label(self, name: str, *more: str) -> str:
        return "\n".join([f"{name}, {self.released}", *filter(None, more)])


@dataclass(kw_only=True)
class PointsDisplay(Display):
    """Points of two numbers each, with whiskers for their intervals.

    Attributes
    ----------
    x, y
        The numbers: arrays `values`, `lower` and `upper`, with NaN for what is withheld or not there.
    area
        The area under the curve with its interval, for the legend; empty if it was not released.
    """

    columns: ClassVar[tuple[str, str]]  # x and y, of the metric's table
    tables: ClassVar[tuple[str, str] | None] = None  # the same as two metrics at thresholds
    area_figure: ClassVar[Figure | None] = None
    x: Column
    y: Column
    area: str = ""

    @classmethod
    def _of(cls, report: MetricValues) -> Self:
        for table in (*tables_of(report, cls.figure), *cls._joined(report)):
            x, y = (Column.of(table, name) for name in cls.columns)
            if np.isfinite(x.values + y.values).any():
                area = "" if cls.area_figure is None else area_of(report, cls.area_figure)
                return cls(x=x, y=y, released=in_words(report, (x, y)), area=area)
        raise nothing_to_draw(report, cls.figure)

    @classmethod
    def _joined(cls, report: MetricValues) -> list[Table]:
        """Return the numbers of two metrics, at the thresholds that both have, as one table."""
        if cls.tables is None or not all(name in report.metrics for name in cls.tables):
            return []
        by_threshold: dict[float, list[Any]] = {}
        for name in cls.tables:
            found = report.metrics[name]
            for row in found if isinstance(found, Table) else ():
                by_threshold.setdefault(row.at["threshold"], []).append(row[name])
        return [
            Table(
                tuple(
                    Row({"threshold": at}, dict(zip(cls.columns, numbers, strict=True)))
                    for at, numbers in sorted(by_threshold.items())
                    if len(numbers) == len(cls.columns)
                )
            )
        ]

    def _points(
        self, ax: Axes, x: Column, name: str, style: dict[str, Any], ends: Sequence[float] = ()
    ) -> None:
        """Draw the points that are there, joined by a line; it begins and ends on the diagonal at `ends`."""
        y, level = self.y, self.y.level or x.level
        drawn = np.isfinite(x.values + y.values)
        along = [np.concatenate([ends[:1], one.values[drawn], ends[1:]]) for one in (x, y)]
        (line,) = ax.plot(*along, **style)
        ax.errorbar(
            x.values[drawn],
            y.values[drawn],
            xerr=x.whiskers[:, drawn],
            yerr=y.whiskers[:, drawn],
            label=self._label(name, self.area, level and f"whiskers: {level}", missing(drawn)),
            **MARKS,
            color=line.get_color(),
        )
        _unit_square(ax)


@dataclass(kw_only=True)
class CalibrationDisplay(PointsDisplay):
    """The reliability diagram: observed against mean predicted probabilities, in bins."""

    figure = Figure.RELIABILITY_DIAGRAM
    columns = ("mean_predicted", "observed")

    def _draw(self, ax: Axes, name: str, style: dict[str, Any]) -> None:
        _guide(ax, "perfect calibration", [0, 1], [0, 1])
        self._points(ax, self.x, name, style)
        ax.set(xlabel="mean predicted probability", ylabel="observed fraction of positives")


@dataclass(kw_only=True)
class RocCurveDisplay(PointsDisplay):
    """The ROC curve at public thresholds: `x` is the specificity, `y` the sensitivity."""

    figure = Figure.ROC_POINTS
    columns = (Specificity.name, Sensitivity.name)
    tables = columns
    area_figure = Figure.ROC_CURVE

    def _draw(self, ax: Axes, name: str, style: dict[str, Any]) -> None:
        _guide(ax, "random guessing", [0, 1], [0, 1])
        self._points(ax, self.x.complement, name, style, ends=(1.0, 0.0))
        ax.set(xlabel="1 − specificity", ylabel="sensitivity (recall)")


@dataclass(kw_only=True)
class PrecisionRecallDisplay(PointsDisplay):
    """The precision-recall curve at public thresholds."""

    figure = Figure.PRECISION_RECALL_POINTS
    columns = ("recall", "precision")
    tables = (Sensitivity.name, PositivePredictiveValue.name)
    area_figure = Figure.PRECISION_RECALL_CURVE

    def _draw(self, ax: Axes, name: str, style: dict[str, Any]) -> None:
        self._points(ax, self.x, name, style)
        ax.set(xlabel="recall (sensitivity)", ylabel="precision (positive predictive value)")


@dataclass(kw_only=True)
class BandDisplay(Display):
    """Numbers along public places, with a band for their intervals; interrupted where one is withheld.

    Attributes
    ----------
    x
        The places.
    y
        The numbers there: arrays `values`, `lower` and `upper`, with NaN for what is withheld or not there.
    """

    place: ClassVar[str]  # of the metric's table
    x: np.ndarray
    y: Column

    @classmethod
    def _of(cls, report: MetricValues) -> Self:
        for table in tables_of(report, cls.figure):
            y = Column.of(table, next(iter(table[0].values)))
            if np.isfinite(y.values).any():
                x = np.array([row.at[cls.place] for row in table])
                return cls(x=x, y=y, released=in_words(report, (y,)))
        raise nothing_to_draw(report, cls.figure)

    def _band(self, ax: Axes, name: str, style: dict[str, Any]) -> Any:
        """Draw the line and its band; returns their colour."""
        y, level = self.y, self.y.level
        said = level and f"band: {level} of each point"
        label = self._label(name, said, missing(np.isfinite(y.values)))
        (line,) = ax.plot(self.x, y.values, label=label, **{"marker": "o", "markersize": 3, **style})
        colour = line.get_color()
        ax.fill_between(self.x, y.lower, y.upper, color=colour, alpha=_BAND_OPACITY, linewidth=0)
        return colour


@dataclass(kw_only=True)
class SmoothCalibrationDisplay(BandDisplay):
    """The smooth calibration curve: observed against predicted probabilities."""

    figure = Figure.CALIBRATION_CURVE
    place = "probability"

    def _draw(self, ax: Axes, name: str, style: dict[str, Any]) -> None:
        _guide(ax, "perfect calibration", [0, 1], [0, 1])
        self._band(ax, name, style)
        _unit_square(ax)
        ax.set(xlabel="predicted probability", ylabel="observed probability")


@dataclass(kw_only=True)
class DecisionCurveDisplay(BandDisplay):
    """Net benefit `y` against the risk threshold `x`.

    Attributes
    ----------
    prevalence
        From which the line for treating all is drawn; None if the number of positives was not released.
    """

    figure = Figure.DECISION_CURVE
    place = "threshold"
    prevalence: float | None = None

    @classmethod
    def _of(cls, report: MetricValues) -> Self:
        found = super()._of(report)
        found.prevalence = prevalence_of(report)
        return found

    def _draw(self, ax: Axes, name: str, style: dict[str, Any]) -> None:
        ax.axhline(0.0, label=once(ax, "treating none"), linestyle=":", **GUIDE)
        colour = self._band(ax, name, style)
        if self.prevalence is not None:
            self._treating_all(ax, self.prevalence, name, colour)
        ax.set(xlabel="threshold probability", ylabel="net benefit")

    def _treating_all(self, ax: Axes, prevalence: float, name: str, colour: Any) -> None:
        """Draw the net benefit of treating all as far as it is above the lowest of the model's."""
        low, _ = ax.get_ylim()
        along = np.linspace(self.x[0], self.x[-1], _STEPS)
        benefits = np.array([net_benefit_of_all(prevalence, at) for at in along])
        shown = benefits >= low
        ax.plot(along[shown], benefits[shown], color=colour, label=f"treating all, {name}", **_DASHED)


@dataclass(kw_only=True)
class ScoreDistributionDisplay(Display):
    """Scores by class: fractions of the positives above the axis, of the negatives below it.

    Attributes
    ----------
    edges
        Those of the bins of scores.
    positives, negatives
        How many samples are in each bin: arrays `values`, with NaN for what is withheld.
    """

    figure = Figure.SCORES_BY_CLASS
    edges: np.ndarray
    positives: Column
    negatives: Column

    @classmethod
    def _of(cls, report: MetricValues) -> Self:
        for table in tables_of(report, cls.figure):
            both = tuple(Column.of(table, name) for name in ("positives", "negatives"))
            if any(np.isfinite(column.values).any() for column in both):
                edges = np.array([table[0].at["low"], *(row.at["high"] for row in table)])
                released = counts_in_words(report)
                return cls(edges=edges, positives=both[0], negatives=both[1], released=released)
        raise nothing_to_draw(report, cls.figure)

    def _draw(self, ax: Axes, name: str, style: dict[str, Any]) -> None:
        for column, side, what in ((self.positives, 1, "positives"), (self.negatives, -1, "negatives")):
            drawn = np.isfinite(column.values)
            total = np.maximum(column.values[drawn], 0.0).sum() or 1.0
            ax.bar(
                self.edges[:-1],
                side * column.values / total,
                width=np.diff(self.edges),
                align="edge",
                label=self._label(f"{what}, {name}", missing(drawn)),
                **{"alpha": 0.6, "edgecolor": "white", **style},
            )
        ax.axhline(0.0, **GUIDE)
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{abs(value):g}"))
        ax.set(xlabel="score", ylabel="fraction of the class")


def _guide(ax: Axes, label: str, x: list[float], y: list[float]) -> None:
    """Draw a line to compare with, once in the same axes."""
    ax.plot(x, y, label=once(ax, label), linestyle="--", **GUIDE)


def _unit_square(ax: Axes) -> None:
    """Show fractions from 0 to 1 across and up, alike."""
    edges = (-_EDGE, 1 + _EDGE)
    ax.set(xlim=edges, ylim=edges, aspect="equal")


def once(ax: Axes, label: str) -> str | None:
    """Return a label for the legend, unless it has it already."""
    return None if label in ax.get_legend_handles_labels()[1] else label
