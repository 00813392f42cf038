"""Differences of two released numbers, with interval and test: of two models on the same samples (paired), or
of two groups of people or two studies that have nobody in common (unpaired).

Nothing here is secret or computed on shares. The tests are those of pROC's `roc.test`, in its edge cases,
too. Rounding is in the intervals: one contains the interval that the exact numbers would give.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from ppaurora.errors import InputError, MisuseError
from ppaurora.statistics.estimates import (
    NO_WIDTH,
    ONLY_ROUNDING,
    Estimate,
    error_digits_beside,
    joined,
    normal_estimate,
    rounded_up,
)
from ppaurora.statistics.intervals import Interval, checked_level, half_unit, normal_interval
from ppaurora.statistics.student import student_cdf, student_quantile

ANYWHERE: Interval = (-math.inf, math.inf)
BETWEEN_FRACTIONS: Interval = (-1.0, 1.0)  # where differences of numbers from 0 to 1 lie

_SMALLEST_P = 0.0001  # that is shown as it is
# How methods begin whose intervals are not the value and as many standard errors to either side.
_ASYMMETRIC = ("log", "normal, conservative", "random effects")

_NO_ERROR = "no interval and no test: there is no standard error"
_NO_TEST = "no test: the standard error is 0"
_OF_ROUNDED = "the test uses the rounded values; the interval allows for rounding"
_OF_INTERVALS = "no test: the interval is made of the intervals of both numbers"


@dataclass(frozen=True)
class Difference(Estimate):
    """The difference of two numbers, with its uncertainty and the test of whether there is one.

    Attributes
    ----------
    z
        The difference divided by its standard error; where there are degrees of freedom, it is Student's t.
        None if there is no test, and the note says why.
    p_value
        The two-sided p of it.
    degrees_of_freedom
        Those of Student's t, by Satterthwaite; None for the normal distribution.
    error_bound
        How far the standard error is at most from that of scores that were not counted in coarse cells.

    Examples
    --------
    >>> found = paired_difference(0.0923, 0.0418, 0.95)
    >>> found.test_line()
    'Z = 2.208, p = 0.0272'
    >>> found.line("Difference of AUROC")
    'Difference of AUROC: 0.0923, 95% CI: 0.01037-0.1742 (DeLong, paired)'
    """

    z: float | None = None
    p_value: float | None = None
    degrees_of_freedom: float | None = None
    error_bound: float | None = None

    def test_line(self) -> str:
        """Return the test in the words of pROC: "Z = 2.209, p = 0.0272"; empty if there is none."""
        if self.z is None or self.p_value is None:
            return ""
        p = f"p < {_SMALLEST_P:.4f}" if self.p_value < _SMALLEST_P else f"p = {self.p_value:.4f}"
        if self.degrees_of_freedom is None:
            return f"Z = {self.z:z.4g}, {p}"
        return f"D = {self.z:z.4g}, df = {self.degrees_of_freedom:.5g}, {p}"


def paired_difference(
    value: float,
    standard_error: float | None,
    level: float,
    digits: int | None = None,
    error_digits: int | None = None,
    *,
    within: Interval = BETWEEN_FRACTIONS,
    method: str = "DeLong, paired",
    error_bound: float | None = None,
) -> Difference:
    """Return a released difference on the same samples: value ± z·SE, and Z = value/SE.

    `digits` says that the difference was rounded to so many decimals, and its standard error to
    `error_digits`, by default one more, of up to six: then the interval contains rounding, whereas Z and p
    are those of the released numbers. An error bound is stated, and does not widen the interval: it is what
    coarse cells could change at most, of which they change a small part. As in pROC, a difference of 0 with a
    standard error of 0 has Z = 0 and p = 1; any other with a standard error of 0 has no test.
    """
    if standard_error is None:
        checked_level(level)
        return Difference(value, digits=digits, note=_NO_ERROR)
    if error_digits is None:
        error_digits = error_digits_beside(digits)
    estimate = normal_estimate(
        value, standard_error, level, digits, error_digits, within=within, method=method
    )
    if error_bound:
        said = f"the standard error is within {rounded_up(error_bound)} of that of ungrouped scores"
        estimate = replace(estimate, note=joined(estimate.note, said))
    return _tested(estimate, paired=True, error_bound=error_bound)


def unpaired_difference(
    a: Estimate,
    b: Estimate,
    level: float | None,
    samples_a: int | None = None,
    samples_b: int | None = None,
    *,
    within: Interval = ANYWHERE,
) -> Difference:
    """Return a - b of two released numbers on different people, such as those of two studies.

    Without a level it has no interval and no test.

    With a standard error of both, the test is Student's t with Satterthwaite's degrees of freedom, as pROC's
    `roc.test(paired = FALSE)`, from the numbers of all samples; without these, it is the normal one. If one
    has an interval only, as numbers with noise do, or a standard error on another scale, there is no test,
    and the interval is made of both intervals, which must have this level:

        a - b - sqrt((a - its low)² + (b's high - b)²)  to  a - b + sqrt((a's high - a)² + (b - its low)²)

    That is MOVER, the method of variance estimates recovery (G. Y. Zou, A. Donner: Construction of confidence
    limits about effect measures, Statistics in Medicine 27, 2008). A value that was rounded may be anywhere
    within half a unit; as the bounds grow with a and fall with b, the ends of these give the widest interval.
    """
    if level is not None:
        checked_level(level)
    for samples in (samples_a, samples_b):
        if samples is not None and samples < 2:
            raise InputError(f"{samples} samples: a standard error is of at least 2")
    if a.value is None or b.value is None:
        withheld = a.suppressed or b.suppressed
        note = f"one of the two numbers is {'suppressed' if withheld else 'undefined'}"
        return Difference(None, suppressed=withheld, note=note)
    digits = max((one.digits for one in (a, b) if one.digits is not None), default=None)
    value = a.value - b.value
    if a.digits is not None and b.digits is not None and digits is not None:
        value = round(value, digits)
    plain = Estimate(value, digits=digits)
    if level is None:
        found = Difference(**vars(plain))
    elif _has_linear_error(a) and _has_linear_error(b):
        found = _by_standard_errors(plain, a, b, level, samples_a, samples_b, within)
    else:
        found = _by_intervals(plain, a, b, level, within)
    return _read_on_grids(found, a, b)


def satterthwaite(error_a: float, error_b: float, samples_a: int, samples_b: int) -> float:
    """Return (v + w)² / (v²/(n - 1) + w²/(m - 1)), of squared standard errors v and w.

    F. E. Satterthwaite: An approximate distribution of estimates of variance components, Biometrics Bulletin
    2, 1946.
    """
    largest = max(error_a, error_b)  # only their ratio counts, and squares of small ones may be 0
    v, w = (error_a / largest) ** 2, (error_b / largest) ** 2
    return (v + w) ** 2 / (v**2 / (samples_a - 1) + w**2 / (samples_b - 1))


def _by_standard_errors(
    plain: Estimate,
    a: Estimate,
    b: Estimate,
    level: float,
    samples_a: int | None,
    samples_b: int | None,
    within: Interval,
) -> Difference:
    """The interval a - b ± t·sqrt(SE_a² + SE_b²), widest over all that rounded numbers stand for."""
    errors = [one.standard_error or 0.0 for one in (a, b)]
    slacks = [half_unit(error_digits_beside(one.digits)) for one in (a, b)]
    most = [error + slack for error, slack in zip(errors, slacks, strict=True)]
    least = [max(error - slack, 0.0) for error, slack in zip(errors, slacks, strict=True)]
    df = fewest = math.inf
    if samples_a is not None and samples_b is not None and any(errors):
        df = satterthwaite(errors[0], errors[1], samples_a, samples_b)
        # They have one maximum over the ratio of the errors, so that the fewest are at its ends.
        ends = (most[0], least[1]), (least[0], most[1])
        fewest = min(satterthwaite(*pair, samples_a, samples_b) for pair in ends if any(pair))
    reach = half_unit(a.digits) + half_unit(b.digits)
    reach -= student_quantile((1 - level) / 2, fewest) * math.hypot(*most)
    value, standard_error = _value(plain), math.hypot(*errors)
    interval = max(value - reach, within[0]), min(value + reach, within[1])
    misleading = NO_WIDTH if plain.digits is None else ONLY_ROUNDING
    estimate = replace(
        plain,
        standard_error=standard_error,
        interval=interval,
        method=", ".join(filter(None, (a.method if a.method == b.method else "", "unpaired"))),
        confidence_level=level,
        note="" if standard_error else misleading,
    )
    return _tested(estimate, df)


def _by_intervals(plain: Estimate, a: Estimate, b: Estimate, level: float, within: Interval) -> Difference:
    """The interval by MOVER, widest over all that rounded values stand for."""
    of_a, of_b = _interval_at(a, level), _interval_at(b, level)
    if of_a is None or of_b is None:
        lacking = f"no interval and no test: one of the two numbers has no interval of the level {level:g}"
        return _tested(replace(plain, note=lacking))

    def lower(value: float, low: float, other: float, high: float) -> float:
        return value - other - math.hypot(max(value - low, 0.0), max(high - other, 0.0))

    slack_a, slack_b = half_unit(a.digits), half_unit(b.digits)
    low = lower(_value(a) - slack_a, of_a[0], _value(b) + slack_b, of_b[1])
    high = -lower(_value(b) - slack_b, of_b[0], _value(a) + slack_a, of_a[1])
    interval = max(low, within[0]), min(high, within[1])
    return _tested(
        replace(plain, interval=interval, method="MOVER", confidence_level=level, note=_OF_INTERVALS)
    )


def _interval_at(estimate: Estimate, level: float) -> Interval | None:
    """Return its interval of this level; one by standard errors is made anew, and nowhere cut off."""
    if _has_linear_error(estimate):
        return normal_interval(
            _value(estimate),
            estimate.standard_error or 0.0,
            level,
            slack=half_unit(estimate.digits),
            error_slack=half_unit(error_digits_beside(estimate.digits)),
            within=ANYWHERE,
        )
    has_level = estimate.confidence_level is not None and math.isclose(estimate.confidence_level, level)
    return estimate.interval if has_level else None


def _has_linear_error(estimate: Estimate) -> bool:
    return estimate.standard_error is not None and not estimate.method.startswith(_ASYMMETRIC)


def _tested(
    estimate: Estimate, df: float = math.inf, *, paired: bool = False, error_bound: float | None = None
) -> Difference:
    """Return an estimated difference with its test, where it has a standard error that allows one."""
    z = p_value = None
    value, error, said = _value(estimate), estimate.standard_error, ""
    if error == 0 and not (paired and value == 0):
        said = _NO_TEST
    elif error is not None:
        z = value / error if error else 0.0
        p_value = 2 * student_cdf(-abs(z), df)
        said = "" if estimate.digits is None else _OF_ROUNDED
    return Difference(
        **(vars(estimate) | {"note": joined(estimate.note, said)}),
        z=z,
        p_value=p_value,
        degrees_of_freedom=None if z is None or df == math.inf else df,
        error_bound=error_bound,
    )


def _value(estimate: Estimate) -> float:
    if estimate.value is None:
        raise MisuseError("a difference is of two values")
    return estimate.value


def _read_on_grids(difference: Difference, a: Estimate, b: Estimate) -> Difference:
    """Return it with how far both grids together have moved it at most."""
    bounds = [one.grid_bound for one in (a, b) if one.grid_bound is not None]
    if not bounds:
        return difference
    bound = math.fsum(bounds)
    said = f"reading scores on a grid changed it by at most {rounded_up(bound)}" if bound else ""
    return replace(difference, grid_bound=bound, note=joined(difference.note, said))
