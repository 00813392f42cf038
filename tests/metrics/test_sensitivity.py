"""How far one person moves a metric: the bound that its class states holds for all that were searched."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

from ppaurora.data import Samples
from ppaurora.metrics import METRICS, Metric, Query, find_metric
from ppaurora.metrics.bins import Reliability
from ppaurora.metrics.curves import PrecisionRecallCurve
from ppaurora.metrics.facts import PublicCounts
from ppaurora.metrics.smooth_calibration import SmoothCalibration
from ppaurora.metrics.thresholds import NegativePredictiveValue, PositivePredictiveValue
from ppaurora.policy.rules import Policy
from ppaurora.statistics.estimates import Estimate

Person = tuple[float, int]
Values = dict[tuple[object, ...], float]

GRID = (0.0, 0.25, 0.5, 0.75, 1.0)
ANYBODY: list[Person] = list(itertools.product(GRID, (0, 1)))
SLACK = 1e-9
TRIALS = 150
NEIGHBOURS = 12
PARAMETERS: dict[str, dict[str, Any]] = {
    "partial_auroc": {"max_fpr": 0.5},
    "reliability": {"bins": (0.0, 0.25, 0.5, 1.0)},
    "histogram": {"bins": (0.0, 0.25, 0.5, 1.0)},
    "net_benefit": {"thresholds": (0.25, 0.75)},
}


def made(name: str) -> Metric:
    if name in PARAMETERS:
        return find_metric(name)(**PARAMETERS[name])
    if find_metric(name).sample().thresholds():
        return find_metric(name)(thresholds=(0.25, 0.75))
    return find_metric(name).sample()


MANY = PublicCounts(1000, 100, 100, 10)
BOUNDED = [name for name in METRICS if made(name).sensitivity_to_one_person(MANY) is not None]


# Where a bound is not sharp: how much of it some person reaches.
REACHED = {"ap": 0.55, "smooth_calibration": 0.75, "ici": 0.29}


def people_in(*groups: tuple[int, float, int]) -> list[Person]:
    return [(score, label) for count, score, label in groups for _ in range(count)]


def samples_of(people: list[Person]) -> Samples:
    scores, labels = (np.array(column) for column in zip(*people, strict=True))
    return Samples("people", scores.astype(np.float64), labels.astype(np.uint8))


def values(metric: Metric, people: list[Person]) -> Values:
    """Every number by its place; what is undefined is not there."""
    found = metric.on_own_data(samples_of(people), 0.95)
    if isinstance(found, Estimate):
        return {} if found.value is None else {(): found.value}
    return {
        (*row.at.values(), name): estimate.value
        for row in found
        for name, estimate in row.values.items()
        if estimate.value is not None
    }


def behind(metric: Metric, place: tuple[object, ...], people: list[Person]) -> int | None:
    """How many people a number of a table is of, where the policy has a floor on that."""
    scores = [score for score, _ in people]
    match metric, place:
        case PositivePredictiveValue(), (float(threshold), _):
            return sum(score >= threshold for score in scores)
        case PrecisionRecallCurve(), (float(threshold), "precision"):
            return sum(score >= threshold for score in scores)
        case NegativePredictiveValue(), (float(threshold), _):
            return sum(score < threshold for score in scores)
        case Reliability(), (float(low), float(high), _):
            return sum(low < score <= high or score == low == 0 for score in scores)
        case SmoothCalibration(), (float(x), _):
            places = [max(math.ceil(score * 20) - 1, 0) for score in scores]
            around = [place for place in places if abs((place + 0.5) / 20 - x) < 0.1 - SLACK]
            return min(Counter(around).values(), default=None)
        case _:
            return None


def drawn(random: np.random.Generator) -> list[Person]:
    people = [ANYBODY[int(number)] for number in random.integers(0, len(ANYBODY), random.integers(3, 9))]
    return [*people, (float(random.choice(GRID)), 0), (float(random.choice(GRID)), 1)]


def pairs() -> Iterator[tuple[list[Person], list[Person]]]:
    """People, and the same with one of them replaced; both classes are there."""
    random = np.random.default_rng(7)
    for _ in range(TRIALS):
        people = drawn(random)
        for _ in range(NEIGHBOURS):
            place, other = int(random.integers(len(people))), ANYBODY[int(random.integers(len(ANYBODY)))]
            neighbour = [*people[:place], other, *people[place + 1 :]]
            if 0 < sum(label for _, label in neighbour) < len(neighbour):
                yield people, neighbour


@cache
def moves(name: str) -> list[tuple[PublicCounts, list[float]]]:
    """How far each of its numbers moved in every pair, with the highest floors that both sides meet."""
    metric, found = made(name), []
    for before, after in pairs():
        old, new = values(metric, before), values(metric, after)
        places = old.keys() & new.keys()
        counted = [behind(metric, place, people) for place in places for people in (before, after)]
        cells = [number for number in counted if number is not None]
        positives = [sum(label for _, label in people) for people in (before, after)]
        floors = (min(positives), len(before) - max(positives), min(cells, default=1))
        found.append((PublicCounts(len(before), *floors), [abs(new[place] - old[place]) for place in places]))
    return found


def largest_excess(name: str, scale: float = 1.0) -> float:
    """The largest ratio of what a person moved to what it may move; above 1 if the bound does not hold."""
    found = 0.0
    for public, moved in moves(name):
        limit = made(name).sensitivity_to_one_person(public)
        assert limit is not None
        found = max([found, *(one / (limit * scale + SLACK) for one in moved)])
    return found


@pytest.mark.parametrize("name", BOUNDED)
def test_no_person_moves_a_metric_by_more_than_it_says(name: str) -> None:
    """And some person moves it by nearly as much: a bound that is too small would be caught."""
    ratio = largest_excess(name)
    assert ratio <= 1
    assert ratio > REACHED.get(name, 0.99)


@pytest.mark.parametrize("name", BOUNDED)
def test_a_bound_that_is_too_small_is_caught(name: str) -> None:
    assert largest_excess(name, scale=0.95 * REACHED.get(name, 1.0)) > 1


def test_bounds_fall_with_the_number_of_people() -> None:
    few, many = PublicCounts(60, 10, 10, 3), PublicCounts(6000, 1000, 1000, 300)
    for name in BOUNDED:
        before, after = (made(name).sensitivity_to_one_person(public) for public in (few, many))
        assert before is not None
        assert after is not None
        assert after < before / 20 or name == "histogram", name


def test_average_precision_with_many_positives() -> None:
    """The worst that is known: a perfect order, and the last positive becomes the highest negative."""
    for positives in (2, 5, 50, 400):
        others = [*((0.9 - k / 1000, 1) for k in range(positives)), *people_in((3, 0.0, 0))]
        people, neighbour = [*others, (0.1, 1)], [*others, (1.0, 0)]
        moved = abs(values(made("ap"), people)[()] - values(made("ap"), neighbour)[()])
        bound = made("ap").sensitivity_to_one_person(PublicCounts(len(people), positives, 3))
        assert bound is not None
        assert 0.5 * bound < moved <= bound


# Metrics that state no bound, and of a thousand people what one of them does.
WITNESSES = {
    "aupr": (
        people_in((500, 0.5, 1), (499, 0.0, 0), (1, 0.0, 0)),
        people_in((500, 0.5, 1), (499, 0.0, 0), (1, 1.0, 0)),
    ),
    "sensitivity_at_specificity": (
        people_in((50, 1.0, 0), (500, 0.5, 1), (450, 0.0, 0)),
        people_in((51, 1.0, 0), (500, 0.5, 1), (449, 0.0, 0)),
    ),
    "specificity_at_sensitivity": (
        people_in((450, 1.0, 1), (500, 0.5, 0), (50, 0.0, 1)),
        people_in((449, 1.0, 1), (500, 0.5, 0), (51, 0.0, 1)),
    ),
    "observed_expected": (
        people_in((500, 0.0, 0), (499, 0.0, 1), (1, 1.0, 1)),
        people_in((500, 0.0, 0), (499, 0.0, 1), (1, 0.1, 1)),
    ),
    "calibration_intercept": (
        people_in((999, 0.5, 0), (1, 0.5, 1)),
        people_in((998, 0.5, 0), (2, 0.5, 1)),
    ),
    "calibration_slope": (
        people_in((499, 0.5, 1), (498, 0.5, 0), (1, 0.8, 1), (2, 0.8, 0)),
        people_in((499, 0.5, 1), (498, 0.5, 0), (2, 0.8, 1), (1, 0.8, 0)),
    ),
}


def test_where_no_bound_is_stated_there_is_none() -> None:
    """Equal scores are in no order, so what takes them for unequal is not a function of the people at all."""
    assert {*METRICS} - {*BOUNDED} == {*WITNESSES, "auroc_no_ties"}
    for name, (people, neighbour) in WITNESSES.items():
        moved = abs(values(made(name), people)[()] - values(made(name), neighbour)[()])
        assert moved > 0.49, name
    assert values(made("auroc_no_ties"), people_in((2, 0.5, 1), (1, 0.5, 0))) == {}


def test_public_counts_are_those_that_the_policy_demands() -> None:
    metrics = (made("auroc"),)
    policy = Policy(minimum_positives=20, minimum_negatives=30, minimum_per_cell=17)
    assert PublicCounts.of(Query(metrics, (400, 500), policy)) == PublicCounts(900, 20, 30, 17)
    assert PublicCounts.of(Query(metrics, (400, 500), Policy.exact())) == PublicCounts(900, 1, 1, 1)
