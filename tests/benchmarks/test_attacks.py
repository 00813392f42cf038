"""The attacks on published numbers: their models against naive ones, and what a short run finds."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from statistics import variance

import numpy as np
import pytest
from click.testing import CliRunner

import ppaurora
from benchmarks import policies
from benchmarks.__main__ import cli
from benchmarks.attacks import cells, collusion, command, counts, made_up, order, tampering
from benchmarks.attacks.frame import Rate, rates_table, wilson_interval
from benchmarks.attacks.numbers import WITH_BRIER, numbers_of
from benchmarks.attacks.policy import (
    EXACT,
    POLICIES,
    PRIVATE,
    PUBLICATION,
    ROUNDED,
    noise,
    published,
    releases,
    rounded,
    to_fives,
)
from benchmarks.attacks.population import Population
from ppaurora.errors import InputError
from ppaurora.statistics.estimates import Estimate, Table
from tests.support.oracles import Sample, defined, exact_auroc

RANDOM = np.random.default_rng(1)


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


def test_positives_and_negatives_are_counted_without_any_one_owner() -> None:
    sizes = [50, 50, 50]
    positives = np.array([[5, 5, 5], [5, 5, 4], [30, 5, 5], [30, 5, 4], [45, 45, 45], [46, 45, 45]])
    found = releases(POLICIES[PUBLICATION], positives, sizes)
    assert found.tolist() == [True, False, True, False, True, False]
    assert releases(POLICIES[PRIVATE], positives * 0, sizes).all()
    assert not releases(POLICIES[PUBLICATION], positives[:, :2], sizes[:2]).any()


def test_rounding_is_half_away_from_zero() -> None:
    fractions = [Fraction(k, n) for n in (8, 20, 49, 200, 225) for k in range(n + 1)]
    for digits in (1, 2, 3):
        found = rounded(np.array([float(one) for one in fractions]), digits)
        assert found.tolist() == [float(naive_rounded(one, digits)) for one in fractions]
    assert rounded(np.array([-0.125, -0.1251]), 2).tolist() == [-0.13, -0.13]
    assert to_fives(np.array([0, 2, 3, 7, 8, 12])).tolist() == [0, 0, 5, 5, 10, 10]


def test_what_the_model_publishes_is_what_a_study_releases() -> None:
    """AUROC, its standard error, the Brier score and the count, through the protocol."""
    scores, labels = Population(prevalence=0.4).draw(np.random.default_rng(4), 1, 90)
    owners = [(labels[0, part], scores[0, part]) for part in np.split(np.arange(90), 3)]
    found = ppaurora.evaluate(
        owners, metrics=["auroc", "brier"], policy=ppaurora.Policy(), confidence_level=0.95
    )
    numbers = numbers_of(scores, labels, ~labels)
    shown = published(POLICIES[PUBLICATION], RANDOM, numbers, WITH_BRIER, np.array([True]))
    auroc = found["auroc"]
    assert isinstance(auroc, Estimate)
    assert shown[0].tolist() == [auroc.value, auroc.standard_error, found.brier, found.positives]


def test_noise_has_the_distribution_of_the_mechanism() -> None:
    rate = 0.5
    drawn = noise(np.random.default_rng(6), rate, 40_000)
    steps = np.arange(-4, 5)
    expected = np.tanh(rate / 2) * np.exp(-rate * np.abs(steps))
    found = np.array([(drawn == step).mean() for step in steps])
    assert np.abs(found - expected).max() < 5 * np.sqrt(0.25 / len(drawn))


def test_numbers_are_those_of_the_definitions() -> None:
    random = np.random.default_rng(3)
    scores, labels = Population(prevalence=0.4).draw(random, 5, 30)
    found = numbers_of(scores, labels, ~labels)
    for row in range(5):
        samples = [(float(s), int(y)) for s, y in zip(scores[row], labels[row], strict=True)]
        assert found["auroc"][row] == pytest.approx(float(defined(exact_auroc(samples))), abs=1e-12)
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
    candidates = np.arange(1, 12)
    auroc = 7 / 35
    by_definition = [any(u / (p * (12 - p)) == auroc for u in range(p * (12 - p) + 1)) for p in range(1, 12)]
    assert (counts.fits_exactly(auroc, candidates, 12) > 0).tolist() == by_definition
    likely = counts.fits_rounded(0.2, 1, candidates * (12 - candidates))
    for p, chance in zip(range(1, 12), likely, strict=True):
        areas = [Fraction(u, p * (12 - p)) for u in range(p * (12 - p) + 1)]
        fitting = [area for area in areas if naive_rounded(area, 1) == Fraction(1, 5)]
        assert chance == pytest.approx(len(fitting) / len(areas))


def test_an_owner_that_knows_all_computes_both_cases() -> None:
    """Its arithmetic, against the definition on the whole list."""
    scene = made_up.Scene(60, 0.5)
    others = made_up.draw(np.random.default_rng(2), 1, scene)
    label = bool(others.secrets[0])
    sizes = np.arange(1, 20)
    rows = [(float(s), int(y)) for s, y in zip(others.scores[0], others.labels[0], strict=True)]
    for lowest, score in ((False, scene.score * (1 - 1e-12)), (True, -1.0)):
        won, pairs = made_up.With(others, label).area(sizes, lowest=lowest)
        for size, one, of_all in zip(sizes, won, pairs, strict=True):
            assert Fraction(int(one), int(of_all)) == exact_auroc([*rows, *[(score, 0)] * int(size)])


def test_colluding_owners_try_all_labels() -> None:
    random = np.random.default_rng(8)
    scores, positives, negatives = (random.random(size) for size in (4, 7, 9))
    scores.sort()
    cases = collusion.Cases.of(scores, np.full(4, 0.3), positives, negatives)
    known = [*((float(one), 1) for one in positives), *((float(one), 0) for one in negatives)]
    for case in range(16):
        labels = [case >> place & 1 for place in range(4)]
        samples = [*known, *zip(map(float, scores), labels, strict=True)]
        assert cases.aurocs[case] == pytest.approx(float(defined(exact_auroc(samples))), abs=1e-12)
        assert cases.positives[case] == 7 + sum(labels)
        assert cases.chances[case] == pytest.approx(sum(math.log(0.3 if one else 0.7) for one in labels))


def test_extreme_numbers_are_those_of_the_metrics() -> None:
    """Of a list whose person has the highest score, with either label."""
    random = np.random.default_rng(9)
    scores, labels = Population(prevalence=0.3).draw(random, 1, cells.SAMPLES)
    y_score, y_true = np.minimum(scores[0], 0.98), labels[0].astype(int)
    y_score[0] = 0.995
    metrics = {
        cells.net_benefits: ppaurora.METRICS["net_benefit"](thresholds=[cells.HIGHEST_RISK]),
        cells.partial_areas: ppaurora.METRICS["partial_auroc"](max_fpr=cells.LOWEST_FPR),
        cells.sensitivities: ppaurora.METRICS["sensitivity_at_specificity"](specificity=1 - cells.LOWEST_FPR),
    }
    for label in (0, 1):
        y_true[0] = label
        tops = np.array([np.argmin(y_true[np.argsort(-y_score)])])
        for number, metric in metrics.items():
            found = number(tops, np.array([label == 1]), np.array([y_true.sum()]))[0]
            reference = metric.reference(y_true, y_score)
            expected = reference[0]["net_benefit"] if isinstance(reference, list) else reference
            assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("epsilon", [1.0, 2.0])
def test_who_reads_a_noisy_cell_stays_within_the_bound(epsilon: float) -> None:
    """The best test between both labels is right with this probability; no test can be above the bound."""
    random = np.random.default_rng(10)
    secrets = random.random(20_000) < 0.5
    right = cells.read_cell(random, secrets, epsilon).right.mean()
    assert 0.6 < right < 1 / (1 + math.exp(-epsilon))
    assert cells.read_cell(random, secrets, 40.0).right.all()  # the control: next to no noise


def test_a_study_withholds_what_the_tables_say() -> None:
    """Through the protocol: numbers about the person with the highest score, or between two thresholds."""
    scores, labels = Population(prevalence=0.4).draw(np.random.default_rng(13), 1, 300)
    scores = np.minimum(scores, 0.98)
    scores[0, 0] = 0.995
    owners = [(labels[0, part], scores[0, part]) for part in np.split(np.arange(300), 3)]
    made = ppaurora.METRICS
    middle = float(np.sort(scores[0])[150])
    metrics = [
        made["partial_auroc"](max_fpr=cells.LOWEST_FPR),
        made["sensitivity_at_specificity"](specificity=1 - cells.LOWEST_FPR),
        made["net_benefit"](thresholds=[middle, middle + 1e-9, cells.HIGHEST_RISK]),
    ]
    for kind, withheld in ((ROUNDED, False), (PUBLICATION, True)):
        found = ppaurora.evaluate(owners, metrics=metrics, policy=POLICIES[kind])
        table = found["net_benefit"]
        assert isinstance(table, Table)
        assert [row["net_benefit"].value is None for row in table.rows] == [False, withheld, withheld]
        for name in ("partial_auroc", "sensitivity_at_specificity"):
            one = found[name]
            assert isinstance(one, Estimate)
            assert (one.value is None) == withheld
    lone = [(labels[0, :150], scores[0, :150]), (labels[0, 150:], scores[0, 150:]), ([1], [0.5])]
    with pytest.raises(InputError, match="fewer than 20 samples"):
        ppaurora.evaluate(lone, policy=POLICIES[PUBLICATION])


def test_an_owners_floor_on_cells_has_one_answer() -> None:
    """Cell by cell, a floor tells of every bin whether it has so many; by whole tables, only of all."""
    scores, labels = Population(prevalence=0.4).draw(np.random.default_rng(12), 1, 300)
    owners = [(labels[0, part], scores[0, part]) for part in np.split(np.arange(300), 3)]
    withheld = []
    for whole in (False, True):
        policy = ppaurora.Policy(minimum_per_cell=20, whole_tables=whole)
        table = ppaurora.evaluate(owners, metrics=["reliability"], policy=policy)["reliability"]
        assert isinstance(table, Table)
        withheld.append([row["observed"].value is None for row in table.rows])
    assert 0 < sum(withheld[0]) < 10
    assert all(withheld[1])


def test_intervals_of_rates() -> None:
    assert wilson_interval(8, 10) == pytest.approx((0.490162, 0.943318), abs=1e-6)
    assert wilson_interval(0, 10) == pytest.approx((0, 0.277533), abs=1e-6)
    assert wilson_interval(10, 10) == pytest.approx((0.722467, 1), abs=1e-6)


def test_a_table_has_a_row_per_setting_and_a_column_per_release() -> None:
    rates = [
        Rate("a", "one", 60, EXACT, 10, 10, 10, 0.5),
        Rate("a", "one", 60, PUBLICATION, 10, 5, 8, 0.5),
        Rate("a", "two", 60, EXACT, 10, 10, 10, 0.5),
        Rate("a", "two", 60, PUBLICATION, 10, 5, 0, 0.5),
        Rate("a", "two", 60, PRIVATE, 10, 5, 10, 0.5),
    ]
    assert rates_table(rates).markdown().splitlines() == [
        "| samples | setting | guess | exact | publication | private |",
        "|--:|---|--:|--:|--:|--:|",
        "| 60 | one | 50% | 100% (72-100) | 50% (24-76) | refused |",
        "| 60 | two | 50% | 100% (72-100) | not published | 50% (24-76) |",
    ]


def test_error_width_and_labels_read_of_every_kind() -> None:
    """As noise grows, so do error and width, and fewer labels are read."""
    found = policies.measure(np.random.default_rng(11), (5, 200, 0.3), 40)
    assert [one.kind for one in found] == list(policies.KINDS)
    exact, rounding, *private = found
    assert exact.error == 0 < rounding.error < 0.001
    assert exact.width < rounding.width < private[0].width < private[1].width < private[2].width
    assert private[0].error < private[1].error < private[2].error < 0.03
    assert rounding.read > 0.9 > private[0].read > private[1].read > private[2].read
    for one, epsilon in zip(private, policies.EPSILONS, strict=True):
        assert one.read < 1 / (1 + math.exp(-epsilon))
    table = policies.saved_table([asdict(one) for one in found])
    assert len(table.rows) == 4


Quick = dict[tuple[str, int, str, str], Rate]


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Quick:
    out: Path = tmp_path_factory.mktemp("attacks")
    done = CliRunner().invoke(cli, ["attacks", "--quick", "--out", str(out)])
    assert done.exit_code == 0, done.output
    for attack in command.ATTACKS:
        assert attack in done.output
    (run,) = json.loads((out / "attacks.json").read_text())["runs"]
    rates = [Rate(**row) for row in run["measurements"]]
    return {(one.attack, one.samples, one.setting, one.release): one for one in rates}


@pytest.mark.long
def test_exact_numbers_give_everything_away(quick: Quick) -> None:
    """The control of all attacks: but for the labels of 20 people at once, of which many orders fit."""
    exact = [rate for rate in quick.values() if rate.release == EXACT]
    assert {rate.attack for rate in exact} == set(command.ATTACKS)
    for rate in exact:
        assert rate.rate > (0.55 if "none of their labels" in rate.setting else 0.75), rate


@pytest.mark.long
def test_no_attack_on_private_numbers_exceeds_its_bound(quick: Quick) -> None:
    """For one label in one study. A server that deviates is not bound, nor is what is no one person's."""
    bound = 1 / (1 + math.exp(-POLICIES[PRIVATE].spent))
    labels = {cells.EXTREMES, cells.CELLS, cells.TABLES, collusion.NAME, made_up.NAME}
    found = [rate for rate in quick.values() if rate.release == PRIVATE and rate.attack in labels]
    assert {rate.attack for rate in found} == labels
    for rate in found:
        if "two studies" not in rate.setting:
            assert rate.interval[0] < bound, rate
            assert rate.rate < bound, rate


@pytest.mark.long
@pytest.mark.parametrize(
    ("attack", "samples", "setting"),
    [
        ("counts", 600, "AUROC alone; about 180 positives"),
        ("order", 22, "all labels, of which none is known"),
        ("extremes", 1_000, "net benefit at a threshold of 0.99"),
        ("tables", 600, "two thresholds, one study"),
        ("tables", 600, "a threshold and the edge of a bin, one study"),
        ("collusion", 401, "the third owner has one person"),
        ("made-up", 400, "knows a score in the middle; AUROC, SE, Brier"),
        ("tampering", 600, "moves the area by 1"),
    ],
)
def test_publication_leaves_little_of_these(quick: Quick, attack: str, samples: int, setting: str) -> None:
    """The same trials with exact numbers are the control above. Counts are told to fives."""
    rate = quick[attack, samples, setting, PUBLICATION]
    assert rate.rate < rate.base + 0.35


@pytest.mark.long
def test_publication_does_not_stop_these(quick: Quick) -> None:
    """As docs/disclosure.md says; if a rule changes that, the page must change."""
    for attack, samples, setting in (
        ("counts", 200, "with rates at three thresholds; about 60 positives"),
        ("cells", 15, "observed events in a bin of so many"),
        ("tables", 600, "two thresholds, two studies"),
        ("differencing", 600, "label of a person, high score; AUROC"),
        ("collusion", 420, "it has 20; all but one of their labels known"),
        ("made-up", 400, "knows a score far above all others; AUROC, SE, Brier"),
        ("made-up", 400, "knows all but one label; AUROC"),
        ("tampering", 600, "moves the area a lot"),
    ):
        assert quick[attack, samples, setting, PUBLICATION].rate > 0.75
