"""DeLong's standard error by the whole computation: small with heavy ties, large, and at the largest size."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ppaurora
from ppaurora.algorithms.curve import MOST_SAMPLES
from ppaurora.algorithms.placements import limb_weights
from ppaurora.metrics import Query, metrics_named
from ppaurora.metrics.evidence import EvaluatedPart, Evidence, Found, Inputs
from ppaurora.metrics.numbers import numbers
from ppaurora.policy.rules import Policy
from ppaurora.sharing.shares import RingShare
from ppaurora.statistics.auroc import delong_variance
from ppaurora.statistics.estimates import Estimate
from ppaurora.suites.base import Suite
from tests.support.oracles import exact_delong_variance
from tests.support.proc import asah_from_proc
from tests.support.releases import root_half_away
from tests.support.wide import by_three_parties, in_the_clear

CLOSE = 1e-6  # what is promised; what is found is closer
Arrays = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]


def owners_of(labels: np.ndarray[Any, Any], scores: np.ndarray[Any, Any], owners: int) -> list[Arrays]:
    return list(zip(np.array_split(labels, owners), np.array_split(scores, owners), strict=True))


def found_for(owners: list[Arrays]) -> Estimate:
    found = ppaurora.evaluate(owners, metrics=["auroc"], confidence_level=0.95)["auroc"]
    assert isinstance(found, Estimate)
    return found


def check(labels: np.ndarray[Any, Any], scores: np.ndarray[Any, Any], owners: int) -> None:
    expected = math.sqrt(delong_variance(labels, scores))
    error = found_for(owners_of(labels, scores, owners)).standard_error
    assert error is not None
    assert abs(error - expected) <= CLOSE * expected


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    size=st.integers(4, 2000),
    different=st.sampled_from([1, 2, 3, 10, 1000]),
    rate=st.sampled_from([0.01, 0.3, 0.5, 0.99]),
    skill=st.sampled_from([0.0, 0.5, 3.0, -3.0]),
    seed=st.integers(0, 2**32),
)
def test_standard_errors_of_small_studies(
    size: int, different: int, rate: float, skill: float, seed: int
) -> None:
    random = np.random.default_rng(seed)
    labels = (random.random(size) < rate).astype(int)
    labels[:4] = [0, 0, 1, 1]
    scores = np.round((random.normal(size=size) + skill * labels) * different)
    random.shuffle(order := np.arange(size))
    check(labels[order], scores[order], 3)


def test_it_is_the_pairwise_definition() -> None:
    random = np.random.default_rng(3)
    labels, scores = random.integers(0, 2, 40), random.integers(0, 9, 40).astype(float)
    samples = [(float(score), int(label)) for score, label in zip(scores, labels, strict=True)]
    exact = exact_delong_variance(samples)
    assert exact is not None
    assert found_for(owners_of(labels, scores, 2)).standard_error == pytest.approx(
        math.sqrt(exact), rel=1e-14
    )


@pytest.mark.parametrize("different", [7, 10**9])
def test_standard_errors_of_a_hundred_thousand_samples(different: int) -> None:
    random = np.random.default_rng(different)
    labels = (random.random(100_000) < 0.02).astype(int)
    scores = np.floor((random.normal(size=100_000) + labels) * different)
    check(labels, scores, 8)


def test_two_limbs_in_the_whole_computation(monkeypatch: pytest.MonkeyPatch) -> None:
    """As for more samples than one word holds, but with few."""
    monkeypatch.setattr("ppaurora.algorithms.placements.MOST_IN_ONE_WORD", 100)
    monkeypatch.setattr("ppaurora.algorithms.placements.LOW_BITS", 4)
    random = np.random.default_rng(5)
    for different in (3, 40, 10**6):
        labels = random.integers(0, 2, 1500)
        check(labels, np.floor(random.random(1500) * different) + labels, 3)


@pytest.mark.parametrize("scores", ["perfect", "reversed", "tied"])
def test_without_any_variance(scores: str) -> None:
    labels = np.array([0, 1] * 20)
    made = {"perfect": labels * 1.0, "reversed": 1.0 - labels, "tied": np.full(40, 0.5)}[scores]
    estimate = found_for(owners_of(labels, made, 2))
    assert estimate.standard_error == 0
    assert estimate.interval == (estimate.value, estimate.value)
    assert "mislead" in estimate.note


@pytest.mark.parametrize("rare", [0, 1])
def test_one_sample_of_a_class_has_no_interval(rare: int) -> None:
    labels = np.full(30, 1 - rare)
    labels[7] = rare
    estimate = found_for(owners_of(labels, np.arange(30.0), 3))
    assert (estimate.standard_error, estimate.interval) == (None, None)
    assert "fewer than two" in estimate.note


@pytest.mark.parametrize(
    ("marker", "standard_error", "line"),
    [
        ("ndka", 0.0564872600627, "Area under the curve: 0.612, 95% CI: 0.5012-0.7227 (DeLong)"),
        ("s100b", 0.0516592920700, "Area under the curve: 0.7314, 95% CI: 0.6301-0.8326 (DeLong)"),
        ("wfns", 0.0383394667259, "Area under the curve: 0.8237, 95% CI: 0.7485-0.8988 (DeLong)"),
    ],
)
def test_figures_of_proc(marker: str, standard_error: float, line: str) -> None:
    """On its own example data, split among three owners."""
    data = asah_from_proc()
    labels, scores = np.array(data.y_true), np.array(data.y_scores[marker], dtype=float)
    estimate = found_for(owners_of(labels, scores, 3))
    assert estimate.standard_error == pytest.approx(standard_error, rel=1e-11)
    assert estimate.line("Area under the curve") == line


# At the largest size nobody can sort a list in a test. What the curve would give is made up instead.


def placement_sums(groups: list[tuple[int, int]]) -> tuple[int, int, int, int, int]:
    """P, N, A, Q and C2 of tie groups (positives, negatives), best first, in whole numbers."""
    tp = fp = area = of_negatives = of_positives = 0
    for positives, negatives in groups:
        b, c = 2 * tp + positives, 2 * fp + negatives
        area += negatives * b
        of_negatives += negatives * b * b
        of_positives += positives * c * c
        tp, fp = tp + positives, fp + negatives
    return tp, fp, area, of_negatives, of_positives


HALF = MOST_SAMPLES // 2
LARGEST = {
    "as good as perfect": [(HALF - 1, 0), (0, 1), (1, 0), (0, HALF - 1)],
    "perfect": [(HALF, 0), (0, HALF)],
    "reversed but for one": [(0, HALF - 1), (HALF, 0), (0, 1)],
    "halves": [(HALF // 2, 0), (0, HALF), (HALF // 2, 0)],
    "thirds": [(0, MOST_SAMPLES // 6), (2 * MOST_SAMPLES // 3, 0), (0, MOST_SAMPLES // 6)],
    "one tie": [(HALF, HALF)],
    "mixed": [(HALF // 8 + k, HALF // 8 - 3 * k) for k in range(8)],
    "rare positives": [(10, MOST_SAMPLES // 2), (5, 0), (10, MOST_SAMPLES // 3)],
}


def standard_error_of(
    groups: list[tuple[int, int]], policy: Policy, run: Callable[..., Any]
) -> tuple[int, int]:
    """Mantissa and exponent of the standard error's column, from the numbers that the curve would give."""
    p, n, a, q, c2 = placement_sums(groups)
    weights = limb_weights(p + n)
    limbs = [digit for number in (q, c2) for digit in in_limbs(number, weights)]
    query = Query(metrics_named("auroc"), (p, n), policy, 0.95)
    numbers_of_curve = np.array([p, p * n, a, *limbs], dtype=np.uint64)

    def stage(suite: Suite, given: RingShare) -> RingShare:
        wide = suite.widen(given)
        parts = [wide[place] for place in range(len(wide))]
        metric = query.metrics[0]
        found = Found(p + n, given[0], given[1], {metric: [given[2]]})
        inputs = Inputs(None, None, None)
        evidence = Evidence(suite, query, inputs, found, p + n, parts[0], parts[1], {}, {})
        ratios = tuple(metric.formula(parts[2:], evidence))
        return numbers(suite, [EvaluatedPart(query, inputs, found, evidence, ratios)])[0]

    columns = run(stage, numbers_of_curve)
    return int(columns[0, -1]), int(columns[1, -1])


def in_limbs(number: int, weights: tuple[int, ...]) -> list[int]:
    """Limbs as large as they come: the lowest is filled up first."""
    limbs = []
    for weight in reversed(weights[1:]):
        limb = max((number - (2**62 if weight > weights[1] else 2**60)) // weight, 0)
        limbs.append(limb)
        number -= limb * weight
    assert number < 2**64
    return [number, *reversed(limbs)]


@pytest.mark.parametrize("run", [in_the_clear, by_three_parties])
@pytest.mark.parametrize("groups", LARGEST.values(), ids=LARGEST.keys())
def test_standard_errors_at_the_largest_size(groups: list[tuple[int, int]], run: Callable[..., Any]) -> None:
    p, n, a, q, c2 = placement_sums(groups)
    assert p + n <= MOST_SAMPLES
    c1 = 2 * p * n - a
    variance = (Fraction(p * c2 - c1**2, p - 1) + Fraction(n * q - a**2, n - 1)) / (4 * p**2 * n**2)
    mantissa, exponent = standard_error_of(groups, Policy.exact(counts="hidden"), run)
    found = Fraction(mantissa, 2**exponent)
    assert abs(found - variance) <= variance * Fraction(1, 10**12)
    steps, _ = standard_error_of(groups, Policy.exact(digits=4, counts="hidden"), run)
    assert Fraction(steps, 10**5) == root_half_away(variance, 5)
