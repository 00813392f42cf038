"""Wires of bit planes: what meets, and what an exchange does, is what the naive list of comparators says.

In the clear a record is one component of planes, under a mask of zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ppaurora.algorithms.merge import ExchangeLayer
from ppaurora.algorithms.merge_network import merge_network
from ppaurora.sharing.planes import LANES, Planes, pack_lanes, slice_numbers, unpack_lanes
from ppaurora.suites.bitsliced import BitslicedSuite, records, trees
from ppaurora.suites.bitsliced.records import Place, PlaneRecords, PlaneWires
from ppaurora.suites.bitsliced.shares import HOLDERS
from ppaurora.suites.network import comparators, half_for, strides
from ppaurora.suites.role import Role
from tests.support.bitsliced import unsorted_planes

BITS = 13
INFINITY = (1 << BITS) - 1  # the key of wires before the first record; those after the last one hold 0
CHUNKS = (1, 2, 3, 4, 2048)
Numbers = NDArray[np.uint64]

each_chunk = pytest.mark.parametrize("chunk", CHUNKS)


def lanes_of(keys: Sequence[int]) -> PlaneRecords:
    """Records whose label follows from the key."""
    numbers = np.array(keys, dtype=np.uint64)
    planes = np.concatenate([slice_numbers(numbers, BITS), slice_numbers(label_of(numbers), 1)])
    data = np.stack([planes, np.zeros_like(planes)])
    return PlaneRecords(Planes(HOLDERS[Role.PROXY_0], data, len(keys)))


def label_of(keys: Numbers) -> Numbers:
    """First bit xor last bit: 0 for the keys of all zeros and all ones that pad a list."""
    labels: Numbers = (keys ^ keys >> np.uint64(BITS - 1)) & np.uint64(1)
    return labels


def numbers(planes: NDArray[np.uint64], count: int) -> Numbers:
    """From planes of one component, most significant first."""
    weights = np.uint64(1) << np.arange(len(planes), dtype=np.uint64)[::-1]
    found: Numbers = weights @ unpack_lanes(planes, count).astype(np.uint64)
    return found


def keys_of(records: PlaneRecords) -> list[int]:
    assert not records.bits.data[1].any()
    keys = numbers(records.bits.data[0, :-1], len(records))
    assert (numbers(records.bits.data[0, -1:], len(records)) == label_of(keys)).all(), "a label left its key"
    used = unpack_lanes(records.bits.data[0], records.bits.data.shape[-1] * LANES)
    assert not used[:, len(records) :].any(), "something is left behind the last record"
    return [int(key) for key in keys]


def met(place: Place) -> tuple[Numbers, Numbers]:
    """The keys that meet there, left and right."""
    unlike, right = place.load()
    assert unlike.shape == (2, BITS + 1, place.words)
    assert not unlike[1].any()
    count = place.words * LANES
    right_keys = numbers(right[0], count)
    left_keys = numbers(unlike[0, :-1], count) ^ right_keys
    labels = numbers(unlike[0, -1:], count)
    assert (labels == label_of(left_keys) ^ label_of(right_keys)).all(), "a label left its key"
    return left_keys, right_keys


def exchange(place: Place) -> None:
    """The larger key to the left."""
    left, right = met(place)
    swap = pack_lanes((right > left).astype(np.uint8))
    unlike, _ = place.load()
    place.apply(unlike & swap)


def naive_layers(first: int, second: int) -> list[tuple[list[tuple[int, int]], int]]:
    """Which records meet in every layer, by their place from 0 on, and the stride.

    The same as in arrays, so what is proved for those holds for planes.
    """
    half = half_for(first, second)
    start, stop = half - first, half + second
    return [
        ([(int(j) - start, int(j) - start + stride) for j in comparators(half, stride, start, stop)], stride)
        for stride in strides(half, start, stop)
    ]


def pairs_met(wires: PlaneWires, stride: int) -> list[tuple[int, int]]:
    """Without those that touch a wire that pads a list."""
    pairs = []
    for place in wires.places(stride):
        left, right = met(place)
        real = (left != 0) & (left != INFINITY) & (right != 0) & (right != INFINITY)
        assert (left[~real] >= right[~real]).all(), "an exchange with a padding wire would do something"
        pairs += list(zip(left[real].tolist(), right[real].tolist(), strict=True))
    return sorted(pairs)


SIZES = [(first, second) for first in (1, 8, 29, 63, 64, 65, 129, 200) for second in (1, 7, 32, 64, 65, 191)]
# Many words, so that blocks are cut off at either end and several, or parts of one, make a chunk.
LARGER = [(640, 640), (1000, 37), (37, 1000), (700, 1280), (1281, 645), (1500, 1500), (64 * 11, 64 * 6 + 1)]


@each_chunk
@pytest.mark.parametrize("sizes", [*SIZES, *LARGER], ids=str)
def test_planes_compare_what_the_naive_list_says(
    sizes: tuple[int, int], chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trees, "CHUNK_WORDS", chunk)
    first, second = sizes
    wires = lanes_of(range(1, first + 1)).wires(lanes_of(range(first + 1, first + second + 1)))
    expected = naive_layers(first, second)
    assert list(wires.strides()) == [stride for _, stride in expected]
    for pairs, stride in expected:
        assert pairs_met(wires, stride) == [(left + 1, right + 1) for left, right in pairs]
        assert all(place.words <= chunk for place in wires.places(stride))
    assert keys_of(wires.merged()) == list(range(1, first + second + 1)), "a record was lost or moved"


def naive_exchanges(keys: list[int], first: int) -> list[int]:
    keys = keys.copy()
    for pairs, _ in naive_layers(first, len(keys) - first):
        for left, right in pairs:
            keys[left], keys[right] = max(keys[left], keys[right]), min(keys[left], keys[right])
    return keys


@each_chunk
@pytest.mark.parametrize("sizes", [*SIZES, *LARGER], ids=str)
def test_exchanges_on_planes_do_what_the_naive_list_does(
    sizes: tuple[int, int], chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On lists that are not sorted, so that every comparator and its place counts."""
    monkeypatch.setattr(trees, "CHUNK_WORDS", chunk)
    first, second = sizes
    random = np.random.default_rng(first * 7919 + second)
    keys = (random.permutation(INFINITY - 1)[: first + second] + 1).tolist()
    wires = lanes_of(keys[:first]).wires(lanes_of(keys[first:]))
    for stride in wires.strides():
        for place in list(wires.places(stride)):
            exchange(place)
    assert keys_of(wires.merged()) == naive_exchanges(keys, first)


def test_a_comparator_left_out_or_misplaced_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The positive control of the tests above."""
    places = PlaneWires.places

    def without_the_last(self: PlaneWires, stride: int) -> Any:
        return list(places(self, stride))[:-1]

    def to_the_left(data: NDArray[np.uint64], stride: int, words: int) -> NDArray[np.uint64]:
        return unpack(data, stride, words) >> np.uint64(1)

    unpack = records._unpack
    with monkeypatch.context() as broken:
        broken.setattr(PlaneWires, "places", without_the_last)
        with pytest.raises(AssertionError):
            test_planes_compare_what_the_naive_list_says((640, 640), 3, broken)
    with monkeypatch.context() as broken:
        broken.setattr(records, "_unpack", to_the_left)
        with pytest.raises(AssertionError):
            test_exchanges_on_planes_do_what_the_naive_list_does((640, 640), 3, broken)


def merged_on_planes(first: list[int], second: list[int]) -> list[int]:
    merge = merge_network(lanes_of(first), lanes_of(second))
    while True:
        try:
            request = next(merge)
        except StopIteration as stop:
            return keys_of(stop.value)
        assert isinstance(request, ExchangeLayer)
        assert isinstance(request.wires, PlaneWires)
        for place in request.wires.places(request.stride):
            exchange(place)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (1, 1),
        (1, 64),
        (64, 1),
        (63, 63),
        (64, 64),
        (65, 65),
        (1, 200),
        (129, 3),
        (128, 128),
        (100, 131),
        (5, 700),
    ],
)
def test_planes_are_merged_like_arrays(first: int, second: int) -> None:
    random = np.random.default_rng(first * 1000 + second)
    for keys in (5, 700):
        one, other = (sorted(random.integers(0, keys, n).tolist(), reverse=True) for n in (first, second))
        assert merged_on_planes(one, other) == sorted(one + other, reverse=True)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, INFINITY), max_size=150),
    st.lists(st.integers(0, INFINITY), max_size=150),
    st.sampled_from(CHUNKS),
)
def test_planes_of_any_lengths_are_merged(one: list[int], other: list[int], chunk: int) -> None:
    one, other = sorted(one, reverse=True), sorted(other, reverse=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trees, "CHUNK_WORDS", chunk)
        if one or other:
            assert merged_on_planes(one, other) == sorted(one + other, reverse=True)


@pytest.mark.parametrize("chunk", [1, 3, 2048])
def test_a_layer_of_several_merges_by_three_parties(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Places of several merges in the same batches, on masked bits; lists are not sorted."""
    monkeypatch.setattr(trees, "CHUNK_WORDS", chunk)
    random = np.random.default_rng(chunk)
    sizes = [(200, 130), (70, 64), (5, 300)]
    keys = [(random.permutation(4000)[: first + second] + 1).tolist() for first, second in sizes]
    halves = [
        part for (first, _), one in zip(sizes, keys, strict=True) for part in (one[:first], one[first:])
    ]

    def algorithm(suite: BitslicedSuite, lists: Sequence[PlaneRecords]) -> list[Any]:
        merges = [one.wires(other) for one, other in zip(lists[::2], lists[1::2], strict=True)]
        layers = [list(wires.strides()) for wires in merges]
        for number in range(max(map(len, layers))):
            suite.exchange_layer(
                [(wires, own[number]) for wires, own in zip(merges, layers, strict=True) if number < len(own)]
            )
        return [wires.merged().bits for wires in merges]

    merged = unsorted_planes(algorithm, *halves, key_bits=BITS).value
    for planes, (first, _), one in zip(merged, sizes, keys, strict=True):
        found = [int("".join(map(str, column)), 2) for column in planes[:-1].T]
        assert found == naive_exchanges(one, first)
        assert planes[-1].tolist() == [key & 1 for key in found]
