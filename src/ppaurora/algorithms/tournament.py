"""The largest of many values, by rounds of a tournament.

First pairs meet: after 5 rounds of messages in `bitsliced`, half of all values are left. Later, when few
values are left, larger groups meet, in which each plays against all others: after 9, a group has one winner.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from ppaurora.sharing.shares import RingShare, concat
from ppaurora.sharing.spans import spans
from ppaurora.suites.base import Suite

_MEETINGS_PER_VALUE = 1 / 8  # of the values at the start; in each round of groups
_SMALLEST_GROUP, _LARGEST_GROUP = 6, 64


def largest(suite: Suite, values: RingShare) -> RingShare:
    """Return the largest as a list of one, for values that differ by less than 2^62."""
    meetings = int(len(values) * _MEETINGS_PER_VALUE)
    while len(values) > 1:
        size = min(1 + 2 * meetings // len(values), len(values), _LARGEST_GROUP)
        values = _of_pairs(suite, values) if size < _SMALLEST_GROUP else _of_groups(suite, values, size)
    return values


def _of_pairs(suite: Suite, values: RingShare) -> RingShare:
    """Return the larger of each two; one may be left over."""
    pairs = len(values) // 2
    one, other = values[: 2 * pairs : 2], values[1 : 2 * pairs : 2]
    winners = suite.mux(one, other, suite.is_positive(other - one))
    return concat([winners, values[2 * pairs :]])


def _of_groups(suite: Suite, values: RingShare, size: int) -> RingShare:
    """Return the largest of each group: it wins all its games, where of two equal ones the first wins.

    The groups' first members stand next to each other, then their second ones, and so on; what is missing in
    the end are copies of the last value.
    """
    groups = -(-len(values) // size)
    everybody = values.take(np.minimum(np.arange(size * groups), len(values) - 1))
    places = spans([groups] * size)
    games = list(combinations(range(size), 2))
    gaps = [everybody[places[second]] - everybody[places[first]] for first, second in games]
    second_wins = suite.is_positive(concat(gaps))

    wins = [suite.constant(0, groups)] * size
    for (first, second), place in zip(games, spans([groups] * len(games)), strict=True):
        wins[first] = wins[first] + (1 - second_wins[place])
        wins[second] = wins[second] + second_wins[place]
    is_largest = suite.is_positive(concat(wins) - (size - 2))
    return suite.begin_sums_of_products((is_largest[place], everybody[place]) for place in places)()
