"""DeLong's variance in exact fractions, and the estimate of AUROC that is made of it."""

from __future__ import annotations

import math
import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppaurora.errors import InputError, UndefinedResultError
from ppaurora.statistics.auroc import delong_variance
from ppaurora.statistics.estimates import delong_estimate
from tests.support.cases import owners
from tests.support.oracles import Sample, defined, exact_auroc, exact_delong_variance


def columns(samples: list[Sample]) -> tuple[list[int], list[float]]:
    return [label for _, label in samples], [score for score, _ in samples]


@settings(deadline=None)
@given(owners(min_owners=1, max_owners=3, max_size=25))
def test_it_is_the_definition_exactly(lists: list[list[Sample]]) -> None:
    samples = [sample for one in lists for sample in one]
    expected = exact_delong_variance(samples)
    if expected is None:
        with pytest.raises(UndefinedResultError, match="fewer than two"):
            delong_variance(*columns(samples))
    else:
        assert delong_variance(*columns(samples)) == expected


@settings(deadline=None)
@given(owners(min_owners=1, max_owners=1, max_size=40))
def test_it_is_the_formula_that_the_servers_compute(lists: list[list[Sample]]) -> None:
    """Var = [(P·C2 − C1²)/(P−1) + (N·Q − A²)/(N−1)] / (4·P²·N²), with sums over ends of tie groups."""
    [samples] = lists
    tp = fp = a = q = c1 = c2 = 0
    for threshold in sorted({score for score, _ in samples}, reverse=True):
        d_tp = sum(score == threshold and label == 1 for score, label in samples)
        d_fp = sum(score == threshold and label == 0 for score, label in samples)
        b, c = 2 * tp + d_tp, 2 * fp + d_fp
        a, q, c1, c2 = a + d_fp * b, q + d_fp * b * b, c1 + d_tp * c, c2 + d_tp * c * c
        tp, fp = tp + d_tp, fp + d_fp
    if min(tp, fp) >= 2:
        assert Fraction(a, 2 * tp * fp) == exact_auroc(samples)
        assert c1 == 2 * tp * fp - a
        variance = Fraction(tp * c2 - c1 * c1, tp - 1) + Fraction(fp * q - a * a, fp - 1)
        assert delong_variance(*columns(samples)) == variance / (4 * tp * tp * fp * fp)


def test_by_hand() -> None:
    """Positives at 2 and 3, negatives at 1, 2 and 3: placements 1/2, 5/6 and 1, 3/4, 1/4."""
    of_positives = Fraction(1, 18) / 2
    of_negatives = (Fraction(1, 3) ** 2 + Fraction(1, 12) ** 2 + Fraction(5, 12) ** 2) / 2 / 3
    assert delong_variance([1, 1, 0, 0, 0], [2, 3, 1, 2, 3]) == of_positives + of_negatives


@pytest.mark.parametrize("y_true", [[0, 0, 0], [1, 1, 1], [1, 0, 0], [1, 1, 0], []])
def test_too_few_of_a_class(y_true: list[int]) -> None:
    with pytest.raises(UndefinedResultError, match="fewer than two"):
        delong_variance(y_true, range(len(y_true)))


def test_columns_of_unequal_length_are_refused() -> None:
    with pytest.raises(ValueError, match="shorter"):
        delong_variance([0, 1, 0, 1], [1, 2, 3])


def test_it_takes_arrays_and_many_samples() -> None:
    random = np.random.default_rng(3)
    y_true, y_score = random.random(100_000) < 0.2, random.random(100_000)
    began = time.process_time()
    variance = delong_variance(y_true, y_score)
    assert time.process_time() - began < 10
    # The areas between scores that say nothing: (P + N + 1) / (12·P·N), if no scores are equal.
    positives = int(y_true.sum())
    expected = (100_000 + 1) / (12 * positives * (100_000 - positives))
    assert float(variance) == pytest.approx(expected, rel=0.02)


@settings(deadline=None)
@given(owners(min_owners=1, max_owners=1, max_size=40), st.floats(0.01, 0.999))
def test_the_estimate_has_both_intervals(lists: list[list[Sample]], level: float) -> None:
    [samples] = lists
    variance = exact_delong_variance(samples)
    if variance is None:
        return
    auroc = float(defined(exact_auroc(samples)))
    estimate = delong_estimate(auroc, math.sqrt(variance), level)
    assert estimate.value == auroc
    assert estimate.standard_error == math.sqrt(variance)
    assert (estimate.method, estimate.confidence_level) == ("DeLong", level)
    assert estimate.interval is not None
    assert 0 <= estimate.interval[0] <= auroc <= estimate.interval[1] <= 1
    assert (estimate.logit_interval is None) == (auroc in (0, 1))
    assert ("can mislead" in estimate.note) == (variance == 0)
    assert (estimate.interval == (auroc, auroc)) == (variance == 0)


@pytest.mark.parametrize("auroc", [0.0, 1.0])
def test_a_perfect_auroc_has_an_interval_without_width(auroc: float) -> None:
    estimate = delong_estimate(auroc, 0.0, 0.95)
    assert estimate.interval == (auroc, auroc)
    assert estimate.logit_interval is None
    assert "no width" in estimate.note
    assert "can mislead" in estimate.note


def test_an_auroc_that_is_1_after_rounding_only() -> None:
    """0.998 with a standard error of 0.003, rounded to two and three digits."""
    estimate = delong_estimate(1.0, 0.003, 0.95, digits=2)
    assert estimate.interval == pytest.approx((1 - 0.005 - 1.96 * 0.0035, 1), abs=1e-6)
    assert estimate.logit_interval is None
    assert estimate.note == ""
    assert estimate.line("AUROC") == "AUROC: 1.00, 95% CI: 0.98-1.00 (DeLong)"


@pytest.mark.parametrize(("auroc", "low"), [(0.7, 0.7 - 0.05 - 1.96 * 0.005), (1.0, 1 - 0.05 - 1.96 * 0.005)])
def test_a_standard_error_that_was_rounded_away_leaves_what_rounding_hides(auroc: float, low: float) -> None:
    """An interval 0.7-0.7 would pretend."""
    estimate = delong_estimate(auroc, 0.0, 0.95, digits=1)
    assert estimate.interval == pytest.approx((low, min(2 * auroc - low, 1)), abs=1e-6)
    assert "as wide as rounding" in estimate.note
    assert "can mislead" in estimate.note


def test_a_standard_error_may_have_as_many_digits_as_its_value() -> None:
    """Six is the most that any number has."""
    one_more, as_many = (delong_estimate(0.7, 0.05, 0.95, 6, digits) for digits in (7, 6))
    assert delong_estimate(0.7, 0.05, 0.95, 6) == as_many
    assert one_more.interval is not None
    assert as_many.interval is not None
    assert one_more.interval[0] - as_many.interval[0] == pytest.approx(1.96 * 0.45e-6, rel=1e-3)


def test_without_a_standard_error_there_is_no_interval() -> None:
    estimate = delong_estimate(0.75, None, 0.95)
    assert (estimate.value, estimate.standard_error) == (0.75, None)
    assert estimate.interval is estimate.logit_interval is None
    assert "fewer than two" in estimate.note


@pytest.mark.parametrize("standard_error", [None, 0.0, 0.05])
def test_the_level_is_checked_in_every_case(standard_error: float | None) -> None:
    with pytest.raises(InputError, match=r"write 0\.95"):
        delong_estimate(0.75, standard_error, 95)
