"""Dropping the last bits of a number, exactly; and by that the quotient by a public divisor."""

from __future__ import annotations

import numpy as np

from ppaurora.sharing.algebra import RING
from ppaurora.sharing.shares import RingShare, Words
from ppaurora.suites.bitsliced import trees
from ppaurora.suites.bitsliced.conversions import borrow_steps, ring_part
from ppaurora.suites.bitsliced.gates import Gates
from ppaurora.suites.bitsliced.trees import Steps

_ONE = np.uint64(1)
_63 = np.uint64(63)
_RECIPROCAL_BITS = 62


def shift_right_steps(gates: Gates, y: Words, bits: int, children: int = trees.CHILDREN) -> Steps[Words]:
    """Additive parts of y without its last bits, for 0 <= y < 2^63.

    With k bits, y = m - r without them is
    (m >> k) - (r >> k) + 2^(64-k)·r_63·(1 - m_63) - [r mod 2^k > m mod 2^k].
    The third term undoes the wrap of the mask, the last is the borrow out of what is dropped.
    The helper deals <r >> k> and <r_63>.
    """
    borrow = yield from borrow_steps(gates, y, bits, RING, children)
    count = y.shape[1]
    borrow_part = ring_part(gates, borrow[:, 0], slice(0, count))
    drop = np.uint64(bits)
    dealt = gates.deal_ring((2, count), lambda: np.stack([y[0] >> drop, y[0] >> _63]))
    part: Words = dealt[0]
    if gates.role.is_helper:
        return part
    part = gates.role.unit * (y[0] >> drop) - dealt[0]
    part += (dealt[1] * (_ONE - (y[0] >> _63))) << np.uint64(64 - bits)
    part -= borrow_part
    return part


def quotient_steps(gates: Gates, x: RingShare, divisors: range, bits: int) -> Steps[Words]:
    """Additive parts of 2^bits·x / divisor.

    x times floor(2^62 / divisor), a local product y <= 2^62, without its last k = 62 - bits bits. They are
    rounded off: 2^(k-1) is added first.
    """
    k = _RECIPROCAL_BITS - bits
    reciprocals = np.uint64(1 << _RECIPROCAL_BITS) // np.arange(
        divisors.start, divisors.stop, divisors.step, dtype=np.uint64
    )
    y = x * reciprocals + (1 << (k - 1))
    return (yield from shift_right_steps(gates, y.values, k))
