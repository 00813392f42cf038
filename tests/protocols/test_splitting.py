"""Two shares that belong together, of which neither says anything."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ppaurora.protocols import Fast, ListProtocol, Paper, Prepared
from ppaurora.randomness import Stream
from ppaurora.sharing.stages import InputShare
from ppaurora.suites.arrays import AdditiveShare
from ppaurora.suites.bitsliced.shares import PlanesShare
from tests.support.owners import each_split, samples_of, varied_data

PLENTY = 4096


def words_of(share: InputShare) -> NDArray[np.uint64]:
    assert isinstance(share, PlanesShare | AdditiveShare)
    return share.planes if isinstance(share, PlanesShare) else share.keys


def rows_of_bits(share: InputShare) -> list[NDArray[np.uint8]]:
    """PLENTY bits in every row: a bit of all the keys, or all the labels."""
    words = words_of(share)
    if isinstance(share, AdditiveShare):
        bits = [(words >> np.uint64(bit) & np.uint64(1)).astype(np.uint8) for bit in range(64)]
        return [*bits, share.labels]
    return [np.unpackbits(plane.view(np.uint8)) for plane in np.ascontiguousarray(words)]


def half_set(bits: NDArray[Any]) -> bool:
    """As many as of PLENTY fair coins, within seven standard deviations."""
    return abs(int(np.count_nonzero(bits)) - PLENTY / 2) < 7 * math.sqrt(PLENTY) / 2


def looks_uniform(share: InputShare) -> bool:
    """Every row of bits is balanced, and no word recurs."""
    words = words_of(share).reshape(-1).tolist()
    rows = rows_of_bits(share)
    assert {len(row) for row in rows} == {PLENTY}
    return all(half_set(row) for row in rows) and len(set(words)) == len(words)


def constant_data(protocol: ListProtocol) -> Prepared:
    """As far from random as can be: one score, one label."""
    return protocol.prepare(samples_of([0.5] * PLENTY, [1] * PLENTY))


def records_in(planes: NDArray[np.uint64], size: int) -> list[tuple[int, int]]:
    """Keys and labels out of bit planes, one bit after the other."""
    rows = [[int(word) for word in plane] for plane in planes]
    records = []
    for record in range(size):
        bits = [row[record // 64] >> (record % 64) & 1 for row in rows]
        key = int("".join(map(str, bits[:-1])), base=2)
        records.append((key, bits[-1]))
    return records


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 1)), min_size=1, max_size=40))
def test_the_two_additive_shares_add_up(pairs: list[tuple[float, int]]) -> None:
    samples = samples_of([score for score, _ in pairs], [label for _, label in pairs])
    paper = Paper()
    prepared = paper.prepare(samples)
    first, second = paper.split(prepared)
    keys = [(a + b) % 2**64 for a, b in zip(first.keys.tolist(), second.keys.tolist(), strict=True)]
    labels = [a ^ b for a, b in zip(first.labels.tolist(), second.labels.tolist(), strict=True)]
    assert keys == prepared.keys.tolist()
    assert labels == prepared.labels.tolist()
    assert {*first.labels.tolist(), *second.labels.tolist()} <= {0, 1}


@pytest.mark.parametrize("key_bits", [32, 64])
@pytest.mark.parametrize("size", [1, 63, 64, 65, 200])
def test_the_two_planes_shares_xor_to_keys_and_labels(size: int, key_bits: int) -> None:
    prepared = varied_data(size, key_bits)
    first, second = Fast(key_bits=key_bits).split(prepared)
    assert len(first) == len(second) == size
    words = -(-size // 64)
    assert first.planes.shape == second.planes.shape == (key_bits + 1, words)
    planes = first.planes ^ second.planes
    expected = list(zip(prepared.keys.tolist(), prepared.labels.tolist(), strict=True))
    assert records_in(planes, size) == expected
    assert records_in(planes, words * 64)[size:] == [(0, 0)] * (words * 64 - size), "lanes beyond the end"
    assert records_in(first.planes, size) != expected
    assert records_in(second.planes, size) != expected


@each_split
def test_each_share_alone_looks_uniform(protocol: ListProtocol) -> None:
    data = constant_data(protocol)
    first, second = protocol.split(data)
    assert looks_uniform(first)
    assert looks_uniform(second)
    unshared: InputShare = AdditiveShare(data.keys, data.labels)
    if isinstance(protocol, Fast):
        unshared = PlanesShare(words_of(first) ^ words_of(second), PLENTY)
    assert not looks_uniform(unshared), "the check would not notice unshared data"


@each_split
def test_the_same_data_is_never_shared_alike(protocol: ListProtocol) -> None:
    data = constant_data(protocol)
    np.random.seed(1)  # has no influence
    once = protocol.split(data)
    np.random.seed(1)
    again = protocol.split(data)
    for one, other in zip(once, again, strict=True):
        assert not set(words_of(one).reshape(-1).tolist()) & set(words_of(other).reshape(-1).tolist())
        # Independent bits agree half of the time.
        for row, other_row in zip(rows_of_bits(one), rows_of_bits(other), strict=True):
            assert half_set(row == other_row)


@each_split
def test_shares_are_drawn_from_the_operating_system(
    protocol: ListProtocol, monkeypatch: pytest.MonkeyPatch
) -> None:
    query: list[int] = []

    def planted(count: int) -> bytes:
        query.append(count)
        return bytes(range(count))

    monkeypatch.setattr("os.urandom", planted)
    first, _ = protocol.split(protocol.prepare(samples_of([0.5, 0.25], [1, 0])))
    assert query == [32]
    expected = Stream(bytes(range(32)))
    if isinstance(protocol, Fast):
        assert isinstance(first, PlanesShare)
        assert first.planes.tolist() == expected.words((protocol.key_bits + 1, 1)).tolist()
    else:
        assert isinstance(first, AdditiveShare)
        assert first.keys.tolist() == expected.words((2,)).tolist()
        assert first.labels.tolist() == expected.bits((2,)).tolist()
