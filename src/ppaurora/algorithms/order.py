"""Is every owner's list sorted? A merge network would make nonsense of one that is not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ppaurora.algorithms.redistribution import with_next
from ppaurora.sharing.shares import RingShare
from ppaurora.sharing.spans import spans
from ppaurora.suites.base import Records, Suite


def count_ascents(suite: Suite, lists: Sequence[Records], sizes: Sequence[int] | None = None) -> RingShare:
    """Per list, how many keys are larger than the one before them: 0 if it is sorted.

    Not opened: a server that deviates could make an opened bit depend on a score of its choice. Where a party
    has several workers, lists are their blocks, and of these sizes in all; the first one gets the numbers.
    """
    with suite.step("order check"):
        followed = with_next(suite.team, lists, sizes or [len(records) for records in lists])
        descends = suite.compare_neighbours([records.keys for records in followed])
        neighbours = [max(len(records) - 1, 0) for records in followed]
        ascents = np.array(neighbours, dtype=np.uint64) - suite.count_ones(descends, spans(neighbours))
        return suite.team.total(ascents)
