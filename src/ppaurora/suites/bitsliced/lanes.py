"""Bits of planes one by one, and keys beside the keys that follow them."""

from __future__ import annotations

import numpy as np

from ppaurora.sharing.planes import LANES, Planes, pack_lanes, shift_down, unpack_lanes, word_count
from ppaurora.sharing.shares import Bytes, Words


class MaskedBits:
    """Secret bits one by one, each in a byte: (component, position)."""

    __slots__ = ("data",)

    def __init__(self, data: Bytes) -> None:
        self.data = data

    def __len__(self) -> int:
        return int(self.data.shape[-1])

    def __getitem__(self, positions: slice) -> MaskedBits:
        return MaskedBits(self.data[:, positions])

    def to_array(self) -> Bytes:
        return self.data

    def like(self, array: Bytes) -> MaskedBits:
        return MaskedBits(array)

    def __repr__(self) -> str:
        return f"<MaskedBits, {len(self)} of them>"


def neighbours(keys: Planes, chunk: slice) -> tuple[Words, Words]:
    """Return some words of the keys, and the keys that follow each of them."""
    here = keys.data[..., chunk.start : chunk.stop + 1]
    words = min(chunk.stop, keys.data.shape[-1]) - chunk.start
    return here[..., :words], shift_down(here, 1)[..., :words]


def lanes_of(planes: Words, lanes: slice) -> Bytes:
    """Return some lanes of one plane, one to a byte; they begin at a word."""
    words = planes[:, lanes.start // LANES : word_count(lanes.stop)]
    return unpack_lanes(words, lanes.stop - lanes.start)


def packed(bits: Bytes) -> Words:
    """(component, plane, lane), one to a byte, as planes."""
    count = bits.shape[-1]
    padded = np.zeros((*bits.shape[:-1], word_count(count) * LANES), dtype=np.uint8)
    padded[..., :count] = bits
    return pack_lanes(padded)


def as_slice(positions: range) -> slice:
    return slice(positions.start, positions.stop, positions.step)
