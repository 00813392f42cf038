"""The curve over a table: a position for every value of the grid, each the end of a tie group.

TP and FP are prefix sums, from the most positive value on, and cost nothing. Where nobody has a score, the
curve stays where it is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ppaurora.algorithms.curve import FP, MOST_SAMPLES, TP, Curve, Finish, Quantity, precision_bits
from ppaurora.algorithms.pooled_table import PooledTable
from ppaurora.sharing.shares import RingShare
from ppaurora.suites.base import Suite


class TableCurve(Curve):
    """Rows over the values of a grid. A party has one worker: nothing grows with the samples."""

    most_samples = MOST_SAMPLES

    def __init__(self, suite: Suite, table: PooledTable, quantities: Sequence[Quantity], size: int) -> None:
        """Take a table of so many samples in all."""
        cells = table.grid.cells
        super().__init__(suite, [TP, FP, *quantities], size, cells, 0, cells)
        self._table = table
        self._write_rows()

    def keep_ends(self) -> None:
        """All positions are ends."""

    def write_tp(self, row: RingShare) -> None:
        self._write_sums(self._table.positives, row)
        self.positives = row[-1]

    def write_fp(self, row: RingShare) -> None:
        self._write_sums(self._table.negatives, row)

    def _write_sums(self, counts: RingShare, row: RingShare) -> None:
        order = np.arange(len(counts)) if self._table.negated else np.arange(len(counts))[::-1]
        row.write(slice(1, None), counts.take(order))
        row.cumsum_in_place()

    def write_precision(self, row: RingShare) -> None:
        """Divide by one more where nobody is called positive, and take one more: 1 / 1."""
        suite, bits = self.suite, precision_bits(self.most_samples)
        tp, fp = self[TP], self[FP]
        with suite.step("precision"):
            nobody = 1 - suite.is_positive(tp + fp)
            precision = suite.div(tp + nobody, tp + fp + nobody, bits, MOST_SAMPLES)
        row.write(slice(None), precision)

    def write_high(self, of: Quantity, low_bits: int, row: RingShare) -> None:
        row.write(slice(None), self.suite.shift_right(self[of], low_bits))

    def heights(self) -> RingShare:
        """TP·N - FP·P = n·TP - P·(TP + FP)."""
        tp, fp = self[TP][1:], self[FP][1:]
        return tp * self.size - self.suite.mul(self.positives, tp + fp)

    def tied_pairs(self) -> Finish:
        """Begin to count pairs of unlike class that have the same score."""
        tp, fp = self[TP], self[FP]
        return self.suite.begin_dot([(tp[1:] - tp[:-1], fp[1:] - fp[:-1])])
