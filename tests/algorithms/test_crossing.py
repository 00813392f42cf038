"""Where a curve crosses a limit, against its points by counting: both sides, the area, the cost."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppaurora.algorithms import crossing as crossing_module
from ppaurora.algorithms.crossing import Limit, areas_up_to, find_crossings
from ppaurora.algorithms.curve import FP, TP
from ppaurora.channel.meter import Cost
from ppaurora.sharing import RingShare
from ppaurora.suites.base import Records, Suite
from ppaurora.suites.bitsliced import costs
from tests.support.cases import Owner, on_planes
from tests.support.curves import GROUPS, SUITES, curve_of, in_groups, roc_points, run_under, sorted_samples

Query = tuple[str, int, int]  # a row's name, the scale, the most
ROWS = {"FP": FP, "TP": TP}


def by_definition(owner: Owner, query: Query) -> list[int]:
    """TP and FP at the last point within the limit, at the first one beyond, and twice the area up to it."""
    row, scale, most = query
    points = roc_points(owner)
    within = [point for point in points if point[row == "TP"] * scale <= most]
    beyond = points[len(within) :] or points[-1:]
    area = sum((fp - fp_before) * (tp + tp_before) for (fp_before, tp_before), (fp, tp) in pairwise(within))
    return [within[-1][1], within[-1][0], beyond[0][1], beyond[0][0], area]


def crossed(party: Suite, records: Records, query: Sequence[Query]) -> list[RingShare]:
    curve = curve_of(party, records, [FP])
    limits = [Limit(ROWS[row], scale, party.constant(most)) for row, scale, most in query]
    crossings = find_crossings(curve, limits)
    areas = areas_up_to(curve, crossings)
    found: list[RingShare] = []
    for crossing, area in zip(crossings, areas, strict=True):
        found += [crossing.within.tp, crossing.within.fp, crossing.beyond.tp, crossing.beyond.fp, area]
    return found


def check(suite: str, owner: Owner, query: Sequence[Query]) -> None:
    found = run_under(suite, lambda party, lists: crossed(party, lists[0], query), owner)
    assert [value for (value,) in found] == [
        value for question in query for value in by_definition(owner, question)
    ]


def questions(owner: Owner) -> list[Query]:
    """Nothing, everything, one less than everything, between points, and exactly at each of some points."""
    query: list[Query] = []
    for place, row in enumerate(("FP", "TP")):
        most = roc_points(owner)[-1][place]
        query += [(row, 1, 0), (row, 3, 3 * most), (row, 5, max(5 * most - 1, 0)), (row, 7, 3 * most)]
        query += [(row, 10**6, 10**6 * point[place]) for point in roc_points(owner)[1:-1:11]]
    return query


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize("groups", GROUPS.values(), ids=GROUPS.keys())
def test_points_and_areas(groups: list[tuple[int, int]], suite: str) -> None:
    owner = in_groups(groups)
    check(suite, owner, questions(owner))


@pytest.mark.parametrize("size", range(1, 30))
def test_every_limit_at_every_small_size(size: int) -> None:
    """Whether the last block is full, or has one position only."""
    for different in (2, 9, 500):
        owner = sorted_samples(size, different, size)
        check("cleartext", owner, [(row, 2, most) for row in ("FP", "TP") for most in range(2 * size + 2)])


@settings(max_examples=100, deadline=None)
@given(
    groups=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=25).filter(
        lambda groups: any(map(sum, groups))
    ),
    row=st.sampled_from(["FP", "TP"]),
    scale=st.integers(1, 10**6),
    part=st.floats(0, 1.1),
)
def test_any_groups(groups: list[tuple[int, int]], row: str, scale: int, part: float) -> None:
    owner = in_groups(groups)
    check("cleartext", owner, [(row, scale, int(part * scale * len(owner)))])


@pytest.mark.parametrize("size", [1, 2, 5, 64, 1000])
@pytest.mark.parametrize("limits", [1, 3])
def test_costs_follow_the_square_root(size: int, limits: int) -> None:
    owner = sorted_samples(size, 50, 1)
    query = [("FP", 1, k) for k in range(limits)]

    def cost(algorithm: Any) -> Cost:
        return on_planes(algorithm, [owner]).cost

    without = cost(lambda party, lists: curve_of(party, lists[0], [FP]) and None)
    whole = cost(lambda party, lists: crossed(party, lists[0], query))
    block = crossing_module._Blocks(size).size
    starts = -(-(size + 1) // block)
    assert starts <= block <= size**0.5 + 1
    together = [costs.sums_of_products(starts - 1), *[costs.mul(block - 1)] * limits]
    steps = [
        costs.is_positive(limits * starts),
        costs.sums_of_products(limits * 2 * (block + 1)),
        costs.is_positive(limits * block),
        *[costs.dot()] * 4 * limits,
        *together,
        *[costs.dot()] * limits,
    ]
    expected = sum(steps, Cost())
    assert whole.messages - without.messages == expected.messages
    assert whole.bytes - without.bytes == expected.bytes
    assert whole.rounds - without.rounds == 12


def test_no_limits_cost_nothing() -> None:
    owner = sorted_samples(20, 5, 1)
    assert run_under("bitsliced", lambda party, lists: crossed(party, lists[0], []), owner) == []


def test_a_flag_at_the_wrong_place_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The positive control: the first position beyond a limit in place of the last one within."""
    honest = crossing_module.last_set
    monkeypatch.setattr(
        crossing_module, "last_set", lambda flags: honest(flags).take(np.arange(-1, len(flags) - 1))
    )
    with pytest.raises(AssertionError):
        test_every_limit_at_every_small_size(20)
