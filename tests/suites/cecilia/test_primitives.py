"""The primitives of `cecilia`: right, and as cheap as declared."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppaurora.errors import MisuseError
from ppaurora.randomness import Stream
from ppaurora.suites.cecilia import CeciliaSuite, costs
from ppaurora.suites.cecilia.residues import MODULUS, RESIDUES, draw, pack, unpack
from tests.support.cecilia import EDGES, exchanged, run, word_array, words


@settings(max_examples=25, deadline=None)
@given(pairs=st.lists(st.tuples(words, words), min_size=1, max_size=20))
def test_mul(pairs: list[tuple[int, int]]) -> None:
    x, y = (word_array(list(column)) for column in zip(*pairs, strict=True))
    expected = [a * b % 2**64 for a, b in pairs]
    assert run(lambda s, a, b: s.mul(a, b), x, y).value.tolist() == expected


def test_mul_broadcasts() -> None:
    bits, rows = word_array([0, 1, 1]), np.arange(6, dtype=np.uint64).reshape(2, 3)
    result = run(lambda s, a, b: s.mul(a, b), bits, rows)
    assert result.value.tolist() == (bits * rows).tolist()
    assert result.cost == costs.mul((3,), (2, 3), (2, 3))


def test_mux_selects_the_second_on_one() -> None:
    x, y, b = word_array([10, 20, 2**64 - 1]), word_array([30, 40, 0]), word_array([0, 1, 1])
    assert run(lambda s, *v: s.mux(*v), x, y, b).value.tolist() == [10, 40, 0]


@settings(max_examples=25, deadline=None)
@given(values=st.lists(words, min_size=1, max_size=30))
def test_msb_and_modulus_conversion(values: list[int]) -> None:
    x = word_array(values)
    assert run(lambda s, a: s.msb(a), x).value.tolist() == [v >> 63 for v in values]
    assert run(lambda s, a: s.modulus_conversion(a), x).value.tolist() == [v % 2**63 for v in values]


def test_msb_of_many_values_near_the_edges() -> None:
    x = word_array([(edge + offset) % 2**64 for edge in EDGES for offset in range(-20, 20)])
    assert (run(lambda s, a: s.msb(a), x).value == x >> np.uint64(63)).all()


@settings(max_examples=20, deadline=None)
@given(pairs=st.lists(st.tuples(st.integers(0, 2**62), st.integers(0, 2**62)), min_size=1, max_size=20))
def test_compare(pairs: list[tuple[int, int]]) -> None:
    pairs += [(a, a) for a, _ in pairs] + [(a + 1, a) for a, _ in pairs] + [(a, a + 1) for a, _ in pairs]
    x, y = (word_array(list(column)) for column in zip(*pairs, strict=True))
    assert run(lambda s, a, b: s.compare(a, b), x, y).value.tolist() == [int(a >= b) for a, b in pairs]


def test_exchange_moves_labels_with_keys_and_leaves_ties_alone() -> None:
    k1, k2 = word_array([5, 2, 3, 3, 2**62]), word_array([4, 7, 3, 3, 0])
    l1, l2 = np.array([1, 1, 1, 0, 0], bool), np.array([0, 0, 0, 1, 1], bool)
    result = run(exchanged, k1, l1, k2, l2)
    assert [part.tolist() for part in result.value] == [
        [5, 7, 3, 3, 2**62], [1, 0, 1, 0, 0], [4, 2, 3, 3, 0], [0, 1, 0, 1, 1],
    ]  # fmt: skip
    assert result.cost == costs.exchange(5)


@settings(max_examples=8, deadline=None)
@given(
    pairs=st.lists(
        st.integers(1, 2**62 - 1).flatmap(lambda d: st.tuples(st.integers(0, d), st.just(d))),
        min_size=1,
        max_size=8,
    ),
    bits=st.sampled_from([1, 20, 50]),
)
def test_div(pairs: list[tuple[int, int]], bits: int) -> None:
    n, d = (word_array(list(column)) for column in zip(*pairs, strict=True))
    result = run(lambda s, a, b: s.div(a, b, bits, 2**62 - 1), n, d)
    assert result.value.tolist() == [(a << bits) // b for a, b in pairs]
    assert result.cost == costs.div(len(pairs), bits)


def test_div_edges() -> None:
    n, d = word_array([0, 0, 2**62 - 1, 1, 2**61]), word_array([0, 5, 2**62 - 1, 2**62 - 1, 2**62 - 1])
    expected = [2**31 - 1, 0, 2**30, (1 << 30) // (2**62 - 1), (2**61 << 30) // (2**62 - 1)]
    assert run(lambda s, a, b: s.div(a, b, 30, 2**62 - 1), n, d).value.tolist() == expected


@pytest.mark.parametrize("bits", [1, 40, 62])
def test_shift_right(bits: int) -> None:
    values = [0, 1, (1 << bits) - 1, 1 << bits, (1 << bits) + 1, 2**62, 2**63 - 1]
    result = run(lambda s, a: s.shift_right(a, bits), word_array(values))
    assert result.value.tolist() == [value >> bits for value in values]
    assert result.cost == costs.compare(len(values)) * (63 - bits)


def test_sums_of_products() -> None:
    x, y = word_array([1, 2, 3]), np.arange(6, dtype=np.uint64).reshape(2, 3)
    pairs = run(lambda s, a, b: s.begin_sums_of_products([(a, b), (b, a[:1])])(), x, y)
    assert pairs.value.tolist() == (x * y + y * x[:1]).tolist()
    squares = run(lambda s, a, b: s.begin_dot_squares([(a, a), (a[:2], b.row(0)[:2])])(), x, y)
    assert squares.value.tolist() == [int((x**3).sum() + (x[:2] * y[0, :2] ** 2).sum())]


@settings(max_examples=20, deadline=None)
@given(values=st.lists(st.tuples(words, st.integers(0, 2)), min_size=1, max_size=30))
def test_differ(values: list[tuple[int, int]]) -> None:
    x = word_array([v for v, _ in values])
    y = word_array([(v + gap) % 2**64 for v, gap in values])
    result = run(lambda s, a, b: s.differ(a, b), x, y)
    assert result.value.tolist() == [int(gap > 0) for _, gap in values]
    assert result.cost == costs.differ(len(values))


def test_to_ring() -> None:
    bits = np.array([0, 1, 1, 0, 1, 0, 0, 0, 1, 1], bool)
    result = run(lambda s, b: s.to_ring(b), bits)
    assert result.value.tolist() == bits.astype(int).tolist()
    assert result.cost == costs.to_ring(10)


@pytest.mark.parametrize("count", [1, 2, 3, 12, 13, 100])
def test_declared_costs_are_what_the_meter_sees(count: int) -> None:
    x = np.arange(count, dtype=np.uint64)
    bits = np.ones(count, bool)
    assert run(lambda s, a: s.mul(a, a), x).cost == costs.mul((count,), (count,), (count,))
    assert run(lambda s, a: s.msb(a), x).cost == costs.compare(count)
    assert run(lambda s, a: s.modulus_conversion(a), x).cost == costs.compare(count)
    assert run(lambda s, a: s.compare(a, a), x).cost == costs.compare(count)
    assert run(exchanged, x, bits, x, bits).cost == costs.exchange(count)
    assert run(lambda s, a: s.div(a, a, 4, 1 << 20), x).cost == costs.div(count, 4)
    assert run(lambda s, a: s.open_comparison(a, a, "test"), x).cost == costs.open_comparison(count)
    assert run(lambda s: s.tell_helper([7] * count, [7] * count)).cost == costs.tell_helper(count)


def test_an_exchange_stays_below_its_bytes() -> None:
    """What the traffic of the whole merge rests on: 3 rounds and 139.1 bytes for a pair of records."""
    cost = costs.exchange(100_000)
    assert cost.rounds == 3
    assert cost.bytes / 100_000 < 139.1


def test_an_opening_is_counted_and_known_to_the_proxies_alone() -> None:
    x, y = word_array([3, 4, 5]), word_array([4, 4, 4])
    result = run(lambda s, a, b: s.open_comparison(a, b, "a name"), x, y)
    assert [opened.tolist() for opened in result.results] == [[False, True, True]] * 2 + [[False] * 3]
    assert [context.openings for context in result.contexts] == [{"a name": 3}, {"a name": 3}, {}]


def test_residues_are_packed_exactly() -> None:
    for count in (0, 1, 11, 12, 13, 1000):
        residues = draw(Stream.fresh(), MODULUS, (count,))
        assert unpack(pack(residues), MODULUS, count).tolist() == residues.tolist()
        assert len(RESIDUES.to_wire(residues)) == RESIDUES.wire_bytes(count)
    everything = np.arange(MODULUS, dtype=np.uint8)
    for shift in range(MODULUS):
        other = np.roll(everything, shift)
        assert (RESIDUES.add(everything, other) == (everything.astype(int) + other) % MODULUS).all()
        assert (RESIDUES.sub(everything, other) == (everything.astype(int) - other) % MODULUS).all()


def test_tables_are_refused() -> None:
    def algorithm(suite: CeciliaSuite) -> None:
        with pytest.raises(MisuseError, match="CeciliaSuite has no counts modulo 2"):
            suite.input_counts([], (1, 5))

    run(algorithm)
