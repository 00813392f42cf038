"""Algorithm 3 of the paper, as printed: which differences are not zero, found by the helper.

    1. proxy 0 negates its part of d, so that the parts are equal exactly where d = 0
    2. both parts are masked by a common random word R_j, then their bits permuted by a common sigma_j
    3. dummies, zero and not, are appended; the whole list is permuted by a common pi
    4. the helper compares the parts and deals the flags; the proxies undo pi and drop the dummies

The paper leaves the number of dummies open. Here as many are appended as there are differences, so
that the length of the message depends on public sizes only; how many of them are zero is uniformly
random and known to the proxies alone.

What this leaks is the paper's, and measured in docs/leakage.md: for d != 0 the helper sees
(-d_0) xor d_1 with its bits permuted, whose Hamming weight is not independent of d. A dummy that is
known not to be zero cannot be drawn like a real difference, for the proxies do not know what those
are like. It is a uniform word, which its weight sets apart, so dummies do not hide the number of ties.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ppaurora.randomness.streams import Stream
from ppaurora.sharing.algebra import RING, XOR_WORDS
from ppaurora.sharing.shares import RingShare, Words
from ppaurora.suites.cecilia.dealing import Dealing
from ppaurora.suites.role import Role


def differ(dealing: Dealing, d: RingShare) -> RingShare:
    """1 where d is not zero."""
    count = len(d)
    total = 2 * count
    if dealing.role.is_helper:
        dealing.deal(
            [(RING, (total,))], lambda: [(dealing.at_helper(XOR_WORDS, (total,)) != 0).astype(np.uint64)]
        )
        return RingShare.zeros(d.holder, d.shape)
    common = dealing.blind
    part = np.uint64(0) - d.values if dealing.role is Role.PROXY_0 else d.values
    part = _permute_bits(part ^ common.words((count,)), common.permutations(count, 64))
    listed = np.concatenate((part, dummies(common, count, dealing.role)))
    places = common.permutations(1, total)[0]
    dealing.to_helper(XOR_WORDS, listed[places])
    (flags,) = dealing.deal([(RING, (total,))], list)
    back = np.empty_like(flags)
    back[places] = flags
    kept = back[:count]
    return RingShare(d.holder, kept + dealing.zero(RING, kept.shape))


def _permute_bits(words: Words, orders: NDArray[np.intp]) -> Words:
    bits = np.unpackbits(words.astype("<u8").view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
    moved = np.take_along_axis(bits, orders, axis=1)
    return np.packbits(moved, axis=1, bitorder="little").view("<u8").reshape(-1)


def dummies(common: Stream, count: int, role: Role) -> Words:
    """Parts of `count` words, of which a uniformly random number, from none to all, are zero."""
    base = common.words((count,))
    apart = common.words((count,))
    zeros = common.words_below(count + 1, 1)
    apart = np.where(np.arange(count) < zeros, np.uint64(0), apart)
    return base if role is Role.PROXY_0 else base ^ apart
