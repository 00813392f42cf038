"""Streams of random words, bits, residues and permutations.

Two parties that hold the same key and open the same label read the same stream. A label can be
opened once for a key, and a stream hands out every byte once: no mask is ever used twice.
"""

from __future__ import annotations

import math
import os

import numpy as np
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand
from numpy.typing import NDArray

from ppaurora.errors import MisuseError

_BLOCK = 1 << 16
_ZEROS = memoryview(bytes(1 << 18))


class Stream:
    """One AES-256-CTR key stream, read from its beginning to wherever it is needed."""

    def __init__(self, key: bytes, label: str = "") -> None:
        self.label = label
        self._cipher = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
        self._ahead = memoryview(b"")

    @classmethod
    def fresh(cls) -> Stream:
        """Return a stream of our own, keyed by the operating system."""
        return cls(os.urandom(32), "own")

    def __repr__(self) -> str:
        return f"<Stream {self.label!r}>"

    def bytes(self, count: int) -> NDArray[np.uint8]:
        """Return the next `count` bytes."""
        if count > len(self._ahead):
            # The unread rest stays first in line: bytes leave in the stream's order, each once.
            rest = self._ahead
            fresh = self._cipher.update(bytes(max(count - len(rest), _BLOCK)))
            self._ahead = memoryview(bytes(rest) + fresh if rest else fresh)
        out, self._ahead = self._ahead[:count], self._ahead[count:]
        return np.frombuffer(out, dtype=np.uint8)

    def fill(self, out: NDArray[np.uint64]) -> None:
        """Overwrite a contiguous array with the next words of the stream."""
        if not out.flags.c_contiguous:
            # Flattening it would make a copy, and the caller's array would stay unmasked.
            raise MisuseError(
                f"a stream fills contiguous arrays, not one of shape {out.shape} and strides {out.strides}"
            )
        target = out.reshape(-1).view(np.uint8).data
        head = min(len(self._ahead), len(target))
        target[:head] = self._ahead[:head]
        self._ahead = self._ahead[head:]
        for start in range(head, len(target), len(_ZEROS)):
            piece = target[start : start + len(_ZEROS)]
            self._cipher.update_into(_ZEROS[: len(piece)], piece)

    def words(self, shape: tuple[int, ...]) -> NDArray[np.uint64]:
        """Uniform elements of Z_2^64."""
        count = math.prod(shape)
        if 8 * count < _BLOCK:
            return np.frombuffer(self.bytes(8 * count), dtype="<u8").reshape(shape)
        out = np.empty(shape, dtype=np.uint64)
        self.fill(out)
        return out

    def bits(self, shape: tuple[int, ...]) -> NDArray[np.uint8]:
        """Uniform bits, one to a byte."""
        count = math.prod(shape)
        packed = self.bytes(-(-count // 8))
        return np.unpackbits(packed, count=count, bitorder="little").reshape(shape)

    def words_below(self, limit: int, count: int) -> NDArray[np.uint64]:
        """Uniform integers below `limit`, exactly: words that would bias them are skipped."""
        ceiling = np.uint64((1 << 64) // limit * limit - 1)
        kept: list[NDArray[np.uint64]] = []
        missing = count
        while missing > 0:
            raw = self.words((missing * (17 << 60) // int(ceiling) + 16,))
            kept.append(raw[raw <= ceiling])
            missing -= len(kept[-1])
        accepted = np.concatenate(kept)[:count] if kept else np.empty(0, dtype=np.uint64)
        return accepted - accepted // np.uint64(limit) * np.uint64(limit)

    def permutations(self, rows: int, length: int) -> NDArray[np.intp]:
        """`rows` independent uniform permutations of range(length)."""
        while True:
            keys = self.words((rows, length))
            order = np.argsort(keys, axis=1)
            ordered = np.take_along_axis(keys, order, axis=1)
            # Equal keys would favour some orders; drawing again keeps the permutation uniform.
            if not (ordered[:, 1:] == ordered[:, :-1]).any():
                return order


class StreamFamily:
    """All streams under one pairwise key. Opening a label a second time raises."""

    def __init__(self, key: bytes, name: str) -> None:
        self._key = key
        self._name = name
        self._opened: set[str] = set()

    def open(self, label: str) -> Stream:
        if label in self._opened:
            raise MisuseError(
                f"stream '{label}' under key {self._name} was opened before; a mask must not be reused"
            )
        self._opened.add(label)
        expand = HKDFExpand(hashes.SHA256(), 32, b"ppaurora stream\0" + label.encode())
        return Stream(expand.derive(self._key), f"{self._name}/{label}")

    def __repr__(self) -> str:
        return f"<StreamFamily {self._name}, {len(self._opened)} opened>"
