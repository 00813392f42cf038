"""What the suites whose keys are ring elements have in common: records as arrays, one element each."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ppaurora.sharing.algebra import BITS, RING
from ppaurora.sharing.shares import (
    BitShare,
    Bytes,
    Holder,
    LinearShare,
    Public,
    RingShare,
    Words,
    concat,
    interleave,
    stack,
)
from ppaurora.sharing.spans import spans
from ppaurora.sharing.stages import check_length
from ppaurora.suites.base import SuiteOf
from ppaurora.suites.network import comparators, half_for, strides


@dataclass(frozen=True)
class AdditiveShare:
    """One server's part of an owner's list: parts of keys modulo 2^64 and of labels modulo 2."""

    keys: Words = field(repr=False)
    labels: Bytes = field(repr=False)

    def __len__(self) -> int:
        return len(self.keys)

    def part(self, samples: range) -> AdditiveShare:
        some = slice(samples.start, samples.stop)
        return AdditiveShare(self.keys[some], self.labels[some])

    def to_bytes(self) -> bytes:
        return bytes(RING.to_wire(self.keys)) + bytes(BITS.to_wire(self.labels))

    @classmethod
    def from_bytes(cls, raw: bytes | memoryview, size: int) -> AdditiveShare:
        check_length(raw, cls.wire_bytes(size), size)
        split_at = RING.wire_bytes(size)
        view = memoryview(raw)
        return cls(RING.from_wire(view[:split_at], (size,)), BITS.from_wire(view[split_at:], (size,)))

    @staticmethod
    def wire_bytes(size: int) -> int:
        return RING.wire_bytes(size) + BITS.wire_bytes(size)


@dataclass(frozen=True)
class ArrayRecords:
    """Keys and labels, one array element to a sample."""

    keys: RingShare
    labels: BitShare

    def __len__(self) -> int:
        return len(self.keys)

    def __getitem__(self, index: int | slice) -> ArrayRecords:
        return ArrayRecords(self.keys[index], self.labels[index])

    @classmethod
    def concat(cls, parts: Sequence[ArrayRecords]) -> ArrayRecords:
        return cls(concat([part.keys for part in parts]), concat([part.labels for part in parts]))

    @classmethod
    def empty(cls, holder: Holder, size: int = 0) -> ArrayRecords:
        return cls(RingShare.zeros(holder, (size,)), BitShare.zeros(holder, (size,)))

    def wires(self, other: ArrayRecords, least_half: int = 1) -> ArrayWires:
        return ArrayWires(self, other, least_half)

    def deal(self, ways: int) -> list[ArrayRecords]:
        return [self[number::ways] for number in range(ways)]

    @classmethod
    def interleave(cls, parts: list[ArrayRecords]) -> ArrayRecords:
        keys, labels = [part.keys for part in parts], [part.labels for part in parts]
        parts.clear()
        return cls(interleave(keys), interleave(labels))

    def to_arrays(self) -> list[NDArray[Any]]:
        return [self.keys.values, self.labels.values]

    def like(self, arrays: Sequence[NDArray[Any]], size: int) -> ArrayRecords:
        keys, labels = arrays
        return ArrayRecords(self.keys.like(keys), self.labels.like(labels))


class ArraySuite(SuiteOf[RingShare, RingShare | BitShare, RingShare]):
    """What follows from the other functionalities where keys and flags are ring elements."""

    @property
    def additive(self) -> Holder:  # type: ignore[override]  # the same, whatever a subclass sets
        return self.holder

    @staticmethod
    def reconstruct(parts: Sequence[Any]) -> NDArray[Any]:
        """Return the sum of all parts."""
        return sum_of_parts(parts)

    def count_ones(self, flags: RingShare | BitShare, places: Sequence[slice]) -> RingShare:
        ones = self.to_ring(flags)
        return concat([ones[place].sum() for place in places])

    def compare_neighbours(self, lists: Sequence[RingShare]) -> RingShare | BitShare:
        return self.compare(concat([keys[:-1] for keys in lists]), concat([keys[1:] for keys in lists]))

    def ends_of_groups(self, keys: RingShare) -> RingShare:
        if len(keys) <= 1:
            return self.constant(1, len(keys))
        return concat([self.to_ring(self.differ(keys[:-1], keys[1:])), self.constant(1)])

    def div_public(
        self, x: RingShare, divisors: range, bits: int, into: RingShare | None = None
    ) -> RingShare:
        """Divide as the paper does: the divisors are public, and yet divided by in secret."""
        denominators = self.constant(np.array(divisors, dtype=np.uint64))
        return _written(self.div(x, denominators, bits, max(divisors, default=1)), into)

    def shift_right(self, x: RingShare, bits: int) -> RingShare:
        """Bit by bit from the highest: one that fits is taken off."""
        quotient, rest = x * 0, x
        for place in reversed(range(bits, 63)):
            fits = self.to_ring(self.compare(rest, self.constant(1 << place, len(x))))
            quotient = quotient + fits * (1 << (place - bits))
            rest = rest - fits * (1 << place)
        return quotient

    def to_ring(self, flags: RingShare | BitShare, into: RingShare | None = None) -> RingShare:
        return _written(self.lift(flags), into)

    @abstractmethod
    def lift(self, flags: RingShare | BitShare) -> RingShare:
        """Return the same bits as elements of the ring."""

    def blank(self, rows: int, length: int) -> RingShare:
        return RingShare(self.holder, np.zeros((rows, length), dtype=np.uint64))

    def flags_from_start(self, flags: RingShare | BitShare) -> RingShare:
        return concat([self.constant(1), self.to_ring(flags)])

    def carry(self, flags: RingShare, values: RingShare, source: slice, target: slice, *, join: bool) -> None:
        """f or f' = f + f' - f·f', and the values by MUX, with one multiplication by the target's flags."""
        gaps = (values[target] - values[source]).rows()
        products = self.mul(flags[target], stack([flags[source], *gaps]) if join else stack(gaps)).rows()
        if join:
            joined = flags[source] + flags[target] - products.pop(0)
        values.write(target, values[source] + stack(products))
        if join:
            flags.write(target, joined)

    def exchange_layer(self, layer: Sequence[tuple[ArrayWires, int]]) -> None:
        pairs = [wires.pairs(stride) for wires, stride in layer]
        high, low = self.exchange(
            ArrayRecords.concat([left for left, _ in pairs]),
            ArrayRecords.concat([right for _, right in pairs]),
        )
        for (wires, stride), place in zip(layer, spans(len(left) for left, _ in pairs), strict=True):
            wires.put(stride, high[place], low[place])

    def constant(self, value: Public, length: int = 1) -> RingShare:
        return RingShare.zeros(self.holder, (length,)) + value

    def no_records(self) -> ArrayRecords:
        return ArrayRecords.empty(self.holder)


def sum_of_parts(parts: Sequence[LinearShare | BitShare]) -> NDArray[Any]:
    """Return the secret of which all servers' parts are the summands."""
    first, *others = parts
    total = first.values
    for other in others:
        total = total ^ other.values if isinstance(first, BitShare) else first.ring.add(total, other.values)
    return total


def _written(result: RingShare, into: RingShare | None) -> RingShare:
    if into is None:
        return result
    into.write(slice(None), result)
    return into


class ArrayWires:
    """The first list ends where the second begins, at a power of two not below either length."""

    def __init__(self, first: ArrayRecords, second: ArrayRecords, least_half: int = 1) -> None:
        self._half = max(half_for(len(first), len(second)), least_half)
        self._start = self._half - len(first)
        self._records = ArrayRecords.concat([first, second])

    def strides(self) -> Iterator[int]:
        return strides(self._half, self._start, self._start + len(self._records))

    def _left(self, stride: int) -> NDArray[np.intp]:
        return comparators(self._half, stride, self._start, self._start + len(self._records)) - self._start

    def pairs(self, stride: int) -> tuple[ArrayRecords, ArrayRecords]:
        left = self._left(stride)
        keys, labels = self._records.keys, self._records.labels
        return (
            ArrayRecords(keys.take(left), labels.take(left)),
            ArrayRecords(keys.take(left + stride), labels.take(left + stride)),
        )

    def put(self, stride: int, high: ArrayRecords, low: ArrayRecords) -> None:
        left = self._left(stride)
        keys, labels = self._records.keys, self._records.labels
        self._records = ArrayRecords(
            keys.put(left, high.keys).put(left + stride, low.keys),
            labels.put(left, high.labels).put(left + stride, low.labels),
        )

    def merged(self) -> ArrayRecords:
        return self._records
