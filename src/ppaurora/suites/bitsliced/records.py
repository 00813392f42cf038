"""Lists of records as bit planes, and the wires of a merge network over them.

Wires are lanes. A layer whose stride is 64 or more pairs whole words. In a layer of a smaller
stride the odd-numbered blocks of lanes meet the blocks after them: the right-hand records are
shifted into line with the left-hand ones, which fill half of the lanes, and every two words are
packed into one, so that no lane of a comparison is wasted. An exchange changes both sides by the same
difference, so it is applied in place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ppaurora.sharing.interleaving import deal_lanes, interleave_lanes
from ppaurora.sharing.planes import LANES, Planes, concat_planes, shift_down, shift_up, word_count
from ppaurora.sharing.shares import Words
from ppaurora.suites.bitsliced import trees
from ppaurora.suites.network import half_for, strides


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

    def wires(self, other: PlaneRecords, least_half: int = 1) -> PlaneWires:
        """Half of the wires are a word at least."""
        return PlaneWires(self, other)

    def deal(self, ways: int) -> list[PlaneRecords]:
        return [PlaneRecords(part) for part in deal_lanes(self.bits, ways)]

    @classmethod
    def interleave(cls, parts: list[PlaneRecords]) -> PlaneRecords:
        bits = [part.bits for part in parts]
        parts.clear()
        return cls(interleave_lanes(bits))

    def to_arrays(self) -> list[Words]:
        return [self.bits.data]

    def like(self, arrays: Sequence[Words], size: int) -> PlaneRecords:
        return PlaneRecords(Planes(self.bits.holder, arrays[0], size))


class Place(Protocol):
    """A part of a layer: some left wires and the right wires that they meet."""

    words: int  # of a plane

    def load(self) -> tuple[Words, Words]:
        """Left xor right of whole records, and the keys on the right."""

    def apply(self, move: Words) -> None:
        """Change both sides by this."""


class PlaneWires:
    """The first list ends and the second begins at a word boundary, at wire `half`."""

    def __init__(self, first: PlaneRecords, second: PlaneRecords) -> None:
        self._sizes = len(first), len(second)
        before, after = word_count(len(first)), word_count(len(second))
        self._half_words = half_for(before, after)
        self._start = self._half_words - before
        self._pad = before * LANES - len(first)
        holder = first.bits.holder
        components, planes = first.bits.data.shape[:2]
        self._data = np.empty((components, planes, before + after), dtype=np.uint64)
        for row, source in zip(_rows(self._data), _rows(first.bits.data), strict=True):
            row[:before] = shift_up(source, self._pad)[:before]
        self._data[..., before:] = second.bits.data
        if self._pad and holder.units[0]:
            # Lanes before the first record are wires that hold +infinity; those after the last hold 0.
            self._data[0, :-1, 0] |= np.uint64((1 << self._pad) - 1)
        self._holder = holder

    def strides(self) -> Iterator[int]:
        half = self._half_words * LANES
        return strides(half, half - self._sizes[0], half + self._sizes[1])

    def places(self, stride: int) -> Iterator[Place]:
        """All of a layer's comparators, in parts of a chunk at most."""
        return self._word_places(stride // LANES) if stride >= LANES else self._lane_places(stride)

    def _word_places(self, stride: int) -> Iterator[Place]:
        """The first layer pairs everything; the others the odd-numbered blocks with the next ones."""
        end = self._data.shape[-1] - stride  # of the left wires
        if stride == self._half_words:
            yield from self._slices(0, end, stride)
            return
        first = (self._start // stride | 1) * stride - self._start  # an odd block, perhaps begun before
        if first < 0:
            yield from self._slices(0, min(first + stride, end), stride)
            first += 2 * stride
        whole = max((end - first + stride) // (2 * stride), 0)
        last = first + 2 * stride * whole
        if stride >= trees.CHUNK_WORDS:
            for block in range(whole):
                at = first + 2 * stride * block
                yield from self._slices(at, at + stride, stride)
        else:
            together = trees.CHUNK_WORDS // stride
            for block in range(0, whole, together):
                at = first + 2 * stride * block
                blocks = min(together, whole - block)
                halves = self._data[..., at : at + 2 * stride * blocks]
                halves = halves.reshape(*halves.shape[:2], blocks, 2, stride)
                yield _WordPlace(halves[:, :, :, 0], halves[:, :, :, 1])
        yield from self._slices(last, end, stride)

    def _slices(self, start: int, stop: int, stride: int) -> Iterator[Place]:
        for at in range(start, stop, trees.CHUNK_WORDS):
            to = min(at + trees.CHUNK_WORDS, stop)
            yield _WordPlace(self._data[..., at:to], self._data[..., at + stride : to + stride])

    def _lane_places(self, stride: int) -> Iterator[Place]:
        words = self._data.shape[-1]
        for at in range(0, words, 2 * trees.CHUNK_WORDS):
            yield _LanePlace(self._data, at, min(at + 2 * trees.CHUNK_WORDS, words), stride)

    def merged(self) -> PlaneRecords:
        """Takes the wires; they are of no further use."""
        size = sum(self._sizes)
        words = word_count(size)
        for row in _rows(self._data):
            row[:words] = shift_down(row, self._pad)[:words]
            excess = size % LANES
            if excess:
                row[words - 1] &= np.uint64((1 << excess) - 1)
        return PlaneRecords(Planes(self._holder, self._data[..., :words], size))


def _rows(data: Words) -> Iterator[Words]:
    """Plane after plane, so that little is copied at a time."""
    return (plane for component in data for plane in component)


class _WordPlace:
    """Views of whole words; more than one axis where many blocks are taken together."""

    def __init__(self, left: Words, right: Words) -> None:
        self._left, self._right = left, right
        self.words = int(np.prod(left.shape[2:]))

    def load(self) -> tuple[Words, Words]:
        shape = (*self._left.shape[:2], self.words)
        unlike = (self._left ^ self._right).reshape(shape)
        keys = self._right[:, :-1].reshape(shape[0], shape[1] - 1, self.words)
        return unlike, keys

    def apply(self, move: Words) -> None:
        move = move.reshape(self._left.shape)
        self._left ^= move
        self._right ^= move


class _LanePlace:
    """Words whose lanes meet within a word or in the next one."""

    def __init__(self, data: Words, start: int, stop: int, stride: int) -> None:
        self._data = data
        self._start, self._stop, self._stride = start, stop, stride
        self.words = -(-(stop - start) // 2)  # every two are packed into one

    def load(self) -> tuple[Words, Words]:
        words = self._stop - self._start
        here = self._data[..., self._start : self._stop + 1]
        left = _pack(here[..., :words], self._stride)
        right = _pack(shift_down(here, self._stride)[..., :words], self._stride)
        left ^= right
        return left, right[:, :-1]

    def apply(self, move: Words) -> None:
        upper = _unpack(move, self._stride, self._stop - self._start)
        self._data[..., self._start : self._stop] ^= upper
        lower = shift_up(upper, self._stride)
        here = self._data[..., self._start : self._stop + 1]
        here ^= lower[..., : here.shape[-1]]


def left_lanes(stride: int) -> np.uint64:
    """Return the odd-numbered blocks of `stride` lanes in a word."""
    block = ((1 << stride) - 1) << stride
    return np.uint64(sum(block << at for at in range(0, LANES, 2 * stride)))


def _pack(data: Words, stride: int) -> Words:
    """Return the left lanes of two words in one: the second word's go to the even-numbered blocks."""
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


def in_batches(places: Iterable[Place]) -> Iterator[list[Place]]:
    """Small places together, up to a chunk."""
    batch: list[Place] = []
    words = 0
    for place in places:
        if batch and words + place.words > trees.CHUNK_WORDS:
            yield batch
            batch, words = [], 0
        batch.append(place)
        words += place.words
    if batch:
        yield batch
