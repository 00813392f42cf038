"""Arithmetic modulo 37, in which the private compare runs, twelve residues to a word on the wire.

37 is the smallest prime above the largest value that the private compare must tell from zero
(32, see `compare`), and 37^12 < 2^64.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ppaurora.randomness.streams import Stream
from ppaurora.sharing.algebra import RING, Array, Shape

MODULUS = 37
PER_WORD = 12


def reduce(values: NDArray[np.uint16]) -> NDArray[np.uint8]:
    """values mod 37. The division by a constant is vectorised, the remainder operator is not."""
    quotient = values // np.uint16(MODULUS)
    quotient *= np.uint16(MODULUS)
    remainder: NDArray[np.uint8] = (values - quotient).astype(np.uint8)
    return remainder


def draw(stream: Stream, modulus: int, shape: Shape) -> NDArray[np.uint8]:
    """Uniform residues, exactly, for a modulus up to 40: twelve from a uniform word below modulus^12."""
    count = math.prod(shape)
    words = stream.words_below(modulus**PER_WORD, -(-count // PER_WORD))
    return unpack(words, modulus, count).reshape(shape)


def pack(residues: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Horner's scheme, in the narrowest type at each step: 2 residues in 16 bits, 4 in 32, 12 in 64."""
    words = -(-residues.size // PER_WORD)
    digits = np.zeros((3, 2, 2, words), dtype=np.uint8)
    digits.reshape(-1)[: residues.size] = residues.reshape(-1)
    pairs = digits[:, :, 0] + digits[:, :, 1] * np.uint16(MODULUS)
    fours = pairs[:, 0] + pairs[:, 1] * np.uint32(MODULUS**2)
    packed: NDArray[np.uint64] = fours[2] * np.uint64(MODULUS**4)
    packed += fours[1]
    packed *= np.uint64(MODULUS**4)
    packed += fours[0]
    return packed


def unpack(packed: NDArray[np.uint64], modulus: int, count: int) -> NDArray[np.uint8]:
    """Return the residues of words; in range for any word, also one that `pack` never makes."""
    words = len(packed)
    fours = np.empty((3, words), dtype=np.uint32)
    for place in range(3):
        quotient = packed // np.uint64(modulus**4)
        fours[place] = packed - quotient * np.uint64(modulus**4)
        packed = quotient
    pairs = np.empty((3, 2, words), dtype=np.uint16)
    np.floor_divide(fours, np.uint32(modulus**2), out=pairs[:, 1], casting="unsafe")
    np.subtract(fours, pairs[:, 1] * np.uint32(modulus**2), out=pairs[:, 0], casting="unsafe")
    digits = np.empty((3, 2, 2, words), dtype=np.uint8)
    np.floor_divide(pairs, np.uint16(modulus), out=digits[:, :, 1], casting="unsafe")
    np.subtract(pairs, digits[:, :, 1] * np.uint16(modulus), out=digits[:, :, 0], casting="unsafe")
    return digits.reshape(-1)[:count]


class Residues:
    """Z_37 as an `Algebra`."""

    def draw(self, stream: Stream, shape: Shape) -> Array:
        return draw(stream, MODULUS, shape)

    def add(self, a: Array, b: Array) -> Array:
        return _fold(a + b)

    def sub(self, a: Array, b: Array) -> Array:
        return _fold(a + (np.uint8(MODULUS) - b))

    def wire_bytes(self, count: int) -> int:
        return 8 * -(-count // PER_WORD)

    def to_wire(self, values: Array) -> memoryview:
        return RING.to_wire(pack(values))

    def from_wire(self, buffer: memoryview, shape: Shape) -> Array:
        packed = np.frombuffer(buffer, dtype="<u8")
        return unpack(packed, MODULUS, math.prod(shape)).reshape(shape)


def _fold(values: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Values below 74 modulo 37: subtraction wraps the small ones around to above 200, where they lose."""
    folded: NDArray[np.uint8] = np.minimum(values, values - np.uint8(MODULUS))
    return folded


RESIDUES = Residues()
