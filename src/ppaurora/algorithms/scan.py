"""The last flagged value up to every position, in a logarithmic number of rounds.

Two neighbouring stretches combine: the value of the later one counts if it has a flag, else that
of the earlier one. This is associative, so it is a prefix sum of a kind. On the way up, ends of stretches of
2, 4, 8, ... positions take over what the first half has where the second has no flag; on the way down,
the positions in between take over from the stretch before them. In place; O(n) products, 2 log n rounds.

Where a party has several workers, positions are cut at multiples of a power of two (`sharing.blocks`). Each
worker goes up as far as that; the first one takes all stretches that are left, goes on up and down again with
them, and hands back what there is at their ends; then each goes down. These are the products that one worker
would compute, in as many rounds.

Source: R. P. Brent and H. T. Kung, A regular layout for parallel adders (1982).
"""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from ppaurora.sharing.shares import RingShare, concat
from ppaurora.suites.base import Suite

_FROM_THE_START, _FROM_BEFORE = -1, 0  # where stretches end, at multiples of their lengths from there on


def last_flagged(suite: Suite, flags: Any, values: RingShare, unit: int | None = None) -> None:
    """Make every row of `values` what it is at the last flag up to a position; the first has one.

    `flags` are a suite's flags one by one; they are used up. Of several workers each but the first has
    the last position of the one before it as its own first one, with any values, and blocks that
    are cut at multiples of `unit`.
    """
    team = suite.team
    origin = _FROM_THE_START if team.leads else _FROM_BEFORE
    longest = 1 << len(flags).bit_length() if unit is None else unit
    _go_up(suite, flags, values, origin, longest)
    if team.count > 1:
        _among_workers(suite, flags, values, slice(origin + longest, None, longest))
    _go_down(suite, flags, values, origin, longest)


def _go_up(suite: Suite, flags: Any, values: RingShare, origin: int, longest: int) -> None:
    """Up to stretches of `longest` positions."""
    length, reach = len(flags), 1
    while 2 * reach <= longest and origin + 2 * reach < length:
        first_halves = slice(origin + reach, length - reach, 2 * reach)
        suite.carry(flags, values, first_halves, slice(origin + 2 * reach, None, 2 * reach), join=True)
        reach *= 2


def _go_down(suite: Suite, flags: Any, values: RingShare, origin: int, longest: int) -> None:
    """From stretches of `longest` positions; nothing needs to be carried to the first one from the start."""
    length, reach = len(flags), longest
    while reach > 1:
        reach //= 2
        first = origin + (3 * reach if origin == _FROM_THE_START else reach)
        if first < length:
            before = slice(first - reach, length - reach, 2 * reach)
            suite.carry(flags, values, before, slice(first, length, 2 * reach), join=False)


def _among_workers(suite: Suite, flags: Any, values: RingShare, ends: slice) -> None:
    """Ends of stretches get what they are; every worker but the first also what was before its first one."""
    team = suite.team
    all_flags, parts = team.gather(flags[ends]), team.gather(values[ends])
    if team.leads:
        joined = flags.like(np.concatenate([own.to_array() for own in all_flags], axis=-1))
        nodes, longest = concat(parts), 1 << len(joined).bit_length()
        _go_up(suite, joined, nodes, _FROM_THE_START, longest)
        _go_down(suite, joined, nodes, _FROM_THE_START, longest)
        borders = pairwise(accumulate((len(part) for part in parts), initial=0))
        parts = [nodes[max(start - 1, 0) : stop] for start, stop in borders]
    mine = team.hand_out(parts, values)
    if not team.leads:
        values.write(slice(0, 1), mine[:1])
        mine = mine[1:]
    values.write(ends, mine)
