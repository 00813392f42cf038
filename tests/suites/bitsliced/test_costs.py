"""The primitives of `bitsliced` cost what they declare, in chunks of any size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from ppaurora.channel.meter import Cost
from ppaurora.sharing.algebra import WIDE
from ppaurora.sharing.spans import spans
from ppaurora.suites.bitsliced import BitslicedSuite, costs, trees
from ppaurora.suites.bitsliced.records import PlaneRecords, in_batches
from ppaurora.suites.bitsliced.shares import HOLDERS, MaskedShare
from ppaurora.suites.role import Role
from tests.support.bitsliced import cost_of, unsorted_planes, word_array
from tests.support.wide import wide_array

each_count = pytest.mark.parametrize("count", [1, 3, 64, 65, 700])


def planes_cost(algorithm: Callable[..., Any], *lists: list[int], key_bits: int) -> Cost:
    """Without the input of the lists."""
    whole = unsorted_planes(algorithm, *lists, key_bits=key_bits).cost
    inputs = costs.inputs(key_bits, [len(keys) for keys in lists])
    return Cost(whole.messages - inputs.messages, whole.bytes - inputs.bytes, whole.rounds - inputs.rounds)


@pytest.mark.usefixtures("chunks")
@each_count
def test_declared_costs_on_numbers(count: int) -> None:
    x = np.arange(count, dtype=np.uint64)
    assert cost_of(lambda s, a: s.mul(a, a), x) == costs.mul(count)
    assert cost_of(lambda s, a: s.dot(a, a), x) == costs.dot()
    assert cost_of(lambda s, a: s.begin_dot([(a, a), (a[:1], a[:1])])(), x) == costs.dot()
    assert cost_of(lambda s, a: s.negative(a), x) == costs.negative(count)
    assert cost_of(lambda s, a: s.is_positive(a), x) == costs.is_positive(count)
    assert cost_of(lambda s, a: s.to_ring(s.negative(a)), x) == costs.negative(count) + costs.to_ring(count)
    for bits in (31, 33):
        divided = cost_of(lambda s, a, b=bits: s.div_public(a, range(1, count + 1), b), x)
        assert divided == costs.div_public(count, bits)


@pytest.mark.usefixtures("chunks")
@each_count
def test_declared_costs_of_random_bits(count: int) -> None:
    cost = cost_of(lambda s, a: s.random_bits(np.arange(count, dtype=np.uint64)), word_array([0]))
    assert cost == costs.random_bits(count)
    assert cost.rounds == 3


def test_no_bits_cost_nothing() -> None:
    cost = cost_of(lambda s, a: s.random_bits(word_array([])), word_array([0]))
    assert cost == costs.random_bits(0) == Cost()


@pytest.mark.parametrize("owners", [1, 5])
@pytest.mark.parametrize("words", [1, 70])
def test_declared_costs_of_what_owners_summed_up(owners: int, words: int) -> None:
    def input_sums(suite: BitslicedSuite) -> MaskedShare:
        parts = [] if suite.holder is HOLDERS[Role.HELPER] else [np.zeros(words, dtype=np.uint64)] * owners
        return suite.input_words(parts, (owners, words))

    assert cost_of(input_sums) == costs.input_words(owners * words)


@pytest.mark.usefixtures("chunks")
@pytest.mark.parametrize("owners", [1, 5])
@each_count
def test_declared_costs_of_what_owners_counted(owners: int, count: int) -> None:
    def input_counts(suite: BitslicedSuite) -> MaskedShare:
        parts = [] if suite.holder is HOLDERS[Role.HELPER] else [np.zeros(count, dtype=np.uint32)] * owners
        return suite.input_counts(parts, (owners, count))

    assert cost_of(input_counts) == costs.input_counts(owners, count)


def test_counts_take_five_rounds_and_51_bytes_each() -> None:
    cost = costs.input_counts(8, 20_002)
    assert cost.rounds == 5
    assert cost.bytes < 51 * 8 * 20_002


@pytest.mark.usefixtures("chunks")
@pytest.mark.parametrize("bits", [1, 2, 3, 15, 62])
@each_count
def test_declared_costs_of_dropping_bits(count: int, bits: int) -> None:
    shifted = cost_of(lambda s, a: s.shift_right(a, bits), np.arange(count, dtype=np.uint64))
    assert shifted == costs.shift_right(count, bits)


@pytest.mark.parametrize("pairs", [1, 2, 50])
@pytest.mark.parametrize("shape", [(1,), (7,), (3, 1, 20)])
def test_sums_of_products_cost_the_same_however_many_products(shape: tuple[int, ...], pairs: int) -> None:
    x = np.zeros(shape, dtype=np.uint64)
    cost = cost_of(lambda s, a: s.begin_sums_of_products([(a, a)] * pairs)(), x)
    assert cost == costs.sums_of_products(x.size)
    assert cost.rounds == 1


@pytest.mark.usefixtures("chunks")
@pytest.mark.parametrize(("count", "bound"), [(1, 2**30), (3, 2**52), (65, 2**58), (300, 77)])
def test_declared_costs_of_divisions(count: int, bound: int) -> None:
    x = np.arange(count, dtype=np.uint64)
    shifts = [place % 4 for place in range(count)]
    assert cost_of(lambda s, a: s.div(a, a, 20, bound), x) == costs.div(count, 20, bound)
    rounded = cost_of(lambda s, a: s.rounded_quotients(a, a, shifts, bound, 20), x)
    assert rounded == costs.rounded_quotients(count, bound, 20)


def test_many_divisions_take_more_rounds_and_fewer_bytes() -> None:
    """What the precision at 10,001 places rests on, of counts up to 2^30; and that at a thousand."""
    few, some, many = (costs.div(count, 31, 2**30) for count in (1, 1001, 10_001))
    assert (few.rounds, some.rounds, many.rounds) == (16, 44, 44)
    assert few.bytes < 100_000
    assert some.bytes < 2400 * 1001
    assert many.bytes < 2400 * 10_001


@pytest.mark.usefixtures("chunks")
@pytest.mark.parametrize("count", [1, 3, 65])
def test_declared_costs_on_wide_numbers(count: int) -> None:
    x, wide = np.arange(count, dtype=np.uint64), wide_array(range(count))
    assert cost_of(lambda s, a: s.widen(a), x) == costs.widen(count)
    assert cost_of(lambda s, a: s.mul(a, a), wide) == costs.mul(count, WIDE)
    assert cost_of(lambda s, a: s.negative(a), wide) == costs.negative(count, 256)
    assert cost_of(lambda s, a: s.absolute(a), wide) == costs.absolute(count)
    for most in (1, 40, 600):
        gridded = cost_of(lambda s, a, m=most: s.grid_steps(a, a, a, m), wide)
        assert gridded == costs.grid_steps(count, most)


@pytest.mark.parametrize(
    ("most", "bound"), [(511, 2**254), (10**4, 10**9), (10**4, 2**62), (2**18 - 1, 1), (10**6, 2**100 + 1)]
)
def test_declared_costs_of_grids(most: int, bound: int) -> None:
    cost = cost_of(lambda s, a: s.grid_steps(a, a, a, most, bound), wide_array([5, 6]))
    assert cost == costs.grid_steps(2, most, bound)


def test_a_grid_takes_five_rounds_per_digit() -> None:
    assert [costs.grid_steps(30, 10**digits).rounds for digits in (2, 4, 5, 6, 9)] == [5, 10, 10, 15, 20]
    # A smaller bound is cheaper: three rounds of four for numbers that would fit into a word.
    assert [costs.grid_steps(30, 10**4, 2**bits).rounds for bits in (62, 63, 254)] == [8, 10, 10]
    # What a release of 30 numbers with four digits rests on.
    assert costs.grid_steps(30, 10**4).bytes < 3e6


@pytest.mark.parametrize(("leading_zeros", "significant_bits"), [(0, 1), (20, 24), (40, 53)])
def test_declared_costs_of_wide_quotients(leading_zeros: int, significant_bits: int) -> None:
    cost = cost_of(lambda s, a: s.wide_quotients(a, a, leading_zeros, significant_bits), wide_array([5, 6]))
    assert cost == costs.wide_quotients(2, leading_zeros, significant_bits)


@pytest.mark.usefixtures("chunks")
@pytest.mark.parametrize("sizes", [[], [0, 0], [1], [0, 2, 5], [4] * 70, [16, 17, 65], [1] * 300], ids=str)
def test_declared_costs_of_groups(sizes: list[int]) -> None:
    groups = [list(range(size)) for size in sizes]
    cost = cost_of(lambda s, a: s.all_positive(a, groups), np.arange(65, dtype=np.uint64))
    assert cost == costs.all_positive(65, sizes)


@pytest.mark.parametrize("lengths", [[], [0], [1], [700], [64, 0, 300]], ids=str)
def test_declared_costs_of_sums_with_squares(lengths: list[int]) -> None:
    def algorithm(s: BitslicedSuite, a: Any) -> Any:
        return s.begin_dot_squares((a[place], a[place]) for place in spans(lengths))()

    cost = cost_of(algorithm, np.arange(700, dtype=np.uint64))
    assert cost == costs.dot_squares(lengths)
    assert cost.rounds == 1


def test_products_that_are_begun_together_share_a_round() -> None:
    def together(s: BitslicedSuite, a: Any) -> list[Any]:
        begun = [s.begin_mul(a, a), s.begin_dot([(a, a)]), s.begin_mul(a, a)]
        begun.append(s.begin_sums_of_products([(a, a), (a, a)]))
        return [finish() for finish in begun]

    cost = cost_of(together, np.arange(10, dtype=np.uint64))
    assert cost.rounds == 1
    apart = costs.mul(10) * 2 + costs.dot() + costs.sums_of_products(10)
    assert (cost.messages, cost.bytes) == (apart.messages, apart.bytes)


@pytest.mark.usefixtures("chunks")
@each_count
def test_declared_costs_on_planes(count: int) -> None:
    check_planes(count, 32)


@pytest.mark.parametrize("key_bits", [1, 2, 3, 4, 5, 6, 9, 10, 11, 28, 64])
def test_declared_costs_at_every_width(key_bits: int) -> None:
    """So that levels have nodes and a rest of one or two, or the one without the other."""
    check_planes(65, key_bits)


def check_planes(count: int, key_bits: int) -> None:
    keys = [key % (1 << key_bits) for key in range(count)]

    def cost(algorithm: Callable[..., Any]) -> Cost:
        return planes_cost(algorithm, keys, keys, key_bits=key_bits)

    assert cost(lambda s, lists: None) == Cost()
    assert cost(lambda s, lists: s.compare(*(one.keys for one in lists))) == costs.compare(key_bits, count)
    assert cost(lambda s, lists: s.differ(*(one.keys for one in lists))) == costs.differ(key_bits, count)
    assert cost(lambda s, lists: s.exchange(*lists) and None) == costs.exchange(key_bits, -(-count // 64))
    assert cost(lambda s, lists: s.to_ring(lists[0].labels)) == costs.to_ring(count)
    ends = cost(lambda s, lists: s.ends_of_groups(lists[0].keys))
    assert ends == costs.ends_of_groups(key_bits, count)


@pytest.mark.usefixtures("chunks")
@pytest.mark.parametrize("lengths", [[1], [0, 1, 2], [64, 65], [700, 3, 64], [5, 5, 5, 5, 5]])
def test_declared_costs_over_lists(lengths: list[int]) -> None:
    lists = [[1] * length for length in lengths]
    assert planes_cost(lambda suite, records: None, *lists, key_bits=3) == Cost()
    halves = spans([lengths[0] // 2, lengths[0] - lengths[0] // 2])
    counted = planes_cost(
        lambda suite, records: suite.count_ones(records[0].labels, halves), *lists, key_bits=1
    )
    assert counted == costs.count_ones(lengths[0], 2)
    for key_bits in (1, 7, 64):
        compared = planes_cost(
            lambda suite, records: suite.compare_neighbours([one.keys for one in records]),
            *lists,
            key_bits=key_bits,
        )
        assert compared == costs.compare_neighbours(key_bits, lengths)


@pytest.mark.usefixtures("chunks")
@pytest.mark.parametrize("join", [True, False])
@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize(
    ("source", "target"),
    [(slice(0, 1), slice(1, 2)), (slice(0, 350), slice(350, 700)), (slice(1, 699, 4), slice(3, None, 4))],
)
def test_declared_costs_of_carrying(source: slice, target: slice, rows: int, join: bool) -> None:
    moved = len(range(701)[target])

    def carried(s: BitslicedSuite, lists: Sequence[PlaneRecords]) -> None:
        s.carry(s.flags_from_start(lists[0].labels), s.blank(rows, 701), source, target, join=join)

    assert planes_cost(carried, [1] * 700, key_bits=1) == costs.carry(rows, moved, join=join)


@pytest.mark.usefixtures("chunks")
@pytest.mark.parametrize("sizes", [[(1, 1)], [(700, 300)], [(200, 130), (70, 64), (5, 700)]], ids=str)
def test_declared_costs_of_layers(sizes: list[tuple[int, int]]) -> None:
    """Whole merges side by side; a layer is declared by the batches of words that it is made of."""
    lists = [[0] * size for pair in sizes for size in pair]
    declared: list[Cost] = []

    def layers(s: BitslicedSuite, records: Sequence[PlaneRecords]) -> None:
        merges = [one.wires(other) for one, other in zip(records[::2], records[1::2], strict=True)]
        strides = [list(wires.strides()) for wires in merges]
        for number in range(max(map(len, strides))):
            layer = [
                (wires, own[number]) for wires, own in zip(merges, strides, strict=True) if number < len(own)
            ]
            places = (place for wires, stride in layer for place in wires.places(stride))
            words = [sum(place.words for place in batch) for batch in in_batches(places)]
            assert max(words) <= trees.CHUNK_WORDS
            if s.holder is HOLDERS[Role.HELPER]:
                declared.append(costs.exchange_layer(9, words))
            s.exchange_layer(layer)

    assert planes_cost(layers, *lists, key_bits=9) == sum(declared, Cost())


def test_an_exchange_stays_below_its_bytes() -> None:
    """What the traffic of the whole merge rests on: 5 rounds and 69.1 bytes for a pair of records."""
    words_each = 2048
    cost = costs.exchange(64, words_each)
    assert cost.rounds == 5
    assert cost.bytes / (64 * words_each) < 69.2


def test_a_wrong_declaration_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The positive control: one word less from the helper, in one kind of node."""
    honest = costs._choice
    monkeypatch.setattr(costs, "_choice", lambda children, **kind: honest(children, **kind) - (children == 2))
    with pytest.raises(AssertionError):
        check_planes(3, 5)
