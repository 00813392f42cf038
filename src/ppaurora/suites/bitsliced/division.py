"""The secret quotient: long division, several bits per step, and rounding to a float64 in secret."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ppaurora.errors import MisuseError
from ppaurora.sharing.algebra import RING, WIDE, Ring
from ppaurora.sharing.planes import Planes, unpack_lanes
from ppaurora.sharing.shares import Bytes, RingShare, WideShare, Words, stack
from ppaurora.suites.base import SIGNIFICAND_BITS, N
from ppaurora.suites.bitsliced import conversions
from ppaurora.suites.bitsliced.lanes import packed
from ppaurora.suites.bitsliced.shares import MaskedShare
from ppaurora.suites.bitsliced.wide import grid_width

if TYPE_CHECKING:
    from ppaurora.suites.bitsliced.suite import BitslicedSuite

MOST_BITS_PER_STEP = 10
# A wide comparison is as dear as four, and wide quotients may be many: then more steps, of fewer bits.
MOST_WIDE_BITS_PER_STEP = 8
LEAST_WIDE_BITS_PER_STEP = 4
_MOST_WIDE_COMPARISONS = 1 << 11


def bits_per_step(bound: int, ring: Ring = RING, numbers: int = 1) -> int:
    """Return so many that a remainder below 2·bound, times 2^bits, stays below half of the ring."""
    most = MOST_BITS_PER_STEP
    if ring is not RING:
        affordable = (_MOST_WIDE_COMPARISONS // max(numbers, 1)).bit_length() - 1
        most = max(min(MOST_WIDE_BITS_PER_STEP, affordable), LEAST_WIDE_BITS_PER_STEP)
    bits = min(most, ring.bits - 1 - (2 * bound).bit_length())
    if bits < 1:
        raise MisuseError(f"denominators up to {bound} leave no room for a division step")
    return bits


def fixed_point(
    suite: BitslicedSuite, numerator: RingShare, denominator: RingShare, bits: int, bound: int
) -> MaskedShare:
    """floor(2^bits·n / d) for n <= d, as a ring element; bits < 63."""
    quotient = _quotient_bits(suite, numerator, denominator, [0] * len(numerator), bits + 1, bound)
    return _weighted_sum(suite, quotient, [1 << (bits - place) for place in range(bits + 1)])


def _quotient_bits(
    suite: BitslicedSuite,
    numerator: N,
    denominator: N,
    shifts: Sequence[int],
    count: int,
    bound: int,
) -> Bytes:
    """Return the first `count` bits of n / (d·2^shift) for n <= d·2^shift, the integer bit first.

    They are (component, bit, element). Long division by 2·d·2^shift, which is larger than n. A step of
    b bits compares with all multiples c·2^-b of the divisor, 0 < c < 2^b, at once: the divisor is halved
    b times as long as there is a shift to use up, then the remainder is doubled. The digit is the number
    of multiples that fit; its bit j is the parity of those that fit among the multiples of 2^j, which is
    local.
    """
    remainder = numerator
    left = np.array(shifts, dtype=np.uint64) + np.uint64(1)  # how often the divisor can be halved
    digits: list[Bytes] = []
    found = 0
    while found < count:
        bits = min(bits_per_step(bound, numerator.ring, len(numerator)), count - found)
        halved = np.minimum(left, np.uint64(bits))
        left = left - halved
        remainder = remainder * (np.uint64(1) << (np.uint64(bits) - halved))
        divisor = denominator * (np.uint64(1) << left)
        multiples = np.arange(1, 1 << bits, dtype=np.uint64)
        gaps = stack([remainder]) - stack([divisor]) * multiples[:, np.newaxis]
        fits = ~suite.negative(gaps)
        by_multiple = unpack_lanes(fits.data[:, 0], len(fits)).reshape(-1, len(multiples), len(remainder))
        digits += [
            np.bitwise_xor.reduce(by_multiple[:, (1 << place) - 1 :: 1 << place], axis=1, keepdims=True)
            for place in reversed(range(bits))
        ]
        found += bits
        if found < count:
            remainder = remainder - suite.sum_of_bit_products(by_multiple, divisor)
    return np.concatenate(digits, axis=1)


def nearest_floats(
    suite: BitslicedSuite,
    numerator: N,
    denominator: N,
    shifts: Sequence[int],
    bound: int,
    leading_zeros: int,
    significant_bits: int = SIGNIFICAND_BITS,
) -> MaskedShare:
    """Rows (mantissa, exponent) of the float64 nearest to n / (d·2^shift) = mantissa / 2^exponent.

    1. quotient bits q_0 . q_1 q_2 ..., enough for 54 from the first one on
    2. c_k = 1 while all bits up to k are zero; l_p = c_(p-1) xor c_p marks the first one
    3. behind it, by one AND for each p and j: mantissa bit j is the xor of l_p·q_(p+j)
    4. the 54th bit rounds: up if it is 1. A quotient is never halfway between two floats while its
       denominator is below 2^53; a larger one that is halfway is rounded up.

    Or so with fewer or more significant bits than a float64's 53.

    Only these two numbers are released: more bits of the quotient would tell its denominator.
    """
    count = leading_zeros + significant_bits + 1
    quotient = _quotient_bits(suite, numerator, denominator, shifts, count, bound)
    elements = quotient.shape[-1]
    q = Planes(suite.holder, packed(quotient), elements)
    none_yet = suite.prefix_and(~q)
    before = none_yet.data.copy()
    before[:, 1:] = none_yet.data[:, :-1]
    before[:, 0] = (~Planes.zeros(suite.holder, 1, elements)).data[:, 0]
    first = Planes(suite.holder, before ^ none_yet.data, elements)

    padded = np.zeros((q.data.shape[0], count + significant_bits, q.data.shape[2]), dtype=np.uint64)
    padded[:, :count] = q.data
    windows = np.lib.stride_tricks.sliding_window_view(padded, significant_bits + 1, axis=1)
    behind_first = suite.select(first.data[:, :, np.newaxis], np.moveaxis(windows, -1, 2))
    mantissa_weights = [*(1 << (significant_bits - 1 - place) for place in range(significant_bits)), 1]
    exponent_weights = [place + significant_bits - 1 for place in range(count)]
    # Both sums in one round.
    bits = np.concatenate([unpack_lanes(behind_first, elements), unpack_lanes(first.data, elements)], axis=1)
    weights = np.zeros((2, bits.shape[1]), dtype=np.uint64)
    weights[0, : len(mantissa_weights)] = mantissa_weights
    weights[1, len(mantissa_weights) :] = exponent_weights
    ring = _ring_bits(suite, bits)
    summed = (ring[:, np.newaxis] * weights[:, :, np.newaxis]).sum(axis=2, dtype=np.uint64)
    return MaskedShare(suite.holder, summed)


def zeros_per_step(bound: int) -> int:
    """Return so many that a wide number up to the bound, times 2^zeros, can still be compared."""
    zeros = WIDE.bits - 2 - bound.bit_length()
    if zeros < 1:
        raise MisuseError(f"denominators up to 2^{bound.bit_length()} leave no room for a wide division")
    return zeros


def nearest_wide_floats(
    suite: BitslicedSuite,
    numerator: WideShare,
    denominator: WideShare,
    bound: int,
    leading_zeros: int,
    significant_bits: int,
) -> MaskedShare:
    """As `nearest_floats`, with leading zeros skipped at once instead of divided one by one.

    1. f_k = [n·2^k <= d] for all k up to what the ring holds: the f_k are 1 up to the number of zeros
    2. n becomes n·(1 + sum f_k·2^(k-1)); the exponent grows by the sum of f_k. Again, for further zeros
    3. what is left of n / d has no leading zero but one: its significant bits, as in `nearest_floats`
    """
    skipped: list[Planes] = []
    left, elements = max(leading_zeros - 1, 0), len(numerator)
    while left:
        zeros = min(zeros_per_step(bound), left)
        left -= zeros
        powers = WIDE.elements(np.array([1 << k for k in range(1, zeros + 1)], dtype=object))[:, np.newaxis]
        shifted = stack([numerator]) * powers
        fits = ~conversions.negative(suite._gates, stack([denominator]) - shifted, grid_width(bound << zeros))
        skipped.append(fits)
        bits = unpack_lanes(fits.data[:, 0], len(fits)).reshape(-1, zeros, elements)
        halves = stack([numerator]) * (powers >> 1)
        (gained,) = suite._gates.begin_bit_product(bits, halves.values, ring=WIDE, sum_first_axis=True)()
        numerator = numerator + numerator.like(gained)
    no_shifts = [0] * elements
    zeros = min(leading_zeros, 1)
    floats = nearest_floats(suite, numerator, denominator, no_shifts, bound, zeros, significant_bits)
    mantissa, exponent = floats.rows()
    for fits in skipped:
        counted = suite.to_ring(fits).values.reshape(-1, len(fits) // elements, elements)
        exponent = exponent + exponent.like(counted.sum(axis=1, dtype=np.uint64))
    return stack([mantissa, exponent])


def _ring_bits(suite: BitslicedSuite, bits: Bytes) -> Words:
    """(component, bit, element) in the ring."""
    flat = bits.reshape(bits.shape[0], 1, -1)
    lanes = Planes(suite.holder, packed(flat), flat.shape[-1])
    return suite.to_ring(lanes).values.reshape(bits.shape)


def _weighted_sum(suite: BitslicedSuite, bits: Bytes, weights: list[int]) -> MaskedShare:
    """Return the sum of weight·bit over the middle axis, in the ring."""
    weighted: Words = _ring_bits(suite, bits) * np.array(weights, dtype=np.uint64)[:, np.newaxis]
    return MaskedShare(suite.holder, weighted.sum(axis=1, dtype=np.uint64))
