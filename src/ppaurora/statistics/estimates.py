"""A released number as people read it, and the intervals that an owner makes of released numbers.

Nothing here is secret or computed on shares. Words and edge cases of AUROC's interval are pROC's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from numbers import Real
from statistics import NormalDist
from typing import Any

from ppaurora.errors import InputError, MisuseError

Interval = tuple[float, float]

_DECIMALS = 12  # of a float64, as people see it
_SIGNIFICANT = 4  # in a line as pROC prints it

_TOO_FEW = "no interval: there are fewer than two positives or fewer than two negatives"
_ROUNDED_AWAY = "no interval: the standard error is 0 in the digits that are released"
_NO_WIDTH = "the interval has no width because the standard error is 0; that can mislead: it is not certainty"


@dataclass(frozen=True)
class Estimate:
    """One released number, with its uncertainty.

    Attributes
    ----------
    value
        The number; None if it is suppressed, or if these samples have no such number.
    standard_error, interval, logit_interval
        None if there is none. Intervals are (low, high), computed from the released value and its standard
        error: they are no more accurate than those, however many digits their floats have.
    method
        The method of the interval, such as "DeLong" or "Wilson".
    confidence_level
        The level of the interval, such as 0.95.
    digits
        Decimals to which the value was rounded before it was released, 0 for a count; None if it was not
        rounded. The standard error has one more.
    suppressed
        Whether the release policy withholds it. Then there is nothing but a note.
    note
        What a reader should know before using it.

    Examples
    --------
    >>> estimate = delong_estimate(0.73, 0.052, 0.95, digits=2)
    >>> estimate.shown()
    '0.73'
    >>> estimate.line("Area under the curve")
    'Area under the curve: 0.73, 95% CI: 0.62-0.84 (DeLong)'
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

    def shown_level(self) -> str:
        """Return the level of the interval as text, such as "95% CI"."""
        return "CI" if self.confidence_level is None else f"{self.confidence_level * 100:.7g}% CI"

    def shown_interval(self) -> str:
        """Return the interval as pROC prints it: "95% CI: 0.5012-0.7227 (DeLong)"; empty if there is none."""
        bounds = self.shown_bounds()
        if bounds is None:
            return ""
        return f"{self.shown_level()}: {'-'.join(bounds)}" + (f" ({self.method})" if self.method else "")

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
        fields = asdict(self)
        for name in ("interval", "logit_interval"):
            fields[name] = None if fields[name] is None else list(fields[name])
        return fields


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
    """

    rows: tuple[Row, ...]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __getitem__(self, number: int) -> Row:
        return self.rows[number]

    def to_dict(self) -> dict[str, Any]:
        """Return it as in the JSON report."""
        return {"rows": [row.to_dict() for row in self.rows]}


def checked_level(confidence_level: Any) -> float:
    """Return a confidence level that a person wrote; a wrong one is refused with how it is written."""
    is_small = isinstance(confidence_level, Real) and confidence_level < 100  # whole numbers may be vast
    level = float(confidence_level) if is_small else math.nan
    if 0 < level < 1:
        return level
    percent = level if 1 < level < 100 else 95.0
    raise InputError(
        f"confidence_level is {confidence_level!r}; it must be a number between 0 and 1, both excluded: "
        f"write {percent / 100:.7g} for {percent:.7g} %"
    )


def normal_interval(value: float, standard_error: float, level: float) -> Interval:
    """value ± z·SE, cut off at 0 and 1: of a number from 0 to 1, as pROC's ci.auc."""
    reach = quantile(level) * _checked_error(standard_error)
    low, high = _checked_fraction("value", value) - reach, value + reach
    return max(low, 0.0), min(high, 1.0)


def logit_interval(value: float, standard_error: float, level: float) -> Interval | None:
    """expit(logit(value) ± z·SE / (value·(1 − value))), by the delta method; None at 0 and 1."""
    z, error = quantile(level), _checked_error(standard_error)
    if _checked_fraction("value", value) in (0, 1):
        return None
    return _around_logit(value, z * error / (value * (1 - value)))


def ap_logit_interval(ap: float, positives: int, level: float) -> Interval | None:
    """expit(logit(ap) ± z / sqrt(P·ap·(1 − ap))); None at 0 and 1.

    K. Boyd, K. H. Eng, C. D. Page: Area under the precision-recall curve: point estimates and confidence
    intervals, ECML PKDD 2013. Only of a number of positives that is released: whoever has the interval has
    that number.
    """
    z = quantile(level)
    if positives < 1:
        raise InputError(f"average precision of {positives} positives: there must be at least one")
    if _checked_fraction("average precision", ap) in (0, 1):
        return None
    return _around_logit(ap, z / math.sqrt(positives * ap * (1 - ap)))


def wilson_interval(successes: float, trials: float, level: float) -> Interval | None:
    """(s + z²/2 ± z·sqrt(s·(n − s)/n + z²/4)) / (n + z²), Wilson's score interval; None of no trials.

    Only of counts that are released: whoever has the interval has the counts. Where a proportion or its
    trials were rounded, successes need not be whole.
    """
    z = quantile(level)
    if not 0 <= successes <= trials:
        raise InputError(f"{successes} successes of {trials} trials: there must be from 0 to as many")
    if trials == 0:
        return None
    middle = successes + z * z / 2
    reach = z * math.sqrt(successes * (trials - successes) / trials + z * z / 4)
    # At the ends the formula gives 0 and 1, and floats almost.
    low = 0.0 if successes == 0 else (middle - reach) / (trials + z * z)
    high = 1.0 if successes == trials else (middle + reach) / (trials + z * z)
    return low, high


def delong_estimate(
    auroc: float, standard_error: float | None, level: float, digits: int | None = None
) -> Estimate:
    """AUROC with intervals by DeLong's standard error, in pROC's edge cases as pROC.

    Without a standard error (fewer than two positives or negatives) there is no interval. An AUROC of 1 or 0
    has the interval 1-1 or 0-0, and a note. `digits` says that AUROC was rounded to so many decimals, and its
    standard error to one more; if that rounds the standard error away, there is no interval either.
    """
    level = checked_level(level)
    if standard_error is None:
        return Estimate(auroc, digits=digits, note=_TOO_FEW)
    perfect = auroc in (0, 1) and (standard_error == 0 or digits is None)
    if standard_error == 0 and digits is not None and not perfect:
        return Estimate(auroc, 0.0, digits=digits, note=_ROUNDED_AWAY)
    return Estimate(
        auroc,
        standard_error,
        interval=(auroc, auroc) if perfect else normal_interval(auroc, standard_error, level),
        logit_interval=logit_interval(auroc, standard_error, level),
        method="DeLong",
        confidence_level=level,
        digits=digits,
        note=_NO_WIDTH if perfect or standard_error == 0 else "",
    )


def quantile(level: float) -> float:
    """z: how many standard errors an interval of that level reaches to either side."""
    return -NormalDist().inv_cdf((1 - checked_level(level)) / 2)


def _around_logit(value: float, reach: float) -> Interval:
    """expit(logit(value) ± reach), which contains the value whatever floats make of it."""
    logit = math.log(value) - math.log1p(-value)
    return min(_expit(logit - reach), value), max(_expit(logit + reach), value)


def _expit(x: float) -> float:
    small = math.exp(-abs(x))
    return (1 if x >= 0 else small) / (1 + small)


def _checked_fraction(name: str, value: float) -> float:
    if not 0 <= value <= 1:
        raise InputError(f"{name} is {value!r}: this interval is of numbers from 0 to 1")
    return value


def _checked_error(standard_error: float) -> float:
    if not 0 <= standard_error < math.inf:
        raise InputError(f"standard_error is {standard_error!r}: it is a number from 0 on")
    return standard_error
