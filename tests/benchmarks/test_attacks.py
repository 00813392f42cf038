"""The attacks on published numbers: their models against naive ones, and what a short run finds."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from statistics import variance

import numpy as np
import pytest
from click.testing import CliRunner

import ppaurora
from benchmarks.__main__ import cli
from benchmarks.attacks import command, counts, made_up, order, tampering
from benchmarks.attacks.frame import EXACT, POLICY, Rate, rates_table, wilson_interval
from benchmarks.attacks.numbers import numbers_of
from benchmarks.attacks.policy import Policy, rounded
from benchmarks.attacks.population import Population
from tests.support.oracles import Sample, defined, exact_auroc, exact_average_precision


def naive_rounded(value: Fraction, digits: int) -> Fraction:
    """The nearest step of the grid, which is one of those around the value; of two, the larger one."""
    below = math.floor(value * 10**digits)
    steps = [Fraction(step, 10**digits) for step in (below + 1, below)]
    return min(steps, key=lambda step: abs(step - value))


def delong_error(samples: Sequence[Sample]) -> float:
    """From the placements of every positive among the negatives, and the reverse."""

    def wins(positive: float, negative: float) -> Fraction:
        return Fraction(int(positive > negative) + int(positive >= negative), 2)

    positives = [score for score, label in samples if label]
    negatives = [score for score, label in samples if not label]
    of_positives = [sum(wins(p, n) for n in negatives) / Fraction(len(negatives)) for p in positives]
    of_negatives = [sum(wins(p, n) for p in positives) / Fraction(len(positives)) for n in negatives]
    return math.sqrt(variance(of_positives) / len(positives) + variance(of_negatives) / len(negatives))


@pytest.mark.parametrize(
    ("others", "digits"),
    [(39, 0), (40, 1), (399, 1), (400, 2), (4_000, 3), (39_999, 3), (40_000, 4), (10**9, 4)],
)
def test_digits_follow_from_the_others_samples(others: int, digits: int) -> None:
    assert Policy().digits([others, others // 2, others - others // 2]) == digits


def test_public_rules() -> None:
    policy = Policy()
    assert policy.admits([100, 100, 100])
    assert not policy.admits([1_000, 1_000])
    assert policy.admits([500, 250, 250])
    assert not policy.admits([501, 250, 249])
    assert not policy.admits([19, 20, 20])


def test_positives_and_negatives_are_counted_without_any_one_owner() -> None:
    sizes = [50, 50, 50]
    positives = np.array([[5, 5, 5], [5, 5, 4], [30, 5, 5], [30, 5, 4], [45, 45, 45], [46, 45, 45]])
    assert Policy().releases(positives, sizes).tolist() == [True, False, True, False, True, False]


def test_rounding_is_half_away_from_zero() -> None:
    fractions = [Fraction(k, n) for n in (8, 20, 49, 200, 225) for k in range(n + 1)]
    for digits in (1, 2, 3):
        found = rounded(np.array([float(one) for one in fractions]), digits)
        assert found.tolist() == [float(naive_rounded(one, digits)) for one in fractions]


def test_a_standard_error_has_one_digit_more() -> None:
    numbers = {
        name: np.array([value]) for name, value in (("auroc", 0.8149), ("se", 0.02751), ("ap", 0.5149))
    }
    shown = Policy().published(numbers, [2_000] * 3, np.array([[1_000] * 3]))
    assert [float(values[0]) for values in shown.values()] == [0.81, 0.028, 0.5]


def test_numbers_are_those_of_the_definitions() -> None:
    random = np.random.default_rng(3)
    scores, labels = Population(prevalence=0.4).draw(random, 5, 30)
    found = numbers_of(scores, labels, ~labels)
    for row in range(5):
        samples = [(float(s), int(y)) for s, y in zip(scores[row], labels[row], strict=True)]
        assert found["auroc"][row] == pytest.approx(float(defined(exact_auroc(samples))), abs=1e-12)
        assert found["ap"][row] == pytest.approx(float(defined(exact_average_precision(samples))), abs=1e-12)
        assert found["se"][row] == pytest.approx(delong_error(samples), abs=1e-12)
        assert found["brier"][row] == pytest.approx(np.mean((scores[row] - labels[row]) ** 2), abs=1e-12)


def test_samples_that_share_a_score_count_as_often() -> None:
    """Made-up samples are one column with a count."""
    scores = np.array([0.9, 0.6, 0.3, 0.5])
    found = numbers_of(scores[np.newaxis], np.array([[1, 0, 1, 0]]), np.array([[0, 1, 0, 3]]))
    samples = [(0.9, 1), (0.6, 0), (0.3, 1), *[(0.5, 0)] * 3]
    assert found["auroc"][0] == float(defined(exact_auroc(samples)))
    assert found["se"][0] == pytest.approx(delong_error(samples), abs=1e-12)


def test_the_model_of_aupr_is_what_the_protocol_releases() -> None:
    random = np.random.default_rng(5)
    for samples in (12, 22, 60):
        labels = random.random(samples) < 0.4
        labels[:2] = True, False
        scores = np.linspace(0.9, 0.1, samples)
        owners = [(labels[part], scores[part]) for part in (slice(0, None, 2), slice(1, None, 2))]
        released = ppaurora.evaluate(owners, metrics=["aupr"]).aupr
        assert order.aupr(labels[np.newaxis].astype(int))[0] == released


def test_a_proxy_adds_to_the_area_by_the_label_and_nothing_else() -> None:
    """Beside the same studies in the clear; without an error, tampering only moves records."""
    studies = tampering.draw(np.random.default_rng(7), 6, 60)
    assert 0 < studies.secrets.sum() < 6
    moved = tampering.rehearsed_aurocs(studies, 0)
    positives = studies.labels.sum(axis=1)
    pairs = positives * (60 - positives)
    for error in (0, 1, -200):
        found = tampering.run_aurocs(studies, error)
        added = np.where(studies.secrets, 0, error)
        assert np.rint((found - moved) * 2 * pairs).tolist() == added.tolist()


def test_only_counts_that_fit_are_candidates() -> None:
    candidates = np.arange(1, 13)
    auroc = 7 / 35
    by_definition = [any(u / (p * (12 - p)) == auroc for u in range(p * (12 - p) + 1)) for p in range(1, 12)]
    assert (counts.fits_exactly(auroc, candidates[:-1], 12) > 0).tolist() == by_definition
    likely = counts.fits_rounded(0.2, 1, candidates[:-1], 12)
    for p, chance in zip(range(1, 12), likely, strict=True):
        areas = [Fraction(u, p * (12 - p)) for u in range(p * (12 - p) + 1)]
        fitting = [area for area in areas if naive_rounded(area, 1) == Fraction(1, 5)]
        assert chance == pytest.approx(len(fitting) / len(areas))


def test_an_owner_that_knows_all_finds_a_list_that_tells_the_labels_apart() -> None:
    """Its arithmetic, against the definition on the whole list."""
    scene = made_up.Scene(60, 0.5)
    others = made_up.draw(np.random.default_rng(2), 1, scene)
    sizes = np.arange(1, 20)
    steps = made_up.rounded_steps(others, sizes, np.full(19, 10))
    below = scene.score * (1 - 1e-12)
    rows = [(float(s), int(y)) for s, y in zip(others.scores[0], others.labels[0], strict=True)]
    for size, step in zip(sizes, steps, strict=True):
        auroc = defined(exact_auroc([*rows, *[(below, 0)] * int(size)]))
        assert Fraction(int(step), 10) == naive_rounded(auroc, 1)


def test_wilson_intervals() -> None:
    assert wilson_interval(8, 10) == pytest.approx((0.490162, 0.943318), abs=1e-6)
    assert wilson_interval(0, 10) == pytest.approx((0, 0.277533), abs=1e-6)
    assert wilson_interval(10, 10) == pytest.approx((0.722467, 1), abs=1e-6)


def test_digits_follow_the_smaller_class() -> None:
    sizes = [20_000] * 3
    positives = np.array([[20, 20, 20], [200, 200, 200], [199, 200, 201], [2_000] * 3, [18_001] * 3])
    assert Policy().granted(positives, sizes).tolist() == [1, 2, 1, 3, 2]
    shown = Policy().published({"ap": np.full(5, 0.51849), "se": np.full(5, 0.02751)}, sizes, positives)
    assert shown["ap"].tolist() == [0.5, 0.5, 0.5, 0.52, 0.5]
    assert shown["se"].tolist() == [0.03, 0.028, 0.03, 0.0275, 0.028]


def test_a_table_has_a_row_per_setting_and_a_column_per_release() -> None:
    rates = [
        Rate("a", "one", 60, EXACT, None, 10, 10, 10, 0.5),
        Rate("a", "one", 60, POLICY, 1, 10, 5, 8, 0.5),
    ]
    assert rates_table(rates).markdown().splitlines() == [
        "| samples | setting | guess | exact | policy | digits | published |",
        "|--:|---|--:|--:|--:|--:|--:|",
        "| 60 | one | 50% | 100% (72-100) | 50% (24-76) | 1 | 80% |",
    ]


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, int, str, str], Rate]:
    out: Path = tmp_path_factory.mktemp("attacks")
    done = CliRunner().invoke(cli, ["attacks", "--quick", "--out", str(out)])
    assert done.exit_code == 0, done.output
    for attack in command.FIVE:
        assert attack in done.output
    (run,) = json.loads((out / "attacks.json").read_text())["runs"]
    rates = [Rate(**row) for row in run["measurements"]]
    return {(one.attack, one.samples, one.setting, one.release): one for one in rates}


@pytest.mark.long
def test_exact_numbers_give_all_five_away(quick: dict[tuple[str, int, str, str], Rate]) -> None:
    exact = [rate for rate in quick.values() if rate.release == EXACT]
    assert {rate.attack for rate in exact} == set(command.FIVE)
    for rate in exact:
        assert rate.rate > 0.75, rate
        assert rate.rate > rate.base + 0.15, rate


@pytest.mark.long
@pytest.mark.parametrize(
    ("attack", "samples", "setting"),
    [
        ("counts", 60, "AUROC alone"),
        ("counts", 200, "AUROC alone"),
        ("order", 22, "nobody's label known"),
        ("order", 60, "all known but ten labels"),
        ("made-up", 400, "knows a score in the middle; AUROC"),
        ("made-up", 400, "knows a score far above all others; AUROC, SE, Brier"),
        ("differencing", 60, "positives of an owner; AUROC"),
        ("differencing", 60, "label of a person, middling score; AUROC"),
        ("tampering", 60, "moves the area by 1"),
    ],
)
def test_the_policy_leaves_little_of_these(
    quick: dict[tuple[str, int, str, str], Rate], attack: str, samples: int, setting: str
) -> None:
    """The same trials with an exact release are the control above."""
    rate = quick[attack, samples, setting, POLICY]
    assert rate.interval[0] < rate.base + 0.05
    assert rate.rate < rate.base + 0.25


@pytest.mark.long
def test_the_policy_does_not_stop_these(quick: dict[tuple[str, int, str, str], Rate]) -> None:
    """As docs/disclosure.md says; if a rule changes that, the page must change."""
    for attack, samples, setting in (
        ("made-up", 400, "knows all but the label, score among the two highest; AUROC"),
        ("differencing", 60, "label of a person, high score; AUROC, SE, Brier, AP"),
        ("tampering", 60, "moves the area a lot"),
    ):
        assert quick[attack, samples, setting, POLICY].rate > 0.75
