"""Lists of records as bit planes, and the wires of a merge network over them.

Wires are lanes. A layer whose stride is 64 or more pairs whole words. In a layer of a smaller
stride the odd-numbered blocks of lanes meet the blocks after them: the right-hand records are
shifted into line with the left-hand ones, which fill half of the lanes, and every two words are
packed into one, so that no lane of a comparison is wasted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ppaurora.sharing.planes import LANES, Planes, concat_planes, shift_down, shift_up, word_count
from ppaurora.sharing.shares import Holder, Words
from ppaurora.suites.network import comparators, half_for, strides


@dataclass(frozen=True)
class PlaneRecords:
    """Key planes, most significant first, and a last plane of labels."""

    bits: Planes

    @property
    def keys(self) -> Planes:
        return self.bits.planes(slice(0, -1))

    @property
    def labels(self) -> Planes:
        return self.bits.planes(slice(-1, None))

    def __len__(self) -> int:
        return len(self.bits)

    def __getitem__(self, index: int | slice) -> PlaneRecords:
        return PlaneRecords(self.bits[index])

    @classmethod
    def concat(cls, parts: Sequence[PlaneRecords]) -> PlaneRecords:
        return cls(concat_planes([part.bits for part in parts]))

    def wires(self, other: PlaneRecords) -> PlaneWires:
        return PlaneWires(self, other)


class PlaneWires:
    """The first list ends and the second begins at a word boundary, at wire `half`."""

    def __init__(self, first: PlaneRecords, second: PlaneRecords) -> None:
        self._sizes = len(first), len(second)
        before, after = word_count(len(first)), word_count(len(second))
        self._half_words = half_for(before, after)
        self._start = self._half_words - before
        self._pad = before * LANES - len(first)
        holder = first.bits.holder
        shape = (*first.bits.data.shape[:2], before + after)
        self._data = np.zeros(shape, dtype=np.uint64)
        self._data[..., :before] = shift_up(first.bits.data, self._pad)[..., :before]
        self._data[..., before:] = second.bits.data
        if self._pad and holder is not Holder.HELPER:
            # Lanes before the first record are wires that hold +infinity; those after the last hold 0.
            self._data[0, :-1, 0] |= np.uint64((1 << self._pad) - 1)
        self._holder = holder

    def strides(self) -> Iterator[int]:
        half = self._half_words * LANES
        return strides(half, half - self._sizes[0], half + self._sizes[1])

    def _word_pairs(self, stride: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        words = stride // LANES
        upper = comparators(self._half_words, words, self._start, self._start + self._data.shape[-1])
        return upper - self._start, upper - self._start + words

    def pairs(self, stride: int) -> tuple[PlaneRecords, PlaneRecords]:
        if stride >= LANES:
            upper, lower = self._word_pairs(stride)
            return self._records(self._data[..., upper]), self._records(self._data[..., lower])
        left, right = self._data, shift_down(self._data, stride)
        return self._records(_pack(left, stride)), self._records(_pack(right, stride))

    def put(self, stride: int, high: PlaneRecords, low: PlaneRecords) -> None:
        words = self._data.shape[-1]
        if stride >= LANES:
            upper, lower = self._word_pairs(stride)
            self._data[..., upper] = high.bits.data
            self._data[..., lower] = low.bits.data
            return
        mask = left_lanes(stride)
        upper_lanes = _unpack(high.bits.data, stride, words)
        lower_lanes = shift_up(_unpack(low.bits.data, stride, words), stride)[..., :words]
        self._data = (
            self._data & ~(mask | _shifted_everywhere(mask, stride, words)) | upper_lanes | lower_lanes
        )

    def _records(self, data: Words) -> PlaneRecords:
        return PlaneRecords(Planes(self._holder, data, data.shape[-1] * LANES))

    def merged(self) -> PlaneRecords:
        whole = self._records(self._data)
        return whole[self._pad : self._pad + sum(self._sizes)]


def left_lanes(stride: int) -> np.uint64:
    """The odd-numbered blocks of `stride` lanes in a word."""
    block = ((1 << stride) - 1) << stride
    return np.uint64(sum(block << at for at in range(0, LANES, 2 * stride)))


def _pack(data: Words, stride: int) -> Words:
    """The left lanes of two words in one: the second word's go to the even-numbered blocks."""
    mask = left_lanes(stride)
    first, second = data[..., 0::2] & mask, data[..., 1::2] & mask
    first[..., : second.shape[-1]] |= second >> np.uint64(stride)
    return first


def _unpack(packed: Words, stride: int, words: int) -> Words:
    mask = left_lanes(stride)
    data = np.empty((*packed.shape[:-1], words), dtype=np.uint64)
    data[..., 0::2] = packed & mask
    data[..., 1::2] = (packed[..., : words // 2] << np.uint64(stride)) & mask
    return data


def _shifted_everywhere(mask: np.uint64, stride: int, words: int) -> Words:
    """The lanes that follow the left lanes, over word boundaries."""
    return shift_up(np.full(words, mask, dtype=np.uint64), stride)[:words]
