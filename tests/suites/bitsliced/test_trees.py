"""Trees of every shape compare, and a window of computations runs side by side."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from ppaurora.channel.meter import Meter
from ppaurora.protocols import Fast
from ppaurora.sharing.planes import LANES, Planes, keep_lanes, pack_lanes, word_count
from ppaurora.suites.bitsliced import BitslicedSuite, trees
from ppaurora.suites.bitsliced.records import PlaneRecords
from ppaurora.testing import World
from tests.support.bitsliced import unsorted_planes


def as_planes(numbers: list[int], bits: int) -> Any:
    padded = np.zeros((bits, word_count(len(numbers)) * LANES), dtype=np.uint8)
    for lane, number in enumerate(numbers):
        padded[:, lane] = [number >> bits - 1 - place & 1 for place in range(bits)]
    return pack_lanes(padded)


@pytest.mark.parametrize("children", [2, 3, 4, 5])
@pytest.mark.parametrize("bits", [1, 2, 3, 4])
def test_every_pair_of_small_keys_in_every_tree(bits: int, children: int) -> None:
    """Where the keys are equal, a comparison gives the last bit of the first."""
    pairs = list(itertools.product(range(1 << bits), repeat=2))
    x, y = (list(column) for column in zip(*pairs, strict=True))

    def algorithm(suite: BitslicedSuite, lists: Sequence[PlaneRecords]) -> list[Any]:
        a, b = (one.keys.data for one in lists)
        greater = trees.greater_steps(suite._gates, a, b, children)
        equal = trees.equal_steps(suite._gates, a, b)
        found = [trees.run_window(suite._gates.meter, [steps])[0] for steps in (greater, equal)]
        return [Planes(suite.holder, keep_lanes(plane, len(pairs)), len(pairs)) for plane in found]

    (greater,), (equal,) = unsorted_planes(algorithm, x, y, key_bits=bits).value
    assert greater.tolist() == [int(a > b) if a != b else a & 1 for a, b in pairs]
    assert equal.tolist() == [int(a == b) for a, b in pairs]


@pytest.mark.parametrize("bits", range(1, 71))
def test_trees_of_every_width(bits: int) -> None:
    """Keys that differ in one bit only, at every place, in both directions."""
    whole = (1 << bits) - 1
    random = np.random.default_rng(bits)
    keys = [int(random.integers(0, 1 << 62)) * 3 & whole for _ in range(bits)]
    x = keys + [key ^ 1 << place for place, key in enumerate(keys)] + keys
    y = [key ^ 1 << place for place, key in enumerate(keys)] + keys + keys

    def algorithm(suite: BitslicedSuite) -> list[Any]:
        def public(data: Any) -> Any:
            return np.stack([data * np.uint64(unit) for unit in suite.holder.units])

        a, b = public(as_planes(x, bits)), public(as_planes(y, bits))
        found = []
        for children in (trees.CHILDREN, trees.CHILDREN_OF_FEW):
            (plane,) = trees.run_window(
                suite._gates.meter, [trees.greater_steps(suite._gates, a, b, children)]
            )
            found.append(Planes(suite.holder, keep_lanes(plane, len(x)), len(x)))
        return found

    expected = [int(a > b) if a != b else a & 1 for a, b in zip(x, y, strict=True)]
    for (plane,) in World(Fast()).run(algorithm).value:
        assert plane.tolist() == expected


@pytest.mark.parametrize("bits", range(1, 71))
def test_public_numbers_of_every_width(bits: int) -> None:
    """Compared with equal numbers, and with those that differ in one bit only, at every place."""
    whole = (1 << bits) - 1
    random = np.random.default_rng(bits)
    keys = [int(random.integers(0, 1 << 62)) * 3 & whole for _ in range(bits)]
    other = [key ^ 1 << place for place, key in enumerate(keys)]
    x, y = keys + other + keys, other + keys + keys

    def algorithm(suite: BitslicedSuite) -> list[Any]:
        dealt = suite._gates.deal_bits((bits, word_count(len(x))), lambda: as_planes(x, bits))
        nothing = np.zeros_like(dealt)
        a = np.stack([nothing, dealt][-suite._gates.components :])
        b = np.stack([as_planes(y, bits) * np.uint64(unit) for unit in suite.holder.units])
        found = []
        for children in (trees.CHILDREN, trees.CHILDREN_OF_FEW):
            steps = trees.greater_than_public_steps(suite._gates, a, b, children)
            (plane,) = trees.run_window(suite._gates.meter, [steps])
            found.append(Planes(suite.holder, keep_lanes(plane, len(x)), len(x)))
        return found

    for (plane,) in World(Fast()).run(algorithm).value:
        assert plane.tolist() == [int(a > b) for a, b in zip(x, y, strict=True)]


def test_few_chunks_are_under_way_and_their_depths_are_counted_apart() -> None:
    meter = Meter(depth=3)
    under_way: set[int] = set()
    most = 0

    def steps(number: int) -> trees.Steps[int]:
        nonlocal most
        under_way.add(number)
        most = max(most, len(under_way))
        for _ in range(number % 3 + 1):
            yield
            meter.received(meter.depth + 1)
        under_way.remove(number)
        return number * 10

    results = trees.run_window(meter, map(steps, range(20)))
    assert results == [number * 10 for number in range(20)]
    assert most == trees.WINDOW
    assert meter.depth == 3 + 3
    assert trees.run_window(meter, []) == []
    assert meter.depth == 6
