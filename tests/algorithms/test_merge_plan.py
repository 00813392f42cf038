"""Which lists are merged with which: a valid plan, what it costs, and that it is a good one."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, combinations_with_replacement
from typing import cast

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import ppaurora
from ppaurora.algorithms.merge import PlannedMerge, merge_all, plan
from ppaurora.algorithms.merge_delta import merge_delta
from ppaurora.algorithms.merge_network import merge_network
from ppaurora.algorithms.merge_plan import PlanCost, layers_of, merge_cost, plan_cost, plan_network
from ppaurora.sharing.planes import Planes
from ppaurora.suites.base import Suite
from ppaurora.suites.bitsliced.records import PlaneRecords, PlaneWires
from ppaurora.suites.bitsliced.shares import HOLDERS
from ppaurora.suites.role import Role
from ppaurora.suites.team import Team

UNBALANCED = [882, 1_200, 5_000, 12_000, 30_000, 60_000, 90_570, 258_755]
LENGTHS = st.one_of(st.integers(0, 300), st.integers(0, 20_000))
ROUNDS_PER_LAYER = 5  # with keys of 64 bits
WORDS_PER_LAYER = 512


class Counting:
    """Exchanges nothing, and counts what it is asked for."""

    team = Team()

    def __init__(self) -> None:
        self.layers = self.words = 0
        self.reports: list[tuple[int, int]] = []

    def exchange_layer(self, layer: Sequence[tuple[PlaneWires, int]]) -> None:
        self.layers += 1
        self.words += sum(place.words for wires, stride in layer for place in wires.places(stride))

    def progress(self, step: str, done: int, total: int) -> None:
        self.reports.append((done, total))


def blank(size: int) -> PlaneRecords:
    return PlaneRecords(Planes.zeros(HOLDERS[Role.HELPER], 2, size))


def counted(sizes: Sequence[int]) -> Counting:
    suite = Counting()
    merged = merge_all(cast(Suite, suite), [blank(size) for size in sizes], merge_network)
    assert len(merged) == sum(sizes)
    return suite


@settings(max_examples=150, deadline=None)
@given(first=LENGTHS, second=LENGTHS)
@example(first=1, second=20_000)
@example(first=64, second=65)
@example(first=128 * 64, second=128 * 64)
def test_words_of_a_merge_are_those_of_its_wires(first: int, second: int) -> None:
    if first and second:
        wires = blank(first).wires(blank(second))
        real = [(stride, sum(place.words for place in wires.places(stride))) for stride in wires.strides()]
    else:
        real = []
    assert list(layers_of(first, second)) == real
    assert merge_cost(first, second) == (len(real), sum(words for _, words in real))


@settings(max_examples=60, deadline=None)
@given(sizes=st.lists(LENGTHS, min_size=1, max_size=24))
@example(sizes=[size // 16 for size in UNBALANCED])
def test_a_plan_costs_what_it_says(sizes: list[int]) -> None:
    suite = counted(sizes)
    assert (suite.layers, suite.words) == plan_cost(sizes, plan_network(sizes))


@settings(max_examples=150, deadline=None)
@given(sizes=st.lists(LENGTHS, max_size=40))
def test_a_plan_merges_every_list_once_and_knows_the_lengths(sizes: list[int]) -> None:
    merges = plan_network(sizes)
    lengths = dict(enumerate(sizes))
    for number, merge in enumerate(merges, start=len(sizes)):
        assert merge.result == number
        assert merge.left != merge.right
        assert merge.size == lengths.pop(merge.left) + lengths.pop(merge.right)
        lengths[number] = merge.size
    assert len(lengths) == min(len(sizes), 1)
    assert merges == plan_network(tuple(sizes))


def price(cost: PlanCost, fewest: int) -> int:
    return cost.words + cost.layers * max(WORDS_PER_LAYER, fewest // 1000)


@settings(max_examples=60, deadline=None)
@given(sizes=st.lists(st.integers(0, 1 << 20), min_size=1, max_size=40))
def test_it_is_never_worse_than_merging_the_two_smallest(sizes: list[int]) -> None:
    smallest_first = plan_cost(sizes, plan(sizes))
    assert price(plan_cost(sizes, plan_network(sizes)), smallest_first.words) <= price(
        smallest_first, smallest_first.words
    )


def every_tree(sizes: Sequence[int], lists: tuple[int, ...]) -> set[PlanCost]:
    """What all plans that merge these lists cost."""
    if len(lists) == 1:
        return {PlanCost(0, 0)}
    costs = set()
    first, *others = lists
    for count in range(len(others)):
        for chosen in combinations(others, count):
            left = (first, *chosen)
            right = tuple(number for number in others if number not in chosen)
            last = merge_cost(sum(sizes[number] for number in left), sum(sizes[number] for number in right))
            costs |= {
                PlanCost(max(one.layers, other.layers) + last.layers, one.words + other.words + last.words)
                for one in every_tree(sizes, left)
                for other in every_tree(sizes, right)
            }
    return costs


@pytest.mark.parametrize("sizes", list(combinations_with_replacement((100, 1_000, 10_000, 100_000), 4)))
def test_it_is_close_to_the_best_of_all_plans(sizes: tuple[int, ...]) -> None:
    fewest = plan_cost(sizes, plan(sizes)).words
    best = min(price(cost, fewest) for cost in every_tree(sizes, tuple(range(len(sizes)))))
    assert price(plan_cost(sizes, plan_network(sizes)), fewest) <= 1.05 * best


@pytest.mark.parametrize(
    ("sizes", "smallest_first", "planned"),
    [
        ([125_000] * 8, (57, 425_097), (57, 425_097)),
        (UNBALANCED, (110, 113_810), (78, 121_943)),
        ([size // 16 for size in UNBALANCED], (82, 5_505), (44, 7_341)),
        ([3_125] * 32, (75, 55_165), (75, 55_165)),
        ([1_000_000, *range(100, 850, 50)], (86, 145_350), (68, 145_417)),
    ],
)
def test_what_plans_cost(sizes: list[int], smallest_first: tuple[int, int], planned: tuple[int, int]) -> None:
    assert plan_cost(sizes, plan(sizes)) == smallest_first
    assert plan_cost(sizes, plan_network(sizes)) == planned


def test_unequal_lists_of_owners_take_the_rounds_of_the_plan() -> None:
    random = np.random.default_rng(10)
    sizes = [max(size // 64, 2) for size in UNBALANCED]
    owners = [(random.random(size) < 0.4, random.normal(size=size)) for size in sizes]
    cost = ppaurora.evaluate(owners, metrics=["auroc"], key_bits=64).cost
    layers = plan_cost(sizes, plan_network(sizes)).layers
    assert cost.rounds_by_step["merge"] == ROUNDS_PER_LAYER * layers
    assert layers < 0.6 * plan_cost(sizes, plan(sizes)).layers


def test_a_merge_that_ends_lets_the_next_begin_in_the_same_rounds() -> None:
    """Lists of 1 are merged in one layer; while 64 and 64 take 7, two more merges of small lists follow."""
    sizes = [64, 64, 1, 1, 1, 1]
    merges = [
        PlannedMerge(0, 1, 6, 128),
        PlannedMerge(2, 3, 7, 2),
        PlannedMerge(7, 4, 8, 3),
        PlannedMerge(8, 5, 9, 4),
        PlannedMerge(6, 9, 10, 132),
    ]
    assert plan_cost(sizes, merges).layers == 7 + merge_cost(128, 4).layers
    suite = Counting()
    planned = replace(merge_network, plan=lambda _: list(merges))
    merge_all(cast(Suite, suite), [blank(size) for size in sizes], planned)
    assert suite.layers == plan_cost(sizes, merges).layers


def test_the_merge_reports_work_that_ends_at_the_total() -> None:
    reports = counted([700, 64, 1, 3_000]).reports
    done = [done for done, _ in reports]
    assert done == sorted(done)
    assert {total for _, total in reports} == {done[-1]}


def test_the_papers_merge_takes_the_two_smallest() -> None:
    assert merge_delta(1).plan is plan
    assert merge_network.plan is plan_network


@pytest.mark.parametrize(("owners", "seconds"), [(64, 0.15), (1_000, 1.0)])
def test_planning_is_quick(owners: int, seconds: float) -> None:
    random = np.random.default_rng(owners)
    sizes = [int(size) for size in 10 ** random.uniform(1, 6, owners)]
    merge_cost.cache_clear()
    start = time.process_time()
    plan_network(sizes)
    assert time.process_time() - start < seconds
