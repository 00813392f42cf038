"""What goes from an owner to a server, and what comes back. None of it prints its contents."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from ppaurora.errors import InputError
from ppaurora.randomness.streams import Stream
from ppaurora.sharing.algebra import RING
from ppaurora.sharing.shares import Words

SEED_BYTES = 32

Counts = NDArray[np.uint32]


class InputShare(Protocol):
    """One server's part of an owner's list. Every scheme has its own."""

    def __len__(self) -> int: ...

    def part(self, samples: range) -> InputShare:
        """Return the part of some samples in a row."""

    def to_bytes(self) -> bytes: ...


@dataclass(frozen=True)
class TableShare:
    """One server's part of an owner's table: counts modulo 2^32, or the seed of a stream that they are."""

    content: bytes = field(repr=False)
    counts: int
    is_seed: bool

    @classmethod
    def split(cls, table: Counts, servers: int, stream: Stream) -> tuple[TableShare, ...]:
        """Give every server but the last a fresh seed, and the last what is missing to the counts."""
        seeds = [
            cls(stream.bytes(SEED_BYTES).tobytes(), len(table), is_seed=True) for _ in range(servers - 1)
        ]
        missing = table - sum((share.parts() for share in seeds), np.zeros_like(table))
        return (*seeds, cls(missing.astype("<u4").tobytes(), len(table), is_seed=False))

    @staticmethod
    def wire_bytes(counts: int, *, is_seed: bool) -> int:
        """Return how long it is as bytes."""
        return SEED_BYTES if is_seed else 4 * counts

    def parts(self) -> Counts:
        """Return the part of every count modulo 2^32."""
        if self.is_seed:
            raw = Stream(self.content, "table").bytes(4 * self.counts)
            return raw.view("<u4")
        return np.frombuffer(self.content, dtype="<u4")


@dataclass(frozen=True)
class Shape:
    """How much an owner submits: lists, sums and other numbers beside them, and counts."""

    sums: int = 0
    lists: int = 1  # of a protocol that takes lists
    counts: int = 0


@dataclass(frozen=True)
class OwnerShare:
    """One server's part of all that an owner submits, as far as its protocol takes it.

    A list of samples, parts modulo 2^64 of its sums, and its counts; where several models or outcomes are
    evaluated, a list for each further one.
    """

    samples: InputShare | None = field(repr=False)
    sums: Words = field(repr=False)
    table: TableShare | None = field(default=None, repr=False)
    more_lists: tuple[InputShare, ...] = field(default=(), repr=False)

    @property
    def lists(self) -> tuple[InputShare, ...]:
        """All lists, the first one first."""
        return () if self.samples is None else (self.samples, *self.more_lists)

    def to_bytes(self) -> bytes:
        samples = b"".join(one.to_bytes() for one in self.lists)
        table = b"" if self.table is None else self.table.content
        return samples + bytes(RING.to_wire(self.sums)) + table


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
