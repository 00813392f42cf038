"""What goes from an owner to a proxy, and what comes back. Neither prints its contents."""

from __future__ import annotations

from dataclasses import dataclass, field

from ppaurora.sharing.algebra import BITS, RING
from ppaurora.sharing.shares import Bytes, Words


@dataclass(frozen=True)
class InputShare:
    """One proxy's part of an owner's list: keys modulo 2^64, labels modulo 2."""

    keys: Words = field(repr=False)
    labels: Bytes = field(repr=False)

    def __len__(self) -> int:
        return len(self.keys)

    def to_bytes(self) -> bytes:
        return bytes(RING.to_wire(self.keys)) + bytes(BITS.to_wire(self.labels))

    @classmethod
    def from_bytes(cls, raw: bytes, size: int) -> InputShare:
        split_at = RING.wire_bytes(size)
        view = memoryview(raw)
        return cls(RING.from_wire(view[:split_at], (size,)), BITS.from_wire(view[split_at:], (size,)))

    @staticmethod
    def wire_bytes(size: int) -> int:
        return RING.wire_bytes(size) + BITS.wire_bytes(size)


@dataclass(frozen=True)
class ResultShare:
    """One proxy's part of the result: a validity flag, then a fixed-point number per metric."""

    words: Words = field(repr=False)
