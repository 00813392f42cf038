"""Every second lane of bit planes, and lanes put together again by turns.

In a word, pairs of neighbouring groups of 1, 2, 4, 8 and 16 lanes trade places until the even-numbered lanes
are in the lower half: the perfect unshuffle of H. S. Warren, Hacker's Delight (2012), section 7-2.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from ppaurora.sharing.planes import Planes, keep_lanes, word_count
from ppaurora.sharing.shares import Words

_SLAB_WORDS = 1 << 14  # that are moved at a time: they stay in the cache
_TRADES = (
    (1, 0x2222222222222222),
    (2, 0x0C0C0C0C0C0C0C0C),
    (4, 0x00F000F000F000F0),
    (8, 0x0000FF000000FF00),
    (16, 0x00000000FFFF0000),
)


def deal_lanes(planes: Planes, ways: int) -> list[Planes]:
    """List k has the lanes k, k + ways, k + 2·ways, ...; `ways` is a power of two."""
    if ways == 1:
        return [planes]
    evens, odds = _separated(planes.data)
    count = len(planes)
    halves = [
        Planes(planes.holder, half[..., : word_count(lanes)], lanes)
        for half, lanes in ((evens, count - count // 2), (odds, count // 2))
    ]
    dealt: list[Planes] = [planes] * ways
    dealt[0::2], dealt[1::2] = (deal_lanes(half, ways // 2) for half in halves)
    return dealt


def interleave_lanes(parts: list[Planes]) -> Planes:
    """What was dealt in one again; the first lists may be longer by one lane. Takes the parts: the list is
    empty afterwards.
    """
    if len(parts) == 1:
        return parts.pop()
    halves = parts[0::2], parts[1::2]
    parts.clear()
    evens, odds = (interleave_lanes(half) for half in halves)
    count = len(evens) + len(odds)
    data = _interleaved(evens.data, odds.data, word_count(count))
    return Planes(evens.holder, keep_lanes(data, count), count)


def _separated(data: Words) -> tuple[Words, Words]:
    """The even-numbered lanes, and the odd-numbered ones."""
    rows = _rows(data)
    words = rows.shape[-1]
    out = np.zeros((2, len(rows), -(-words // 2)), dtype="<u8")
    halves = out.view("<u4")[..., :words]
    for some in _slabs(len(rows), words):
        slab = rows[some].copy()
        _trade(slab, _TRADES)
        both = slab.view("<u4")
        halves[0, some], halves[1, some] = both[:, 0::2], both[:, 1::2]
    evens, odds = out.reshape(2, *data.shape[:-1], out.shape[-1]).astype(np.uint64, copy=False)
    return evens, odds


def _interleaved(evens: Words, odds: Words, words: int) -> Words:
    rows = [_rows(half) for half in (evens, odds)]
    out = np.zeros((len(rows[0]), words), dtype="<u8")
    for some in _slabs(len(out), words):
        both = out[some].view("<u4")
        for side, half in enumerate(rows):
            found = half[some].view("<u4")[:, :words]
            both[:, side : side + 2 * found.shape[-1] : 2] = found
        _trade(out[some], reversed(_TRADES))
    return out.reshape(*evens.shape[:-1], words).astype(np.uint64, copy=False)


def _trade(words: Words, trades: Iterable[tuple[int, int]]) -> None:
    """In place: groups of lanes under a mask trade places with those that follow them."""
    unlike, moved = np.empty_like(words), np.empty_like(words)
    for lanes, mask in trades:
        np.right_shift(words, np.uint64(lanes), out=unlike)
        unlike ^= words
        unlike &= np.uint64(mask)
        np.left_shift(unlike, np.uint64(lanes), out=moved)
        words ^= unlike
        words ^= moved


def _rows(data: Words) -> Words:
    """All planes below each other, in the order of bytes that halves of words presume."""
    flat = np.ascontiguousarray(data).astype("<u8", copy=False)
    return flat.reshape(math.prod(data.shape[:-1]), data.shape[-1])


def _slabs(rows: int, words: int) -> list[slice]:
    together = max(_SLAB_WORDS // max(words, 1), 1)
    return [slice(start, start + together) for start in range(0, rows, together)]
