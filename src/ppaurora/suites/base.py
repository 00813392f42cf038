"""The functionalities: what an algorithm may ask of the three parties, whatever realises it.

The paper proves its algorithms in the (F_MUL, F_MUX, F_CMP, F_DIV)-hybrid model; any secure
realisation of these serves. An algorithm sees this interface and the share types, nothing else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ppaurora.sharing.shares import BitShare, Holder, RingShare


@dataclass(frozen=True)
class Records:
    """A list of samples: a key to sort by and a label that travels with it."""

    keys: RingShare
    labels: BitShare

    def __len__(self) -> int:
        return len(self.keys)

    def __getitem__(self, index: int | slice) -> Records:
        return Records(self.keys[index], self.labels[index])

    @classmethod
    def concat(cls, parts: Sequence[Self]) -> Records:
        return Records(
            RingShare.concat([part.keys for part in parts]), BitShare.concat([part.labels for part in parts])
        )


class Suite(ABC):
    """One party's end of the functionalities."""

    holder: Holder

    @abstractmethod
    def mul(self, x: RingShare, y: RingShare) -> RingShare:
        """x·y, elementwise; shapes broadcast, and an operand that broadcasts is masked only once."""

    @abstractmethod
    def compare(self, x: RingShare, y: RingShare) -> RingShare:
        """1 where x >= y, else 0, for |x - y| < 2^63."""

    @abstractmethod
    def differ(self, x: RingShare, y: RingShare) -> RingShare:
        """1 where x != y, else 0."""

    @abstractmethod
    def div(self, numerator: RingShare, denominator: RingShare, bits: int) -> RingShare:
        """floor(2^bits·n / d) for 0 <= n <= d < 2^62; all ones where d = 0."""

    @abstractmethod
    def to_ring(self, bits: BitShare) -> RingShare:
        """The same bits as elements of the ring."""

    @abstractmethod
    def open(self, x: RingShare, name: str) -> NDArray[np.uint64]:
        """OPENING. Both proxies learn x. Counted under `name`, which docs/leakage.md explains."""

    @abstractmethod
    def step(self, name: str) -> AbstractContextManager[None]:
        """Attribute the cost of what happens inside to `name`."""

    @abstractmethod
    def progress(self, step: str, done: int, total: int) -> None:
        """Tell whoever watches how far a long step is. Depends on public sizes alone."""

    def mux(self, x: RingShare, y: RingShare, select: RingShare) -> RingShare:
        """x - b(x - y): select = 1 chooses y."""
        return x - self.mul(select, x - y)

    def exchange(self, left: Records, right: Records) -> tuple[Records, Records]:
        """Per pair, the record with the larger key first; equal keys stay where they are."""
        stay = self.compare(left.keys, right.keys)
        high = self.mux(right.keys, left.keys, stay)
        low = left.keys + right.keys - high
        left_labels, right_labels = self.to_ring(left.labels), self.to_ring(right.labels)
        high_labels = self.mux(right_labels, left_labels, stay)
        low_labels = left_labels + right_labels - high_labels
        return (
            Records(high, low_bits(high_labels)),
            Records(low, low_bits(low_labels)),
        )

    def constant(self, value: int, length: int = 1) -> RingShare:
        """A public value as a share."""
        return RingShare.zeros(self.holder, (length,)) + value


def low_bits(bits: RingShare) -> BitShare:
    """Secrets that are 0 or 1, as shares modulo 2: the lowest bits of the parts add up modulo 2."""
    return BitShare(bits.holder, (bits.values & np.uint64(1)).astype(np.uint8))
