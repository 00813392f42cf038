"""The merge network: right for every pair of lengths, on arrays and on bit planes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppaurora.algorithms.merge import Exchange
from ppaurora.algorithms.merge_network import merge_network
from ppaurora.sharing import BitShare, Holder, RingShare
from ppaurora.sharing.planes import Planes, slice_numbers, unpack_lanes
from ppaurora.suites.arrays import ArrayRecords, ArrayWires
from ppaurora.suites.bitsliced.records import PlaneRecords
from ppaurora.suites.network import comparators, strides

LENGTHS = range(65)


def layers(first: int, second: int) -> list[tuple[np.ndarray, int]]:
    """The network that the wires really run, as (upper wires, stride)."""
    wires = _wires(np.zeros(first), np.zeros(second))
    return [(wires._left(stride), stride) for stride in wires.strides()]


def _wires(first: np.ndarray, second: np.ndarray) -> ArrayWires:
    one, other = (
        ArrayRecords(
            RingShare(Holder.CLEARTEXT, keys.astype(np.uint64)),
            BitShare(Holder.CLEARTEXT, np.zeros(len(keys), dtype=np.uint8)),
        )
        for keys in (first, second)
    )
    return one.wires(other)


def zero_one_inputs(first: int, second: int) -> np.ndarray:
    """All pairs of descending lists of zeros and ones, one pair per row."""
    rows = [
        [1] * ones + [0] * (first - ones) + [1] * others + [0] * (second - others)
        for ones in range(first + 1)
        for others in range(second + 1)
    ]
    return np.array(rows, dtype=np.uint8).reshape(len(rows), first + second)


def unsorted_rows(network: list[tuple[np.ndarray, int]], rows: np.ndarray) -> int:
    rows = rows.copy()
    for upper, stride in network:
        high = np.maximum(rows[:, upper], rows[:, upper + stride])
        low = np.minimum(rows[:, upper], rows[:, upper + stride])
        rows[:, upper], rows[:, upper + stride] = high, low
    return int((rows[:, :-1] < rows[:, 1:]).any(axis=1).sum())


@pytest.mark.parametrize("first", LENGTHS)
def test_every_zero_one_input_is_merged(first: int) -> None:
    """By the zero-one principle, a network that merges these merges everything."""
    for second in LENGTHS:
        assert unsorted_rows(layers(first, second), zero_one_inputs(first, second)) == 0


def test_a_network_without_one_comparator_is_caught() -> None:
    """The positive control of the test above: no comparator of 13 + 20 can be left out unnoticed."""
    network = layers(13, 20)
    inputs = zero_one_inputs(13, 20)
    for number, (upper, stride) in enumerate(network):
        for missing in range(len(upper)):
            broken = [*network[:number], (np.delete(upper, missing), stride), *network[number + 1 :]]
            assert unsorted_rows(broken, inputs) > 0


def test_comparators_of_a_layer_are_disjoint() -> None:
    for first, second in [(64, 64), (13, 50), (1, 64), (64, 1), (33, 31)]:
        for upper, stride in layers(first, second):
            touched = np.concatenate([upper, upper + stride])
            assert len(np.unique(touched)) == len(touched)


def test_eight_lists_of_a_thousand_take_133063_comparators_in_36_layers() -> None:
    """11 + 12 + 13 layers, since merges that do not depend on each other run together."""
    depth, total = [], 0
    for size, merges in ((1000, 4), (2000, 2), (4000, 1)):
        network = layers(size, size)
        depth.append(len(network))
        total += merges * sum(len(upper) for upper, _ in network)
    assert depth == [11, 12, 13]
    assert total == 133_063


def test_strides_are_those_with_a_comparator() -> None:
    for first, second in itertools.product(range(1, 40), repeat=2):
        half = 1 << max(first - 1, second - 1).bit_length()
        start, stop = half - first, half + second
        powers = [1 << k for k in reversed(range(half.bit_length()))]
        expected = [s for s in powers if len(comparators(half, s, start, stop))]
        assert list(strides(half, start, stop)) == expected


# Bit planes: wires are lanes of words. In the clear a record is one component of planes.


def lanes_of(keys: list[int], bits: int = 10) -> PlaneRecords:
    """Records whose label follows from the key, with no mask at all."""
    numbers = np.array(keys, dtype=np.uint64)
    labels = np.array([label_of(key) for key in keys], dtype=np.uint64)
    planes = np.concatenate([slice_numbers(numbers, bits), slice_numbers(labels, 1)])
    data = np.stack([planes, np.zeros_like(planes)])
    return PlaneRecords(Planes(Holder.PROXY_0, data, len(keys)))


def label_of(key: int) -> int:
    """First bit xor last bit: 0 for the keys of all zeros and all ones that pad a list."""
    return (key ^ key >> 9) & 1


def numbers_of(records: PlaneRecords) -> list[int]:
    bits = unpack_lanes(records.bits.data[0], len(records)).astype(int)
    numbers = [int("".join(map(str, column)), 2) for column in bits[:-1].T]
    assert bits[-1].tolist() == [label_of(number) for number in numbers], "a label left its key"
    return numbers


def exchanged(left: PlaneRecords, right: PlaneRecords) -> tuple[PlaneRecords, PlaneRecords]:
    pairs = list(zip(numbers_of(left), numbers_of(right), strict=True))
    return lanes_of([max(pair) for pair in pairs]), lanes_of([min(pair) for pair in pairs])


def merged_on_planes(first: list[int], second: list[int]) -> list[int]:
    merge = merge_network(lanes_of(first), lanes_of(second))
    answer = None
    while True:
        try:
            request = merge.send(answer)
        except StopIteration as stop:
            return numbers_of(stop.value)
        assert isinstance(request, Exchange)
        assert isinstance(request.left, PlaneRecords)
        assert isinstance(request.right, PlaneRecords)
        answer = exchanged(request.left, request.right)


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


def lanes_compared(first: int, second: int) -> list[set[tuple[int, int]]]:
    """Per layer of the planes' wires, which records meet; they are numbered from 1, by where they start."""
    wires = lanes_of(list(range(1, first + 1))).wires(lanes_of(list(range(first + 1, first + second + 1))))
    pads = {0, (1 << 10) - 1}
    met = []
    for stride in wires.strides():
        left, right = wires.pairs(stride)
        pairs = zip(numbers_of(left), numbers_of(right), strict=True)
        met.append({pair for pair in pairs if not pads & set(pair)})
        wires.put(stride, left, right)
    assert numbers_of(wires.merged()) == list(range(1, first + second + 1)), "a record was lost or moved"
    return met


@pytest.mark.parametrize("first", [*range(1, 65, 7), 64, 65, 129, 200])
def test_planes_compare_what_arrays_compare(first: int) -> None:
    """So what is proved for arrays holds for planes."""
    for second in (1, 2, 7, 31, 32, 33, 63, 64, 65, 130, 191):
        expected = [{(int(j) + 1, int(j) + 1 + s) for j in upper} for upper, s in layers(first, second)]
        assert lanes_compared(first, second) == expected


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 1023), max_size=150), st.lists(st.integers(0, 1023), max_size=150))
def test_planes_of_any_lengths_are_merged(one: list[int], other: list[int]) -> None:
    one, other = sorted(one, reverse=True), sorted(other, reverse=True)
    if one or other:
        assert merged_on_planes(one, other) == sorted(one + other, reverse=True)
