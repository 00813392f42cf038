"""Figures of simulated studies: what an attacker tells apart, by trying, and by the noise's distribution."""

from __future__ import annotations

import math

import numpy as np
import pytest

import ppaurora
from ppaurora.agreement.examples import example_studies, with_other_label
from ppaurora.agreement.figures import _apart_by_noise, figures_at
from ppaurora.data.grid import Grid
from ppaurora.metrics import METRICS, Metric, Query, find_metric
from ppaurora.metrics.in_the_clear import released_in_the_clear
from ppaurora.policy.rules import Policy

SIZES = (400, 400, 400)


def metrics(*names: str) -> tuple[Metric, ...]:
    return tuple(find_metric(name).sample() for name in names)


EVERYTHING = metrics(*(name for name in METRICS if name != "auroc_no_ties"))


@pytest.mark.parametrize("policy", [Policy(), Policy.exact()], ids=lambda policy: policy.kind)
def test_in_the_clear_is_what_servers_compute(policy: Policy) -> None:
    grid = Grid(decimals=2)
    query = Query(EVERYTHING, (80, 90, 100), policy, 0.95, grid=grid)
    (study,) = example_studies(query, 0.3, 1)
    found = released_in_the_clear(query, study)
    owners = [(one.labels.astype(int), one.scores) for one in study]
    report = ppaurora.evaluate(owners, metrics=EVERYTHING, policy=policy, confidence_level=0.95, grid=grid)
    assert found.positives == report.positives
    assert not found.suppressed
    if policy.kind == "publication":  # exact ones are the same number, divided in another way
        assert found.metrics == report.metrics


def test_what_is_withheld_is_withheld_in_the_clear() -> None:
    query = Query(metrics("auroc", "ppv"), (60, 60, 60), Policy(), 0.95)
    few, enough = (released_in_the_clear(query, next(example_studies(query, p, 1))) for p in (0.02, 0.4))
    assert few.suppressed
    assert set(few.values) == {None}
    assert not enough.suppressed


def test_noise_is_left_out_in_the_clear() -> None:
    """So that figures are the same every time: T - D and M, in steps of 1/64."""
    query = Query(metrics("auroc"), SIZES, Policy.private(), 0.95)
    (study,) = example_studies(query, 0.2, 1)
    found = released_in_the_clear(query, study)
    labels, scores = (np.concatenate([getattr(one, of) for one in study]) for of in ("labels", "scores"))
    area = METRICS["auroc"]().reference(labels, scores)
    assert found.values == pytest.approx(((2 * area - 1) * labels.sum() * 64, labels.sum() * 64), abs=1)


def test_examples_are_as_they_should_be() -> None:
    query = Query(metrics("auroc"), (3000, 3000), Policy())
    studies = list(example_studies(query, 0.1, 3))
    again = list(example_studies(query, 0.1, 3))
    for study, same in zip(studies, again, strict=True):
        assert [len(one) for one in study] == [3000, 3000]
        labels, scores = (np.concatenate([getattr(one, of) for one in study]) for of in ("labels", "scores"))
        assert METRICS["auroc"]().reference(labels, scores) == pytest.approx(0.8, abs=0.03)
        assert labels.mean() == pytest.approx(0.1, abs=0.02)
        assert scores.mean() == pytest.approx(labels.mean(), abs=0.02)  # they are risks
        assert np.array_equal(scores, np.concatenate([one.scores for one in same]))
    assert not np.array_equal(studies[0][0].scores, studies[1][0].scores)


def test_thresholds_that_are_no_probabilities_lie_within_the_scores() -> None:
    query = Query((find_metric("sensitivity")(thresholds=(3.0, 12.5)),), (200, 200), Policy())
    (study,) = example_studies(query, 0.2, 1)
    scores = np.concatenate([one.scores for one in study])
    between = [np.mean((low <= scores) & (scores < high)) for low, high in ((-99, 3), (3, 12.5), (12.5, 99))]
    assert between == pytest.approx([1 / 3] * 3, abs=0.01)


@pytest.mark.parametrize("rank", [0.0, 0.3, 0.5, 1.0])
def test_one_person_has_the_other_label(rank: float) -> None:
    query = Query(metrics("auroc"), (30, 40, 50), Policy())
    (study,) = example_studies(query, 0.3, 1)
    before, after = (
        np.concatenate([one.labels for one in some]) for some in (study, with_other_label(study, rank))
    )
    (place,) = np.flatnonzero(before != after)
    scores = np.concatenate([one.scores for one in study])
    assert np.count_nonzero(scores < scores[place]) == round(rank * 119)


@pytest.mark.parametrize("names", [("auroc",), ("brier", "observed_expected")])
def test_rounding_is_told_apart_as_often_as_by_trying(names: tuple[str, ...]) -> None:
    """The share of studies whose release changes with one label, among 150; the figures are of five."""
    query = Query(metrics(*names), (2000, 2000, 2000), Policy(), None)
    changed = []
    for study in example_studies(query, 0.4, 150):
        releases = [released_in_the_clear(query, one).values for one in (study, with_other_label(study, 0.5))]
        changed.append(releases[0] != releases[1])
    expected = (1 + np.mean(changed)) / 2
    assert 0.55 < expected < 0.95  # else there would be nothing to find out
    assert figures_at(0.4, query, 5).at_median == pytest.approx(expected, abs=0.06)


@pytest.mark.parametrize("moved", [1, 3])
def test_noise_is_told_apart_as_its_distribution_says(moved: int) -> None:
    """One count moves: half of the sum of |P(k) - P(k - moved)|, for P(k) = (1 - q)/(1 + q)·q^|k|."""
    query = Query((METRICS["histogram"](bins=(0.0, 1.0)),), (100,), Policy.private(1.0))
    before = [10.0] * len(query.outputs)
    after = [10.0 + moved, *before[1:]]
    q = math.exp(-1 / 2)
    k = np.arange(-200, 201)
    apart = np.abs(q ** np.abs(k) - q ** np.abs(k - moved)).sum() / 2 * (1 - q) / (1 + q)
    assert _apart_by_noise(query, before, after) == pytest.approx(apart, abs=0.02)
    assert _apart_by_noise(query, before, before) == 0


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_nobody_beats_the_bound(epsilon: float) -> None:
    private = tuple(metric for metric in EVERYTHING if metric.mechanism() is not None)
    query = Query(private, SIZES, Policy.private(epsilon), 0.95)
    figures = figures_at(0.2, query, 2)
    bound = 1 / (1 + math.exp(-epsilon))
    for found in (figures.at_median, figures.at_highest):
        assert 0.5 < found <= bound + 0.01
    assert figures.released


def test_exact_numbers_tell_everything() -> None:
    figures = figures_at(0.2, Query(metrics("auroc"), SIZES, Policy.exact(), 0.95), 2)
    assert (figures.at_median, figures.at_highest, figures.left) == (1, 1, 1)


def test_stricter_is_wider_and_tells_less() -> None:
    found = [
        figures_at(0.2, Query(metrics("auroc", "brier"), SIZES, policy, 0.95), 3)
        for policy in (Policy.exact(), Policy(), Policy(digits=2), Policy(digits=1))
    ]
    assert [one.at_median for one in found] == sorted((one.at_median for one in found), reverse=True)
    assert [one.left for one in found] == sorted(one.left for one in found)


def test_a_large_study_is_made_smaller() -> None:
    large, small = (Query(metrics("auroc"), sizes, Policy(), 0.95) for sizes in ((10**7,) * 4, (10_000,) * 4))
    assert figures_at(0.2, large, 5) == figures_at(0.2, small, 5)
