"""Owners' tables and their sum, in secret: how many positives and negatives every value of a grid has."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from ppaurora.data.grid import Grid
from ppaurora.sharing.shares import RingShare, Words, stack


@dataclass(frozen=True)
class PooledTable:
    """Counts over all owners, in increasing order of the source's scores."""

    grid: Grid
    negated: bool  # whether lower scores are the more positive ones
    positives: RingShare = field(repr=False)
    negatives: RingShare = field(repr=False)


@dataclass(frozen=True)
class OwnerTables:
    """Every owner's counts: a row for each owner, positives at all values and then negatives."""

    grid: Grid
    negated: bool
    counts: RingShare = field(repr=False)

    @cached_property
    def pooled(self) -> PooledTable:
        """The sum of the owners' tables."""
        rows = self.counts.rows()
        total = sum(rows[1:], rows[0])
        cells = self.grid.cells
        return PooledTable(self.grid, self.negated, total[:cells], total[cells:])

    @property
    def positives(self) -> RingShare:
        """Return how many positives every owner counts."""
        return self._total(slice(0, self.grid.cells))

    @property
    def samples(self) -> RingShare:
        """Return how many samples every owner counts."""
        return self._total(slice(0, 2 * self.grid.cells))

    def _total(self, counts: slice) -> RingShare:
        totals = self.counts[counts].sum()
        return totals.column(0)

    def weighted(self, weights: Iterable[Words]) -> RingShare:
        """Return, for every list of weights of all counts, a row with every owner's weighted sum."""
        rows = [self.counts.weighted_sums(one) for one in weights]
        return stack(rows)
