"""Between numbers and bits: the sign of a number, comparisons with public ones, and bits as numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ppaurora.sharing.algebra import HALF, RING, Ring
from ppaurora.sharing.planes import LANES, Planes, keep_lanes, slice_numbers, word_count
from ppaurora.sharing.shares import Elements, LinearShare, Words
from ppaurora.suites.bitsliced import trees
from ppaurora.suites.bitsliced.gates import Gates
from ppaurora.suites.bitsliced.lanes import lanes_of
from ppaurora.suites.bitsliced.trees import Steps


def negative(gates: Gates, x: LinearShare, width: int) -> Planes:
    """Return the sign bit of x, one plane over all elements; |x| < 2^(width-1)."""
    count = x.values[0].size
    plane = _of_masks(gates, negative_steps, x, width)
    return Planes(x.holder, keep_lanes(plane, count), count)


def negative_steps(gates: Gates, x: Elements, width: int, ring: Ring, children: int) -> Steps[Words]:
    """Compute one plane: the sign bit of x = m - r, for |x| < 2^(width-1).

    Of numbers of `width` bits, with ' for all but the first, the sign is m_first xor r_first xor [r' > m'].
    """
    r, m = mask_and_public_bits(gates, x, width, ring)
    borrow = yield from trees.greater_than_public_steps(gates, r[:, 1:], m[:, 1:], children)
    return borrow ^ r[:, :1] ^ m[:, :1]


def borrow(gates: Gates, x: LinearShare) -> Words:
    """Return one plane over all elements of x = m - r: 1 where r > m."""
    return _of_masks(gates, borrow_steps, x, x.ring.bits)


def borrow_steps(gates: Gates, x: Elements, width: int, ring: Ring, children: int) -> Steps[Words]:
    """Compute one plane: 1 where r > m, of their last `width` bits, for x = m - r."""
    r, m = mask_and_public_bits(gates, x, width, ring)
    return (yield from trees.greater_than_public_steps(gates, r, m, children))


def _of_masks(gates: Gates, steps: Callable[..., Steps[Words]], x: LinearShare, width: int) -> Words:
    """Run such steps on all elements, chunk by chunk, in few rounds."""
    values = x.values.reshape(len(x.values), -1)
    chunks = trees.in_chunks(word_count(values.shape[1]))
    planes = trees.run_window(
        gates.meter,
        (
            steps(
                gates,
                values[:, LANES * chunk.start : LANES * chunk.stop],
                width,
                x.ring,
                trees.CHILDREN_OF_FEW,
            )
            for chunk in chunks
        ),
    )
    return planes[0] if len(planes) == 1 else np.concatenate(planes, axis=-1)


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
    borrows = yield from borrow_steps(gates, x, HALF.bits, HALF, trees.CHILDREN)
    finish = gates.begin_remask(ring_part(gates, borrows[:, 0], slice(0, x.shape[1]), HALF), ring=HALF)
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
    """Convert masked bits, some lanes of one plane, to additive parts in the ring."""
    return gates.bit_parts(lanes_of(plane, lanes), ring)
