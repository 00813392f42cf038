"""The groups in which values are shared: how to draw, add, subtract, and put them on the wire."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ppaurora.randomness.streams import Stream

Array = NDArray[Any]
Shape = tuple[int, ...]


class Algebra(Protocol):
    """A finite group of array elements. Wire formats are exact: a count fixes the bytes."""

    def draw(self, stream: Stream, shape: Shape) -> Array: ...

    def add(self, a: Array, b: Array) -> Array: ...

    def sub(self, a: Array, b: Array) -> Array: ...

    def wire_bytes(self, count: int) -> int: ...

    def to_wire(self, values: Array) -> memoryview: ...

    def from_wire(self, buffer: memoryview, shape: Shape) -> Array: ...


class Ring:
    """Z_2^64, eight bytes to an element, little endian.

    Arrays of elements are computed with by the ordinary operators; `reduced` brings a result back into range.
    """

    bits = 64
    dtype: np.dtype[Any] = np.dtype(np.uint64)

    def elements(self, public: int | Array) -> Array:
        """Return a public integer or array of integers."""
        if isinstance(public, int):
            return np.asarray(public % (1 << 64), dtype=np.uint64)
        return public.astype(np.uint64)

    def reduced(self, values: Array) -> Array:
        """Reduce in place; machine words wrap by themselves."""
        return values

    def fill(self, stream: Stream, out: Array) -> None:
        """Draw into an array that is there."""
        stream.fill(out)

    def draw(self, stream: Stream, shape: Shape) -> Array:
        return stream.words(shape)

    def add(self, a: Array, b: Array) -> Array:
        return a + b

    def sub(self, a: Array, b: Array) -> Array:
        return a - b

    def wire_bytes(self, count: int) -> int:
        return 8 * count

    def to_wire(self, values: Array) -> memoryview:
        return np.ascontiguousarray(values, dtype="<u8").reshape(-1).view(np.uint8).data

    def from_wire(self, buffer: memoryview, shape: Shape) -> Array:
        return np.frombuffer(buffer, dtype="<u8").reshape(shape)


class XorWords(Ring):
    """(Z_2)^64: words that are added bit by bit."""

    def add(self, a: Array, b: Array) -> Array:
        return a ^ b

    sub = add


class HalfRing(Ring):
    """Z_2^32, four bytes to an element, little endian."""

    bits = 32
    dtype = np.dtype(np.uint32)

    def elements(self, public: int | Array) -> Array:
        if isinstance(public, int):
            return np.asarray(public % (1 << 32), dtype=np.uint32)
        return public.astype(np.uint32)

    def fill(self, stream: Stream, out: Array) -> None:
        out[...] = self.draw(stream, out.shape)

    def draw(self, stream: Stream, shape: Shape) -> Array:
        """Draw whole words, two elements to a word; of an odd number the last half is left out."""
        count = math.prod(shape)
        return stream.words((-(-count // 2),)).astype("<u8", copy=False).view("<u4")[:count].reshape(shape)

    def wire_bytes(self, count: int) -> int:
        return 4 * count

    def to_wire(self, values: Array) -> memoryview:
        return np.ascontiguousarray(values, dtype="<u4").reshape(-1).view(np.uint8).data

    def from_wire(self, buffer: memoryview, shape: Shape) -> Array:
        return np.frombuffer(buffer, dtype="<u4").reshape(shape)


class WideRing(Ring):
    """Z_2^256: Python integers in arrays of objects; 32 bytes to an element, little endian.

    For the few numbers that do not fit into a machine word.
    """

    bits = 256
    dtype = np.dtype(object)

    def elements(self, public: int | Array) -> Array:
        if isinstance(public, int):
            return np.asarray(public % (1 << 256), dtype=object)
        return np.asarray(_residues(public), dtype=object)

    def reduced(self, values: Array) -> Array:
        return np.bitwise_and(values, _LARGEST, out=values)

    def fill(self, stream: Stream, out: Array) -> None:
        out[...] = self.draw(stream, out.shape)

    def draw(self, stream: Stream, shape: Shape) -> Array:
        return self.from_wire(RING.to_wire(stream.words((*shape, 4))), shape)

    def add(self, a: Array, b: Array) -> Array:
        return self.reduced(a + b)

    def sub(self, a: Array, b: Array) -> Array:
        return self.reduced(a - b)

    def wire_bytes(self, count: int) -> int:
        return 32 * count

    def to_wire(self, values: Array) -> memoryview:
        return memoryview(b"".join(value.to_bytes(32, "little") for value in values.reshape(-1).tolist()))

    def from_wire(self, buffer: memoryview, shape: Shape) -> Array:
        numbers = [int.from_bytes(buffer[at : at + 32], "little") for at in range(0, len(buffer), 32)]
        return np.array(numbers, dtype=object).reshape(shape)


class Bits:
    """Z_2: one byte to an element in memory, one bit on the wire."""

    def draw(self, stream: Stream, shape: Shape) -> Array:
        return stream.bits(shape)

    def add(self, a: Array, b: Array) -> Array:
        return a ^ b

    sub = add

    def wire_bytes(self, count: int) -> int:
        return -(-count // 8)

    def to_wire(self, values: Array) -> memoryview:
        return np.packbits(values.reshape(-1), bitorder="little").data

    def from_wire(self, buffer: memoryview, shape: Shape) -> Array:
        count = int(np.prod(shape))
        packed = np.frombuffer(buffer, dtype=np.uint8)
        return np.unpackbits(packed, count=count, bitorder="little").reshape(shape)


_LARGEST = (1 << 256) - 1
_residues = np.frompyfunc(lambda value: int(value) & _LARGEST, 1, 1)

RING = Ring()
HALF = HalfRing()
WIDE = WideRing()
XOR_WORDS = XorWords()
BITS = Bits()
