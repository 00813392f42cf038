"""Numbers that are linear in noisy ones: their noise is that of the sum, whatever they have in common."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ppaurora.statistics.estimates import Estimate
from ppaurora.statistics.noisy import Noise
from ppaurora.statistics.noisy_numbers import (
    NoisyNumber,
    added_up,
    between,
    digits_beside,
    given_total,
    independent,
    noisy_auroc,
    noisy_mean,
    noisy_position,
    noisy_proportion,
    noisy_ratio,
)

DRAWS = 200_000
SCALES = (1.0, 2.0, 0.5)
LEVEL = 0.95


def laplace(scale: float) -> Noise:
    """Variance 2·scale² and fourth cumulant 12·scale⁴."""
    return Noise(2 * scale**2, 12 * scale**4)


def three() -> list[NoisyNumber]:
    return independent([10.0, 20.0, 5.0], [laplace(scale) for scale in SCALES])


def test_the_noise_of_a_sum_is_that_of_draws() -> None:
    a, b, c = three()
    number = a * 2 - b + (b - c) * 0.5 + 7
    rng = np.random.default_rng(1)
    x, y, z = (rng.laplace(scale=scale, size=DRAWS) for scale in SCALES)
    drawn = 2 * (10 + x) - (20 + y) + 0.5 * ((20 + y) - (5 + z)) + 7
    assert number.value == pytest.approx(14.5)
    assert drawn.mean() == pytest.approx(number.value, abs=0.05)
    assert drawn.var() == pytest.approx(number.noise.variance, rel=0.03)
    fourth = ((drawn - drawn.mean()) ** 4).mean() - 3 * drawn.var() ** 2
    assert fourth == pytest.approx(number.noise.fourth, rel=0.25)


def test_a_known_total_takes_noise_away() -> None:
    """Of four counts of equal noise, two add up with half of the variance, and all four with none."""
    counts = given_total(independent([3.0, 4.0, 5.0, 6.0], [laplace(1.0)] * 4), 20.0)
    assert [one.value for one in counts] == pytest.approx([3.5, 4.5, 5.5, 6.5])
    assert added_up(counts[:2]).noise.variance == pytest.approx(2.0)
    assert added_up(counts).noise.variance == pytest.approx(0.0)
    assert added_up(counts).value == pytest.approx(20)


def test_the_noise_between_two_numbers_is_that_of_their_difference() -> None:
    a, b, c = three()
    successes, failures = a + b * 0.5, b - c
    points = np.array([0.0, 0.1, 0.5, 0.9, 1.0])
    found = between(successes, failures)(points)
    expected = [(successes * (1 - p) - failures * p).noise for p in points.tolist()]
    assert found.variance == pytest.approx([one.variance for one in expected])
    assert found.fourth == pytest.approx([one.fourth for one in expected])


@pytest.mark.parametrize(
    ("deviation", "digits"), [(20.0, 0), (3.0, 0), (1.0, 1), (0.006, 3), (0.003, 3), (1e-9, 6), (0.0, 6)]
)
def test_as_many_digits_as_noise_leaves(deviation: float, digits: int) -> None:
    """A unit of the last is at most a third of the deviation."""
    assert digits_beside(deviation) == digits


def test_a_mean_without_sampling_error_has_the_interval_of_its_noise() -> None:
    (total,) = independent([50.0], [laplace(1.0)])
    estimate = noisy_mean(total, 100, 0.0, 0.95, (0.0, 1.0))
    assert estimate.value == 0.5
    assert estimate.interval is not None
    far = 0.5 - estimate.interval[0]
    rng = np.random.default_rng(2)
    covered = (np.abs(rng.laplace(size=DRAWS)) / 100 <= far).mean()
    assert 0.95 <= covered < 0.96
    assert "standard deviation" in estimate.note


def test_a_ratio_covers_what_it_says() -> None:
    """40 events of which 50 are expected, both with noise."""
    rng, covered = np.random.default_rng(3), 0
    noises = [laplace(2.0), laplace(2.0)]
    for _ in range(600):
        observed, expected = rng.normal(40, 6) + rng.laplace(scale=2), 50 + rng.laplace(scale=2)
        numerator, denominator = independent([observed, expected], noises)
        estimate = noisy_ratio(numerator, denominator, 36.0, 0.9, 100)
        assert estimate.interval is not None
        covered += estimate.interval[0] <= 0.8 <= estimate.interval[1]
    assert 0.86 < covered / 600 < 0.95


def test_what_noise_drowns_is_not_there() -> None:
    few, none = independent([3.0, -1.0], [laplace(1.0)] * 2)
    assert noisy_ratio(few, none, 1.0, 0.9, 100).value is None
    assert noisy_position(few, none, (0.0, 0.1)).value is None
    assert noisy_position(few, few, (0.0, 0.1)).value == 0.1  # cut off


def below(beyond: float) -> dict[str, Estimate]:
    """Numbers that are 0 at least, made of a released sum that is below 0 by so much."""
    few, many = independent([-beyond, 200.0], [laplace(4.0), laplace(4.0)])
    return {
        "proportion": noisy_proportion(few, many, LEVEL),
        "auroc": noisy_auroc(few, many, 1000, LEVEL),
        "mean": noisy_mean(few, 200, 1.0, LEVEL, within=(0.0, 1.0)),
        "ratio": noisy_ratio(few, many, 1.0, LEVEL, highest=64.0),
    }


@pytest.mark.parametrize("beyond", [0.5, 12.0, 60.0])
@pytest.mark.parametrize("name", ["proportion", "auroc", "mean", "ratio"])
def test_an_interval_at_an_end_is_no_narrower_than_its_noise(name: str, beyond: float) -> None:
    """Whatever noise did: a true value of nearly a standard deviation of the noise, of 200, is inside."""
    found = below(beyond)[name]
    assert found.value == 0
    assert found.interval is not None
    low, high = found.interval
    assert low == 0
    assert high > 0.9 * math.sqrt(laplace(4.0).variance) / 206


def test_how_much_wider_an_interval_is_compares_it_with_one_that_has_a_width() -> None:
    (total,) = independent([50.0], [laplace(1.0)])
    notes = [noisy_mean(total, 100, sampling, LEVEL, within=(0.0, 1.0)).note for sampling in (2.0, 1e-9, 0.0)]
    assert notes == [
        "noise makes the interval 45 % wider",
        "noise has a standard deviation of 0.014",
        "noise has a standard deviation of 0.014",
    ]


def test_an_interval_at_the_upper_end_is_the_mirror_image() -> None:
    many, few = independent([200.0, -60.0], [laplace(4.0), laplace(4.0)])
    for name, found in {
        "proportion": noisy_proportion(many, few, LEVEL),
        "auroc": noisy_auroc(many, few, 1000, LEVEL),
        "mean": noisy_mean(many + 60, 200, 1.0, LEVEL, within=(0.0, 1.0)),
    }.items():
        mirrored = below(60.0)[name].interval
        assert found.interval is not None
        assert mirrored is not None
        assert found.interval == pytest.approx((1 - mirrored[1], 1 - mirrored[0]), abs=1e-9)
