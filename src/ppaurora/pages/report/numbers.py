"""Released numbers as a report has them: with a title, and as texts with the digits that they have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ppaurora.evaluation.designed import NO_INTERVAL, without_reason
from ppaurora.evaluation.report import shown_value
from ppaurora.metrics import METRICS, Metric, find_metric
from ppaurora.statistics.estimates import Estimate, Table


@dataclass(frozen=True)
class Number:
    """One number of the release, or of the owner's own data."""

    metric: str
    name: str  # of the number: the metric's, or that of a column of its table
    title: str
    at: dict[str, float]
    value: float | None
    shown: str
    standard_error: float | None
    interval: tuple[float, float] | None
    bounds: tuple[str, str] | None  # of the interval, as they are shown
    shown_interval: str  # "95% CI 0.84 to 0.90", or nothing
    method: str
    digits: int | None
    suppressed: bool
    note: str
    grid_bound: float | None  # how far it is at most from that of scores that were not read on a grid

    @property
    def text(self) -> str:
        """The value, with its interval if there is one."""
        return f"{self.shown} ({self.shown_interval})" if self.shown_interval else self.shown

    @property
    def remark(self) -> str:
        """The note without the reason for a missing interval, which a table gives once for all numbers."""
        return without_reason(self.note)

    @property
    def width(self) -> float | None:
        """The width of the interval, as it is shown."""
        return None if self.bounds is None else float(self.bounds[1]) - float(self.bounds[0])

    @property
    def key(self) -> tuple[Any, ...]:
        """What it is the number of."""
        return self.metric, self.name, tuple(self.at.items())


@dataclass(frozen=True)
class NumberTable:
    """Numbers at several thresholds, or in several bins."""

    place: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Number | None, ...]], ...]


def title_of(name: str) -> str:
    """Return the title of a metric, or the name of another column of its table, in words."""
    return METRICS[name].title if name in METRICS else name.replace("_", " ")


def capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]


def settings_of(metrics: Sequence[Metric]) -> dict[str, str]:
    """Return the parameters of metrics that are not the default ones, in words."""
    return {
        metric.name: ", ".join(_setting(name.replace("_", " "), value) for name, value in settings.items())
        for metric in metrics
        if (settings := metric.chosen())
    }


def _setting(name: str, value: Any) -> str:
    """Return a parameter in words; of a list of edges, how many bins they are the edges of."""
    return f"{len(value) - 1} {name}" if isinstance(value, tuple | list) else f"{name} {value}"


def numbers_of(
    metrics: Mapping[str, Estimate | Table], settings: Mapping[str, str], decimals: int | None = None
) -> tuple[Number, ...]:
    """Return all of them; `settings` has the parameters of metrics that are one number, in words.

    What nobody rounds is shown with so many decimals.
    """
    found = []
    for metric, values in metrics.items():
        if isinstance(values, Estimate):
            detail = f" ({settings[metric]})" if settings.get(metric) else ""
            found.append(number_of(values, metric, metric, title_of(metric) + detail, {}, decimals))
        else:
            found += [
                number_of(estimate, metric, name, title_of(name), row.at, decimals)
                for row in values
                for name, estimate in row.values.items()
            ]
    return tuple(found)


def number_of(
    estimate: Estimate,
    metric: str,
    name: str,
    title: str,
    at: Mapping[str, float],
    decimals: int | None = None,
) -> Number:
    """Return it with the digits that it has; or, if nobody has rounded it, with so many decimals."""
    shown, bounds = shown_value(estimate, shortly=True), estimate.shown_bounds()
    if decimals is not None and estimate.digits is None and estimate.value is not None:
        shown = f"{estimate.value:z.{decimals}f}"
        low, high = estimate.interval or (0.0, 0.0)
        bounds = bounds and (f"{low:z.{decimals}f}", f"{high:z.{decimals}f}")
    return Number(
        metric=metric,
        name=name,
        title=title,
        at=dict(at),
        value=estimate.value,
        shown=shown,
        standard_error=estimate.standard_error,
        interval=estimate.interval,
        bounds=bounds,
        shown_interval="" if bounds is None else f"{estimate.shown_level()} {bounds[0]} to {bounds[1]}",
        method=estimate.method,
        digits=estimate.digits,
        suppressed=estimate.suppressed,
        note=estimate.note,
        grid_bound=estimate.grid_bound,
    )


def why_without_interval(numbers: Iterable[Number]) -> tuple[str, ...]:
    """Return in a sentence why numbers have no interval, if the rows of the study are the reason."""
    return (f"Where there is {NO_INTERVAL}.",) if any(NO_INTERVAL in one.note for one in numbers) else ()


def place_of(at: Mapping[str, float]) -> str:
    """Return the place in a table, for people."""
    if set(at) == {"low", "high"}:
        return f"{at['low']:g} to {at['high']:g}"
    return ", ".join(f"{value:g}" for value in at.values())


def tables_of(numbers: Iterable[Number]) -> tuple[NumberTable, ...]:
    """Return a table of everything at thresholds, and one of every metric in bins or along a curve."""
    groups: dict[tuple[str, ...], list[Number]] = {}
    for number in numbers:
        if number.at:
            place = "bin" if "low" in number.at else ", ".join(number.at)
            kind = (place, number.metric if find_metric(number.metric).has_own_table else "")
            groups.setdefault(kind, []).append(number)
    return tuple(_table(kind[0], group) for kind, group in groups.items())


def _table(place: str, numbers: list[Number]) -> NumberTable:
    columns = list(dict.fromkeys((one.metric, one.name, one.title) for one in numbers))
    places = sorted({tuple(one.at.items()) for one in numbers})
    by_key = {one.key: one for one in numbers}
    return NumberTable(
        place,
        tuple(title for _, _, title in columns),
        tuple(
            (place_of(dict(at)), tuple(by_key.get((metric, name, at)) for metric, name, _ in columns))
            for at in places
        ),
    )
