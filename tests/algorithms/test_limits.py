"""The arithmetic holds as many samples as it says: bounds on every number, for all sizes up to the limit."""

from __future__ import annotations

from fractions import Fraction

import pytest

from ppaurora.algorithms.curve import MOST_SAMPLES, precision_bits
from ppaurora.errors import MisuseError
from ppaurora.suites.bitsliced.division import bits_per_step

RING = 2**63  # numbers stay below half of the ring, so that their sign is their first bit
TOLERANCE = Fraction(1, 10**9)

SIZES = sorted(
    {1, 2, 3, 5, 10, 1000, 123_456_789, MOST_SAMPLES}
    | {power + off for k in range(1, 30) for power in [2**k] for off in (-1, 0, 1) if power + off > 0}
    | {MOST_SAMPLES - 1, MOST_SAMPLES * 2 // 3}
)


def denominator_bound(samples: int) -> int:
    """As the division is told: of P·N and P."""
    return max(samples * samples // 4, samples)


def test_the_limit() -> None:
    assert MOST_SAMPLES == 2**30
    assert precision_bits(1) == precision_bits(2**28) == 33
    assert precision_bits(2**28 + 1) == precision_bits(2**29) == 32
    assert precision_bits(2**29 + 1) == precision_bits(2**30) == 31


@pytest.mark.parametrize("samples", SIZES)
def test_precision_keeps_its_bits_and_its_range(samples: int) -> None:
    """x·floor(2^62 / j) + 2^(k-1) without its last k bits, for x <= j <= n."""
    bits = precision_bits(samples)
    dropped = 62 - bits
    assert 2**62 + 2 ** (dropped - 1) < RING
    # The reciprocal is less than one too small, so the product is less than n; then it is rounded.
    error = Fraction(samples, 2**dropped) + Fraction(1, 2)
    assert error <= 1
    assert error / 2**bits < TOLERANCE / 2
    assert (2**62 + 2 ** (dropped - 1)) >> dropped == 2**bits, "more than one"


@pytest.mark.parametrize("samples", SIZES)
def test_numerators_and_denominators_fit(samples: int) -> None:
    bits = precision_bits(samples)
    most_pairs = samples * samples // 4
    bound = denominator_bound(samples)
    assert most_pairs <= bound
    assert samples <= bound
    # With both classes there are n - 1 positives at most.
    assert most_pairs << 1 < 2**62
    assert (samples - 1) << (bits + 1) < 2**62
    # Without a result, numbers may mean nothing, but all positives still fit.
    assert samples << (bits + 1) <= 2**62
    assert 2 * most_pairs < 2**62, "Youden's heights, or their differences"


@pytest.mark.parametrize("samples", SIZES)
def test_a_division_step_fits(samples: int) -> None:
    """A step compares a remainder with multiples of the divisor up to 2^bits times."""
    bound = denominator_bound(samples)
    step = bits_per_step(bound)
    assert step >= 3
    assert (2 * bound) << step <= RING
    bits = precision_bits(samples)
    for denominator, shift in ((samples * samples // 4, 1), (samples - 1, bits + 1)):
        left = shift + 1  # as often as the divisor can be halved; what is left of it is compared with
        while left:
            halved = min(left, step)
            assert denominator << (left + step - halved) <= RING
            left -= halved
        assert denominator << step <= RING


@pytest.mark.parametrize("samples", SIZES)
def test_there_are_quotient_bits_for_the_smallest_result(samples: int) -> None:
    """The first one of a quotient is at place p if it is at least 2^-p."""
    leading_zeros = 2 * samples.bit_length()
    if samples > 1:
        smallest_auroc = Fraction(1, 2 * (samples * samples // 4))
        assert smallest_auroc >= Fraction(1, 2**leading_zeros)
        # Precision is at least 1/n wherever there is a positive, less what it is rounded by.
        smallest_aupr = (Fraction(1, samples) - Fraction(1, 2 ** precision_bits(samples))) / 2
        assert smallest_aupr >= Fraction(1, 2**leading_zeros)


def test_beyond_the_limit_these_bounds_are_not_met() -> None:
    """The positive control."""
    with pytest.raises(AssertionError):
        test_precision_keeps_its_bits_and_its_range(2 * MOST_SAMPLES)
    with pytest.raises(AssertionError):
        test_a_division_step_fits(2 * MOST_SAMPLES)
    with pytest.raises(MisuseError):
        bits_per_step(denominator_bound(4 * MOST_SAMPLES))
