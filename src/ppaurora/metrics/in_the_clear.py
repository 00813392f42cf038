"""What a study would release, of samples that one person holds: the same computation, on plain numbers.

For examples and attacks on simulated samples: no rule of the policy is written a second time for them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ppaurora.algorithms.pooled_table import OwnerTables
from ppaurora.data.count_table import CountTable
from ppaurora.data.grid import Grid
from ppaurora.data.samples import Samples
from ppaurora.metrics.evidence import Inputs
from ppaurora.metrics.query import Query
from ppaurora.metrics.reading import ReleasedResult, read_release
from ppaurora.metrics.release import release
from ppaurora.metrics.sums import ListCounts, sums_of
from ppaurora.sharing.shares import BitShare, RingShare, Words
from ppaurora.suites.arrays import ArrayRecords
from ppaurora.suites.base import Records
from ppaurora.suites.cleartext import CLEARTEXT, CleartextSuite


class _WithoutNoise(CleartextSuite):
    """Every bit that should be random is 0, and so is the noise that is made of such bits."""

    def random_bits(self, thresholds: Words) -> RingShare:
        return self._share(np.zeros_like(thresholds))


def released_in_the_clear(query: Query, owners: Sequence[Samples]) -> ReleasedResult:
    """Return what owners would learn. Only the order of scores counts for curves, so keys are their ranks.

    A private study's numbers are without their noise, and their intervals are as wide as noise makes them.
    Raises UndefinedResultError if one class is missing, and no rule of the policy is about that.
    """
    merged: list[Records] = []
    sums = None
    if query.needs_curve and not query.tabulated:
        scores, labels = (np.concatenate([getattr(one, of) for one in owners]) for of in ("scores", "labels"))
        order = np.argsort(-scores, kind="stable")
        groups = np.append(True, np.diff(scores[order]) != 0).cumsum(dtype=np.uint64)
        keys = np.uint64(len(scores) + 1) - groups
        merged = [
            ArrayRecords(RingShare(CLEARTEXT, keys), BitShare(CLEARTEXT, labels[order].astype(np.uint8)))
        ]
    if query.sums:
        sums = RingShare(CLEARTEXT, np.stack([sums_of(one, query.sums) for one in owners], axis=1))
    sizes, positives = (
        np.array(numbers, dtype=np.uint64)
        for numbers in (query.sizes, [np.count_nonzero(one.labels) for one in owners])
    )
    counts = ListCounts(sizes, RingShare(CLEARTEXT, positives))
    sorted_lists = None if query.tabulated else RingShare(CLEARTEXT, np.zeros_like(sizes))
    tables = None if query.grid is None else _tables(query, query.grid, owners)
    columns = release(_WithoutNoise(), query, merged, Inputs(sorted_lists, counts, sums, tables))
    return read_release(columns.values, query, [one.source for one in owners])


def _tables(query: Query, grid: Grid, owners: Sequence[Samples]) -> OwnerTables:
    """Return what owners would submit as tables."""
    rows = [CountTable.of(samples, grid).counts for samples in owners]
    return OwnerTables(grid, query.negated, RingShare(CLEARTEXT, np.stack(rows).astype(np.uint64)))
