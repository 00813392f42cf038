"""The curve over one merged list, from which every metric takes what it needs.

Positions are j = 1..n, and FP[j] = j - TP[j]. The curve starts at position 0, and has a point where a tie
group ends. First every row is there at all positions; `keep_ends` then makes it what it is at the last
end up to a position, so that a step from one position to the next is zero but at ends.

Where a party has several workers, each has the positions of its block, and before them the position that
the block before ends with. Sums over steps are then sums of the workers' own sums.
"""

from __future__ import annotations

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


class Curve:
    """Rows over positions 0..n, each computed once."""

    positives: RingShare  # in all, a list of one

    def __init__(
        self,
        suite: Suite,
        labels: Secrets,
        ends: Secrets | None,
        quantities: Sequence[Quantity],
        size: int | None = None,
    ) -> None:
        """Take a merged list's labels and ends of groups, or what a worker has of a list of `size`."""
        self.suite = suite
        self.size = len(labels) if size is None else size
        self.labels = labels
        self.ends = ends
        self.start = blocks(self.size, suite.team.count)[suite.team.index].start  # the position before ours
        self._quantities = list(dict.fromkeys([TP, *quantities]))
        self._rows = suite.blank(len(self._quantities), len(labels) + 1)
        for quantity in self._quantities:
            quantity.write(self, self[quantity])

    def __getitem__(self, quantity: Quantity) -> RingShare:
        return self._rows.row(self._quantities.index(quantity))

    def at(self, quantity: Quantity, positions: NDArray[np.intp], before: int = 0) -> RingShare:
        """Return what a row has at positions that are this worker's, or so many before them; else 0."""
        places = positions - self.start
        ours = (places > (-1 if self.suite.team.leads else 0)) & (places <= len(self.labels))
        return self[quantity].take(np.where(ours, places - before, 0)) * ours

    def keep_ends(self) -> None:
        """Give every row, at every position, what it was at the last end up to there."""
        flags = self.suite.flags_from_start(self.ends)
        last_flagged(self.suite, flags, self._rows, unit(self.size, self.suite.team.count))

    def steps(self) -> Iterator[tuple[slice, slice]]:
        """This worker's positions in blocks, by their places in a row, and the positions before them."""
        for start in range(1, len(self.labels) + 1, _BLOCK):
            stop = min(start + _BLOCK, len(self.labels) + 1)
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


def _write_tp(curve: Curve, row: RingShare) -> None:
    curve.suite.to_ring(curve.labels, into=row[1:])
    before, curve.positives = curve.suite.team.sums(row[1:].sum())
    row.write(slice(0, 1), before)
    row.cumsum_in_place()


def _write_fp(curve: Curve, row: RingShare) -> None:
    tp = curve[TP]
    for start in range(0, len(row), _BLOCK):
        block = slice(start, min(start + _BLOCK, len(row)))
        positions = curve.start + np.arange(block.start, block.stop, dtype=np.uint64)
        row.write(block, positions - tp[block])


def _write_precision(curve: Curve, row: RingShare) -> None:
    bits = precision_bits(curve.size)
    divisors = range(curve.start + 1, curve.start + len(row))
    with curve.suite.step("precision"):
        curve.suite.div_public(curve[TP][1:], divisors, bits, into=row[1:])
    row.write(slice(0, 1), curve.suite.constant(1 << bits))


TP = Quantity(_write_tp)  # positives up to a position
FP = Quantity(_write_fp)  # negatives up to a position
PRECISION = Quantity(_write_precision)  # TP[j] / j with `precision_bits`; 1 at the start
