"""The values of both protocols, from end to end, against exact oracles."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import ppaurora
from ppaurora import UndefinedResultError
from ppaurora.metrics.names import MetricName
from ppaurora.protocols.names import ProtocolName
from tests.support.evaluations import (
    ALL_METRICS,
    LARGEST,
    TOLERANCE,
    Owner,
    check_values,
    each_protocol,
    pooled,
    random_owners,
)
from tests.support.oracles import exact_auroc


def neighbours(*scores: float) -> list[float]:
    """Each score, the one just below and the one just above."""
    return [
        float(value)
        for score in scores
        for value in (np.nextafter(score, -np.inf), score, np.nextafter(score, np.inf))
    ]


POOLS = {
    "all tied": [0.1],
    "two values": [-3.0, 7.5],
    "heavy ties": [-0.25, -0.0, 0.0, 0.25, 1.5],
    "float32 only": [k / 8 for k in range(-40, 40)],
    "negative": [-k / 997 for k in range(998)],
    "last bits": neighbours(0.1, -0.1, 1.0, -1e300, 0.0),
    "huge and tiny": [-LARGEST, -1e300, -1.0, -1e-300, -5e-324, 0.0, 5e-324, 1e-300, 2.0**60, 1e300, LARGEST],
    "many values": [k / 7 - 50 for k in range(1000)],
}


@st.composite
def any_owners(draw: st.DrawFn) -> list[Owner]:
    """2 to 5 owners of 1 to 40 samples; the model may be good, useless, or wrong nearly always."""
    few_floats = st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=8)
    pool = sorted(draw(st.sampled_from(list(POOLS.values())) | few_floats))
    sizes = draw(st.lists(st.integers(1, 40), min_size=2, max_size=5))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    skill = random.choice([0.0, 0.02, 0.3, 0.5, 0.8, 1.0])  # how often a sample is on its class's side
    owners: list[Owner] = []
    for size in sizes:
        labels = (random.random(size) < random.choice([0.0, 0.1, 0.5, 0.9, 1.0])).astype(int)
        upper_half = labels == (random.random(size) < skill)
        places = (random.random(size) + upper_half) / 2
        owners.append((labels.tolist(), [pool[int(place * len(pool))] for place in places]))
    return owners


@settings(max_examples=40, deadline=None)
@given(any_owners())
def test_fast_gives_the_nearest_float_of_auroc_and_the_other_metrics(owners: list[Owner]) -> None:
    exact = exact_auroc(pooled(owners))
    if exact is None:
        event("one class only")
        with pytest.raises(UndefinedResultError):
            ppaurora.evaluate(owners, metrics=ALL_METRICS)
        return
    event(f"auroc about {round(float(exact), 1)}")
    report = ppaurora.evaluate(owners, metrics=ALL_METRICS)
    check_values(report, owners)
    assert list(report.metrics) == list(ALL_METRICS)
    assert report.openings == {}


def ranked(labels: str) -> list[float]:
    """Descending scores for labels in this order; samples in brackets are tied."""
    scores, score, tied = [], 0.0, False
    for character in labels:
        tied = character == "(" or (tied and character != ")")
        if character in "01":
            scores.append(score)
        score -= 0.0 if tied else 0.1
    return scores


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("1", "0", Fraction(1)),
        ("(1", "0)", Fraction(1, 2)),
        ("0" * 30, "1" * 9, Fraction(0)),
        ("0" * 149 + "(0", "1)" + "1" * 110, Fraction(1, 2 * 150 * 111)),
        ("0" * 149 + "1" * 110, "01", Fraction(110, 150 * 111)),
        ("1" * 149 + "(1", "0)" + "0" * 110, 1 - Fraction(1, 2 * 150 * 111)),
        ("1" * 7 + "0" * 10, "10", 1 - Fraction(10, 8 * 11)),
        ("(" + "01" * 33, "0" * 20 + "1" * 40 + ")", Fraction(1, 2)),
    ],
    ids=["one", "one half", "zero", "tiny by a tie", "small", "almost one", "below one", "all tied"],
)
def test_the_ends_of_the_scale(first: str, second: str, expected: Fraction) -> None:
    scores = ranked(first + second)
    labels = [[int(character) for character in part if character in "01"] for part in (first, second)]
    owners = [(labels[0], scores[: len(labels[0])]), (labels[1], scores[len(labels[0]) :])]
    assert exact_auroc(pooled(owners)) == expected
    report = ppaurora.evaluate(owners, metrics=ALL_METRICS)
    check_values(report, owners)
    assert report.auroc == float(expected)


def test_hundreds_of_samples() -> None:
    owners = random_owners(3, (401, 64, 191), 10_000)
    report = ppaurora.evaluate(owners, metrics=ALL_METRICS)
    check_values(report, owners)
    assert report.samples == 656


def test_any_subset_of_the_metrics_gives_the_same_values() -> None:
    owners = random_owners(11, (9, 20, 3), 12)
    together = ppaurora.evaluate(owners, metrics=ALL_METRICS).metrics
    several: list[tuple[MetricName, ...]] = [("ap", "auroc"), ("aupr", "ap", "auroc_no_ties")]
    for subset in [*((name,) for name in ALL_METRICS), *several]:
        report = ppaurora.evaluate(owners, metrics=subset)
        assert list(report.metrics) == list(subset)
        assert report.metrics == {name: together[name] for name in subset}


@pytest.mark.parametrize("score", [5e-324, -5e-324, 0.1, -LARGEST])
def test_scores_that_differ_in_the_last_bit_stay_different(score: float) -> None:
    below = float(np.nextafter(score, 0.0))
    lower, higher = sorted((score, below))
    for positive, negative, expected in ((higher, lower, 1), (lower, higher, 0), (score, score, 0.5)):
        owners = [([1], [positive]), ([0], [negative])]
        assert exact_auroc(pooled(owners)) == expected
        assert ppaurora.evaluate(owners, metrics=["auroc"]).auroc == expected


@pytest.mark.parametrize(
    ("sizes", "different_scores", "delta"),
    [
        ((1, 1), 50, 1),
        ((7, 12, 5), 6, 1),
        ((9, 4), 1, 1),
        ((1, 13, 2, 6), 40, 3),
        ((8, 8), 3, 5),
        ((3, 1, 1, 2, 4, 3), 8, 11),
    ],
)
def test_paper_gives_the_pooled_values_and_so_does_fast(
    sizes: tuple[int, ...], different_scores: int, delta: int
) -> None:
    owners = random_owners(sum(sizes), sizes, different_scores)
    paper = ppaurora.evaluate(owners, metrics=("auroc", "aupr", "ap"), protocol="paper", delta=delta)
    check_values(paper, owners)
    assert (paper.owners, paper.samples, paper.parameters) == (len(sizes), sum(sizes), {"delta": delta})
    fast = ppaurora.evaluate(owners, metrics=("auroc", "aupr", "ap"))
    check_values(fast, owners)
    assert (fast.owners, fast.samples, fast.protocol) == (len(sizes), sum(sizes), "fast")
    for name in fast.metrics:
        assert abs(getattr(fast, name) - getattr(paper, name)) < TOLERANCE


@each_protocol
def test_without_ties_both_auroc_agree(protocol: ProtocolName) -> None:
    owners = [([1, 0, 1], [0.9, 0.3, 0.6]), ([0, 0, 1], [0.7, 0.1, 0.2])]
    report = ppaurora.evaluate(owners, metrics=("auroc_no_ties", "auroc"), protocol=protocol)
    check_values(report, owners)
    assert report.auroc_no_ties == report.auroc
    assert list(report.metrics) == ["auroc_no_ties", "auroc"]


@each_protocol
def test_an_owner_with_one_class_only_is_fine(protocol: ProtocolName) -> None:
    owners = [([1, 1, 1], [0.5, 0.75, 0.25]), ([0, 0], [0.5, 0.125]), ([1], [0.5])]
    check_values(ppaurora.evaluate(owners, metrics=ALL_METRICS, protocol=protocol), owners)


@each_protocol
def test_minus_zero_ties_with_zero(protocol: ProtocolName) -> None:
    owners = [([1], [-0.0]), ([0], [0.0])]
    assert ppaurora.evaluate(owners, metrics=["auroc"], protocol=protocol).auroc == 0.5
