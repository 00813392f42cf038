"""The paper's merge: sorted, complete, by its rules for delta."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppaurora.algorithms.merge import merge_all, plan
from ppaurora.algorithms.merge_delta import merge_delta
from ppaurora.errors import InputError
from ppaurora.sharing import RingShare
from ppaurora.suites.base import Records, Suite
from tests.support.cases import Owner, by_three_parties, encoded, in_the_clear, owners

DELTAS = st.sampled_from([1, 3, 5, 11])


@settings(max_examples=200, deadline=None)
@given(lists=owners(min_owners=1, min_size=0), delta=DELTAS)
def test_merge_sorts_and_keeps_every_record(lists: list[Owner], delta: int) -> None:
    merged = in_the_clear(lambda suite, records: merge_all(suite, records, merge_delta(delta)), lists)
    keys = merged.keys.values
    assert (keys[:-1] >= keys[1:]).all()
    whole = [encoded(owner) for owner in lists]
    expected = sorted((int(key), int(label)) for owner in whole for key, label in zip(*owner, strict=True))
    assert sorted(zip(keys.tolist(), merged.labels.values.tolist(), strict=True)) == expected


class _Requests:
    """Drives one merge by hand and notes how it goes."""

    def __init__(self, first: Owner, second: Owner, delta: int) -> None:
        self.shufflings: list[int] = []
        self.openings_after: list[int] = []

        def algorithm(suite: Suite, lists: list[Records]) -> Any:
            exchange, open_comparison = suite.exchange, suite.open_comparison

            def noted_exchange(left: Records, right: Records) -> tuple[Records, Records]:
                self.shufflings.append(len(right))
                self.openings_after.append(0)
                return exchange(left, right)

            def noted_open(x: RingShare, y: RingShare, name: str) -> np.ndarray:
                self.openings_after[-1] += 1
                return open_comparison(x, y, name)

            suite.exchange, suite.open_comparison = noted_exchange, noted_open  # type: ignore[method-assign]
            return merge_all(suite, lists, merge_delta(delta))

        in_the_clear(algorithm, [first, second])


def descending(count: int, offset: float = 0.0) -> Owner:
    return [((count - k) / (count + 2) + offset, 0) for k in range(count)]


@pytest.mark.parametrize("delta", [1, 3, 5, 11, 101])
@pytest.mark.parametrize(("first", "second"), [(9, 9), (4, 9), (9, 1), (2, 2), (1, 1)])
def test_rules_of_the_delta_merge(first: int, second: int, delta: int) -> None:
    """After a shuffling of m pairs, (the largest odd number up to delta and m) - 1 bits are opened."""
    run = _Requests(descending(first), descending(second, 0.001), delta)
    assert run.shufflings[0] == min(first, second)
    for pairs, opened in zip(run.shufflings, run.openings_after, strict=True):
        largest_odd = max(odd for odd in range(1, pairs + 1, 2))
        assert opened == min(delta, largest_odd) - 1
        if pairs == 1:
            assert opened == 0


@pytest.mark.parametrize("delta", [0, 2, 100, -1])
def test_even_or_small_delta_is_refused(delta: int) -> None:
    with pytest.raises(InputError, match="odd"):
        merge_delta(delta)


def test_plan_takes_the_smallest_first_and_lets_equals_run_together() -> None:
    assert [(m.left, m.right) for m in plan([5, 1, 2])] == [(1, 2), (3, 0)]
    eight = plan([1000] * 8)
    assert [(m.left, m.right) for m in eight[:4]] == [(0, 1), (2, 3), (4, 5), (6, 7)]
    assert eight[-1].size == 8000


def test_independent_merges_share_their_rounds() -> None:
    pair = [descending(6), descending(6, 0.01)]

    def merge(suite: Suite, lists: list[Records]) -> list[object]:
        merged = merge_all(suite, lists, merge_delta(1))
        return [merged.keys, merged.labels]

    one = by_three_parties(merge, pair)
    four = by_three_parties(merge, [*pair, *pair])
    # Two merges of 6 + 6 at once, then one of 12 + 12: three rounds for each record but the last.
    assert one.cost.rounds == 11 * 3
    assert four.cost.rounds == 11 * 3 + 23 * 3


def test_merging_takes_the_lists_so_that_their_memory_can_go() -> None:
    for lists in ([descending(6), descending(4)], [descending(3)], [descending(2), descending(3), []]):

        def merge(suite: Suite, records: list[Records]) -> int:
            held = [weakref.ref(one) for one in records]
            merged = merge_all(suite, (records.pop(0) for _ in range(len(records))), merge_delta(1))
            assert [one() for one in held if one() is not merged and one() is not None] == []
            return len(merged)

        assert in_the_clear(merge, lists) == sum(map(len, lists))
