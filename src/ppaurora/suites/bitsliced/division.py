"""The secret quotient: long division, several bits per step, and rounding to a float64 in secret."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ppaurora.errors import MisuseError
from ppaurora.sharing.algebra import RING, WIDE, Ring
from ppaurora.sharing.planes import Planes, unpack_lanes
from ppaurora.sharing.shares import Bytes, Elements, RingShare, WideShare, Words, stack
from ppaurora.suites.base import SIGNIFICAND_BITS, N
from ppaurora.suites.bitsliced import conversions, trees
from ppaurora.suites.bitsliced.conversions import negative_steps
from ppaurora.suites.bitsliced.gates import Gates
from ppaurora.suites.bitsliced.lanes import packed
from ppaurora.suites.bitsliced.shares import MaskedShare
from ppaurora.suites.bitsliced.trees import Steps
from ppaurora.suites.bitsliced.wide import grid_width

if TYPE_CHECKING:
    from ppaurora.suites.bitsliced.suite import BitslicedSuite

FEW = 64  # numbers, of which only the rounds count
MOST_BITS_PER_STEP = 10
# Of many numbers bytes count, too: then more steps, of fewer bits. With two bits instead of three, a quotient
# would take a quarter less bytes, in half as many rounds more.
LEAST_BITS_PER_STEP = 3
_MOST_COMPARISONS = 1 << 13
# A wide comparison is as dear as four, and wide quotients may be many.
MOST_WIDE_BITS_PER_STEP = 8
LEAST_WIDE_BITS_PER_STEP = 4
_MOST_WIDE_COMPARISONS = 1 << 11


def bits_per_step(bound: int, ring: Ring = RING, numbers: int = 1) -> int:
    """Return so many that a remainder below 2·bound, times 2^bits, stays below half of the ring."""
    most = MOST_BITS_PER_STEP
    if ring is not RING:
        most = _affordable(_MOST_WIDE_COMPARISONS, numbers, LEAST_WIDE_BITS_PER_STEP, MOST_WIDE_BITS_PER_STEP)
    elif numbers > FEW:
        most = _affordable(_MOST_COMPARISONS, numbers, LEAST_BITS_PER_STEP, MOST_BITS_PER_STEP)
    bits = min(most, ring.bits - 1 - (2 * bound).bit_length())
    if bits < 1:
        raise MisuseError(f"denominators up to {bound} leave no room for a division step")
    return bits


def _affordable(comparisons: int, numbers: int, least: int, most: int) -> int:
    return max(min(most, (comparisons // max(numbers, 1)).bit_length() - 1), least)


def gap_width(bound: int, bits: int) -> int:
    """In so many bits of what a step of `bits` bits compares with zero, the first one is the sign."""
    return (bound - 1).bit_length() + bits + 1


def children(numbers: int) -> int:
    """Return how many children a node has in the trees of so many numbers' comparisons."""
    return trees.CHILDREN if numbers > FEW else trees.CHILDREN_OF_FEW


def fixed_point_steps(
    gates: Gates, numerator: RingShare, denominator: RingShare, bits: int, bound: int, numbers: int
) -> Steps[Words]:
    """Additive parts of floor(2^bits·n / d) for n <= d, for some of so many numbers; bits < 63.

    A digit's parts are there since it was multiplied with the divisor, but for the last one's.
    """
    quotient = yield from _quotient_steps(gates, numerator, denominator, None, bits + 1, bound, numbers)
    parts = np.concatenate([quotient.parts, gates.bit_parts(quotient.bits[:, len(quotient.parts) :])])
    weights = np.array([1 << (bits - place) for place in range(bits + 1)], dtype=np.uint64)
    total: Words = (parts * weights[:, np.newaxis]).sum(axis=0, dtype=np.uint64)
    return total


@dataclass(frozen=True)
class _Quotient:
    """Bits of quotients, as secrets (component, bit, element), and additive parts of the first of them."""

    bits: Bytes
    parts: Elements


def _quotient_steps(
    gates: Gates,
    numerator: N,
    denominator: N,
    shifts: Sequence[int] | None,
    count: int,
    bound: int,
    numbers: int,
) -> Steps[_Quotient]:
    """Compute the first `count` bits of n / (d·2^shift) for n <= d·2^shift, the integer bit first.

    Long division by 2·d·2^shift, which is larger than n. A step of b bits compares with all multiples c·2^-b
    of the divisor, 0 < c < 2^b, at once: the divisor is halved b times as long as there is a shift to use up,
    then the remainder is doubled. The digit is the number of multiples that fit; its bit j is the parity of
    those that fit among the multiples of 2^j, which is local. The divisor times the digit is subtracted.

    Without any shifts, signs are those of numbers below 2^b·bound.
    """
    ring, holder = numerator.ring, numerator.holder
    remainder = numerator
    left = np.array(shifts or [0] * len(numerator), dtype=np.uint64) + np.uint64(
        1
    )  # how often the divisor can be halved
    digits: list[Bytes] = []
    parts: list[Elements] = [np.zeros((0, len(numerator)), dtype=ring.dtype)]
    found = 0
    while found < count:
        bits = min(bits_per_step(bound, ring, numbers), count - found)
        halved = np.minimum(left, np.uint64(bits))
        left = left - halved
        remainder = remainder * (np.uint64(1) << (np.uint64(bits) - halved))
        divisor = denominator * (np.uint64(1) << left)
        multiples = np.arange(1, 1 << bits, dtype=np.uint64)
        gaps = (stack([remainder]) - stack([divisor]) * multiples[:, np.newaxis]).values
        flat = gaps.reshape(len(gaps), -1)
        width = gap_width(bound, bits) if shifts is None else ring.bits
        sign = yield from negative_steps(gates, flat, width, ring, children(numbers))
        fits = unpack_lanes(trees.invert(gates, sign)[:, 0], flat.shape[1]).reshape(gaps.shape)
        digits.append(
            np.stack(
                [
                    np.bitwise_xor.reduce(fits[:, (1 << place) - 1 :: 1 << place], axis=1)
                    for place in reversed(range(bits))
                ],
                axis=1,
            )
        )
        found += bits
        if found < count:
            places = stack([divisor] * bits) * (1 << np.arange(bits, dtype=np.uint64)[::-1, np.newaxis])
            parts.append(gates.bit_parts(digits[-1], ring))
            product = gates.begin_bit_product(
                digits[-1], places.values, ring=ring, sum_first_axis=True, parts=parts[-1]
            )
            yield
            remainder = remainder - type(numerator)(holder, product()[0])
    return _Quotient(np.concatenate(digits, axis=1), np.concatenate(parts))


def nearest_floats(
    suite: BitslicedSuite,
    gates: Gates,
    numerator: N,
    denominator: N,
    shifts: Sequence[int] | None,
    bound: int,
    leading_zeros: int,
    significant_bits: int = SIGNIFICAND_BITS,
    skipped: Words | int = 0,
) -> MaskedShare:
    """Rows (mantissa, exponent) of the float64 nearest to n / (d·2^shift) = mantissa / 2^exponent.

    1. quotient bits q_0 . q_1 q_2 ..., enough for 54 from the first one on
    2. c_k = 1 while all bits up to k are zero; l_p = c_(p-1) xor c_p marks the first one
    3. behind it, by one AND for each p and j: mantissa bit j is the xor of l_p·q_(p+j)
    4. the 54th bit rounds: up if it is 1. A quotient is never halfway between two floats while its
       denominator is below 2^53; a larger one that is halfway is rounded up.

    Or so with fewer or more significant bits than a float64's 53. Additive parts of how many zeros were
    `skipped` before are added to the exponents.

    Only these two numbers are released: more bits of the quotient would tell its denominator.
    """
    count = leading_zeros + significant_bits + 1
    elements = len(numerator)
    steps = _quotient_steps(gates, numerator, denominator, shifts, count, bound, elements)
    (quotient,) = trees.run_window(gates.meter, [steps])
    q = Planes(suite.holder, packed(quotient.bits), elements)
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
    sums = (gates.bit_parts(bits) * weights[:, :, np.newaxis]).sum(axis=1, dtype=np.uint64)
    sums[1] += skipped
    (rows,) = gates.begin_remask(sums)()
    return MaskedShare(suite.holder, rows)


def zeros_per_step(bound: int) -> int:
    """Return so many that a wide number up to the bound, times 2^zeros, can still be compared."""
    zeros = WIDE.bits - 2 - bound.bit_length()
    if zeros < 1:
        raise MisuseError(f"denominators up to 2^{bound.bit_length()} leave no room for a wide division")
    return zeros


def nearest_wide_floats(
    suite: BitslicedSuite,
    gates: Gates,
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
    left, elements = max(leading_zeros - 1, 0), len(numerator)
    skipped = np.zeros(elements, dtype=np.uint64)
    while left:
        zeros = min(zeros_per_step(bound), left)
        left -= zeros
        powers = WIDE.elements(np.array([1 << k for k in range(1, zeros + 1)], dtype=object))[:, np.newaxis]
        gaps = stack([denominator]) - stack([numerator]) * powers
        fits = ~conversions.negative(gates, gaps, grid_width(bound << zeros))
        bits = unpack_lanes(fits.data[:, 0], len(fits)).reshape(-1, zeros, elements)
        halves = (stack([numerator]) * (powers >> 1)).values
        parts = gates.bit_parts(bits, WIDE)
        (gained,) = gates.begin_bit_product(bits, halves, ring=WIDE, sum_first_axis=True, parts=parts)()
        numerator = numerator + numerator.like(gained)
        skipped += (parts.sum(axis=0) & ((1 << RING.bits) - 1)).astype(np.uint64)
    zeros = min(leading_zeros, 1)
    return nearest_floats(suite, gates, numerator, denominator, None, bound, zeros, significant_bits, skipped)
