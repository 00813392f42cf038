"""Divisions of `bitsliced` against exact fractions, up to the largest numbers that there can be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppaurora.algorithms.curve import MOST_SAMPLES, precision_bits
from ppaurora.errors import MisuseError
from ppaurora.suites.bitsliced import BitslicedSuite
from ppaurora.suites.bitsliced.division import FEW, bits_per_step, gap_width
from ppaurora.testing.world import WorldRun
from tests.support.bitsliced import masked, word_array

LARGEST = MOST_SAMPLES**2 // 4  # of all P·N

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


@pytest.mark.parametrize(("bound", "bits"), [(1, 4), (5, 3), (7, 9)])
def test_every_quotient_of_small_numbers(bound: int, bits: int) -> None:
    """So many that steps are short, with every denominator up to the bound."""
    pairs = [(n, d) for d in range(bound + 1) for n in range(d + 1)] * -(-FEW // bound)
    assert len(pairs) > FEW
    n, d = (word_array(list(column)) for column in zip(*pairs, strict=True))
    expected = [(a << bits) // b if b else (2 << bits) - 1 for a, b in pairs]
    assert masked(lambda s, a, b: s.div(a, b, bits, bound), n, d).value.tolist() == expected


@pytest.mark.usefixtures("chunks")
@pytest.mark.parametrize("bound", [2**30, 2**30 - 1, 2**58])
def test_quotients_of_many_numbers_of_every_size(bound: int) -> None:
    """Equal numbers, zeros and the bound among them."""
    bits, count = 31, 400
    random = np.random.default_rng(bound % 97)
    d = [
        min(int(random.integers(0, 2 * bound)) >> int(size), bound) for size in random.integers(0, 62, count)
    ]
    n = [int(random.integers(0, one + 1)) for one in d]
    d[:6], n[:6] = [0, bound, bound, bound, bound, 1], [0, bound, bound - 1, 1, 0, 1]
    n[6:40] = d[6:40]
    expected = [(a << bits) // b if b else (2 << bits) - 1 for a, b in zip(n, d, strict=True)]
    run = masked(lambda s, a, b: s.div(a, b, bits, bound), word_array(n), word_array(d))
    assert run.value.tolist() == expected


@pytest.mark.parametrize("numbers", [1, FEW, FEW + 1, 10**4])
def test_a_step_never_overflows(numbers: int) -> None:
    for exponent in range(1, 61):
        bound = 2**exponent
        bits = bits_per_step(bound, numbers=numbers)
        assert (2 * bound) << bits <= 2**63
        assert gap_width(bound, bits) <= 64
        # The largest and the smallest of all gaps, remainder·2^bits - c·d, have their sign in front.
        largest = (2**bits - 1) * bound
        assert -(2 ** (gap_width(bound, bits) - 1)) <= -largest < largest < 2 ** (gap_width(bound, bits) - 1)
    with pytest.raises(MisuseError, match="no room"):
        bits_per_step(2**61)


def rounded(fractions: Sequence[tuple[int, int, int]], bound: int, leading_zeros: int) -> list[float]:
    """Of (numerator, denominator, shift), by three parties."""
    run = rounded_words(fractions, bound, leading_zeros)
    return [math.ldexp(int(m), -int(e)) for m, e in zip(*run.value, strict=True)]


def rounded_words(fractions: Sequence[tuple[int, int, int]], bound: int, leading_zeros: int) -> WorldRun:
    numerators, denominators, shifts = zip(*fractions, strict=True)

    def algorithm(suite: BitslicedSuite, n: Any, d: Any) -> Any:
        return suite.rounded_quotients(n, d, shifts, bound, leading_zeros)

    return masked(algorithm, word_array(list(numerators)), word_array(list(denominators)))


def exact(fractions: Sequence[tuple[int, int, int]]) -> list[float]:
    """Python rounds a fraction to the nearest float64."""
    return [float(Fraction(n, d << shift)) for n, d, shift in fractions]


@settings(max_examples=6, deadline=None)
@given(pairs=st.lists(quotients, min_size=1, max_size=40))
def test_the_quotient_is_rounded_like_a_float64(pairs: list[tuple[int, int]]) -> None:
    pairs += [(0, 7), (7, 7), (1, 2**40), (2**40 - 1, 2**40), (1, 3), (2**39, 2**40)]
    fractions = [(n, d, 0) for n, d in pairs]
    assert rounded(fractions, 2**40, 41) == exact(fractions)


def shifted(bound: int) -> st.SearchStrategy[tuple[int, int, int]]:
    """n / (d·2^shift) with d up to a bound, d·2^shift below 2^62, and n of any size up to that."""

    def fraction(d: int, shift: int, n: int, size: int) -> tuple[int, int, int]:
        shift = min(shift, 61 - d.bit_length())
        return min(n >> size, d << shift), d, max(shift, 0)

    return st.builds(
        fraction,
        st.integers(1, bound) | st.integers(0, bound.bit_length() - 1).map(lambda bits: max(1 << bits, 1)),
        st.integers(0, 40),
        st.integers(0, 2**62),
        st.integers(0, 61),
    )


@settings(max_examples=10, deadline=None)
@given(data=st.data(), bound=st.sampled_from([1, 5, 2**20, 2**46 - 1]))
def test_different_shifts_side_by_side(data: st.DataObject, bound: int) -> None:
    """Of any size, from tiny to one; what is exactly halfway has a test of its own."""
    fractions = data.draw(st.lists(shifted(bound), min_size=1, max_size=30))
    fractions += [(0, bound, 3), (bound << 3, bound, 3), (1, bound, 3), ((bound << 3) - 1, bound, 3)]
    kept = [one for one in fractions if not halfway(one)]
    assert rounded(kept, bound, 62) == exact(kept)


def halfway(fraction: tuple[int, int, int]) -> bool:
    """Exactly in the middle of two floats."""
    n, d, shift = fraction
    whole = Fraction(n, d << shift)
    return whole.denominator.bit_count() == 1 and whole.numerator.bit_length() == 54


def hard_fractions(denominator: int, shift: int) -> list[tuple[int, int, int]]:
    """The closest that there are to the middle of two floats, of several sizes."""
    whole = denominator << shift
    twos = (whole & -whole).bit_length() - 1
    odd = whole >> twos
    found = []
    for place in range(53, 70):  # n / whole from 2^(52 - place) on; the last bit of a float is 2^-place
        lowest = -(-whole >> (place - 52))
        for nearest in (odd // 2, odd // 2 + 1):
            remainder = nearest * pow(2, twos - place, odd) % odd
            n = remainder + -(-max(lowest - remainder, 0) // odd) * odd
            if odd > 1 and n < whole >> (place - 53):
                behind = Fraction(n << place, whole) % 1
                assert abs(behind - Fraction(1, 2)) == Fraction(1, 2 * odd)
                found.append((n, denominator, shift))
    return found


@pytest.mark.parametrize(
    ("positives", "negatives"),
    [
        (2**29, 2**29),
        (2**29 - 1, 2**29 + 1),
        (2**29 - 1, 2**29),
        (2**30 - 3, 3),
        (2**30 - 4, 3),
        (2**29 - 3, 2),
        (1, 2**30 - 1),
        (715_827_883, 357_913_941),
        (536_870_909, 536_870_879),
    ],
)
def test_denominators_at_the_limit_of_samples(positives: int, negatives: int) -> None:
    """AUROC's 2·P·N up to 2^59, next to AUPR's 2·P·2^precision_bits, in one division."""
    assert positives + negatives <= MOST_SAMPLES
    product = positives * negatives
    bits = precision_bits(positives + negatives)
    random = np.random.default_rng(positives)
    fractions = [(0, product, 1), (1, product, 1), (2 * product, product, 1), (2 * product - 1, product, 1)]
    fractions += [(product, product, 1), (product - 1, product, 1)]
    fractions += [(int(random.integers(0, 2 * product)), product, 1) for _ in range(10)]
    fractions += [(int(random.integers(0, 2 * product)) >> k, product, 1) for k in range(0, 58, 5)]
    whole = positives << (bits + 1)
    fractions += [(whole, positives, bits + 1), (whole - 1, positives, bits + 1), (1, positives, bits + 1)]
    fractions += [(int(random.integers(0, whole)), positives, bits + 1) for _ in range(10)]
    hard = hard_fractions(product, 1) + hard_fractions(positives, bits + 1)
    assert len(hard) > 20 or positives in (1, 2**29)
    fractions += hard
    kept = [one for one in fractions if not halfway(one)]
    assert rounded(kept, LARGEST, 2 * MOST_SAMPLES.bit_length()) == exact(kept)


def test_halfway_between_two_floats_is_rounded_up() -> None:
    """Possible from a denominator of 2^53 on only, which is when P·N reaches 2^53."""
    product = 2**58
    fractions = [((1 << 53 | 1) << 5, product, 1), ((1 << 53 | 3) << 5, product, 1)]
    assert all(halfway(one) for one in fractions)
    values = rounded(fractions, LARGEST, 62)
    for value, (n, d, shift) in zip(values, fractions, strict=True):
        whole = Fraction(n, d << shift)
        assert Fraction(value) > whole
        assert Fraction(math.nextafter(value, 0)) < whole


def test_no_more_than_a_float64_is_released() -> None:
    """The mantissa has 53 bits, so the denominator of a large study cannot be read off the result."""
    fractions = [(123_456_789_012, 1_000_000_007_003, 0), (1, 2**40, 0)]
    mantissa, exponent = rounded_words(fractions, 2**40, 41).value
    assert [int(m).bit_length() for m in mantissa] == [53, 53]
    assert exponent.tolist() == [56, 92]


@pytest.mark.usefixtures("chunks")
@pytest.mark.parametrize("bits", [31, 33])
def test_division_by_public_numbers_is_rounded_and_never_above_one(bits: int) -> None:
    divisors = np.arange(1, 400, dtype=np.uint64)
    random = np.random.default_rng(3)
    for x in (divisors, divisors * 0, (divisors * random.random(len(divisors))).astype(np.uint64)):
        run = masked(lambda s, a: s.div_public(a, range(1, 400), bits), x)
        exactly = [Fraction(int(a) << bits, int(d)) for a, d in zip(x, divisors, strict=True)]
        assert all(abs(int(v) - e) <= Fraction(501, 1000) for v, e in zip(run.value, exactly, strict=True))
        assert int(run.value.max()) <= 2**bits


def test_division_by_public_numbers_at_the_limit_of_samples() -> None:
    bits = precision_bits(MOST_SAMPLES)
    divisors = range(MOST_SAMPLES - 299, MOST_SAMPLES + 1)
    random = np.random.default_rng(4)
    for part in (0.0, 1e-9, 0.5, 1.0, None):
        ratio = random.random(300) if part is None else np.full(300, part)
        x = [int(d * r) for d, r in zip(divisors, ratio, strict=True)]
        values = masked(lambda s, a: s.div_public(a, divisors, bits), word_array(x)).value.tolist()
        exactly = [Fraction(a << bits, d) for a, d in zip(x, divisors, strict=True)]
        assert all(abs(v - e) <= 1 for v, e in zip(values, exactly, strict=True))
        assert max(values) <= 2**bits


def test_quotients_by_public_numbers_are_written_to_a_part_of_a_row() -> None:
    x = np.arange(1, 101, dtype=np.uint64)

    def algorithm(suite: BitslicedSuite, a: Any) -> Any:
        rows = suite.blank(2, 102)
        suite.div_public(a, range(1, 101), 33, into=rows.row(0)[1:101])
        return rows

    value = masked(algorithm, x).value
    assert value.tolist() == [[0, *[2**33] * 100, 0], [0] * 102]
