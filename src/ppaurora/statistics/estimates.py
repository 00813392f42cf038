"""A released number as people read it, with the interval that an owner makes of it.

Nothing here is secret or computed on shares. Words and edge cases of AUROC's interval are pROC's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields, replace
from decimal import ROUND_UP, Decimal
from typing import Any, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from ppaurora.data.grid import Grid
from ppaurora.errors import InputError, MisuseError
from ppaurora.statistics.intervals import (
    UNIT,
    Interval,
    checked_level,
    half_unit,
    index_interval,
    log_interval,
    logit_interval,
    normal_interval,
    proportion_interval,
)

_DECIMALS = 12  # of a float64, as people see it
_MOST_DIGITS = 6  # of a released number that is rounded
_SIGNIFICANT = 4  # in a line as pROC prints it
_SAME = 1e-9  # that a threshold may be off by, which somebody has computed

_TOO_FEW = "no interval: there are fewer than two positives or fewer than two negatives"
_MISLEADS = "because the standard error is 0; that can mislead: it is not certainty"
NO_WIDTH = f"the interval has no width {_MISLEADS}"
ONLY_ROUNDING = f"the interval is only as wide as rounding makes it {_MISLEADS}"


@dataclass(frozen=True)
class Estimate:
    """One released number, with its uncertainty.

    Attributes
    ----------
    value
        The number; None if it is suppressed, or if these samples have no such number.
    standard_error, interval, logit_interval
        None if there is none. The standard error of a ratio is that of its logarithm. Intervals are
        (low, high), computed from released numbers. Where these were rounded, an interval contains the one
        that the exact numbers would give: rounding makes it wider, by little more than a unit of the last
        digit, and never less reliable.
    method
        The method of the interval, such as "DeLong" or "Wilson".
    confidence_level
        The level of the interval, such as 0.95.
    digits
        Decimals to which the value was rounded before it was released, 0 for a count; None if it was not
        rounded. A standard error has one more, of up to six.
    suppressed
        Whether the release policy withholds it. Then there is nothing but a note.
    note
        What a reader should know before using it.
    grid_bound
        How far it is at most from the number that scores would give which were not read on a grid.

    Examples
    --------
    >>> estimate = delong_estimate(0.73, 0.052, 0.95, digits=2)
    >>> estimate.shown()
    '0.73'
    >>> estimate.line("Area under the curve")
    'Area under the curve: 0.73, 95% CI: 0.62-0.84 (DeLong)'
    >>> [round(bound, 4) for bound in estimate.interval]
    [0.6221, 0.8379]
    >>> Estimate(None, suppressed=True).shown()
    'suppressed'
    """

    value: float | None
    standard_error: float | None = None
    interval: Interval | None = None
    logit_interval: Interval | None = None
    method: str = ""
    confidence_level: float | None = None
    digits: int | None = None
    suppressed: bool = False
    note: str = ""
    grid_bound: float | None = None

    def __post_init__(self) -> None:
        numbers = [self.value, self.standard_error, *(self.interval or ()), *(self.logit_interval or ())]
        present = [number for number in numbers if number is not None]
        if not all(map(math.isfinite, present)):
            raise MisuseError("an estimate has finite numbers, or None")
        if self.value is None and present:
            raise MisuseError("an estimate without a value has no standard error and no interval")
        details = (self.value, self.confidence_level, self.digits)
        if self.suppressed and (self.method or any(detail is not None for detail in details)):
            raise MisuseError("a suppressed estimate has nothing but a note")

    def read_on(self, grid: Grid, bound: float) -> Estimate:
        """Return it with how far it is at most from the number of scores that were not read on a grid."""
        changed = f"changed it by at most {rounded_up(bound)}" if bound else "did not change it"
        said = f"reading scores {grid.reading} {changed}"
        return replace(self, grid_bound=bound, note=joined(self.note, said))

    def shown(self) -> str:
        """Return the value as text, with the digits that it has."""
        if self.value is None:
            return "suppressed" if self.suppressed else "undefined"
        return f"{self.value:z.{_DECIMALS if self.digits is None else self.digits}f}"

    def shown_shortly(self) -> str:
        """Return the value for a sentence, with at most four significant digits."""
        return self.shown() if self.value is None else self._in_a_line(self.value)

    def shown_bounds(self) -> tuple[str, str] | None:
        """Return the bounds of the interval as texts; None if there is no interval."""
        if self.interval is None:
            return None
        return self._bound(self.interval[0], math.floor), self._bound(self.interval[1], math.ceil)

    def shown_span(self) -> str:
        """Return both bounds as "0.5012-0.7227", or "-0.104 to 0.058" if one is negative; empty if none."""
        bounds = self.shown_bounds() or ()
        return (" to " if any(one.startswith("-") for one in bounds) else "-").join(bounds)

    def shown_level(self) -> str:
        """Return the level of the interval as text, such as "95% CI"."""
        return "CI" if self.confidence_level is None else f"{self.confidence_level * 100:.7g}% CI"

    def shown_interval(self) -> str:
        """Return the interval as pROC prints it: "95% CI: 0.5012-0.7227 (DeLong)"; empty if there is none."""
        span = self.shown_span()
        return span and f"{self.shown_level()}: {span}" + (f" ({self.method})" if self.method else "")

    def line(self, title: str) -> str:
        """Return it as pROC prints it: "Area under the curve: 0.612, 95% CI: 0.5012-0.7227 (DeLong)"."""
        return ", ".join(filter(None, (f"{title}: {self.shown_shortly()}", self.shown_interval())))

    def _in_a_line(self, number: float) -> str:
        """Four significant digits as pROC has them; of a rounded estimate, no decimals that it has not."""
        if self.digits is None:
            return f"{number:z.{_SIGNIFICANT}g}"
        if self.digits > _SIGNIFICANT:
            return f"{round(number, self.digits):z.{_SIGNIFICANT}g}"
        return f"{number:z.{self.digits}f}"

    def _bound(self, bound: float, outwards: Callable[[float], int]) -> str:
        """Return a bound, which is rounded outwards for a rounded estimate: it is not known better."""
        if self.digits is None:
            return self._in_a_line(bound)
        steps = 10**self.digits
        near = round(bound * steps)  # a bound that has these digits already stays as it is
        whole = near if math.isclose(near, bound * steps, abs_tol=1e-9) else outwards(bound * steps)
        return self._in_a_line(whole / steps)

    def to_dict(self) -> dict[str, Any]:
        """Return it as in the JSON report; every field is present."""
        content = asdict(self)
        for name in ("interval", "logit_interval"):
            content[name] = None if content[name] is None else list(content[name])
        return content

    @classmethod
    def from_dict(cls, content: Any) -> Self:
        """Read it as `to_dict` returns it, with every field; raises `InputError` with what is wrong."""
        names = [field.name for field in fields(cls)]
        if not isinstance(content, dict) or set(content) != set(names):
            raise InputError(f"is not an estimate as reports have it, with the fields {', '.join(names)}")
        try:
            estimate = msgspec.convert(content, cls)
        except (msgspec.ValidationError, MisuseError) as error:
            raise InputError(f"is not an estimate as reports have it: {error}") from None
        if estimate.standard_error is not None and estimate.standard_error < 0:
            raise InputError("is not an estimate as reports have it: the standard error is negative")
        if estimate.digits is not None and not 0 <= estimate.digits <= _DECIMALS:
            raise InputError(f"is not an estimate as reports have it: digits are from 0 to {_DECIMALS}")
        if estimate.confidence_level is not None:
            checked_level(estimate.confidence_level)
        for interval in filter(None, (estimate.interval, estimate.logit_interval)):
            if interval[0] > interval[1]:
                raise InputError(
                    "is not an estimate as reports have it: an interval ends below its beginning"
                )
        return estimate


def error_digits_beside(digits: int | None) -> int | None:
    """Return how many decimals the standard error of a released value has: one more, of up to six."""
    return None if digits is None else max(digits, min(digits + 1, _MOST_DIGITS))


def joined(*notes: str) -> str:
    """Return several notes as one; those that are empty are left out."""
    return "; ".join(filter(None, notes))


def rounded_up(bound: float) -> str:
    """Return a bound with two significant digits, and at least as large."""
    exact = Decimal(bound)
    unit = exact.scaleb(-exact.adjusted()).quantize(Decimal("1.0"), ROUND_UP).scaleb(exact.adjusted())
    return f"{unit.normalize():f}"


@dataclass(frozen=True)
class Row:
    """The numbers at one place of a table: `row["sensitivity"].value`.

    Attributes
    ----------
    at
        Where it is: {"threshold": 0.5}, or a bin {"low": 0.1, "high": 0.2}.
    values
        The numbers by name.
    """

    at: dict[str, float]
    values: dict[str, Estimate]

    def __getitem__(self, name: str) -> Estimate:
        return self.values[name]

    def is_at(self, place: float) -> bool:
        """Return whether it is the row of this threshold, or of a bin that reaches from below to above it."""
        if "low" in self.at:
            return self.at["low"] <= place <= self.at["high"]
        return any(math.isclose(place, here, rel_tol=_SAME, abs_tol=_SAME) for here in self.at.values())

    def shown_place(self) -> str:
        """Return where it is as text: "threshold 0.5", or "0.1 to 0.2"."""
        if "low" in self.at:
            return f"{self.at['low']:g} to {self.at['high']:g}"
        return ", ".join(f"{name} {here:g}" for name, here in self.at.items())

    def to_dict(self) -> dict[str, Any]:
        return {
            "at": dict(self.at),
            "values": {name: estimate.to_dict() for name, estimate in self.values.items()},
        }


@dataclass(frozen=True)
class Table:
    """The numbers of a metric that has several: a row for each threshold or bin.

    Examples
    --------
    >>> sensitivity = {0.3: Estimate(0.9, digits=2), 0.6: Estimate(0.75, digits=2)}
    >>> table = Table(tuple(Row({"threshold": t}, {"sensitivity": e}) for t, e in sensitivity.items()))
    >>> table[1]["sensitivity"].value
    0.75
    >>> [(row.at["threshold"], row["sensitivity"].shown()) for row in table]
    [(0.3, '0.90'), (0.6, '0.75')]
    >>> table.at(0.6)["sensitivity"].value
    0.75
    """

    rows: tuple[Row, ...]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __getitem__(self, number: int) -> Row:
        return self.rows[number]

    def at(self, place: float) -> Row:
        """Return the row at a threshold, or that of the bin in which a score lies.

        Raises `InputError` if there is none, and if two bins meet there: whether such a score is in the lower
        or in the upper one depends on the metric.
        """
        found = [row for row in self.rows if row.is_at(place)]
        if len(found) == 1:
            return found[0]
        if found:
            bins = " and ".join(row.shown_place() for row in found)
            raise InputError(f"two bins meet at {place:g}: {bins}; name a score that is inside of one")
        there = "; ".join(row.shown_place() for row in self.rows) or "no row at all"
        raise InputError(f"there is no row at {place:g}; there is: {there}")

    def to_dict(self) -> dict[str, Any]:
        """Return it as in the JSON report."""
        return {"rows": [row.to_dict() for row in self.rows]}


def delong_estimate(
    auroc: float,
    standard_error: float | None,
    level: float,
    digits: int | None = None,
    error_digits: int | None = None,
) -> Estimate:
    """AUROC with intervals by DeLong's standard error, in pROC's edge cases as pROC.

    Without a standard error (fewer than two positives or negatives) there is no interval. An AUROC of 1 or 0
    has the interval 1-1 or 0-0, and a note. `digits` says that AUROC was rounded to so many decimals, and its
    standard error to `error_digits`, by default one more, of up to six: then the interval contains rounding.
    """
    if standard_error is None:
        checked_level(level)
        return Estimate(auroc, digits=digits, note=_TOO_FEW)
    if error_digits is None:
        error_digits = error_digits_beside(digits)
    slack, error_slack = half_unit(digits), half_unit(error_digits)
    logit = logit_interval(auroc, standard_error, level, slack=slack, error_slack=error_slack)
    estimate = normal_estimate(auroc, standard_error, level, digits, error_digits, method="DeLong")
    return replace(estimate, logit_interval=logit)


def normal_estimate(
    value: float,
    standard_error: float,
    level: float,
    digits: int | None = None,
    error_digits: int | None = None,
    *,
    within: Interval = UNIT,
    method: str = "normal",
) -> Estimate:
    """Return a value with the interval that its standard error gives, with rounding of both inside."""
    interval = normal_interval(
        value,
        standard_error,
        level,
        slack=half_unit(digits),
        error_slack=half_unit(error_digits),
        within=within,
    )
    misleading = NO_WIDTH if digits is None else ONLY_ROUNDING
    return Estimate(
        value,
        standard_error,
        interval=interval,
        method=method,
        confidence_level=checked_level(level),
        digits=digits,
        note="" if standard_error else misleading,
    )


def log_estimate(
    ratio: float,
    standard_error: float,
    level: float,
    digits: int | None = None,
    error_digits: int | None = None,
) -> Estimate:
    """Return a ratio with the interval that the standard error of its logarithm gives, rounding inside."""
    slack, error_slack = half_unit(digits), half_unit(error_digits)
    return Estimate(
        ratio,
        standard_error,
        interval=log_interval(ratio, standard_error, level, slack=slack, error_slack=error_slack),
        method="log",
        confidence_level=checked_level(level),
        digits=digits,
    )


def smoothed_estimate(
    at: float,
    residual: float,
    predicted: float,
    largest_error: float,
    level: float,
    digits: int | None = None,
    error_digits: int | None = None,
) -> Estimate:
    """Return a point of a smooth calibration curve: at + the mean residual around it, from 0 to 1.

    With Wilson's interval of predicted + residual, moved by at - predicted: the residual d is contained if it
    is at most z·sqrt(q·(1 - q)/n) from the one that was found, where q = predicted + d, and n samples of
    equal weight would give the same largest error, 1/(2·sqrt(n)).
    """
    slack = half_unit(digits)
    middle = within_unit(predicted + residual)
    trials = 1 / (2 * (largest_error + half_unit(error_digits))) ** 2
    interval = proportion_interval(middle, trials, level, slack=2 * slack) or UNIT
    value = within_unit(at + residual)
    low, high = (
        within_unit(end + at - predicted + side * slack) for end, side in zip(interval, (-1, 1), strict=True)
    )
    return Estimate(
        value,
        interval=(min(low, value), max(high, value)),
        method="Wilson",
        confidence_level=checked_level(level),
        digits=digits,
    )


def within_unit(number: float) -> float:
    """Return the number from 0 to 1 that is nearest."""
    return min(max(number, 0.0), 1.0)


def index_estimate(
    value: float,
    standard_error: float,
    curve_error: float,
    level: float,
    digits: int | None = None,
    error_digits: int | None = None,
) -> Estimate:
    """Return an integrated calibration index with its conservative interval, with rounding inside."""
    slack, error_slack = half_unit(digits), half_unit(error_digits)
    return Estimate(
        value,
        standard_error,
        interval=index_interval(
            value, standard_error, curve_error, level, slack=slack, error_slack=error_slack
        ),
        method="normal, conservative",
        confidence_level=checked_level(level),
        digits=digits,
    )


def own_mean(value: float, numbers: NDArray[np.float64], level: float, within: Interval = UNIT) -> Estimate:
    """Return the mean of an owner's numbers with its interval; of a single one, without."""
    if len(numbers) < 2:
        return Estimate(value, note="no interval: there is one sample only")
    return normal_estimate(value, float(numbers.std(ddof=1)) / math.sqrt(len(numbers)), level, within=within)
