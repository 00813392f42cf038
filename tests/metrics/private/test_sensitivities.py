"""How far one person moves a mechanism's integers: never more than it says, for all that were searched."""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from ppaurora.data import Samples
from ppaurora.metrics import METRICS
from ppaurora.metrics.private.auroc import STEPS, AurocMechanism
from ppaurora.metrics.private.mechanism import Mechanism
from ppaurora.metrics.private.sums import SumsMechanism
from tests.support.private import (
    BINS,
    EVERYTHING,
    THRESHOLDS,
    DataSet,
    data_sets,
    exact_integers,
    joined,
    mechanism_of,
    moved,
    query_for,
    samples_in,
)

AUROC = AurocMechanism()
MOST_SAMPLES = 8


@cache
def of_auroc(data: DataSet) -> tuple[int, ...]:
    return tuple(exact_integers(AUROC, samples_in(data)))


@cache
def farthest(samples: int) -> Fraction:
    """Over all data sets of so many samples and all neighbours: one person goes, and another comes."""
    most = 0
    for others in data_sets(samples - 1):
        found = np.array([of_auroc(data) for data in joined(others)])
        most = max(most, int(np.abs(found[:, np.newaxis] - found).sum(axis=-1).max()))
    return Fraction(most, STEPS)


@pytest.mark.parametrize("samples", range(1, MOST_SAMPLES + 1))
def test_nobody_moves_auroc_by_more_than_it_says(samples: int) -> None:
    assert farthest(samples) <= AUROC.sensitivity


def test_all_data_sets_and_neighbours_are_tried() -> None:
    """Of two people: a tie of three kinds, or an order of four; each of them is a neighbour of each other."""
    assert len(set(data_sets(2))) == 3 + 4
    assert set().union(*map(joined, data_sets(1))) == set(data_sets(2))
    counts = [len(list(data_sets(size))) for size in range(1, MOST_SAMPLES + 1)]
    assert counts[:2] == [2, 7]
    assert all(c == 4 * b - 2 * a for a, b, c in zip(counts, counts[1:], counts[2:], strict=False))


def test_a_smaller_sensitivity_of_auroc_is_caught() -> None:
    assert farthest(MOST_SAMPLES) > AUROC.sensitivity * Fraction(3, 4)


def test_the_worst_that_is_known_of_auroc_is_near() -> None:
    """All of the fewer are won; one of them joins the others as the highest of all, and all the rest lose."""
    half = 200
    scores = np.array([1.0] * half + [0.0] * half)
    labels = np.array([1] * half + [0] * half, dtype=np.uint8)
    before = Samples("people", scores, labels)
    labels = labels.copy()
    labels[0] = 0
    after = Samples("people", np.array([2.0, *scores[1:]]), labels)
    found = moved(AUROC, exact_integers(AUROC, before), exact_integers(AUROC, after))
    assert AUROC.sensitivity * Fraction(98, 100) < found <= AUROC.sensitivity


MECHANISMS: dict[str, Mechanism] = {
    "auroc": AUROC,
    "thresholds": mechanism_of(METRICS["sensitivity"](thresholds=THRESHOLDS)),
    "histogram": mechanism_of(METRICS["histogram"](bins=BINS)),
    "reliability": mechanism_of(METRICS["reliability"](bins=BINS)),
    "bins of two kinds": mechanism_of(
        METRICS["reliability"](bins=BINS), METRICS["smooth_calibration"](), METRICS["histogram"](bins=BINS)
    ),
    "bins of three kinds": mechanism_of(
        METRICS["reliability"](bins=BINS), METRICS["smooth_calibration"](), METRICS["ici"](bins=(0, 0.3, 1))
    ),
    "the same bins": mechanism_of(*(METRICS[name](bins=BINS) for name in ("reliability", "ici"))),
    "table": next(one for one in query_for(EVERYTHING, 1).mechanisms if one.name == "table"),
    "brier": SumsMechanism(squared_errors=True),
    "in the large": SumsMechanism(in_the_large=True),
    "sums": SumsMechanism(in_the_large=True, squared_errors=True),
}
GRID = [k / 32 for k in range(33)]
PEOPLE = list(itertools.product(GRID, (0, 1)))


def people(*some: tuple[float, int]) -> Samples:
    scores, labels = zip(*some, strict=True)
    return Samples("people", np.array(scores), np.array(labels, dtype=np.uint8))


@cache
def alone(name: str) -> list[list[int]]:
    """What a person alone counts; these mechanisms add up what people count."""
    return [exact_integers(MECHANISMS[name], people(person)) for person in PEOPLE]


ADDING = [name for name in MECHANISMS if name != "auroc"]


@pytest.mark.parametrize("name", ADDING)
def test_nobody_moves_a_sum_by_more_than_it_says(name: str) -> None:
    """All people with probabilities on a grid; and some move it nearly as far."""
    mechanism = MECHANISMS[name]
    steps = np.array([one.steps for one in mechanism.coordinates], dtype=np.float64)
    found = np.array(alone(name)) / steps
    farthest = float(np.abs(found[:, np.newaxis] - found).sum(axis=-1).max())
    assert 0.98 * mechanism.sensitivity < farthest <= mechanism.sensitivity


@pytest.mark.parametrize("name", ADDING)
def test_people_add_up(name: str) -> None:
    """So what one person moves does not depend on the others, and one person alone tells it."""
    rng = np.random.default_rng(1)
    numbers = rng.integers(0, len(PEOPLE), 8).tolist()
    together = exact_integers(MECHANISMS[name], people(*(PEOPLE[number] for number in numbers)))
    apart = [alone(name)[number] for number in numbers]
    assert together == [sum(column) for column in zip(*apart, strict=True)]


@pytest.mark.parametrize("name", MECHANISMS)
def test_no_random_neighbours_are_farther_apart(name: str) -> None:
    """Any scores, sizes from 2 to 60, any one person replaced."""
    mechanism, rng, most = MECHANISMS[name], np.random.default_rng(2), Fraction(0)
    for _ in range(150):
        n, pool = int(rng.integers(2, 60)), rng.random(int(rng.integers(1, 20)))
        some = [(float(rng.choice(pool)), int(rng.random() < rng.choice([0.1, 0.5]))) for _ in range(n)]
        before = exact_integers(mechanism, people(*some))
        for _ in range(5):
            place = int(rng.integers(n))
            other = (float(rng.choice([0.0, 1.0, *pool])), int(rng.integers(2)))
            after = exact_integers(mechanism, people(*some[:place], other, *some[place + 1 :]))
            most = max(most, moved(mechanism, before, after))
    assert Fraction(1, 2) * mechanism.sensitivity < most <= mechanism.sensitivity


@pytest.mark.parametrize("name", MECHANISMS)
def test_several_rows_of_a_person_are_as_many_replacements(name: str) -> None:
    mechanism = MECHANISMS[name]
    one, three = (mechanism.rates(Fraction(2), rows) for rows in (1, 3))
    assert [rate / 3 for rate in one] == list(three)
    assert [rate * step.steps for rate, step in zip(one, mechanism.coordinates, strict=True)] == [
        2 / mechanism.sensitivity
    ] * len(one)
