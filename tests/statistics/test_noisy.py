"""Intervals of noisy numbers: by their definitions, without noise as known ones, and by drawing."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ppaurora.errors import MisuseError
from ppaurora.statistics.auroc import auroc_estimate, newcombe_variance
from ppaurora.statistics.intervals import Interval, wilson_interval
from ppaurora.statistics.noisy import (
    Noise,
    apart,
    fraction,
    noisy_auroc_interval,
    noisy_proportion_interval,
    reach,
    score_interval,
)

SILENT = apart(Noise(), Noise())
STUDIES = 1000
SLACK = 4 * math.sqrt(0.9 * 0.1 / STUDIES)  # four standard errors of a coverage of 90 %


def drawn(rng: np.random.Generator, ratio: float, count: int) -> np.ndarray:
    """Two-sided geometric noise, by its definition."""
    return (rng.geometric(1 - ratio, count) - rng.geometric(1 - ratio, count)).astype(float)


@pytest.mark.parametrize("ratio", [0.0, 0.1, 0.5, 0.9])
def test_cumulants_of_two_sided_geometric_noise_by_adding_up(ratio: float) -> None:
    k = np.arange(-2000, 2001)
    probability = (1 - ratio) / (1 + ratio) * float(ratio) ** np.abs(k)
    second, fourth = float(np.sum(probability * k**2)), float(np.sum(probability * k.astype(float) ** 4))
    noise = Noise.two_sided_geometric(ratio)
    assert noise.variance == pytest.approx(second)
    assert noise.fourth == pytest.approx(fourth - 3 * second**2)


@pytest.mark.parametrize("ratio", [-0.1, 1.0, math.nan])
def test_a_ratio_is_from_0_to_below_1(ratio: float) -> None:
    with pytest.raises(MisuseError, match="ratio"):
        Noise.two_sided_geometric(ratio)


@given(st.integers(0, 500), st.integers(1, 500), st.sampled_from([0.8, 0.9, 0.95, 0.99]))
def test_without_noise_it_is_wilsons(successes: int, more: int, level: float) -> None:
    expected = wilson_interval(successes, successes + more, level)
    found = noisy_proportion_interval(successes, more, SILENT, level)
    assert found == pytest.approx(expected, abs=1e-9)
    assert expected is not None
    assert found[0] <= expected[0] + 1e-15
    assert found[1] >= expected[1] - 1e-15


@given(st.floats(-50, 500), st.floats(-50, 500), st.floats(0.01, 0.95), st.sampled_from([0.9, 0.95]))
def test_whatever_noise_made_of_the_counts(s: float, f: float, ratio: float, level: float) -> None:
    """There is an interval, and the estimate is inside."""
    noise = Noise.two_sided_geometric(ratio)
    low, high = noisy_proportion_interval(s, f, apart(noise, noise), level)
    assert 0 <= low <= fraction(s, f) <= high <= 1


@given(st.integers(1, 300), st.integers(1, 300), st.floats(0.01, 0.95), st.sampled_from([0.9, 0.95]))
def test_noise_makes_it_wider(s: int, f: int, ratio: float, level: float) -> None:
    noise = Noise.two_sided_geometric(ratio)
    low, high = noisy_proportion_interval(s, f, apart(noise, noise), level)
    inner: Interval = noisy_proportion_interval(s, f, SILENT, level)
    assert low <= inner[0]
    assert inner[1] <= high


def test_bounds_are_where_the_score_just_rejects() -> None:
    noise = Noise.two_sided_geometric(0.8)
    for bound in score_interval(300, 100, lambda p: 400 * p * (1 - p), apart(noise, noise), 0.95):
        mixed = noise.scaled(1 - bound) + noise.scaled(bound)
        assert abs((1 - bound) * 300 - bound * 100) == pytest.approx(
            float(reach(400 * bound * (1 - bound), mixed, 0.95)), abs=1e-7
        )


@pytest.mark.parametrize(("level", "least", "most"), [(0.9, 0.9, 0.92), (0.95, 0.95, 0.96), (0.99, 0.99, 1)])
@pytest.mark.parametrize("sampling", [0.0, 1.0, 5.0])
def test_reach_covers_normal_and_laplace_together(
    level: float, least: float, most: float, sampling: float
) -> None:
    """By adding up their distributions on a fine grid; noise has the variance 2."""
    ratio = math.exp(-1 / 64)
    k = np.arange(-4000, 4001)
    probability = (1 - ratio) / (1 + ratio) * ratio ** np.abs(k)
    far = float(reach(sampling, Noise.two_sided_geometric(ratio).scaled(1 / 64), level))
    if sampling:
        scale = math.sqrt(2 * sampling)
        inside = [(math.erf((far - x) / scale) + math.erf((far + x) / scale)) / 2 for x in (k / 64).tolist()]
    else:
        inside = (np.abs(k / 64) <= far).astype(float).tolist()
    covered = float(np.dot(probability, inside))
    assert least - 0.001 <= covered <= most


def test_nothing_reaches_anywhere_without_variance() -> None:
    assert float(reach(0.0, Noise(), 0.95)) == 0


def test_newcombes_variance_is_the_same_if_classes_swap() -> None:
    assert newcombe_variance(0.8, 20, 70) == pytest.approx(newcombe_variance(0.2, 70, 20))


def test_newcombes_variance_is_near_delongs_of_normal_scores() -> None:
    rng = np.random.default_rng(5)
    labels = (np.arange(20_000) < 2000).astype(int)
    estimate = auroc_estimate(labels, rng.normal(1.2 * labels))
    assert estimate.value is not None
    assert estimate.standard_error is not None
    found = newcombe_variance(estimate.value, 2000, 18_000)
    assert math.sqrt(found) == pytest.approx(estimate.standard_error, rel=0.06)


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_a_noisy_proportion_covers_what_it_says(epsilon: float) -> None:
    rng, ratio, p, level = np.random.default_rng(8), math.exp(-epsilon / 2), 0.3, 0.9
    noise = Noise.two_sided_geometric(ratio)
    successes = rng.binomial(60, p, STUDIES)
    released = zip(
        successes + drawn(rng, ratio, STUDIES), 60 - successes + drawn(rng, ratio, STUDIES), strict=True
    )
    found = [noisy_proportion_interval(s, f, apart(noise, noise), level) for s, f in released]
    covered = sum(low <= p <= high for low, high in found) / STUDIES
    assert level - SLACK <= covered <= level + 0.04
    ignoring = [noisy_proportion_interval(s, 60 - s, SILENT, level) for s in successes.tolist()]
    assert sum(high - low for low, high in ignoring) < sum(high - low for low, high in found)


def test_a_noisy_auroc_covers_what_it_says_and_one_that_ignores_the_noise_does_not() -> None:
    """50 positives among 1,000, epsilon 1: noise of scale 3 on both parts."""
    rng, level, positives, samples = np.random.default_rng(9), 0.9, 50, 1000
    ratio = math.exp(-1 / (3 * 64))
    noise = Noise.two_sided_geometric(ratio).scaled(1 / 64)
    truth = (1 + math.erf(1.2 / 2)) / 2  # Φ(1.2/√2)
    covered = ignoring = 0
    for one, two in zip(drawn(rng, ratio, STUDIES) / 64, drawn(rng, ratio, STUDIES) / 64, strict=True):
        negatives = np.sort(rng.normal(size=samples - positives))
        above = negatives.searchsorted(rng.normal(1.2, size=positives)).sum() / (samples - positives)
        numbers = float(above + one), float(positives - above + two), samples
        low, high = noisy_auroc_interval(*numbers, apart(noise, noise), level)
        covered += low <= truth <= high
        low, high = noisy_auroc_interval(*numbers, SILENT, level)
        ignoring += low <= truth <= high
    assert level - SLACK <= covered / STUDIES <= level + 0.04
    assert ignoring / STUDIES < 0.75


@given(st.floats(-50, -0.01), st.floats(1, 500), st.floats(0.5, 0.95), st.sampled_from([0.9, 0.95]))
def test_noise_takes_a_count_below_0_by_one_deviation_at_most(
    s: float, f: float, ratio: float, level: float
) -> None:
    """However far it has gone, the interval is as wide as there, which the noise alone reaches."""
    own = Noise.two_sided_geometric(ratio)
    noise, least = apart(own, own), max(s, -math.sqrt(own.variance))
    found = noisy_proportion_interval(least, f, noise, level)
    assert noisy_proportion_interval(s, f, noise, level) == found
    beyond = (1 - found[1]) * least - found[1] * f  # at the upper bound, unless that is 1
    assert found[1] == 1 or abs(beyond) >= float(reach(0.0, noise(np.array(found[1])), level)) - 1e-6
    assert noisy_proportion_interval(f, s, noise, level) == pytest.approx((1 - found[1], 1), abs=1e-9)
    assert noisy_auroc_interval(f, s, 1000, noise, level) == noisy_auroc_interval(
        f, least, 1000, noise, level
    )
