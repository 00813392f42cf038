"""The groups in which values are shared: how to draw, add, subtract, and put them on the wire."""

from __future__ import annotations

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
    """Z_2^64, eight bytes to an element, little endian."""

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


RING = Ring()
XOR_WORDS = XorWords()
BITS = Bits()
