"""Released numbers as arrays to draw, and in words what they are."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ppaurora.errors import InputError
from ppaurora.evaluation.report import MetricValues
from ppaurora.metrics import METRICS, find_metric
from ppaurora.metrics.facts import Figure
from ppaurora.policy.rules import COUNT_STEP, ROUNDED
from ppaurora.statistics.estimates import Estimate, Row, Table


@dataclass(frozen=True)
class Column:
    """Numbers of a table, place by place, with their intervals; NaN is what is withheld, or not there."""

    values: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    estimates: tuple[Estimate, ...]

    @classmethod
    def of(cls, rows: Iterable[Row], name: str) -> Column:
        """Return a column of a table."""
        estimates = tuple(row[name] for row in rows)
        bounds = [one.interval or (math.nan, math.nan) for one in estimates]
        lower, upper = np.array(bounds, dtype=np.float64).reshape(-1, 2).T
        values = np.array([math.nan if one.value is None else one.value for one in estimates])
        return cls(values, lower, upper, estimates)

    @property
    def complement(self) -> Column:
        """Return the rest of fractions: 1 - x."""
        return replace(self, values=1 - self.values, lower=1 - self.upper, upper=1 - self.lower)

    @property
    def whiskers(self) -> NDArray[np.float64]:
        """Return how far intervals reach below and above the values."""
        return np.maximum([self.values - self.lower, self.upper - self.values], 0.0)

    @property
    def level(self) -> str:
        """Return the level of the intervals as text; empty if there are none."""
        return next((one.shown_level() for one in self.estimates if one.interval is not None), "")


def tables_of(report: MetricValues, figure: Figure) -> list[Table]:
    """Return the tables of a report that a figure shows."""
    return [
        found
        for name, found in report.metrics.items()
        if find_metric(name).figure is figure and isinstance(found, Table)
    ]


def area_of(report: MetricValues, figure: Figure) -> str:
    """Return the area under a curve with its interval, for a legend; empty if it was not released."""
    for name, found in report.metrics.items():
        metric = find_metric(name)
        if metric.figure is figure and isinstance(found, Estimate) and found.value is not None:
            span = found.shown_span()
            interval = f" ({found.shown_level()} {span})" if span else ""
            return f"{metric.title} {found.shown_shortly()}{interval}"
    return ""


def prevalence_of(report: MetricValues) -> float | None:
    """Return the fraction of positives, as far as their number was released; by weight if rows have these."""
    if report.positives is None:
        return None
    negatives = next((one.negatives for one in report.results.wholes), None)
    total = report.samples if negatives is None else report.positives + negatives
    return min(report.positives / max(total, 1), 1.0)


def missing(drawn: NDArray[np.bool_]) -> str:
    """Return how many points there are not, for a legend; empty if all are drawn."""
    return "" if drawn.all() else f"{(~drawn).sum()} of {len(drawn)} not released"


def nothing_to_draw(report: MetricValues, figure: Figure) -> InputError:
    """Return the error that says what the report lacks."""
    if report.suppressed:
        return InputError("the release policy withholds this result: there is nothing to draw")
    names = " or ".join(f"'{name}'" for name, metric in METRICS.items() if metric.figure is figure)
    return InputError(
        f"nothing to draw: this report has no values of {names}; it has: {', '.join(report.metrics)}"
    )


def in_words(report: MetricValues, columns: Sequence[Column]) -> str:
    """Return what was done to numbers before they were released: noise, rounding, or nothing."""
    if report.policy.is_private:
        return _with_noise(report)
    digits = {one.digits for column in columns for one in column.estimates if one.value is not None}
    rounded = sorted(number for number in digits if number is not None)
    if not rounded:
        return "exact"
    return f"rounded to {rounded[0]} {'decimal' if rounded[0] == 1 else 'decimals'}"


def counts_in_words(report: MetricValues) -> str:
    """Return the same of numbers of samples."""
    if report.policy.is_private:
        return _with_noise(report)
    return f"to the nearest {COUNT_STEP}" if report.policy.counts == ROUNDED else "exact"


def _with_noise(report: MetricValues) -> str:
    return f"with noise (epsilon {report.policy.epsilon:g})"
