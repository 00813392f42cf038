"""The primitives of `bitsliced` cost what they declare."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ppaurora.channel.meter import Cost
from ppaurora.suites.bitsliced import costs, trees
from tests.support.bitsliced import cost_of, unsorted_planes


@pytest.mark.parametrize("count", [1, 3, 64, 65, 700])
def test_declared_costs_are_what_the_meter_sees(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trees, "CHUNK_WORDS", 4)  # several chunks already at 700
    x = np.arange(count, dtype=np.uint64)
    keys = x.tolist()
    assert cost_of(lambda s, a: s.mul(a, a), x) == costs.mul(count)
    assert cost_of(lambda s, a: s.dot(a, a), x) == costs.dot()
    assert cost_of(lambda s, a: s.negative(a), x) == costs.negative(count)
    assert cost_of(lambda s, a: s.is_positive(a), x) == costs.is_positive(count)
    assert cost_of(lambda s, a: s.to_ring(s.negative(a)), x) == costs.negative(count) + costs.to_ring(count)
    assert cost_of(lambda s, a: s.div_public(a, x + np.uint64(1), 33), x) == costs.div_public(count, 33)
    if count < 65:
        assert cost_of(lambda s, a: s.div(a, a, 20, 2**52), x) == costs.div(count, 20, 2**52)
        assert cost_of(lambda s, a: s.rounded_quotient(a, a, 2**52, 20), x) == costs.rounded_quotient(
            count, 2**52, 20
        )
    for key_bits in (32, 64):

        def planes_cost(algorithm: Callable[..., Any], bits: int = key_bits) -> Cost:
            whole = unsorted_planes(algorithm, keys, keys, key_bits=bits).cost
            inputs = unsorted_planes(lambda s, lists: None, keys, keys, key_bits=bits).cost
            return Cost(
                whole.messages - inputs.messages, whole.bytes - inputs.bytes, whole.rounds - inputs.rounds
            )

        compared = planes_cost(lambda s, lists: s.compare(lists[0].keys, lists[1].keys))
        assert compared == costs.compare(key_bits, count)
        assert planes_cost(lambda s, lists: s.differ(lists[0].keys, lists[1].keys)) == costs.differ(
            key_bits, count
        )
        exchanged = planes_cost(lambda s, lists: s.exchange(*lists) and None)
        assert exchanged == costs.exchange(key_bits, -(-count // 64))


@pytest.mark.parametrize("lengths", [[1], [64, 65], [700, 3, 64], [5, 5, 5, 5, 5]])
def test_declared_costs_over_lists(lengths: list[int]) -> None:
    lists = [[1] * length for length in lengths]
    bare = unsorted_planes(lambda suite, records: None, *lists, key_bits=1).cost
    assert bare == costs.inputs(1, lengths)
    halves = [slice(0, lengths[0] // 2), slice(lengths[0] // 2, None)]
    counted = unsorted_planes(
        lambda suite, records: suite.count_ones(records[0].keys, halves), *lists, key_bits=1
    )
    assert counted.cost == bare + costs.count_ones(lengths[0], 2)


def test_an_exchange_stays_below_its_bytes() -> None:
    """What the traffic of the whole merge rests on: 7 rounds and 69.4 bytes for a pair of records."""
    words_each = 2048
    cost = costs.exchange(64, words_each)
    assert cost.rounds == 7
    assert cost.bytes / (64 * words_each) < 69.5
