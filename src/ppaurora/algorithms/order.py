"""Is every owner's list sorted? A merge network would make nonsense of one that is not."""

from __future__ import annotations

from collections.abc import Sequence

from ppaurora.sharing.spans import spans
from ppaurora.suites.base import Flags, Records, Suite, concat_records


def sorted_flags(suite: Suite, lists: Sequence[Records]) -> Flags:
    """One secret flag per list: 1 where no key is larger than the one before it.

    Not opened: a server that deviates could make an opened bit depend on a score of its choice.
    """
    with suite.step("order check"):
        neighbours = suite.compare(
            concat_records([records[:-1] for records in lists]).keys,
            concat_records([records[1:] for records in lists]).keys,
        )
        places = spans(max(len(records) - 1, 0) for records in lists)
        return suite.all_of([neighbours[place] for place in places])
