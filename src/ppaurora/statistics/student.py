"""Student's t distribution, of which the standard library knows only the limit, the normal distribution."""

from __future__ import annotations

import math
from itertools import count
from statistics import NormalDist

from ppaurora.errors import InputError

_ENOUGH = 1e-15  # by which a factor of a continued fraction may differ from 1
_MANY = 1_000.0  # degrees of freedom, from which on the distance to the normal distribution is a short series


def student_cdf(t: float, df: float) -> float:
    """Return the probability that Student's t is at most this, for so many degrees of freedom.

    Degrees of freedom need not be whole; infinitely many give the normal distribution. For a negative t, the
    relative error is small, however small the probability is: a two-sided p is 2·student_cdf(-|t|, df).

    Examples
    --------
    >>> round(2 * student_cdf(-2.228138851986274, 10), 12)
    0.05
    """
    if math.isnan(t):
        raise InputError("t is not a number")
    tail = _tail(abs(t), _checked_df(df))
    return tail if t < 0 else 1 - tail


def student_quantile(p: float, df: float) -> float:
    """Return the t that Student's t is below with probability p.

    Below 0 the distribution function is convex, and above the normal one. So Newton's steps from the normal
    quantile approach it from one side, and end where floats do.

    Examples
    --------
    >>> round(student_quantile(0.975, 10), 9)
    2.228138852
    """
    if not 0 < p < 1:
        raise InputError(f"p is {p!r}: a quantile is of a probability between 0 and 1, both excluded")
    _checked_df(df)
    if p > 0.5:
        return -student_quantile(1 - p, df)
    t = NormalDist().inv_cdf(p)
    if df == math.inf or t == 0:
        return t
    while (closer := t - (_tail(-t, df) - p) / _density(t, df)) < t * (1 + 1e-15):
        t = closer
    return t


def _tail(t: float, df: float) -> float:
    """Return the probability of being above t >= 0: half of I_x(df/2, 1/2), where x = df/(df + t²)."""
    if df >= _MANY:
        return math.erfc(_as_normal(t, df) / math.sqrt(2)) / 2
    if t == math.inf:
        return 0.0
    a, b = df / 2, 0.5
    ratio = t * t / df
    x = 1 / (1 + ratio)
    rest = ratio * x if ratio < 1 else 1 - x
    # x^a·(1 - x)^b / B(a, b)
    front = math.exp(-a * math.log1p(ratio)) * math.sqrt(rest / math.pi) * _gamma_ratio(a)
    if rest > (b + 1) / (a + b + 2):
        return front * _incomplete_beta_fraction(a, b, x) / a / 2
    return (1 - front * _incomplete_beta_fraction(b, a, rest) / b) / 2


def _incomplete_beta_fraction(a: float, b: float, x: float) -> float:
    """Return I_x(a, b)·a·B(a, b) / (x^a·(1 - x)^b), a continued fraction 1/(1 + d1/(1 + d2/(1 + ...))).

    With d_2m = m·(b - m)·x / ((a + 2m - 1)·(a + 2m)) and d_2m+1 = -(a + m)·(a + b + m)·x / ((a + 2m)·(a + 2m
    + 1)), evaluated from the front by Lentz's method. It converges fast for x < (a + 1)/(a + b + 2).

    NIST Digital Library of Mathematical Functions, 8.17(v).
    """
    numerator, denominator = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    value = denominator
    for m in count(1):
        for d in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            denominator = 1 / (1 + d * denominator)
            numerator = 1 + d / numerator
            value *= numerator * denominator
        if abs(numerator * denominator - 1) <= _ENOUGH:
            break
    return value


def _density(t: float, df: float) -> float:
    a = df / 2
    return _gamma_ratio(a) * math.exp(-(a + 0.5) * math.log1p(t * t / df)) / math.sqrt(math.pi * df)


def _gamma_ratio(a: float) -> float:
    return math.exp(math.lgamma(a + 0.5) - math.lgamma(a))


def _as_normal(t: float, df: float) -> float:
    """Return the number that a normal one exceeds as often as Student's t exceeds t, by a series in 1/df.

    G. W. Hill: Algorithm 395, Student's t-distribution, Communications of the ACM 13, 1970.
    """
    if math.inf in (t, df):
        return t
    a = df - 0.5
    b = 48 * a * a
    z = math.sqrt(a * math.log1p(t * t / df))
    next_term = z * (855 + z**2 * (240 + z**2 * (33 + 4 * z**2))) / (10 * b * (b + 0.8 * z**4 + 100))
    return z + (z**3 + 3 * z) / b - next_term


def _checked_df(df: float) -> float:
    if not df > 0:
        raise InputError(f"df is {df!r}: degrees of freedom are a number above 0")
    return df
