"""Intervals: by their definitions, by printed figures of others, and at their ends."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ppaurora.errors import InputError
from ppaurora.statistics.intervals import (
    Interval,
    ap_logit_interval,
    checked_level,
    half_unit,
    log_interval,
    logit_interval,
    normal_interval,
    proportion_interval,
    wilson_interval,
)

levels = st.floats(0, 1, exclude_min=True, exclude_max=True)
fractions = st.floats(0, 1)
errors = st.floats(0, 1)


def two_sided(level: float) -> float:
    """z, found by halving: the standard normal distribution has `level` of its mass within z of 0."""
    low, high = 0.0, 40.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if math.erf(middle / math.sqrt(2)) < level else (low, middle)
    return low


def some(interval: Interval | None) -> Interval:
    assert interval is not None
    return interval


def test_of_0_95() -> None:
    assert normal_interval(0.5, 0.1, 0.95) == pytest.approx((0.3040036015459946, 0.6959963984540054))


@given(fractions, errors, levels)
def test_a_normal_interval_contains_its_value_and_stays_between_0_and_1(
    value: float, error: float, level: float
) -> None:
    low, high = normal_interval(value, error, level)
    assert 0 <= low <= value <= high <= 1


@given(fractions, errors, levels, levels)
def test_a_higher_level_gives_no_smaller_interval(value: float, error: float, one: float, two: float) -> None:
    narrow, wide = normal_interval(value, error, min(one, two)), normal_interval(value, error, max(one, two))
    assert wide[0] <= narrow[0]
    assert wide[1] >= narrow[1]


@given(fractions, st.floats(0.001, 0.2), st.floats(0.01, 0.999))
def test_a_normal_interval_by_its_definition(value: float, error: float, level: float) -> None:
    reach = two_sided(level) * error
    expected = min(max(value - reach, 0), 1), max(min(value + reach, 1), 0)
    assert normal_interval(value, error, level) == pytest.approx(expected, abs=1e-9)


@given(st.floats(0.001, 0.999), st.floats(0, 0.1), st.floats(0.01, 0.999))
def test_a_logit_interval_is_even_on_the_logit_scale(value: float, error: float, level: float) -> None:
    low, high = some(logit_interval(value, error, level))
    assert 0 <= low <= value <= high <= 1
    assume(low > 1e-9)
    assume(high < 1 - 1e-9)
    expected = two_sided(level) * error / (value * (1 - value))
    middle = math.log(value / (1 - value))
    assert middle - math.log(low / (1 - low)) == pytest.approx(expected, abs=1e-5)
    assert math.log(high / (1 - high)) - middle == pytest.approx(expected, abs=1e-5)


@given(st.floats(0, 1, exclude_min=True, exclude_max=True), errors, levels)
def test_a_logit_interval_survives_any_number(value: float, error: float, level: float) -> None:
    low, high = some(logit_interval(value, error, level))
    assert 0 <= low <= value <= high <= 1


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_there_is_no_logit_at_the_ends(value: float) -> None:
    assert logit_interval(value, 0.1, 0.95) is None
    assert ap_logit_interval(value, 10, 0.95) is None


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_as_newcombe_prints_it(successes: int, trials: int, low: float, high: float) -> None:
    """R. G. Newcombe: Two-sided confidence intervals for the single proportion, 1998, table I, method 3."""
    interval = some(wilson_interval(successes, trials, 0.95))
    assert tuple(round(bound, 4) for bound in interval) == (low, high)


@given(st.integers(1, 500), st.floats(0, 1), st.floats(0.01, 0.999))
def test_wilsons_bounds_are_where_the_score_test_just_rejects(
    trials: int, fraction: float, level: float
) -> None:
    """(p − bound)² = z²·bound·(1 − bound)/n: of scipy's and statsmodels' formulas the common origin."""
    successes = round(fraction * trials)
    low, high = some(wilson_interval(successes, trials, level))
    p, z = successes / trials, two_sided(level)
    assert 0 <= low <= p <= high <= 1
    for bound in (low, high):
        assert (p - bound) ** 2 == pytest.approx(z * z * bound * (1 - bound) / trials, abs=1e-9)


@pytest.mark.parametrize(
    ("successes", "trials", "level", "expected"),
    [
        (8, 10, 0.9, (0.5407928056874879, 0.9314420122624679)),
        (0, 7, 0.95, (0.0, 0.35433043506668743)),
        (7, 7, 0.99, (0.5133885650057457, 1.0)),
        (41, 113, 0.95, (0.2800425427544222, 0.4546406740344673)),
    ],
)
def test_wilson_as_scipy_and_statsmodels_have_it(
    successes: int, trials: int, level: float, expected: Interval
) -> None:
    """Figures of scipy's `proportion_ci`; those of statsmodels' `proportion_confint` differ by 1e-16."""
    assert wilson_interval(successes, trials, level) == pytest.approx(expected, rel=1e-14)


def test_wilson_reaches_0_and_1_exactly() -> None:
    for trials in range(1, 200):
        assert some(wilson_interval(0, trials, 0.95))[0] == 0
        assert some(wilson_interval(trials, trials, 0.95))[1] == 1
    assert wilson_interval(0, 0, 0.95) is None


@pytest.mark.parametrize(("successes", "trials"), [(-1, 5), (6, 5), (0, -1)])
def test_wilson_refuses_counts_that_do_not_fit(successes: int, trials: int) -> None:
    with pytest.raises(InputError, match="successes"):
        wilson_interval(successes, trials, 0.95)


def test_the_interval_of_average_precision_by_hand() -> None:
    """Of 0.5 and 100 positives: logit 0, tau = 1/sqrt(100/4) = 0.2."""
    bound = 1 / (1 + math.exp(1.959963984540054 * 0.2))
    assert ap_logit_interval(0.5, 100, 0.95) == pytest.approx((bound, 1 - bound), rel=1e-14)


@given(st.floats(0.01, 0.99), st.integers(1, 10_000), st.floats(0.5, 0.999))
def test_the_interval_of_average_precision_by_its_definition(ap: float, positives: int, level: float) -> None:
    low, high = some(ap_logit_interval(ap, positives, level))
    reach = two_sided(level) / math.sqrt(positives * ap * (1 - ap))
    odds = ap / (1 - ap)
    assert 0 <= low <= ap <= high <= 1
    assert low == pytest.approx(odds / (odds + math.exp(reach)), rel=1e-8)
    assert high == pytest.approx(odds / (odds + math.exp(-reach)), rel=1e-8)


def test_average_precision_needs_a_positive() -> None:
    with pytest.raises(InputError, match="at least one"):
        ap_logit_interval(0.5, 0, 0.95)


def contains(outer: Interval, inner: Interval) -> bool:
    """Up to what floats make of sums."""
    return outer[0] <= inner[0] + 1e-12 and outer[1] >= inner[1] - 1e-12


@given(fractions, errors, st.integers(1, 6), st.integers(0, 2), st.floats(0.01, 0.999))
def test_an_interval_of_rounded_numbers_contains_that_of_the_exact_ones(
    value: float, error: float, digits: int, more: int, level: float
) -> None:
    rounded, rounded_error = round(value, digits), round(error, digits + more)
    slack, error_slack = half_unit(digits), half_unit(digits + more)
    for function in (normal_interval, log_interval, logit_interval):
        outer = function(rounded, rounded_error, level, slack=slack, error_slack=error_slack)
        assert outer is None or contains(outer, some(function(value, error, level)))


@given(fractions, st.integers(1, 2000), st.integers(1, 6), st.floats(0.01, 0.999))
def test_an_interval_of_rounded_counts_contains_that_of_the_exact_ones(
    value: float, count: int, digits: int, level: float
) -> None:
    successes = round(value * count)
    released, fewest = round(successes / count, digits), max(5 * round(count / 5) - 2, 1)
    outer = proportion_interval(released, fewest, level, slack=half_unit(digits))
    assert contains(some(outer), some(wilson_interval(successes, count, level)))
    inner = ap_logit_interval(value, count, level)
    outer = ap_logit_interval(round(value, digits), fewest, level, slack=half_unit(digits))
    assert outer is None or contains(outer, some(inner))


@given(st.floats(0.0, 0.1), st.floats(0.0, 0.3), st.floats(0.5, 0.99))
def test_rounding_makes_intervals_wider_by_little(value: float, error: float, level: float) -> None:
    narrow = normal_interval(0.5 + value, error, level, within=(-9, 9))
    wide = normal_interval(0.5 + value, error, level, slack=0.0005, error_slack=0.00005, within=(-9, 9))
    assert wide[1] - wide[0] - (narrow[1] - narrow[0]) <= 0.001 + 5.2 * 0.00005 + 1e-12


def test_a_log_interval_by_its_definition() -> None:
    factor = math.exp(1.959963984540054 * 0.1)
    assert log_interval(2.0, 0.1, 0.95) == pytest.approx((2 / factor, 2 * factor))
    assert log_interval(0.0, 0.1, 0.95, slack=0.1) == pytest.approx((0.0, 0.1 * factor))


@pytest.mark.parametrize("level", [0.95, np.float32(0.95), np.float64(0.95), Fraction(19, 20)])
def test_a_level_may_be_any_kind_of_number(level: Any) -> None:
    assert checked_level(level) == pytest.approx(0.95)
    assert type(checked_level(level)) is float


@pytest.mark.parametrize(
    ("level", "advice"),
    [(95, "write 0.95 for 95 %"), (99.9, "write 0.999 for 99.9 %"), (90, "write 0.9 for 90 %")]
    + [(bad, "write 0.95 for 95 %") for bad in (0, 1, True, -0.5, 100, math.nan, math.inf, "0.95", None)],
)
def test_a_level_that_cannot_be_used_is_refused_with_advice(level: Any, advice: str) -> None:
    with pytest.raises(InputError, match=advice):
        checked_level(level)
    for function in (normal_interval, logit_interval, ap_logit_interval):
        with pytest.raises(InputError, match="confidence_level"):
            function(0.5, 1, level)
    with pytest.raises(InputError, match="confidence_level"):
        wilson_interval(1, 2, level)


@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan])
def test_only_numbers_from_0_to_1_have_these_intervals(value: float) -> None:
    for function in (normal_interval, logit_interval, ap_logit_interval):
        with pytest.raises(InputError, match="from 0 to 1"):
            function(value, 1, 0.95)


@pytest.mark.parametrize("error", [-0.1, math.nan, math.inf])
def test_a_standard_error_is_a_number_from_0_on(error: float) -> None:
    for function in (normal_interval, logit_interval):
        with pytest.raises(InputError, match="standard_error"):
            function(0.5, error, 0.95)
