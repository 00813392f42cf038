"""The paper's merge of two sorted lists, with its trade of privacy for speed.

The shuffling compares the lists elementwise and leaves the larger of each pair in the first list.
Then the top of the first list is the largest of all. With delta = 1 that is all: one record moves
per shuffling, nothing is opened, and the work is quadratic. With a larger delta, delta - 1 more
records move per shuffling, each chosen by a comparison of the two tops whose result is opened.

The paper's rules, which keep unshuffled records away from opened comparisons:
delta is odd; the longer list is the first; delta is lowered to the largest odd number not above the
length of the second list, hence to 1 when that is 1; the lists are switched when the second becomes
the longer.
"""

from __future__ import annotations

from ppaurora.algorithms.merge import Exchange, Merge, MergeTwo, OpenCompare
from ppaurora.errors import InputError
from ppaurora.suites.base import Records, concat_records


def merge_delta(delta: int) -> MergeTwo:
    """The merge for a given delta."""
    if delta < 1 or delta % 2 == 0:
        raise InputError(f"delta must be an odd number, 1 or larger, not {delta}")

    def merge(one: Records, other: Records) -> Merge:
        first, second = (one, other) if len(one) >= len(other) else (other, one)
        merged: list[Records] = []
        while len(second):
            pairs = len(second)
            high, low = yield Exchange(first[:pairs], second, len(merged))
            first = concat_records([high, first[pairs:]])
            second = low
            merged.append(first[0])
            first = first[1:]
            for _ in range(min(delta, _largest_odd_up_to(pairs)) - 1):
                first_is_larger = yield OpenCompare(first[0], second[0], len(merged))
                if first_is_larger:
                    merged.append(first[0])
                    first = first[1:]
                else:
                    merged.append(second[0])
                    second = second[1:]
            if len(second) > len(first):
                first, second = second, first
        return concat_records([*merged, first])

    return merge


def _largest_odd_up_to(number: int) -> int:
    return number - 1 if number % 2 == 0 else number
