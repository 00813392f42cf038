"""What goes from an owner to a proxy, and what comes back. None of it prints its contents."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from ppaurora.sharing.algebra import BITS, RING
from ppaurora.sharing.planes import word_count
from ppaurora.sharing.shares import Bytes, Words


class InputShare(Protocol):
    """One proxy's part of an owner's list."""

    def __len__(self) -> int: ...

    def to_bytes(self) -> bytes: ...


@dataclass(frozen=True)
class PlanesShare:
    """Parts modulo 2 of bit planes: the keys', most significant first, then the labels'."""

    planes: Words = field(repr=False)
    size: int

    def __len__(self) -> int:
        return self.size

    def to_bytes(self) -> bytes:
        return bytes(RING.to_wire(self.planes))

    @classmethod
    def from_bytes(cls, raw: bytes, size: int, key_bits: int) -> PlanesShare:
        return cls(RING.from_wire(memoryview(raw), (key_bits + 1, word_count(size))), size)

    @staticmethod
    def wire_bytes(size: int, key_bits: int) -> int:
        return RING.wire_bytes((key_bits + 1) * word_count(size))


@dataclass(frozen=True)
class AdditiveShare:
    """Parts of keys modulo 2^64 and of labels modulo 2."""

    keys: Words = field(repr=False)
    labels: Bytes = field(repr=False)

    def __len__(self) -> int:
        return len(self.keys)

    def to_bytes(self) -> bytes:
        return bytes(RING.to_wire(self.keys)) + bytes(BITS.to_wire(self.labels))

    @classmethod
    def from_bytes(cls, raw: bytes, size: int) -> AdditiveShare:
        split_at = RING.wire_bytes(size)
        view = memoryview(raw)
        return cls(RING.from_wire(view[:split_at], (size,)), BITS.from_wire(view[split_at:], (size,)))

    @staticmethod
    def wire_bytes(size: int) -> int:
        return RING.wire_bytes(size) + BITS.wire_bytes(size)


@dataclass(frozen=True)
class ResultShare:
    """One proxy's part of the result: rows of mantissas and exponents, a flag and then the metrics."""

    words: Words = field(repr=False)
