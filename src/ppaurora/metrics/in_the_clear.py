"""What a study would release, of samples that one person holds: the same computation, on plain numbers.

For examples and attacks on simulated samples: no rule of the policy is written a second time for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ppaurora.algorithms.pooled_table import OwnerTables
from ppaurora.data.count_table import CountTable
from ppaurora.data.grid import Grid
from ppaurora.data.samples import Samples
from ppaurora.metrics.evidence import Inputs
from ppaurora.metrics.extras.study import StudyInputs, release_study, words_of
from ppaurora.metrics.parts import designed, layout_of
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
    if query.design is not None:
        columns = release_study(_WithoutNoise(), query, _study_inputs(query, owners))
        return read_release(columns.values, query, [one.source for one in owners])
    sums = None
    merged = _merged(owners) if query.needs_curve and not query.tabulated else []
    if query.sums:
        sums = _numbers(np.stack([sums_of(one, query.sums) for one in owners], axis=1))
    counts = ListCounts(np.array(query.sizes, dtype=np.uint64), _positives(owners))
    sorted_lists = None if query.tabulated else _sorted(owners)
    tables = None if query.grid is None else _tables(query, query.grid, owners)
    columns = release(_WithoutNoise(), query, merged, Inputs(sorted_lists, counts, sums, tables))
    return read_release(columns.values, query, [one.source for one in owners])


def _study_inputs(query: Query, owners: Sequence[Samples]) -> StudyInputs:
    """Return what servers would have of a study with a design."""
    layout = layout_of(query)
    counts = np.stack([layout.fill(one) for one in owners]) if layout.counts else None
    words = np.stack([words_of(layout.read(one), query) for one in owners], axis=1)
    wholes = () if query.tabulated else designed(query).wholes
    lists = {whole: [one.of(whole) for one in owners] for whole in wholes}
    return StudyInputs(
        {whole: _merged(own) for whole, own in lists.items() if query.needs_curve},
        {whole: _sorted(own) for whole, own in lists.items()},
        {whole: _positives(own) for whole, own in lists.items()},
        None if counts is None else _numbers(counts),
        _numbers(words) if len(words) else None,
    )


def _numbers(values: NDArray[np.unsignedinteger[Any]]) -> RingShare:
    return RingShare(CLEARTEXT, values.astype(np.uint64))


def _merged(owners: Sequence[Samples]) -> list[Records]:
    """Return the one sorted list of all owners' samples."""
    scores, labels = (np.concatenate([getattr(one, of) for one in owners]) for of in ("scores", "labels"))
    order = np.argsort(-scores, kind="stable")
    groups = np.append(True, np.diff(scores[order]) != 0).cumsum(dtype=np.uint64)
    keys = np.uint64(len(scores) + 1) - groups
    return [ArrayRecords(_numbers(keys), BitShare(CLEARTEXT, labels[order].astype(np.uint8)))]


def _positives(owners: Sequence[Samples]) -> RingShare:
    return _numbers(np.array([np.count_nonzero(one.labels) for one in owners], dtype=np.uint64))


def _sorted(owners: Sequence[Samples]) -> RingShare:
    """Return for every owner that nothing in its list is out of order."""
    return _numbers(np.zeros(len(owners), dtype=np.uint64))


def _tables(query: Query, grid: Grid, owners: Sequence[Samples]) -> OwnerTables:
    """Return what owners would submit as tables."""
    rows = [CountTable.of(samples, grid).counts for samples in owners]
    return OwnerTables(grid, query.negated, _numbers(np.stack(rows)))
