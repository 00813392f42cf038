"""What goes from an owner to a server, and what comes back. None of it prints its contents."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

from ppaurora.errors import InputError
from ppaurora.sharing.algebra import BITS, RING
from ppaurora.sharing.planes import take_lanes, word_count
from ppaurora.sharing.shares import Bytes, Words


class InputShare(Protocol):
    """One server's part of an owner's list."""

    def __len__(self) -> int: ...

    def part(self, samples: range) -> InputShare:
        """Of some samples in a row."""

    def to_bytes(self) -> bytes: ...


@dataclass(frozen=True)
class PlanesShare:
    """Parts modulo 2 of bit planes: the keys', most significant first, then the labels'."""

    planes: Words = field(repr=False)
    size: int

    def __len__(self) -> int:
        return self.size

    def part(self, samples: range) -> PlanesShare:
        return PlanesShare(take_lanes(self.planes, samples.start, len(samples)), len(samples))

    def to_bytes(self) -> bytes:
        return bytes(RING.to_wire(self.planes))

    @classmethod
    def from_bytes(cls, raw: bytes | memoryview, size: int, key_bits: int) -> PlanesShare:
        _check_length(raw, cls.wire_bytes(size, key_bits), size)
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

    def part(self, samples: range) -> AdditiveShare:
        some = slice(samples.start, samples.stop)
        return AdditiveShare(self.keys[some], self.labels[some])

    def to_bytes(self) -> bytes:
        return bytes(RING.to_wire(self.keys)) + bytes(BITS.to_wire(self.labels))

    @classmethod
    def from_bytes(cls, raw: bytes | memoryview, size: int) -> AdditiveShare:
        _check_length(raw, cls.wire_bytes(size), size)
        split_at = RING.wire_bytes(size)
        view = memoryview(raw)
        return cls(RING.from_wire(view[:split_at], (size,)), BITS.from_wire(view[split_at:], (size,)))

    @staticmethod
    def wire_bytes(size: int) -> int:
        return RING.wire_bytes(size) + BITS.wire_bytes(size)


@dataclass(frozen=True)
class OwnerShare:
    """One server's part of all that an owner submits: its list, and parts modulo 2^64 of its sums."""

    samples: InputShare = field(repr=False)
    sums: Words = field(repr=False)

    def __len__(self) -> int:
        return len(self.samples)

    def to_bytes(self) -> bytes:
        return self.samples.to_bytes() + bytes(RING.to_wire(self.sums))


def _check_length(raw: bytes | memoryview, expected: int, size: int) -> None:
    if len(raw) != expected:
        raise InputError(f"a share of {size:,} samples has {expected:,} bytes, not {len(raw):,}")


class ResultShare:
    """One server's part of the result: rows of mantissas and exponents, one column per number.

    As bytes: the mantissas, then the exponents, eight bytes each, little endian. In JSON: those bytes in
    base64. There is no other encoding between a server's computation and the owner.
    """

    __slots__ = ("words",)

    def __init__(self, words: Words) -> None:
        self.words = words

    def __repr__(self) -> str:
        return f"<ResultShare of {self.words.shape[-1]} columns>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ResultShare) and other.to_bytes() == self.to_bytes()

    def __hash__(self) -> int:
        return hash(self.to_bytes())

    def to_bytes(self) -> bytes:
        return bytes(RING.to_wire(self.words))

    @classmethod
    def from_bytes(cls, raw: bytes) -> Self:
        if not raw or len(raw) % RING.wire_bytes(2):
            raise ValueError("a part of a result has two rows of words")
        return cls(RING.from_wire(memoryview(raw), (2, len(raw) // RING.wire_bytes(2))))

    def to_plain(self) -> str:
        return base64.b64encode(self.to_bytes()).decode()

    @classmethod
    def from_plain(cls, plain: Any) -> Self:
        if not isinstance(plain, str):
            raise ValueError("a part of a result is a text")  # noqa: TRY004 (models want a ValueError)
        part = cls.from_bytes(base64.b64decode(plain, validate=True))
        if part.to_plain() != plain:
            raise ValueError("a part of a result has one text in base64 only")
        return part
