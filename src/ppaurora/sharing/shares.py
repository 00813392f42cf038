"""What share types of all schemes have in common: vectors of secrets of which this party holds a part.

Linear arithmetic on parts is linear arithmetic on secrets, so it is local and written with the
ordinary operators. All parties run the same algorithm on the same types, without a branch.

    RingShare       elements of Z_2^64
    WideShare       elements of Z_2^256, for the few numbers that do not fit into 64 bits
    BitShare        bits, one byte to a bit

What a party holds of an element is one component, or several (`SeveralComponents`). What these are, and how
the secret follows from all parties' components, is the scheme's own: it makes the `Holder` of each party.
A public constant belongs to some components only, those of which the holder's `units` are not zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ppaurora.errors import MisuseError
from ppaurora.sharing.algebra import RING, WIDE, Ring

Words = NDArray[np.uint64]
HalfWords = NDArray[np.uint32]
Elements = NDArray[Any]  # of a ring
Bytes = NDArray[np.uint8]
Public = int | NDArray[Any]
S = TypeVar("S", bound="Share")


@dataclass(frozen=True, eq=False)
class Holder:
    """Whose part of a secret a share is. A scheme makes one for each of its servers.

    `units` are this holder's components of the public constant one.
    """

    title: str  # as people call it
    units: tuple[int, ...]


class Share:
    """A holder and an array of components; operations that depend on shapes only.

    A list runs along the last axis. Axes before it hold columns that travel together; before
    those, a share of several components has an axis of them, which `shape` does not show.
    """

    __slots__ = ("holder", "values")
    __array_ufunc__ = None  # numpy must leave `array - share` to the share
    __iter__ = None

    dtype: np.dtype[Any]
    hidden_axes = 0

    def __init__(self, holder: Holder, values: NDArray[Any]) -> None:
        if values.dtype != self.dtype:
            raise MisuseError(f"{type(self).__name__} needs {self.dtype}, got {values.dtype}")
        self.holder = holder
        self.values = values

    @classmethod
    def components(cls, holder: Holder) -> tuple[int, ...]:
        """Return the lengths of the hidden axes."""
        return ()

    @classmethod
    def zeros(cls, holder: Holder, shape: tuple[int, ...]) -> Self:
        """Return a part of zero, whoever holds it."""
        return cls(holder, np.broadcast_to(np.zeros((), cls.dtype), cls.components(holder) + shape))

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape[self.hidden_axes :]

    def __len__(self) -> int:
        return int(self.values.shape[-1])

    def __getitem__(self, index: int | slice) -> Self:
        """Positions along the list; an int gives a list of one, so that a share is always a list."""
        if isinstance(index, int):
            index = slice(index, index + 1 or None)
        return type(self)(self.holder, self.values[..., index])

    def take(self, positions: NDArray[np.intp]) -> Self:
        return type(self)(self.holder, self.values[..., positions])

    def put(self, positions: NDArray[np.intp] | slice, other: Self) -> Self:
        """Return a copy with other values at these positions."""
        values = self.values.copy()
        values[..., positions] = other.values
        return type(self)(self.holder, values)

    def copy(self) -> Self:
        return type(self)(self.holder, self.values.copy())

    def to_array(self) -> NDArray[Any]:
        return self.values

    def like(self, array: NDArray[Any]) -> Self:
        """Return other values of the same kind and holder."""
        return type(self)(self.holder, array)

    def write(self, positions: slice, other: Self) -> None:
        """Put other values at these positions, in place."""
        self.values[..., positions] = other.values

    def row(self, index: int) -> Self:
        """Return one column of a stack."""
        return type(self)(self.holder, self.values[(slice(None),) * self.hidden_axes + (index,)])

    def column(self, index: int) -> Self:
        """Return what every row has at one place."""
        return type(self)(self.holder, self.values[..., index])

    def rows(self) -> list[Self]:
        return [self.row(index) for index in range(self.shape[0])]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.holder.title}, shape {self.shape}>"


def concat(parts: Sequence[S]) -> S:
    """Return one list after the other as one."""
    first = parts[0]
    return type(first)(first.holder, np.concatenate([part.values for part in parts], axis=-1))


def stack(columns: Sequence[S]) -> S:
    """Return columns of equal length as the rows of one share."""
    first = columns[0]
    return type(first)(first.holder, np.stack([column.values for column in columns], axis=first.hidden_axes))


def interleave(parts: Sequence[S]) -> S:
    """Return the lists' elements by turns; the first lists may be longer by one."""
    shape = (*parts[0].values.shape[:-1], sum(map(len, parts)))
    values = np.empty(shape, dtype=parts[0].dtype)
    for number, part in enumerate(parts):
        values[..., number :: len(parts)] = part.values
    return parts[0].like(values)


class LinearShare(Share):
    """Elements of a ring: what is linear is local."""

    __slots__ = ()
    ring: Ring

    def _with(self, values: Elements) -> Self:
        return type(self)(self.holder, self.ring.reduced(values))

    def _public(self, value: Public) -> Elements:
        """Return this holder's components of a public value."""
        return self.ring.elements(value) * self.ring.elements(self.holder.units[0])

    def _components_of(self, other: Self | Public) -> Elements:
        if not isinstance(other, LinearShare):
            return self._public(other)
        self.check_kind(other)
        return other.values

    def check_kind(self, other: LinearShare) -> None:
        """Raise an error unless both are parts of one holder in one ring: only those are computed with."""
        if type(other) is not type(self) or other.holder is not self.holder:
            raise MisuseError(f"{self!r} and {other!r} are not parts of the same kind")

    def __add__(self, other: Self | Public) -> Self:
        return self._with(self.values + self._components_of(other))

    def __sub__(self, other: Self | Public) -> Self:
        return self._with(self.values - self._components_of(other))

    def __rsub__(self, public: Public) -> Self:
        return self._with(self._components_of(public) - self.values)

    def __mul__(self, public: Public) -> Self:
        return self._with(self.values * self.ring.elements(public))

    __radd__ = __add__
    __rmul__ = __mul__

    def cumsum(self) -> Self:
        return self._with(np.cumsum(self.values, axis=-1, dtype=self.dtype))

    def sum(self) -> Self:
        """Return the sum along the list, as a list of one."""
        return self._with(self.values.sum(axis=-1, keepdims=True, dtype=self.dtype))


class RingShare(LinearShare):
    """Elements of Z_2^64, of each of which this party holds one component."""

    __slots__ = ()
    ring = RING
    dtype = RING.dtype

    def cumsum_in_place(self) -> None:
        np.cumsum(self.values, axis=-1, dtype=np.uint64, out=self.values)

    def weighted_sums(self, weights: Words) -> Self:
        """Return, for every row of a stack, the sum of public weights times its elements."""
        return self.like(self.values @ weights)


class WideShare(LinearShare):
    """Elements of Z_2^256, of each of which this party holds one component."""

    __slots__ = ()
    ring = WIDE
    dtype = WIDE.dtype


class SeveralComponents(LinearShare):
    """Elements of each of which this party holds as many components as its holder has units."""

    __slots__ = ()
    hidden_axes = 1

    @classmethod
    def components(cls, holder: Holder) -> tuple[int, ...]:
        return (len(holder.units),)

    def _public(self, value: Public) -> Elements:
        elements = self.ring.elements(value)
        units = np.array(self.holder.units, dtype=self.dtype)
        aligned = units.reshape(units.shape + (1,) * max(len(self.shape), elements.ndim))
        return aligned * elements


class BitShare(Share):
    """Bits, of each of which this party holds one component; one byte to a bit."""

    __slots__ = ()
    dtype = np.dtype(np.uint8)

    def __xor__(self, other: BitShare) -> BitShare:
        return BitShare(self.holder, self.values ^ other.values)

    def __invert__(self) -> BitShare:
        return BitShare(self.holder, self.values ^ np.uint8(self.holder.units[0]))
