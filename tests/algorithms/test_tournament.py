"""The largest of many values, under every suite, with ties; and what it costs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppaurora.algorithms import tournament
from ppaurora.algorithms.tournament import largest
from ppaurora.suites.bitsliced import costs
from ppaurora.suites.cleartext import CleartextSuite
from tests.support import cecilia
from tests.support.bitsliced import cost_of, masked

SIZES = [1, 2, 3, 5, 6, 7, 47, 48, 49, 97, 200, 1000]


def some_values(size: int) -> list[np.ndarray]:
    random = np.random.default_rng(size)
    rising = np.arange(size, dtype=np.uint64)
    return [
        rising,
        rising[::-1].copy(),
        np.full(size, 7, dtype=np.uint64),
        np.roll(rising // np.uint64(3), size // 2),
        random.integers(0, 2**61, size, dtype=np.uint64),
        random.integers(0, 2, size, dtype=np.uint64),
    ]


def in_the_clear(values: np.ndarray) -> list[int]:
    suite = CleartextSuite()
    found: list[int] = largest(suite, suite.constant(values, len(values))).values.tolist()
    return found


@pytest.mark.parametrize("size", [*range(1, 120), 500, 1000, 4099, 70_000])
def test_in_the_clear(size: int) -> None:
    for values in some_values(size):
        assert in_the_clear(values) == [values.max()]


@settings(max_examples=100, deadline=None)
@given(values=st.lists(st.integers(-(2**60), 2**60), min_size=1, max_size=300))
def test_any_values(values: list[int]) -> None:
    assert in_the_clear(np.array(values, dtype=np.int64).view(np.uint64)) == [max(values) % 2**64]


@pytest.mark.parametrize("size", SIZES)
def test_by_three_parties(size: int) -> None:
    for values in some_values(size)[-3:]:
        assert masked(largest, values).value.tolist() == [values.max()]
    assert cecilia.run(largest, values).value.tolist() == [values.max()]


def test_fewer_rounds_at_little_more_traffic_than_with_pairs_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    values = some_values(8000)[-1]
    cost = cost_of(largest, values)
    monkeypatch.setattr(tournament, "_SMALLEST_GROUP", 10**9)
    in_pairs = cost_of(largest, values)
    assert (cost.rounds, in_pairs.rounds) == (43, 65)
    assert cost.bytes < 1.2 * in_pairs.bytes


def test_a_group_costs_two_comparisons_and_a_choice() -> None:
    size, groups = 10, 7
    values = some_values(size * groups)[-1]
    cost = cost_of(lambda suite, x: tournament._of_groups(suite, x, size), values)
    games = groups * size * (size - 1) // 2
    expected = costs.is_positive(games) + costs.is_positive(size * groups) + costs.sums_of_products(groups)
    assert cost == expected
    assert cost.rounds == 9


def test_a_game_that_is_counted_wrongly_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The positive control: every second game is lost on paper by whoever won it."""
    honest = CleartextSuite.is_positive

    def wrong(suite: CleartextSuite, x: object) -> object:
        flags = honest(suite, x)  # type: ignore[arg-type]
        return suite.constant(1 - flags.values[::-1], len(flags))

    monkeypatch.setattr(CleartextSuite, "is_positive", wrong)
    with pytest.raises(AssertionError):
        test_in_the_clear(500)
