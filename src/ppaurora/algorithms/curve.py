"""The curve from which every metric takes what it needs, over one merged list or over a table.

Over a list of n samples, positions are j = 1..n, and FP[j] = j - TP[j]; over a table, they are the values of
its grid, from the most positive one on, and all of them are ends (`table_curve`). The curve starts at
position 0, and has a point where a tie group ends. First every row is there at all positions; `keep_ends`
then makes it what it is at the last end up to a position, so that a step from one position to the next is
zero but at ends.

Where a party has several workers, each has the positions of its block, and before them the position that
the block before ends with. Sums over steps are then sums of the workers' own sums.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ppaurora.algorithms.scan import last_flagged
from ppaurora.sharing.blocks import blocks, unit
from ppaurora.sharing.shares import RingShare
from ppaurora.suites.base import Secrets, Suite

MOST_SAMPLES = 1 << 30  # 2·P·N and 2·P·2^precision_bits stay below 2^62, as the division needs it
_MOST_PRECISION_BITS = 33
_BLOCK = 1 << 16

Finish = Callable[[], RingShare]


def precision_bits(samples: int) -> int:
    """Fractional bits of a precision: at most 33, and so many that 2·n·2^bits is at most 2^62."""
    return min(_MOST_PRECISION_BITS, 61 - max(samples - 1, 0).bit_length())


@dataclass(frozen=True)
class Quantity:
    """A row of the curve: how it is written, at positions 0..n."""

    write: Callable[[Curve, RingShare], None]


class Curve(ABC):
    """Rows over positions, each computed once. It came from a merged list, or from a table."""

    positives: RingShare  # in all, a list of one
    most_samples: int  # that the arithmetic is made for

    def __init__(
        self, suite: Suite, quantities: Sequence[Quantity], size: int, positions: int, start: int, length: int
    ) -> None:
        """Begin a curve over so many samples and positions, of which so many behind `start` are ours."""
        self.suite = suite
        self.size = size
        self.positions = positions
        self.start = start
        self.length = length
        self._quantities = list(dict.fromkeys([TP, *quantities]))
        self._rows = suite.blank(len(self._quantities), length + 1)

    def _write_rows(self) -> None:
        for quantity in self._quantities:
            quantity.write(self, self[quantity])

    def __getitem__(self, quantity: Quantity) -> RingShare:
        return self._rows.row(self._quantities.index(quantity))

    def at(self, quantity: Quantity, positions: NDArray[np.intp], before: int = 0) -> RingShare:
        """Return what a row has at positions that are this worker's, or so many before them; else 0."""
        places = positions - self.start
        ours = (places > (-1 if self.suite.team.leads else 0)) & (places <= self.length)
        return self[quantity].take(np.where(ours, places - before, 0)) * ours

    @abstractmethod
    def keep_ends(self) -> None:
        """Give every row, at every position, what it was at the last end up to there."""

    @abstractmethod
    def write_tp(self, row: RingShare) -> None:
        """Write how many positives there are up to a position; and know them in all."""

    @abstractmethod
    def write_fp(self, row: RingShare) -> None:
        """Write how many negatives there are up to a position."""

    @abstractmethod
    def write_precision(self, row: RingShare) -> None:
        """Write TP / (TP + FP) with `precision_bits`; 1 where both are zero."""

    @abstractmethod
    def write_high(self, of: Quantity, low_bits: int, row: RingShare) -> None:
        """Write a limb of TP or FP that leaves less than 2^(low_bits + 1) of it."""

    @abstractmethod
    def heights(self) -> RingShare:
        """Return TP·N - FP·P at all ends; at positions that are no ends, 0."""

    def steps(self) -> Iterator[tuple[slice, slice]]:
        """This worker's positions in blocks, by their places in a row, and the positions before them."""
        for start in range(1, self.length + 1, _BLOCK):
            stop = min(start + _BLOCK, self.length + 1)
            yield slice(start, stop), slice(start - 1, stop - 1)

    def trapezoids(self, x: Quantity, y: Quantity) -> Finish:
        """Twice the area under y over x: the sum of (x[j] - x[j-1])·(y[j] + y[j-1]), as far as it is ours."""
        row_x, row_y = self[x], self[y]
        return self.suite.begin_dot(
            (row_x[here] - row_x[before], row_y[here] + row_y[before]) for here, before in self.steps()
        )

    def rectangles(self, x: Quantity, y: Quantity) -> Finish:
        """Begin the sum of (x[j] - x[j-1])·y[j], likewise."""
        row_x, row_y = self[x], self[y]
        return self.suite.begin_dot(
            (row_x[here] - row_x[before], row_y[here]) for here, before in self.steps()
        )


class ListCurve(Curve):
    """The curve over a merged list: a position for every sample, so that TP + FP is public."""

    def __init__(
        self,
        suite: Suite,
        labels: Secrets,
        ends: Secrets | None,
        quantities: Sequence[Quantity],
        size: int | None = None,
    ) -> None:
        """Take a merged list's labels and ends of groups, or what a worker has of a list of `size`."""
        size = len(labels) if size is None else size
        start = blocks(size, suite.team.count)[suite.team.index].start  # the position before ours
        super().__init__(suite, quantities, size, size, start, len(labels))
        self.most_samples = size
        self._labels = labels
        self._ends = ends
        self._write_rows()

    def keep_ends(self) -> None:
        flags = self.suite.flags_from_start(self._ends)
        last_flagged(self.suite, flags, self._rows, unit(self.size, self.suite.team.count))

    def write_tp(self, row: RingShare) -> None:
        self.suite.to_ring(self._labels, into=row[1:])
        before, self.positives = self.suite.team.sums(row[1:].sum())
        row.write(slice(0, 1), before)
        row.cumsum_in_place()

    def write_fp(self, row: RingShare) -> None:
        tp = self[TP]
        for start in range(0, len(row), _BLOCK):
            block = slice(start, min(start + _BLOCK, len(row)))
            positions = self.start + np.arange(block.start, block.stop, dtype=np.uint64)
            row.write(block, positions - tp[block])

    def write_precision(self, row: RingShare) -> None:
        bits = precision_bits(self.size)
        divisors = range(self.start + 1, self.start + len(row))
        with self.suite.step("precision"):
            self.suite.div_public(self[TP][1:], divisors, bits, into=row[1:])
        row.write(slice(0, 1), self.suite.constant(1 << bits))

    def write_high(self, of: Quantity, low_bits: int, row: RingShare) -> None:
        """Write throughout a block what its first value has above its low bits."""
        at_starts = self[TP][:: 1 << low_bits]
        if of is FP:
            at_starts = self.start + np.arange(0, len(row), 1 << low_bits, dtype=np.uint64) - at_starts
        high = self.suite.shift_right(at_starts, low_bits)
        for block in range(len(high)):
            row.write(slice(block << low_bits, (block + 1) << low_bits), high[block])

    def heights(self) -> RingShare:
        """TP·N - FP·P = n·TP[j] - j·P."""
        positions = self.start + np.arange(1, self.length + 1, dtype=np.uint64)
        heights = self[TP][1:] * self.size - self.positives * positions
        return self.suite.mul(self.suite.to_ring(self._ends), heights)


TP = Quantity(lambda curve, row: curve.write_tp(row))  # positives up to a position
FP = Quantity(lambda curve, row: curve.write_fp(row))  # negatives up to a position
PRECISION = Quantity(lambda curve, row: curve.write_precision(row))
