"""Is every owner's list sorted? A merge network would make nonsense of one that is not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ppaurora.sharing.shares import RingShare
from ppaurora.sharing.spans import spans
from ppaurora.suites.base import Records, Suite


def count_ascents(suite: Suite, lists: Sequence[Records]) -> RingShare:
    """Per list, how many keys are larger than the one before them: 0 if it is sorted.

    Not opened: a server that deviates could make an opened bit depend on a score of its choice.
    """
    with suite.step("order check"):
        descends = suite.compare_neighbours([records.keys for records in lists])
        neighbours = [max(len(records) - 1, 0) for records in lists]
        return np.array(neighbours, dtype=np.uint64) - suite.count_ones(descends, spans(neighbours))
