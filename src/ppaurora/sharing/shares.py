"""Share types: vectors of secrets of which this party holds one part.

A secret x is the sum of the holders' parts, modulo 2^64 (`RingShare`) or modulo 2 (`BitShare`).
Linear arithmetic on parts is linear arithmetic on secrets, so it is local and written with the
ordinary operators. A public constant c is shared as (0, c, 0): each holder knows its part of
one, its `unit`. The helper's part of every secret is zero, so the same algorithm runs at all
three parties without a branch; in the clear, the only holder's part is the value itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ppaurora.errors import MisuseError
from ppaurora.party.role import Role

Words = NDArray[np.uint64]
Bytes = NDArray[np.uint8]
Public = int | NDArray[Any]


class Holder(Enum):
    """Whose part of a secret this is."""

    PROXY_0 = "proxy 0"
    PROXY_1 = "proxy 1"
    HELPER = "helper"
    CLEARTEXT = "cleartext"

    @classmethod
    def of(cls, role: Role) -> Holder:
        return (cls.PROXY_0, cls.PROXY_1, cls.HELPER)[role]

    @property
    def unit(self) -> int:
        """This holder's part of the public constant one."""
        return int(self in (Holder.PROXY_1, Holder.CLEARTEXT))


class _Share:
    """What both kinds of share have in common: a holder, an array of parts, and shape-only operations.

    Operations act on the last axis; leading axes hold columns that travel together.
    """

    __slots__ = ("holder", "values")
    __array_ufunc__ = None  # numpy must leave `array - share` to the share
    __iter__ = None

    dtype: np.dtype[Any]

    def __init__(self, holder: Holder, values: NDArray[Any]) -> None:
        if values.dtype != self.dtype:
            raise MisuseError(f"{type(self).__name__} needs {self.dtype}, got {values.dtype}")
        self.holder = holder
        self.values = values

    @classmethod
    def zeros(cls, holder: Holder, shape: tuple[int, ...]) -> Self:
        """Everybody's part of zero; what the helper holds of anything."""
        return cls(holder, np.broadcast_to(np.zeros((), cls.dtype), shape))

    @classmethod
    def concat(cls, parts: Sequence[Self]) -> Self:
        """One list after the other."""
        return cls(parts[0].holder, np.concatenate([part.values for part in parts], axis=-1))

    @classmethod
    def stack(cls, columns: Sequence[Self]) -> Self:
        """Columns of equal length as the rows of one share."""
        return cls(columns[0].holder, np.stack([column.values for column in columns]))

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape

    def __len__(self) -> int:
        return int(self.values.shape[-1])

    def __getitem__(self, index: int | slice) -> Self:
        """Positions along the list; an int gives a list of one, so that a share is always a list."""
        if isinstance(index, int):
            index = slice(index, index + 1 or None)
        return type(self)(self.holder, self.values[..., index])

    def row(self, index: int) -> Self:
        """One column of a stack."""
        return type(self)(self.holder, self.values[index])

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.holder.value}, shape {self.shape}>"


class RingShare(_Share):
    """Parts modulo 2^64."""

    __slots__ = ()
    dtype = np.dtype(np.uint64)

    def _with(self, values: Words) -> RingShare:
        return RingShare(self.holder, values)

    def _part_of(self, other: RingShare | Public) -> Words:
        """The other operand's part: a share's own, or this holder's of a public value."""
        if isinstance(other, RingShare):
            return other.values
        return to_words(other) * np.uint64(self.holder.unit)

    def __add__(self, other: RingShare | Public) -> RingShare:
        return self._with(self.values + self._part_of(other))

    def __sub__(self, other: RingShare | Public) -> RingShare:
        return self._with(self.values - self._part_of(other))

    def __rsub__(self, public: Public) -> RingShare:
        return self._with(self._part_of(public) - self.values)

    def __mul__(self, public: Public) -> RingShare:
        return self._with(self.values * to_words(public))

    __radd__ = __add__
    __rmul__ = __mul__

    def cumsum(self) -> RingShare:
        return self._with(np.cumsum(self.values, axis=-1, dtype=np.uint64))

    def sum(self) -> RingShare:
        """The sum along the list, as a list of one."""
        return self._with(self.values.sum(axis=-1, keepdims=True, dtype=np.uint64))


class BitShare(_Share):
    """Parts modulo 2, one byte to a bit."""

    __slots__ = ()
    dtype = np.dtype(np.uint8)

    def __xor__(self, other: BitShare) -> BitShare:
        return BitShare(self.holder, self.values ^ other.values)

    def __invert__(self) -> BitShare:
        return BitShare(self.holder, self.values ^ np.uint8(self.holder.unit))


def to_words(public: Public) -> Words:
    """A public integer or array of integers as elements of the ring."""
    if isinstance(public, int):
        return np.asarray(public % (1 << 64), dtype=np.uint64)
    return public.astype(np.uint64)
