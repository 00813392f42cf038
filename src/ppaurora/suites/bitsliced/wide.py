"""Secret integers modulo 2^256, and how a number is rounded to a grid."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ppaurora.errors import MisuseError
from ppaurora.sharing.algebra import WIDE
from ppaurora.sharing.planes import concat_planes, unpack_lanes
from ppaurora.sharing.shares import RingShare, WideShare, stack
from ppaurora.sharing.spans import spans
from ppaurora.suites.bitsliced.conversions import (
    borrow,
    negative,
    ring_part,
)
from ppaurora.suites.bitsliced.gates import Gates
from ppaurora.suites.bitsliced.shares import MaskedShare, MaskedWideShare

# Of a grid: as many sign tests at once as a digit has values, for every number. Fewer where numbers are many.
BITS_PER_DIGIT = 9
_MOST_TESTS = 1 << 14


def widen(gates: Gates, x: RingShare) -> MaskedWideShare:
    """x = m - r + 2^64·[r > m] for 0 <= x < 2^64; the helper deals <r> in the wide ring."""
    count = x.values[0].size
    values = x.values.reshape(-1, count)
    wrap = ring_part(gates, borrow(gates, x)[:, 0], slice(0, count), WIDE)
    wide = WIDE.elements(values[0])
    mask = gates.deal_ring((count,), lambda: wide, WIDE)
    part = gates.role.unit * wide - mask + (wrap << x.ring.bits)
    (widened,) = gates.begin_remask(part.reshape(x.shape), ring=WIDE)()
    return MaskedWideShare(x.holder, widened)


def absolute(gates: Gates, x: WideShare) -> tuple[MaskedShare, MaskedWideShare]:
    """s = [x < 0] and x - 2·s·x, which share their last round."""
    sign = negative(gates, x, x.ring.bits)
    count = len(sign)
    flag = gates.begin_remask(ring_part(gates, sign.data[:, 0], slice(0, count)).reshape(x.shape))
    bits = unpack_lanes(sign.data[:, 0], count).reshape(x.values.shape)
    product = gates.begin_bit_product(bits, x.values, ring=WIDE)
    (flags,), (below_zero,) = flag(), product()
    magnitude = WIDE.reduced(x.values - 2 * below_zero)
    return MaskedShare(x.holder, flags), MaskedWideShare(x.holder, magnitude)


def bits_per_digit(numbers: int) -> int:
    return max(min(BITS_PER_DIGIT, (_MOST_TESTS // max(numbers, 1)).bit_length() - 1), 1)


def grid_digits(most: int, numbers: int = 1) -> Iterator[tuple[int, int]]:
    """Place values, and how often each is taken at most, so that the sums are all numbers from 0 to `most`.

    What is left after each digit is at least one step less than its place value, so no number is missed.
    """
    if most < 1:
        raise MisuseError("a grid has at least one step")
    for later in reversed(range(-(-most.bit_length() // bits_per_digit(numbers)))):
        place = 1 << (most.bit_length() * later // (later + 1))
        steps = (most - place + 1) // place
        yield place, steps
        most -= steps * place


def grid_width(bound: int) -> int:
    """In so many bits of a difference of two numbers below the bound, the first one is the sign."""
    return (bound - 1).bit_length() + 2


def grid_steps(
    gates: Gates, reach: WideShare, slope: WideShare, curvature: WideShare, most: int, bound: int
) -> MaskedShare:
    """Digit by digit: how many steps of a place value H fit; then go there and look on from there.

    After u steps, k·slope + k²·curvature of the k that are left is measured from u·H: reach decreases by
    the sum of H·slope + H²·(2c - 1)·curvature over c = 1..u, and slope increases by 2·u·H·curvature.
    """
    holder, elements = reach.holder, len(reach)
    digits = list(grid_digits(most, elements))
    found = []
    for place, steps in digits:
        at = place * WIDE.elements(np.arange(1, steps + 1))[:, np.newaxis]
        gaps = stack([reach]) - stack([slope]) * at - stack([curvature]) * (at * at)
        fits = ~negative(gates, gaps, grid_width(bound))
        found.append(fits)
        if place > 1:
            bits = unpack_lanes(fits.data[:, 0], len(fits)).reshape(-1, steps, 1, elements)
            gains = stack([slope]) * place + stack([curvature]) * (place * (2 * at - place))
            steeper = stack([curvature * (2 * place)] * steps)
            both = np.stack([gains.values, steeper.values], axis=2)
            (moved,) = gates.begin_bit_product(bits, both, ring=WIDE, sum_first_axis=True)()
            reach = reach - MaskedWideShare(holder, moved[:, 0])
            slope = slope + MaskedWideShare(holder, moved[:, 1])
    flags = concat_planes(found)
    ones = ring_part(gates, flags.data[:, 0], slice(0, len(flags)))
    total = np.zeros(elements, dtype=np.uint64)
    for (place, steps), span in zip(digits, spans(map(len, found)), strict=True):
        total += np.uint64(place) * ones[span].reshape(steps, elements).sum(axis=0, dtype=np.uint64)
    (k,) = gates.begin_remask(total)()
    return MaskedShare(holder, k)
