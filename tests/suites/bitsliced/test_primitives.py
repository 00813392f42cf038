"""The primitives of `bitsliced` compute what they say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppaurora.channel.meter import Cost
from ppaurora.sharing.spans import spans
from ppaurora.suites.bitsliced import BitslicedSuite
from ppaurora.suites.bitsliced.division import bits_per_step
from ppaurora.suites.bitsliced.records import PlaneRecords
from ppaurora.testing.world import WorldRun
from tests.support.bitsliced import cost_of, masked, unsorted_planes, word_array, words


@settings(max_examples=20, deadline=None)
@given(pairs=st.lists(st.tuples(words, words), min_size=1, max_size=20))
def test_product_and_dot_product(pairs: list[tuple[int, int]]) -> None:
    x, y = (word_array(list(column)) for column in zip(*pairs, strict=True))
    products = [a * b % 2**64 for a, b in pairs]
    assert masked(lambda s, a, b: s.mul(a, b), x, y).value.tolist() == products
    assert masked(lambda s, a, b: s.dot(a, b), x, y).value.tolist() == [sum(products) % 2**64]


def test_linear_operations_and_public_values() -> None:
    x, y = word_array([5, 6, 7]), word_array([1, 2, 2**64 - 1])
    run = masked(
        lambda s, a, b: [3 - a, a * 5 + b, a + np.arange(3), a.cumsum(), b.sum(), s.constant(9, 2)], x, y
    )
    results = [part.tolist() for part in run.value]
    minus = [(3 - v) % 2**64 for v in (5, 6, 7)]
    assert results == [minus, [26, 32, 34], [5, 7, 9], [5, 11, 18], [2], [9, 9]]
    assert cost_of(lambda s, a, b: [3 - a, a * 5 + b, a.cumsum()], x, y) == Cost()


@settings(max_examples=20, deadline=None)
@given(values=st.lists(words, min_size=1, max_size=150))
def test_sign_and_its_bit_in_the_ring(values: list[int]) -> None:
    x = word_array(values)
    assert masked(lambda s, a: s.negative(a), x).value[0].tolist() == [v >> 63 for v in values]
    assert masked(lambda s, a: s.to_ring(s.negative(a)), x).value.tolist() == [v >> 63 for v in values]


def test_is_positive() -> None:
    values = [0, 1, 2, 2**61, 2**64 - 1, 2**64 - 2**61]
    assert masked(lambda s, a: s.is_positive(a), word_array(values)).value.tolist() == [0, 1, 1, 1, 0, 0]


@settings(max_examples=20, deadline=None)
@given(pairs=st.lists(st.tuples(words, words), min_size=1, max_size=130))
def test_compare_and_differ(pairs: list[tuple[int, int]]) -> None:
    pairs += [(a, a) for a, _ in pairs[:5]] + [(a, a ^ 1) for a, _ in pairs[:5]]
    x, y = (list(column) for column in zip(*pairs, strict=True))
    compared = unsorted_planes(lambda s, lists: s.compare(lists[0].keys, lists[1].keys), x, y)
    assert compared.value[0].tolist() == [int(a >= b) for a, b in pairs]
    differing = unsorted_planes(lambda s, lists: s.differ(lists[0].keys, lists[1].keys), x, y)
    assert differing.value[0].tolist() == [int(a != b) for a, b in pairs]


@pytest.mark.parametrize("key_bits", [1, 2, 3, 5, 32, 33, 63, 64])
def test_exchange_moves_labels_with_keys_at_every_width(key_bits: int) -> None:
    random = np.random.default_rng(key_bits)
    x, y = (random.integers(0, 1 << key_bits, 200, dtype=np.uint64).tolist() for _ in range(2))

    def algorithm(suite: BitslicedSuite, lists: Sequence[PlaneRecords]) -> list[Any]:
        high, low = suite.exchange(*lists)
        return [high.bits, low.bits]

    high, low = unsorted_planes(algorithm, x, y, key_bits=key_bits).value
    for planes, pick in ((high, max), (low, min)):
        keys = [int("".join(map(str, column)), 2) for column in planes[:-1].T]
        assert keys == [pick(pair) for pair in zip(x, y, strict=True)]
        assert planes[-1].tolist() == [key & 1 for key in keys]


def test_count_ones() -> None:
    flags = [1] * 200 + [1] * 63 + [0, 0, 1] + [1] * 64 + [0] + [1] * 300
    lengths = [200, 64, 1, 1, 0, 365]

    def algorithm(suite: BitslicedSuite, lists: Sequence[PlaneRecords]) -> Any:
        return suite.count_ones(lists[0].keys, spans(lengths))

    assert unsorted_planes(algorithm, flags, key_bits=1).value.tolist() == [200, 63, 0, 1, 0, 364]


quotients = st.integers(1, 2**40).flatmap(lambda d: st.tuples(st.integers(0, d), st.just(d)))


@settings(max_examples=8, deadline=None)
@given(
    pairs=st.lists(quotients, min_size=1, max_size=6),
    bits=st.sampled_from([1, 13, 50]),
    spare=st.integers(0, 19),
)
def test_div(pairs: list[tuple[int, int]], bits: int, spare: int) -> None:
    n, d = (word_array(list(column)) for column in zip(*pairs, strict=True))
    bound = 2**40 << spare
    result = masked(lambda s, a, b: s.div(a, b, bits, bound), n, d)
    assert result.value.tolist() == [(a << bits) // b for a, b in pairs]


def test_div_edges() -> None:
    bound = 2**59
    n, d = word_array([0, 0, bound, 1, bound - 1]), word_array([0, 5, bound, bound, bound])
    expected = [2**31 - 1, 0, 2**30, (1 << 30) // bound, ((bound - 1) << 30) // bound]
    assert masked(lambda s, a, b: s.div(a, b, 30, bound), n, d).value.tolist() == expected


def test_a_step_never_overflows() -> None:
    for exponent in range(1, 61):
        bound = 2**exponent
        assert (2 * bound) << bits_per_step(bound) <= 2**63


def rounded(run: WorldRun) -> list[float]:
    return [math.ldexp(int(m), -int(e)) for m, e in zip(*run.value, strict=True)]


@settings(max_examples=6, deadline=None)
@given(pairs=st.lists(quotients, min_size=1, max_size=40))
def test_the_quotient_is_rounded_like_a_float64(pairs: list[tuple[int, int]]) -> None:
    pairs += [(0, 7), (7, 7), (1, 2**40), (2**40 - 1, 2**40), (1, 3), (2**39, 2**40)]
    n, d = (word_array(list(column)) for column in zip(*pairs, strict=True))
    run = masked(lambda s, a, b: s.rounded_quotient(a, b, 2**40, 41), n, d)
    assert rounded(run) == [float(Fraction(a, b)) for a, b in pairs]


def test_no_more_than_a_float64_is_released() -> None:
    """The mantissa has 53 bits, so the denominator of a large study cannot be read off the result."""
    n, d = word_array([123_456_789_012, 1]), word_array([1_000_000_007_003, 2**40])
    mantissa, exponent = masked(lambda s, a, b: s.rounded_quotient(a, b, 2**40, 41), n, d).value
    assert [int(m).bit_length() for m in mantissa] == [53, 53]
    assert exponent.tolist() == [56, 92]


def test_division_by_public_numbers_is_rounded_and_never_above_one() -> None:
    divisors = np.arange(1, 400, dtype=np.uint64)
    random = np.random.default_rng(3)
    for x in (divisors, divisors * 0, (divisors * random.random(len(divisors))).astype(np.uint64)):
        run = masked(lambda s, a: s.div_public(a, divisors, 33), x)
        exact = [Fraction(int(a) << 33, int(d)) for a, d in zip(x, divisors, strict=True)]
        assert all(abs(int(v) - e) <= Fraction(501, 1000) for v, e in zip(run.value, exact, strict=True))
        assert int(run.value.max()) <= 2**33
