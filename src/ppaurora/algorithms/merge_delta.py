"""The paper's merge of two sorted lists, with its trade of privacy for speed.

The shuffling compares the lists elementwise and leaves the larger of each pair in the first list.
Then the top of the first list is the largest of all. With delta = 1 that is all: one record moves
per shuffling, nothing is opened, and the work is quadratic. With a larger delta, delta - 1 more
records move per shuffling, each chosen by a comparison of the two tops whose result the proxies
learn. The helper does not: it is told afterwards how many records left the second list, because the
sizes of all that follows depend on that. Until then its own counters mean nothing, and its lists hold
parts of zero, so it does not matter which of them it moves.

The paper's rules, which keep unshuffled records away from opened comparisons:
delta is odd; the longer list is the first; delta is lowered to the largest odd number not above the
length of the second list, hence to 1 when that is 1; the lists are switched when the second becomes
the longer.
"""

from __future__ import annotations

import operator
from functools import partial

from ppaurora.algorithms.merge import Exchange, Merge, MergeTwo, OpenCompare, Spread, TellHelper
from ppaurora.errors import InputError
from ppaurora.suites.base import Records, concat_records

_PAIRS_PER_REQUEST = 300  # that are compared in the time of its rounds


def merge_delta(delta: int) -> MergeTwo:
    """Return the merge of two lists for a given delta."""
    if delta < 1 or delta % 2 == 0:
        raise InputError(f"delta must be an odd number, 1 or larger, not {delta}")

    def merge(one: Records, other: Records, spread: Spread) -> Merge:
        first, second = (one, other) if len(one) >= len(other) else (other, one)
        done = partial(_work, delta, len(first), len(second))
        merged: list[Records] = []
        while len(second):
            pairs = len(second)
            high, low = yield Exchange(first[:pairs], second, done(len(merged) + 1))
            first = concat_records([high, first[pairs:]])
            second = low
            merged.append(first[0])
            first = first[1:]
            moves = min(delta, _largest_odd_up_to(pairs)) - 1
            of_first = of_second = 0
            for _ in range(moves):
                if (yield OpenCompare(first[of_first], second[of_second], done(len(merged) + 1))):
                    merged.append(first[of_first])
                    of_first += 1
                else:
                    merged.append(second[of_second])
                    of_second += 1
            if moves:
                of_second = yield TellHelper(of_second, moves, done(len(merged)))
            first, second = first[moves - of_second :], second[of_second:]
            if len(second) > len(first):
                first, second = second, first
        return concat_records([*merged, first])

    def work(first: int, second: int) -> int:
        return _work(delta, first, second, first + second)

    return MergeTwo(merge, work, operator.add, _PAIRS_PER_REQUEST)


def _work(delta: int, first: int, second: int, moved: int) -> int:
    """Return the work when so many records are merged: about as many pairs are compared.

    Which records are left does not count, only how many: the shorter list has at most half of them.
    """
    shorter = min(first, second)

    def pairs(left: int) -> int:
        return left * left // 4 if left <= 2 * shorter else (left - shorter) * shorter

    return (pairs(first + second) - pairs(first + second - moved)) // delta


def _largest_odd_up_to(number: int) -> int:
    return number - 1 if number % 2 == 0 else number
