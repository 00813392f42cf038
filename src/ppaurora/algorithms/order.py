"""Is every owner's list sorted? A merge network would make nonsense of one that is not."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

from ppaurora.suites.base import Records, Suite, concat_records


def sorted_lists(suite: Suite, lists: Sequence[Records]) -> list[bool]:
    """OPENING, one bit per list: is no key larger than the one before it?"""
    with suite.step("order check"):
        neighbours = suite.compare(
            concat_records([records[:-1] for records in lists]).keys,
            concat_records([records[1:] for records in lists]).keys,
        )
        ends = accumulate((max(len(records) - 1, 0) for records in lists), initial=0)
        in_order = suite.all_of([neighbours[start:stop] for start, stop in pairwise(ends)])
        opened = suite.open(in_order, "order check: is an owner's list sorted", to_helper=False)
        return [bool(bit) for bit in opened]
