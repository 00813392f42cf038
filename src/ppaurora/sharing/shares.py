"""Share types: vectors of secrets of which this party holds one part.

Linear arithmetic on parts is linear arithmetic on secrets, so it is local and written with the
ordinary operators. All three parties run the same algorithm on the same types, without a branch.

    RingShare, BitShare     x is the sum of the holders' parts, modulo 2^64 or modulo 2. The helper's
                            part of everything is zero. In the clear the only part is the value.
    MaskedShare             x = m - r modulo 2^64. Both proxies know m and hold parts of r; the helper
                            knows r. So the helper computes on masks what the proxies compute on values.
    WideShare,              The same modulo 2^256, for the few numbers that do not fit into 64 bits.
    MaskedWideShare

A public constant belongs to one component only: each holder knows its `units`, its own components
of the constant one.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ppaurora.channel.servers import Server
from ppaurora.errors import MisuseError
from ppaurora.sharing.algebra import RING, WIDE, Ring

Words = NDArray[np.uint64]
Elements = NDArray[Any]  # of a ring
Bytes = NDArray[np.uint8]
Public = int | NDArray[Any]
S = TypeVar("S", bound="Share")


class Holder(Enum):
    """Whose part of a secret this is."""

    PROXY_0 = "proxy 0"
    PROXY_1 = "proxy 1"
    HELPER = "helper"
    CLEARTEXT = "cleartext"

    @classmethod
    def of(cls, server: Server) -> Holder:
        return cls(server.title)

    @property
    def unit(self) -> int:
        """This holder's additive part of the public constant one."""
        return int(self in (Holder.PROXY_1, Holder.CLEARTEXT))

    @property
    def masked_units(self) -> tuple[int, ...]:
        """The components of one in masked form: m and a part of r at a proxy, r at the helper."""
        return (0,) if self is Holder.HELPER else (1, 0)


class Share:
    """A holder and an array of components; operations that depend on shapes only.

    A list runs along the last axis. Axes before it hold columns that travel together; before
    those, `MaskedShare` has an axis of components, which `shape` does not show.
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
        """The lengths of the hidden axes."""
        return ()

    @classmethod
    def zeros(cls, holder: Holder, shape: tuple[int, ...]) -> Self:
        """Everybody's part of zero; also what the helper holds of anything additive."""
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
        """A copy with other values at these positions."""
        values = self.values.copy()
        values[..., positions] = other.values
        return type(self)(self.holder, values)

    def copy(self) -> Self:
        return type(self)(self.holder, self.values.copy())

    def to_array(self) -> NDArray[Any]:
        return self.values

    def like(self, array: NDArray[Any]) -> Self:
        """Other values of the same kind and holder."""
        return type(self)(self.holder, array)

    def write(self, positions: slice, other: Self) -> None:
        """In place."""
        self.values[..., positions] = other.values

    def row(self, index: int) -> Self:
        """One column of a stack."""
        return type(self)(self.holder, self.values[(slice(None),) * self.hidden_axes + (index,)])

    def rows(self) -> list[Self]:
        return [self.row(index) for index in range(self.shape[0])]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.holder.value}, shape {self.shape}>"


def concat(parts: Sequence[S]) -> S:
    """One list after the other."""
    first = parts[0]
    return type(first)(first.holder, np.concatenate([part.values for part in parts], axis=-1))


def stack(columns: Sequence[S]) -> S:
    """Columns of equal length as the rows of one share."""
    first = columns[0]
    return type(first)(first.holder, np.stack([column.values for column in columns], axis=first.hidden_axes))


def interleave(parts: Sequence[S]) -> S:
    """Elements by turns; the first lists may be longer by one."""
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
        """This holder's components of a public value."""
        return self.ring.elements(value) * self.ring.elements(self.holder.unit)

    def _components_of(self, other: Self | Public) -> Elements:
        if not isinstance(other, LinearShare):
            return self._public(other)
        self.check_kind(other)
        return other.values

    def check_kind(self, other: LinearShare) -> None:
        """Only parts of one holder in one ring can be computed with together."""
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
        """The sum along the list, as a list of one."""
        return self._with(self.values.sum(axis=-1, keepdims=True, dtype=self.dtype))


class RingShare(LinearShare):
    """Additive parts modulo 2^64."""

    __slots__ = ()
    ring = RING
    dtype = RING.dtype

    def cumsum_in_place(self) -> None:
        np.cumsum(self.values, axis=-1, dtype=np.uint64, out=self.values)


class WideShare(LinearShare):
    """Additive parts modulo 2^256."""

    __slots__ = ()
    ring = WIDE
    dtype = WIDE.dtype


class _Masked(LinearShare):
    """Components (m, part of r) at a proxy and (r) at the helper, with x = m - r."""

    __slots__ = ()
    hidden_axes = 1

    @classmethod
    def components(cls, holder: Holder) -> tuple[int, ...]:
        return (len(holder.masked_units),)

    def _public(self, value: Public) -> Elements:
        elements = self.ring.elements(value)
        units = np.array(self.holder.masked_units, dtype=self.dtype)
        aligned = units.reshape(units.shape + (1,) * max(len(self.shape), elements.ndim))
        return aligned * elements


class MaskedShare(_Masked, RingShare):
    """Modulo 2^64."""

    __slots__ = ()


class MaskedWideShare(_Masked, WideShare):
    """Modulo 2^256."""

    __slots__ = ()


class BitShare(Share):
    """Additive parts modulo 2, one byte to a bit."""

    __slots__ = ()
    dtype = np.dtype(np.uint8)

    def __xor__(self, other: BitShare) -> BitShare:
        return BitShare(self.holder, self.values ^ other.values)

    def __invert__(self) -> BitShare:
        return BitShare(self.holder, self.values ^ np.uint8(self.holder.unit))
