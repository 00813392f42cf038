"""Every W-th lane of bit planes, and lanes put together again by turns.

Lane j of a word goes to list j mod W, where it is at j div W. So the six bits of j are rotated: the lowest
ones become the highest. Two bits of all lanes' numbers change places at once, as in H. S. Warren, Hacker's
Delight (2012), section 7-2; a rotation by one bit takes five such trades, by two bits four, by three bits
three. Afterwards every list's lanes of a word lie side by side.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np

from ppaurora.sharing.planes import LANES, Planes, slabs, word_count
from ppaurora.sharing.shares import Words

_WAYS_AT_ONCE = 8  # a list's lanes of a word are a byte then


def deal_lanes(planes: Planes, ways: int) -> list[Planes]:
    """List k has the lanes k, k + ways, k + 2·ways, ...; `ways` is a power of two."""
    if ways == 1:
        return [planes]
    at_once = min(ways, _WAYS_AT_ONCE)
    parts = _separated(planes.data, at_once)
    dealt: list[Planes] = [planes] * ways
    for number in range(at_once):
        count = len(range(number, len(planes), at_once))
        part = Planes(planes.holder, parts.pop(0)[..., : word_count(count)], count)
        dealt[number::at_once] = deal_lanes(part, ways // at_once)
    return dealt


def interleave_lanes(parts: list[Planes]) -> Planes:
    """What was dealt in one again; the first lists may be longer by one lane. Takes the parts: the list is
    empty afterwards.
    """
    if len(parts) == 1:
        return parts.pop()
    at_once = min(len(parts), _WAYS_AT_ONCE)
    groups = [parts[number::at_once] for number in range(at_once)]
    parts.clear()
    by_turns = [interleave_lanes(group) for group in groups]
    count = sum(map(len, by_turns))
    data = _interleaved([one.data for one in by_turns], word_count(count))
    return Planes(by_turns[0].holder, data, count)


def _separated(data: Words, ways: int) -> list[Words]:
    words = data.shape[-1]
    parts = [np.zeros((*data.shape[:-1], -(-words // ways)), dtype="<u8") for _ in range(ways)]
    for some in slabs(data):
        slab = data[some].astype("<u8", order="C")
        _trade(slab, _trades(ways))
        pieces = slab.view(_piece(ways))
        for number, part in enumerate(parts):
            part[some].view(_piece(ways))[..., :words] = pieces[..., number::ways]
    return [part.astype(np.uint64, copy=False) for part in parts]


def _interleaved(parts: Sequence[Words], words: int) -> Words:
    out = np.zeros((*parts[0].shape[:-1], words), dtype="<u8")
    for some in slabs(out):
        slab = np.zeros_like(out[some])
        pieces = slab.view(_piece(len(parts)))
        for number, part in enumerate(parts):
            found = np.ascontiguousarray(part[some], dtype="<u8").view(_piece(len(parts)))[..., :words]
            pieces[..., number : number + len(parts) * found.shape[-1] : len(parts)] = found
        _trade(slab, reversed(_trades(len(parts))))
        out[some] = slab
    return out.astype(np.uint64, copy=False)


def _piece(ways: int) -> str:
    """Return a list's lanes of a word."""
    return f"<u{8 // ways}"


@lru_cache
def _trades(ways: int) -> tuple[tuple[int, np.uint64], ...]:
    """Return how far apart lanes are that trade places, and the lower ones of them."""
    bits = range(LANES.bit_length() - 1)
    rotation = ways.bit_length() - 1
    at = list(bits)  # which bit of the lanes' numbers is where
    trades = []
    for low in bits:
        high = at.index((low + rotation) % len(bits))
        if high != low:
            at[low], at[high] = at[high], at[low]
            lower = sum(1 << lane for lane in range(LANES) if lane >> low & 1 and not lane >> high & 1)
            trades.append(((1 << high) - (1 << low), np.uint64(lower)))
    return tuple(trades)


def _trade(words: Words, trades: Iterable[tuple[int, np.uint64]]) -> None:
    """In place: lanes under a mask trade places with those that are so far behind them."""
    unlike, moved = np.empty_like(words), np.empty_like(words)
    for distance, lower in trades:
        np.right_shift(words, np.uint64(distance), out=unlike)
        unlike ^= words
        unlike &= lower
        np.left_shift(unlike, np.uint64(distance), out=moved)
        words ^= unlike
        words ^= moved
