"""Bit planes: bit k of 64 records in one machine word.

A party holds some components of every secret bit, as its holder says. Record j is lane j mod 64 of word
j div 64, lowest bit first. What moves, selects and xors lanes acts on all components alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ppaurora.sharing.algebra import RING, Ring
from ppaurora.sharing.shares import Bytes, Elements, Holder, Words

LANES = 64
ALL_ONES = np.uint64(2**64 - 1)
_SLAB_WORDS = 1 << 14  # that are moved at a time: they stay in the cache


def word_count(lanes: int) -> int:
    return -(-lanes // LANES)


class Planes:
    """`count` lanes of one or more bit planes; array axes are component, plane, word.

    Lanes from `count` on are zero in every component.
    """

    __slots__ = ("count", "data", "holder")
    __iter__ = None

    def __init__(self, holder: Holder, data: Words, count: int) -> None:
        self.holder = holder
        self.data = data
        self.count = count

    @classmethod
    def zeros(cls, holder: Holder, planes: int, count: int) -> Planes:
        shape = (len(holder.units), planes, word_count(count))
        return cls(holder, np.zeros(shape, dtype=np.uint64), count)

    def __len__(self) -> int:
        return self.count

    def __repr__(self) -> str:
        return f"<Planes of {self.holder.title}, {self.data.shape[1]} planes of {self.count} lanes>"

    def copy(self) -> Planes:
        """Return a copy, so that what this was a part of can go."""
        return Planes(self.holder, self.data.copy(), self.count)

    def planes(self, which: slice) -> Planes:
        return Planes(self.holder, self.data[:, which], self.count)

    def __getitem__(self, index: int | slice) -> Planes:
        """Return some lanes in a row, counted from the first on."""
        if isinstance(index, int):
            index = slice(index, index + 1 or None)
        start, stop, step = index.indices(self.count)
        if step != 1:
            raise IndexError("lanes are taken in a row")
        count = max(stop - start, 0)
        if count == self.count:
            return self
        if count == 0:  # of its own, so that nothing is kept for it
            return Planes(self.holder, np.empty((*self.data.shape[:-1], 0), dtype=np.uint64), 0)
        return Planes(self.holder, keep_lanes(take_lanes(self.data, start, count), count), count)

    def __xor__(self, other: Planes) -> Planes:
        return Planes(self.holder, self.data ^ other.data, self.count)

    def __invert__(self) -> Planes:
        data = self.data.copy()
        for component, unit in zip(data, self.holder.units, strict=True):
            if unit:
                component ^= ALL_ONES
        return Planes(self.holder, keep_lanes(data, self.count), self.count)


def concat_planes(parts: Sequence[Planes]) -> Planes:
    """Return all parts' lanes, one part's after the other's."""
    first = parts[0]
    if len(parts) == 1:
        return first
    count = sum(part.count for part in parts)
    data = np.zeros((*first.data.shape[:-1], word_count(count)), dtype=np.uint64)
    at = 0
    for part in parts:
        word, offset = divmod(at, LANES)
        for some in slabs(part.data):
            moved = shift_up(part.data[some], offset)[..., : data.shape[-1] - word]
            data[some][..., word : word + moved.shape[-1]] |= moved
        at += part.count
    return Planes(first.holder, data, count)


def take_lanes(data: Words, start: int, count: int) -> Words:
    """Return some lanes in a row, counted from the first on; in the last word there may be more of them."""
    first, offset = divmod(start, LANES)
    words = data[..., first : first + word_count(count + offset)]
    if offset == 0:
        return words
    taken = np.empty((*data.shape[:-1], word_count(count)), dtype=np.uint64)
    for some in slabs(words):
        taken[some] = shift_down(words[some], offset)[..., : word_count(count)]
    return taken


def slabs(data: Words) -> Iterator[tuple[Any, ...]]:
    """Give some planes at a time, so that little is copied at once: indices of planes by words."""
    planes = data.shape[-2]
    words_per_plane = max(data.size // max(planes, 1), 1)
    together = max(_SLAB_WORDS // words_per_plane, 1)
    return ((..., slice(start, start + together), slice(None)) for start in range(0, planes, together))


def shift_down(data: Words, lanes: int) -> Words:
    """Lane j becomes lane j - lanes, 0 <= lanes < 64."""
    if lanes == 0 or data.shape[-1] == 0:
        return data
    out = data >> np.uint64(lanes)
    out[..., :-1] |= data[..., 1:] << np.uint64(LANES - lanes)
    return out


def shift_up(data: Words, lanes: int) -> Words:
    """Lane j becomes lane j + lanes, 0 <= lanes < 64; one word more, unless nothing moves."""
    if lanes == 0:
        return data
    out = np.zeros((*data.shape[:-1], data.shape[-1] + 1), dtype=np.uint64)
    np.left_shift(data, np.uint64(lanes), out=out[..., :-1])
    out[..., 1:] |= data >> np.uint64(LANES - lanes)
    return out


def keep_lanes(data: Words, count: int) -> Words:
    """Zero the lanes from `count` on, in the last word."""
    excess = count % LANES
    if excess and data.shape[-1]:
        if not data.flags.writeable or data.base is not None:
            data = data.copy()
        data[..., -1] &= np.uint64((1 << excess) - 1)
    return data


def slice_numbers(numbers: Elements, width: int, ring: Ring = RING) -> Words:
    """Return the low bits of numbers as planes, most significant bit first: an array of (width, words)."""
    count = len(numbers)
    numbers_octets = np.frombuffer(ring.to_wire(numbers), dtype=np.uint8).reshape(count, ring.bits // 8)
    octets = np.zeros((-(-width // 8), word_count(count) * LANES), dtype=np.uint8)
    octets[:, :count] = numbers_octets.T[: len(octets)]
    planes = np.empty((width, word_count(count)), dtype=np.uint64)
    for plane in range(width):
        octet, bit = divmod(width - 1 - plane, 8)
        planes[plane] = pack_lanes(octets[octet] & np.uint8(1 << bit))
    return planes


def pack_lanes(bits: Bytes) -> Words:
    """Return bits, one to a byte, as lanes of words along the last axis, whose length is a multiple of 64.

    A byte that is not zero is a bit that is set.
    """
    packed = np.packbits(bits, axis=-1, bitorder="little")
    return packed.view("<u8").astype(np.uint64, copy=False)


def unpack_lanes(words: Words, count: int) -> NDArray[np.uint8]:
    """Return the first `count` lanes, one to a byte, along the last axis."""
    octets = np.ascontiguousarray(words).astype("<u8", copy=False).view(np.uint8)
    return np.unpackbits(octets, axis=-1, count=count, bitorder="little")
