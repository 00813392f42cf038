"""The last flagged value up to every position, in a logarithmic number of rounds.

Two neighbouring stretches combine: the value of the later one counts if it has a flag, else that
of the earlier one. This is associative, so it is a prefix sum of a kind. On the way up, ends of stretches of
2, 4, 8, ... positions take over what the first half has where the second has no flag; on the way down,
the positions in between take over from the stretch before them. In place; O(n) products, 2 log n rounds.

Source: R. P. Brent and H. T. Kung, A regular layout for parallel adders (1982).
"""

from __future__ import annotations

from typing import Any

from ppaurora.sharing.shares import RingShare
from ppaurora.suites.base import Suite


def last_flagged(suite: Suite, flags: Any, values: RingShare) -> None:
    """Every row of `values` becomes what it is at the last flag up to a position; the first has one.

    `flags` are a suite's flags one by one; they are used up.
    """
    length = len(flags)
    reach = 1
    while 2 * reach <= length:
        first_halves, ends = (
            slice(reach - 1, length - reach, 2 * reach),
            slice(2 * reach - 1, None, 2 * reach),
        )
        suite.carry(flags, values, first_halves, ends, join=True)
        reach *= 2
    while reach > 1:
        reach //= 2
        between = slice(3 * reach - 1, length, 2 * reach)
        if between.start < length:
            before = slice(2 * reach - 1, length - reach, 2 * reach)
            suite.carry(flags, values, before, between, join=False)
