"""What goes from an owner to a server, and what comes back. None of it prints its contents."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

from ppaurora.errors import InputError
from ppaurora.sharing.algebra import RING
from ppaurora.sharing.shares import Words


class InputShare(Protocol):
    """One server's part of an owner's list. Every scheme has its own."""

    def __len__(self) -> int: ...

    def part(self, samples: range) -> InputShare:
        """Return the part of some samples in a row."""

    def to_bytes(self) -> bytes: ...


@dataclass(frozen=True)
class OwnerShare:
    """One server's part of all that an owner submits: its list, and parts modulo 2^64 of its sums."""

    samples: InputShare = field(repr=False)
    sums: Words = field(repr=False)

    def __len__(self) -> int:
        return len(self.samples)

    def to_bytes(self) -> bytes:
        return self.samples.to_bytes() + bytes(RING.to_wire(self.sums))


def check_length(raw: bytes | memoryview, expected: int, size: int) -> None:
    """Raise an InputError unless a share of so many samples has so many bytes."""
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
