"""Confidence intervals that an owner makes of released numbers, or of its own data.

A number that was rounded stands for all numbers within half a unit of its last digit, a rounded count for all
that round to it. An interval of such numbers contains the intervals of all numbers that they stand for. So it
contains the one that the exact numbers would give, and covers at least as often. Nothing here is secret.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from numbers import Real
from statistics import NormalDist
from typing import Any

from ppaurora.errors import InputError

Interval = tuple[float, float]

UNIT: Interval = (0.0, 1.0)  # where fractions lie

BIAS_OF_MAGNITUDES = math.sqrt(2 / math.pi)  # the mean of |r|, for r normal with mean 0 and variance 1


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


def half_unit(digits: int | None) -> float:
    """Return how far a number of so many decimals is from the exact one at most; None: it was not rounded."""
    return 0.0 if digits is None else 0.5 * 10.0**-digits


def normal_interval(
    value: float,
    standard_error: float,
    level: float,
    *,
    slack: float = 0.0,
    error_slack: float = 0.0,
    within: Interval = UNIT,
) -> Interval:
    """value ± (slack + z·(SE + its slack)), cut off where no value is; without slack, as pROC's ci.auc."""
    reach = slack + quantile(level) * (_checked_error(standard_error) + error_slack)
    low, high = _checked_within(value, within) - reach, value + reach
    return max(low, within[0]), min(high, within[1])


def log_interval(
    ratio: float, standard_error: float, level: float, *, slack: float = 0.0, error_slack: float = 0.0
) -> Interval:
    """exp(log(ratio) ± z·SE), of a ratio whose logarithm has this standard error; from 0 on."""
    factor = math.exp(quantile(level) * (_checked_error(standard_error) + error_slack))
    low, high = _checked_within(ratio, (0.0, math.inf)) - slack, ratio + slack
    return max(low, 0.0) / factor, high * factor


def logit_interval(
    value: float, standard_error: float, level: float, *, slack: float = 0.0, error_slack: float = 0.0
) -> Interval | None:
    """expit(logit(value) ± z·SE / (value·(1 − value))), by the delta method; None where it may be 0 or 1."""
    reach = quantile(level) * (_checked_error(standard_error) + error_slack)
    return _around_logit(value, slack, lambda v: reach / (v * (1 - v)))


def ap_logit_interval(ap: float, positives: int, level: float, *, slack: float = 0.0) -> Interval | None:
    """expit(logit(ap) ± z / sqrt(P·ap·(1 − ap))); None where it may be 0 or 1.

    K. Boyd, K. H. Eng, C. D. Page: Area under the precision-recall curve: point estimates and confidence
    intervals, ECML PKDD 2013. Only of a number of positives that is released: whoever has the interval has
    that number. Of a rounded number, the smallest that it may stand for gives the widest interval.
    """
    z = quantile(level)
    if positives < 1:
        raise InputError(f"average precision of {positives} positives: there must be at least one")
    return _around_logit(ap, slack, lambda v: z / math.sqrt(positives * v * (1 - v)))


def wilson_interval(successes: float, trials: float, level: float) -> Interval | None:
    """(s + z²/2 ± z·sqrt(s·(n − s)/n + z²/4)) / (n + z²), Wilson's score interval; None of no trials.

    Only of counts that are released: whoever has the interval has the counts. Successes need not be whole.
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


def proportion_interval(value: float, trials: float, level: float, *, slack: float = 0.0) -> Interval | None:
    """Return Wilson's interval of a released proportion; of rounded trials, the fewest that they stand for.

    Its bounds grow with the proportion, and come closer to it with more trials.
    """
    _checked_within(value, UNIT)
    low = wilson_interval(max(value - slack, 0.0) * trials, trials, level)
    high = wilson_interval(min(value + slack, 1.0) * trials, trials, level)
    return None if low is None or high is None else (low[0], high[1])


def index_interval(
    value: float,
    standard_error: float,
    curve_error: float,
    level: float,
    *,
    slack: float = 0.0,
    error_slack: float = 0.0,
) -> Interval:
    """Return the interval of a mean of magnitudes |r| of normal numbers r, of whose errors the mean square is
    known: from value - sqrt(2/pi)·(curve error) - z·SE to value + z·SE.

    Errors make magnitudes larger, and never smaller, on average: by sqrt(2/pi) times the standard error of r
    where its mean is 0, and by less elsewhere. The mean of standard errors is at most the root of the mean of
    their squares. So the lower bound has room for all of that bias, and the interval is conservative.
    """
    low, high = normal_interval(value, standard_error, level, slack=slack, error_slack=error_slack)
    return max(low - BIAS_OF_MAGNITUDES * (_checked_error(curve_error) + error_slack), 0.0), high


@lru_cache
def quantile(level: float) -> float:
    """Return z: how many standard errors an interval of that level reaches to either side."""
    return -NormalDist().inv_cdf((1 - checked_level(level)) / 2)


def _around_logit(value: float, slack: float, reach: Callable[[float], float]) -> Interval | None:
    """Return the hull of expit(logit(v) ± reach(v)) over all v within the slack; None where v may be 0 or 1.

    For a reach c·(v·(1 - v))^-a, the slope of the lower end has the sign of (v·(1 - v))^a + a·c·(1 - 2·v):
    positive up to 1/2, and falling from there on. So the lower end rises and then falls, and is lowest at one
    of the two ends of what v may be; the upper end likewise, seen from 1.
    """
    ends = _checked_within(value, UNIT) - slack, value + slack
    if not (ends[0] > 0 and ends[1] < 1):
        return None
    lows = [_expit(_logit(v) - reach(v)) for v in ends]
    highs = [_expit(_logit(v) + reach(v)) for v in ends]
    return min(*lows, ends[0]), max(*highs, ends[1])


def _logit(p: float) -> float:
    return math.log(p) - math.log1p(-p)


def _expit(x: float) -> float:
    small = math.exp(-abs(x))
    return (1 if x >= 0 else small) / (1 + small)


def _checked_within(value: float, within: Interval) -> float:
    low, high = within
    if not low <= value <= high:
        raise InputError(f"value is {value!r}: this interval is of numbers from {low:g} to {high:g}")
    return value


def _checked_error(standard_error: float) -> float:
    if not 0 <= standard_error < math.inf:
        raise InputError(f"standard_error is {standard_error!r}: it is a number from 0 on")
    return standard_error
