"""Wide integers and what rounds with them, by three parties and in the clear, against Python's integers."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppaurora.errors import MisuseError
from ppaurora.protocols import Paper
from ppaurora.sharing import WideShare, concat, stack
from ppaurora.suites.base import Suite
from ppaurora.suites.bitsliced.shares import MaskedShare, MaskedWideShare
from ppaurora.suites.bitsliced.wide import grid_digits
from ppaurora.suites.cecilia.shares import HOLDERS
from ppaurora.suites.role import Role
from ppaurora.testing import World
from tests.support.bitsliced import masked, word_array, words
from tests.support.wide import MODULUS, both_ways, in_the_clear, numbers, signed, wide_array

EDGES = [0, 1, -1, 2**63, 2**64 - 1, 2**64, 2**253, -(2**253), 2**254 - 1, 1 - 2**254]


@settings(max_examples=15, deadline=None)
@given(pairs=st.lists(st.tuples(numbers, numbers), min_size=1, max_size=20), public=numbers)
def test_linear_operations_and_products(pairs: list[tuple[int, int]], public: int) -> None:
    x, y = (list(column) for column in zip(*pairs, strict=True))

    def algorithm(s: Suite, a: Any, b: Any) -> list[Any]:
        each = np.array([*range(len(a))], dtype=object) * 2**200
        return [
            a + b,
            a - b,
            a * public,
            public - a,
            public + a * each,
            np.arange(len(a)) - b,
            s.mul(a, b),
            s.begin_mul(stack([a, b]), b)(),
            a.sum(),
            a.cumsum(),
            concat([a, b])[1:],
            stack([a, b]).row(1)[-1],
        ]

    numbered = list(enumerate(pairs))
    expected: list[Any] = [
        [a + b for a, b in pairs],
        [a - b for a, b in pairs],
        [a * public for a in x],
        [public - a for a in x],
        [public + a * k * 2**200 for k, (a, _) in numbered],
        [k - b for k, (_, b) in numbered],
        [a * b for a, b in pairs],
        [[a * b for a, b in pairs], [b * b for b in y]],
        [sum(x)],
        [sum(x[: k + 1]) for k in range(len(x))],
        (x + y)[1:],
        y[-1:],
    ]

    def reduced(values: Any) -> Any:
        return [reduced(value) for value in values] if isinstance(values, list) else values % MODULUS

    assert both_ways(algorithm, wide_array(x), wide_array(y)) == reduced(expected)


@settings(max_examples=10, deadline=None)
@given(values=st.lists(words, min_size=1, max_size=150))
def test_words_are_widened_unsigned(values: list[int]) -> None:
    values += [0, 1, 2**63, 2**64 - 1]
    assert both_ways(lambda s, a: s.widen(a), word_array(values)) == values


def test_many_equal_words_are_widened() -> None:
    """Masks are random, so that both outcomes of every comparison occur."""
    for value in (0, 1, 2**63, 2**64 - 1):
        assert both_ways(lambda s, a: s.widen(a), word_array([value] * 200)) == [value] * 200


@settings(max_examples=10, deadline=None)
@given(values=st.lists(numbers.filter(lambda x: abs(x) < 2**254), min_size=1, max_size=70))
def test_signs_and_absolute_values(values: list[int]) -> None:
    values += EDGES
    flags, magnitudes = both_ways(lambda s, a: list(s.absolute(a)), wide_array(values))
    assert flags == [int(value < 0) for value in values]
    assert magnitudes == [abs(value) for value in values]


def test_rows_stay_rows() -> None:
    rows = [[1, -2, 3], [-(2**200), 2**200, 0]]

    def algorithm(s: Suite, a: Any) -> list[Any]:
        flags, magnitudes = s.absolute(stack([a[:3], a[3:]]))
        return [flags, magnitudes, s.widen(flags)]

    flags, magnitudes, widened = both_ways(algorithm, wide_array(rows[0] + rows[1]))
    assert flags == widened == [[0, 1, 0], [1, 0, 0]]
    assert magnitudes == [[abs(value) for value in row] for row in rows]


@pytest.mark.parametrize(
    "most", [1, 2, 7, 511, 512, 10**4, 10**5, 2**18 - 1, 2**18, 10**6, 2**27, 10**9, 2**53]
)
def test_digits_of_a_grid_reach_every_step(most: int) -> None:
    digits = list(grid_digits(most))
    assert sum(place * steps for place, steps in digits) == most
    assert digits[-1][0] == 1
    left = most
    for place, steps in digits:
        left -= place * steps
        assert left >= place - 1, "a number between two steps would be missed"
        assert 1 <= steps < 1100
    assert len(digits) == max(-(-most.bit_length() // 9), 1)


def test_a_grid_without_a_step_is_refused() -> None:
    with pytest.raises(MisuseError, match="at least one step"):
        list(grid_digits(0))


def nearest(fraction: Fraction) -> int:
    """Half away from zero, of what is not negative."""
    return math.floor(fraction + Fraction(1, 2))


def nearest_root(fraction: Fraction) -> int:
    """The nearest integer to the square root, half up: the number of k with (2k - 1)² <= 4·fraction."""
    return (math.isqrt(math.floor(4 * fraction)) + 1) // 2


def rounded(s: Suite, n: Any, d: Any, scale: int, most: int) -> Any:
    return s.grid_steps(n * (2 * scale) + d, d * 2, d * 0, most)


def rounded_root(s: Suite, n: Any, d: Any, scale: int, most: int) -> Any:
    return s.grid_steps(n * (4 * scale**2) - d, d * -4, d * 4, most)


@settings(max_examples=6, deadline=None)
@given(
    fractions=st.lists(
        st.integers(1, 2**180).flatmap(lambda d: st.tuples(st.integers(0, d), st.just(d))), max_size=4
    ),
    scale=st.sampled_from([1, 10, 100, 1000, 10**4, 10**6]),
)
def test_numbers_are_rounded_to_a_grid(fractions: list[tuple[int, int]], scale: int) -> None:
    fractions += [(0, 1), (1, 1), (2**180, 2**180), (1, 2**180), (2**180 - 1, 2**180), (1, 3)]
    for k in {0, 1, scale // 2, scale - 1}:  # exactly halfway, and next to it
        fractions += [((2 * k + 1) * 2**150 + by, scale * 2**151) for by in (-1, 0, 1)]
    n, d = (wide_array(column) for column in zip(*fractions, strict=True))
    found = both_ways(lambda s, a, b: rounded(s, a, b, scale, scale), n, d)
    assert found == [min(nearest(scale * Fraction(a, b)), scale) for a, b in fractions]


@settings(max_examples=5, deadline=None)
@given(
    fractions=st.lists(
        st.integers(1, 2**170).flatmap(lambda d: st.tuples(st.integers(0, d), st.just(d))), max_size=4
    ),
    scale=st.sampled_from([1, 10, 1000, 10**5]),
)
def test_roots_are_rounded_to_a_grid(fractions: list[tuple[int, int]], scale: int) -> None:
    fractions += [(0, 1), (1, 1), (2**170, 2**170), (1, 2**170), (2**170 - 1, 2**170), (1, 3)]
    for k in {0, 1, scale // 2, scale - 1}:
        halfway = (2 * k + 1) ** 2 * 2**100
        fractions += [(halfway + by, (2 * scale) ** 2 * 2**100) for by in (-1, 0, 1)]
    n, d = (wide_array(column) for column in zip(*fractions, strict=True))
    found = both_ways(lambda s, a, b: rounded_root(s, a, b, scale, scale), n, d)
    assert found == [min(nearest_root(scale**2 * Fraction(a, b)), scale) for a, b in fractions]


@pytest.mark.parametrize("most", [1, 3, 100, 511, 512, 600])
def test_every_step_of_a_grid_is_found_and_no_more(most: int) -> None:
    """Also where more would fit, or none."""
    reach = [-5, -1, *range(0, 3 * (most + 3), max(most // 30, 1)), 2**253]
    r = wide_array(reach)
    found = both_ways(lambda s, a: s.grid_steps(a, a * 0 + 3, a * 0, most), r)
    assert found == [min(max(end // 3, 0), most) for end in reach]
    squares = both_ways(lambda s, a: s.grid_steps(a, a * 0, a * 0 + 1, most), r)
    assert squares == [min(math.isqrt(max(end, 0)), most) for end in reach]


@pytest.mark.parametrize("bound", [2, 3, 2**10, 2**10 + 1, 2**62, 2**63 - 1, 2**200])
def test_a_bound_of_what_is_compared(bound: int) -> None:
    """Differences up to twice the bound, of both signs."""
    top = bound - 1
    for most in (1, 600):
        slope = top // most
        reach = [top, -top, 0, -1, slope, slope - 1, (most // 2) * slope, (most // 2) * slope - 1]
        columns = [wide_array(column) for column in (reach, [slope] * 8, [0] * 8)]
        found = both_ways(lambda s, *x, m=most: s.grid_steps(*x, m, bound), *columns)
        steps = [min(max(end // slope, 0), most) if slope else most * (end >= 0) for end in reach]
        assert found == steps


def test_a_denominator_of_zero_gives_some_step() -> None:
    n, d = wide_array([0, 1, 5, 2**200]), wide_array([0, 0, 0, 0])
    for most, how in product((1, 100, 10**4), (rounded, rounded_root)):
        for found in (
            masked(lambda s, a, b, f=how, m=most: f(s, a, b, 10, m), n, d).value,
            in_the_clear(lambda s, a, b, f=how, m=most: f(s, a, b, 10, m), n, d),
        ):
            assert all(0 <= k <= most for k in found.tolist())


def test_values_up_to_the_limit_of_a_grid() -> None:
    most = 10**4
    slope, curvature = (2**253) // most, (2**253) // most**2
    reach = [2**254 - 1, 0, -(2**253), slope, slope - 1, 77 * slope, 77 * slope - 1]
    columns = [wide_array(column) for column in (reach, [slope] * len(reach), [0] * len(reach))]
    expected = [most, 0, 0, 1, 0, 77, 76]
    assert both_ways(lambda s, *x: s.grid_steps(*x, most), *columns) == expected
    columns[1], columns[2] = columns[2], wide_array([curvature] * len(reach))
    expected = [min(math.isqrt(max(end, 0) // curvature), most) for end in reach]
    assert both_ways(lambda s, *x: s.grid_steps(*x, most), *columns) == expected


def half_up(n: int, d: int, significant_bits: int = 53) -> Fraction:
    """n/d rounded to so many bits from its first one on."""
    if not n:
        return Fraction(0)
    exact = Fraction(n, d)
    exponent = n.bit_length() - d.bit_length()
    exponent -= exact < Fraction(2) ** exponent
    unit = Fraction(2) ** (exponent + 1 - significant_bits)
    return math.floor(exact / unit + Fraction(1, 2)) * unit


def floats(mantissas: list[int], exponents: list[int]) -> list[Fraction]:
    return [Fraction(m, 2**e) for m, e in zip(mantissas, exponents, strict=True)]


@settings(max_examples=4, deadline=None)
@given(
    fractions=st.lists(
        st.integers(1, 2**230 - 1).flatmap(lambda d: st.tuples(st.integers(0, d), st.just(d))), max_size=5
    )
)
def test_wide_quotients_are_the_nearest_floats(fractions: list[tuple[int, int]]) -> None:
    top = 2**230 - 1
    fractions += [(0, 7), (7, 7), (1, 3), (top, top), (top - 1, top), (top // 2**38, top), (3, 2**40)]
    fractions = [(n, d) for n, d in fractions if not n or d // n < 2**39]
    n, d = (wide_array(column) for column in zip(*fractions, strict=True))
    found = floats(*both_ways(lambda s, a, b: s.wide_quotients(a, b, 40), n, d))
    assert found == [half_up(a, b) for a, b in fractions]
    assert found[-3:] == [float(Fraction(a, b)) for a, b in fractions[-3:]]


@pytest.mark.parametrize("significant_bits", [1, 24, 31, 62])
def test_wide_quotients_with_fewer_or_more_bits(significant_bits: int) -> None:
    fractions = [(1, 3), (2, 3), (1, 1), (2**100 + 1, 3**100), (0, 5), (3, 4), (5, 8)]
    n, d = (wide_array(column) for column in zip(*fractions, strict=True))
    found = floats(*both_ways(lambda s, a, b: s.wide_quotients(a, b, 70, significant_bits), n, d))
    assert found == [half_up(a, b, significant_bits) for a, b in fractions]


def test_a_quotient_with_more_zeros_than_told_loses_bits() -> None:
    n, d = wide_array([2**10 + 1, 1, 1, 0]), wide_array([2**40, 2**63, 2**64, 0])
    found = floats(*both_ways(lambda s, a, b: s.wide_quotients(a, b, 10), n, d))
    assert found == [Fraction(2**10 + 1, 2**40), Fraction(1, 2**63), 0, Fraction(2, 2**9)]


def test_a_suite_without_wide_integers_says_so() -> None:
    def algorithm(s: Suite, x: Any) -> list[str]:
        wide = WideShare.zeros(HOLDERS[Role.HELPER], (1,))
        told = []
        for call in (
            lambda: s.widen(x),
            lambda: s.absolute(wide),
            lambda: s.grid_steps(wide, wide, wide, 5),
            lambda: s.wide_quotients(wide, wide, 5),
        ):
            with pytest.raises(MisuseError) as caught:
                call()
            told.append(str(caught.value))
        return told

    run = World(Paper()).run(algorithm, [1])
    assert run.results == [["CeciliaSuite has no wide integers"] * 4] * 3


def test_numbers_of_both_rings_do_not_mix() -> None:
    def algorithm(s: Suite, x: Any, y: Any) -> None:
        assert (type(x), type(y)) == (MaskedShare, MaskedWideShare)
        mixes: list[Callable[[], object]] = [lambda: x + y, lambda: y - x, lambda: s.mul(x, y)]
        for mix in mixes:
            with pytest.raises(MisuseError, match="not parts of the same kind"):
                mix()

    masked(algorithm, word_array([1]), wide_array([1]))


def test_signed_numbers_are_read_back() -> None:
    assert signed(wide_array([-1, 0, 5, -(2**255), 2**255 - 1]).tolist()) == [-1, 0, 5, -(2**255), 2**255 - 1]
