"""The merge network on arrays: right for every pair of lengths. Bit planes follow it, see `bitsliced`."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ppaurora.sharing import BitShare, RingShare
from ppaurora.suites.arrays import ArrayRecords, ArrayWires
from ppaurora.suites.cleartext import CLEARTEXT
from ppaurora.suites.network import comparators, strides

LENGTHS = range(65)


def layers(first: int, second: int) -> list[tuple[np.ndarray, int]]:
    """The network that the wires really run, as (upper wires, stride)."""
    wires = _wires(np.zeros(first), np.zeros(second))
    return [(wires._left(stride), stride) for stride in wires.strides()]


def _wires(first: np.ndarray, second: np.ndarray) -> ArrayWires:
    one, other = (
        ArrayRecords(
            RingShare(CLEARTEXT, keys.astype(np.uint64)),
            BitShare(CLEARTEXT, np.zeros(len(keys), dtype=np.uint8)),
        )
        for keys in (first, second)
    )
    return one.wires(other)


def zero_one_inputs(first: int, second: int) -> np.ndarray:
    """Return all pairs of descending lists of zeros and ones: a row per wire, eight pairs to a byte."""
    one, other = (np.arange(size)[:, np.newaxis] < np.arange(size + 1) for size in (first, second))
    pairs = np.concatenate([np.repeat(one, second + 1, axis=1), np.tile(other, first + 1)])
    return np.packbits(pairs, axis=1)


def sorts(network: list[tuple[np.ndarray, int]], inputs: np.ndarray) -> bool:
    """Return whether all inputs leave the network in descending order; of two bits, `|` is the larger one."""
    wires = inputs.copy()
    for upper, stride in network:
        one, other = wires[upper], wires[upper + stride]
        wires[upper], wires[upper + stride] = one | other, one & other
    return not np.any(~wires[:-1] & wires[1:])


@pytest.mark.parametrize("first", LENGTHS)
def test_every_zero_one_input_is_merged(first: int) -> None:
    """By the zero-one principle, a network that merges these merges everything."""
    for second in LENGTHS:
        assert sorts(layers(first, second), zero_one_inputs(first, second)), second


def test_a_network_without_one_comparator_is_caught() -> None:
    """The positive control of the test above: no comparator of 13 + 20 can be left out unnoticed."""
    network = layers(13, 20)
    inputs = zero_one_inputs(13, 20)
    for number, (upper, stride) in enumerate(network):
        for missing in range(len(upper)):
            broken = [*network[:number], (np.delete(upper, missing), stride), *network[number + 1 :]]
            assert not sorts(broken, inputs)


def test_the_inputs_are_all_that_there_are() -> None:
    pairs = np.unpackbits(zero_one_inputs(2, 1), axis=1, count=6).T.tolist()
    assert pairs == [[0, 0, 0], [0, 0, 1], [1, 0, 0], [1, 0, 1], [1, 1, 0], [1, 1, 1]]


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
