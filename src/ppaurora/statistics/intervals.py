"""Confidence intervals that an owner makes of released numbers, or of its own data.

Of a number that was rounded, the exact one lies anywhere within half a unit of its last digit (the `slack`):
its error is that of sampling and one that is spread evenly, and an interval reaches as far as the sum of both
does. A rounded standard error is taken half a unit larger, a rounded count as the smallest that rounds to it.
Nothing here is secret.
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
_NORMAL = NormalDist()


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
    """value ± z·(SE + its slack), cut off where no value is; without slack, as pROC's ci.auc."""
    reach = quantile(level) * (_checked_error(standard_error) + error_slack)
    _checked_within(value, within)
    return _widened((value - reach, value + reach), value, slack, level, within)


def log_interval(
    ratio: float, standard_error: float, level: float, *, slack: float = 0.0, error_slack: float = 0.0
) -> Interval:
    """exp(log(ratio) ± z·SE), of a ratio whose logarithm has this standard error; from 0 on."""
    factor = math.exp(quantile(level) * (_checked_error(standard_error) + error_slack))
    within = (0.0, math.inf)
    _checked_within(ratio, within)
    return _widened((ratio / factor, ratio * factor), ratio, slack, level, within)


def logit_interval(
    value: float, standard_error: float, level: float, *, slack: float = 0.0, error_slack: float = 0.0
) -> Interval | None:
    """expit(logit(value) ± z·SE / (value·(1 − value))), by the delta method; None where it may be 0 or 1."""
    reach = quantile(level) * (_checked_error(standard_error) + error_slack)
    return _around_logit(value, slack, lambda v: reach / (v * (1 - v)), level)


def ap_logit_interval(ap: float, positives: int, level: float, *, slack: float = 0.0) -> Interval | None:
    """expit(logit(ap) ± z / sqrt(P·ap·(1 − ap))); None where it may be 0 or 1.

    K. Boyd, K. H. Eng, C. D. Page: Area under the precision-recall curve: point estimates and confidence
    intervals, ECML PKDD 2013. Only of a number of positives that is released: whoever has the interval has
    that number. Of a rounded number, the smallest that it may stand for gives the widest interval.
    """
    z = quantile(level)
    if positives < 1:
        raise InputError(f"average precision of {positives} positives: there must be at least one")
    return _around_logit(ap, slack, lambda v: z / math.sqrt(positives * v * (1 - v)), level)


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

    Its bounds come closer to the proportion with more trials.
    """
    found = wilson_interval(_checked_within(value, UNIT) * trials, trials, level)
    return None if found is None else _widened(found, value, slack, level, UNIT)


@lru_cache
def quantile(level: float) -> float:
    """Return z: how many standard errors an interval of that level reaches to either side."""
    return -_NORMAL.inv_cdf((1 - checked_level(level)) / 2)


def reach_with_rounding(reach: float, slack: float, level: float) -> float:
    """Return the q with P(|X + U| <= q) = level, for X normal and U spread evenly from -slack to slack.

    `reach` is the same of X alone; q is from there to slack more. With s the deviation of X, F and f the
    normal distribution and density, and G(t) = t·F(t) + f(t) the integral of F up to t,

        P(X + U <= q) = s/(2·slack)·(G((q + slack)/s) - G((q - slack)/s))
    """
    if slack == 0:
        return reach
    s = reach / quantile(level)
    if s < slack * 1e-6:
        return reach + slack * level
    low, high = reach, reach + slack
    for _ in range(50):
        q = (low + high) / 2
        below = s / (2 * slack) * (_integrated((q + slack) / s) - _integrated((q - slack) / s))
        low, high = (q, high) if below < (1 + level) / 2 else (low, q)
    return high


def _integrated(t: float) -> float:
    """Return the integral of the normal distribution function up to t."""
    return t * _NORMAL.cdf(t) + _NORMAL.pdf(t)


def _widened(found: Interval, value: float, slack: float, level: float, within: Interval) -> Interval:
    """Return an interval with what rounding adds on either side, cut off where no value is."""
    low = value - reach_with_rounding(max(value - found[0], 0.0), slack, level)
    high = value + reach_with_rounding(max(found[1] - value, 0.0), slack, level)
    return max(low, within[0]), min(high, within[1])


def _around_logit(
    value: float, slack: float, reach: Callable[[float], float], level: float
) -> Interval | None:
    """Return expit(logit(value) ± reach(value)), with rounding; None where the exact value may be 0 or 1."""
    if not (_checked_within(value, UNIT) - slack > 0 and value + slack < 1):
        return None
    logit = _logit(value)
    found = _expit(logit - reach(value)), _expit(logit + reach(value))
    return _widened(found, value, slack, level, UNIT)


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
