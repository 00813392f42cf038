"""Between numbers and bits: the sign of a number, comparisons with public ones, and bits as numbers."""

from __future__ import annotations

from functools import partial

import numpy as np

from ppaurora.sharing.algebra import HALF, RING, Ring
from ppaurora.sharing.planes import Planes, keep_lanes, slice_numbers, word_count
from ppaurora.sharing.shares import Elements, LinearShare, Words
from ppaurora.suites.bitsliced import trees
from ppaurora.suites.bitsliced.gates import Gates
from ppaurora.suites.bitsliced.lanes import lanes_of
from ppaurora.suites.bitsliced.trees import Steps


def negative(gates: Gates, x: LinearShare, width: int) -> Planes:
    """Return the sign bit of x = m - r, one plane over all elements, for few of them; |x| < 2^(width-1).

    Of numbers of `width` bits, with ' for all but the first, the sign is m_first xor r_first xor [r' > m'].
    """
    count = x.values[0].size
    r, m = mask_and_public_bits(gates, x.values.reshape(-1, count), width, x.ring)
    return Planes(
        x.holder, keep_lanes(greater_of_few(gates, r[:, 1:], m[:, 1:]) ^ r[:, :1] ^ m[:, :1], count), count
    )


def greater_of_few(gates: Gates, a: Words, b: Words) -> Words:
    """Return one plane: 1 where a > b."""
    steps = partial(trees.greater_steps, gates, children=trees.CHILDREN_OF_FEW)
    return trees.run_in_chunks(gates, steps, *never_equal(gates, a, b))


def never_equal(gates: Gates, a: Words, b: Words) -> tuple[Words, Words]:
    """Append a last bit to both: 0 for a and 1 for b."""
    zeros = np.zeros_like(a[:, :1])
    return np.concatenate([a, zeros], axis=1), np.concatenate([b, trees.invert(gates, zeros.copy())], axis=1)


def mask_and_public_bits(gates: Gates, x: Elements, width: int, ring: Ring = RING) -> tuple[Words, Words]:
    """Return the low bits of r, as secrets, and of m, as public values, in planes.

    The helper deals the bits of r, each a secret whose mask is the bit itself, with m = 0.
    """
    shape = (width, word_count(x.shape[1]))
    nothing = np.zeros(shape, dtype=np.uint64)
    dealt = gates.deal_bits(shape, lambda: slice_numbers(x[0], width, ring))
    if gates.role.is_helper:
        return dealt[np.newaxis], nothing[np.newaxis]
    return np.stack([nothing, dealt]), np.stack([slice_numbers(x[0], width, ring), nothing])


def lift_steps(gates: Gates, x: Elements) -> Steps[Words]:
    """Numbers modulo 2^32 as the same numbers modulo 2^64, in masked form.

    With m and r below 2^32, x = m - r + 2^32·[r > m].
    1. the helper deals <r> modulo 2^64
    2. the borrow [r > m] modulo 2^32, in masked form: b = mb - rb
    3. x = (m + 2^32·mb) - (r + 2^32·rb)
    """
    borrow = yield from trees.greater_than_public_steps(
        gates, *mask_and_public_bits(gates, x, HALF.bits, HALF), trees.CHILDREN
    )
    finish = gates.begin_remask(ring_part(gates, borrow[:, 0], slice(0, x.shape[1]), HALF), ring=HALF)
    lifted = x.astype(np.uint64)
    lifted[-1] = gates.deal_ring(x.shape[1:], lambda: lifted[0])
    yield
    (high,) = finish()
    return lifted + (high.astype(np.uint64) << np.uint64(HALF.bits))


def less_than_public(gates: Gates, x: Words, limits: Words) -> Words:
    """Return one plane: 1 where x < limit, for few secret numbers x and public limits, in planes.

    That is limit > x. As a limit's bits are public, its last bit is greater than that of x by a linear rule,
    limit and not x, so that equal numbers need no further bit.
    """
    value = np.zeros_like(x)
    if not gates.role.is_helper:
        value[0] = limits
    equal = trees.invert(gates, x ^ value)
    value[:, -1] = trees.invert(gates, x[:, -1].copy()) & limits[-1]
    steps = partial(trees.first_difference_steps, gates, children=trees.CHILDREN_OF_FEW)
    return trees.run_in_chunks(gates, steps, equal, value)


def ring_part(gates: Gates, plane: Words, lanes: slice, ring: Ring = RING) -> Elements:
    """Convert masked bits, some lanes of one plane, to additive parts in the ring.

    1. the helper deals <r> in the ring
    2. x = m xor r = m + (1 - 2m)<r>
    """
    bits = lanes_of(plane, lanes).astype(ring.dtype)
    mask = gates.deal_ring(bits.shape[1:], lambda: bits[0], ring)
    if gates.role.is_helper:
        return mask
    part: Elements = gates.role.unit * bits[0] + (1 - bits[0] - bits[0]) * mask
    return part
