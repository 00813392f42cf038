"""The last flagged value before every position, in a logarithmic number of rounds.

Two neighbouring stretches combine: the value of the later one counts if it has a flag, else that
of the earlier one. This is associative, so pairs are combined first, the half as long list of
pairs is scanned, and the positions in between are filled in: O(n) products, 2 log n rounds.
"""

from __future__ import annotations

from ppaurora.sharing.shares import RingShare, concat, stack
from ppaurora.suites.base import Suite


def previous_flagged(suite: Suite, flags: RingShare, values: RingShare, initial: RingShare) -> RingShare:
    """For each position the values at the last flag before it, or `initial` (a column) where there is none.

    `values` holds one row per quantity; all rows go by the same flags.
    """
    if not len(flags):
        return values
    shifted_flags = concat([suite.constant(1), flags[:-1]])
    shifted_values = concat([initial, values[:-1]])
    return _last_flagged(suite, shifted_flags, shifted_values)


def _last_flagged(suite: Suite, flags: RingShare, values: RingShare) -> RingShare:
    """Inclusive scan; the first position is flagged."""
    length = len(flags)
    if length == 1:
        return values
    even, odd = slice(0, length - 1, 2), slice(1, None, 2)
    pair_flags, pair_values = _combine(suite, flags[even], values[even], flags[odd], values[odd])
    at_odd = _last_flagged(suite, pair_flags, pair_values)
    if length == 2:
        return concat([values[0], at_odd])
    # Even positions from 2 on lie one after a pair's end.
    rest = slice(2, None, 2)
    before = at_odd[: (length - 1) // 2]
    at_even = suite.mux(before, values[rest], flags[rest])
    return values.put(odd, at_odd).put(rest, at_even)


def _combine(
    suite: Suite, early_flags: RingShare, early: RingShare, late_flags: RingShare, late: RingShare
) -> tuple[RingShare, RingShare]:
    """f or f' = f + f' - f·f', and the values by MUX, with one multiplication by the later flags."""
    products = suite.mul(late_flags, stack([early_flags, *(early - late).rows()]))
    flags = early_flags + late_flags - products.row(0)
    moved = stack(products.rows()[1:])
    return flags, early - moved
