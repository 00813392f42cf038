"""Where a curve crosses a secret limit: the points on both sides of it, and the area up to it.

TP and FP do not fall from one position to the next. So a limit on one of them is kept up to some position,
and as rows have what they were at the last end, the position after it is an end. It is found by public
blocks of about the square root of n positions:

    1. compare where blocks begin; the last block that begins within the limit has weight 1, the others 0
    2. the block's rows, and the position after it, are the sum over all blocks of weight times rows
    3. compare inside; the same once more

Bytes grow with the square root of n. 10 rounds in `bitsliced`, for any number of limits, and 2 for areas.

Where a party has several workers, each adds up what it has of a sum over all positions, and the first one
does the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from ppaurora.algorithms.curve import FP, TP, Curve, Quantity
from ppaurora.sharing.shares import RingShare, concat, stack
from ppaurora.sharing.spans import spans
from ppaurora.suites.base import Suite


@dataclass(frozen=True)
class Limit:
    """Kept where row·scale <= most, which holds at the start; both sides below 2^61."""

    row: Quantity  # TP or FP
    scale: int
    most: RingShare  # a list of one


@dataclass(frozen=True)
class Point:
    """A point of the curve: numbers, each a list of one."""

    tp: RingShare
    fp: RingShare


@dataclass(frozen=True)
class Crossing:
    """Where a limit is kept for the last time. If it is kept throughout, both points are the last end."""

    within: Point  # the last end that keeps the limit
    beyond: Point  # the first one that does not
    block: _Block


@dataclass(frozen=True)
class _Block:
    """The block that crosses a limit, in secret."""

    starts_within: RingShare  # 1 where blocks begin within the limit
    within: RingShare  # 1 at positions of the block that are within the limit
    rows: Mapping[Quantity, RingShare]  # TP and FP there, and at the position after the block


@dataclass(frozen=True)
class _Blocks:
    """Positions 0..n in blocks; the last one may reach beyond n."""

    last: int  # position, n

    @property
    def size(self) -> int:
        return isqrt(self.last) + 1

    @property
    def starts(self) -> range:
        return range(0, self.last + 1, self.size)

    def positions(self) -> Iterator[NDArray[np.intp]]:
        """Give the positions of each block and the first one after it; n stands for what is beyond."""
        for start in self.starts:
            yield np.minimum(np.arange(start, start + self.size + 1), self.last)

    def steps(self) -> Iterator[NDArray[np.intp]]:
        """The first positions after all starts but the last, then the second ones, up to the next starts."""
        for offset in range(self.size):
            yield np.arange(offset + 1, self.starts[-1] + 1, self.size)


def find_crossings(curve: Curve, limits: Sequence[Limit]) -> list[Crossing]:
    """Find where a curve that has kept its ends crosses limits, in the same rounds; at the first worker."""
    if not limits:
        return []
    suite, blocks = curve.suite, _Blocks(curve.positions)
    at_starts = stack([curve.at(limit.row, np.array(blocks.starts)) for limit in limits])
    starts = suite.team.total(at_starts).rows()
    starts_within, weights = [], []
    if suite.team.leads:
        starts_within = _where_kept(suite, limits, starts)
        weights = [stack([stack([last_set(within)]) for within in starts_within])] * suite.team.count
    chosen = suite.team.total(_chosen_rows(curve, blocks, suite.team.hand_out(weights, at_starts)))
    if not suite.team.leads:
        return []
    rows = [{TP: one.row(0), FP: one.row(1)} for one in chosen.rows()]

    insides = [own[limit.row][:-1] for limit, own in zip(limits, rows, strict=True)]
    withins = _where_kept(suite, limits, insides)
    found = [_Block(*parts) for parts in zip(starts_within, withins, rows, strict=True)]
    begun = [
        (_begin_point(suite, block, slice(None, -1)), _begin_point(suite, block, slice(1, None)))
        for block in found
    ]
    return [Crossing(within(), beyond(), block) for (within, beyond), block in zip(begun, found, strict=True)]


def _chosen_rows(curve: Curve, blocks: _Blocks, weights: RingShare) -> RingShare:
    """Return the sum over all blocks of weight times rows, as far as positions are this worker's."""
    positions = dict(enumerate(blocks.positions()))
    ours = {
        number: places
        for number, places in positions.items()
        if curve.start <= places[-1] and places[0] <= curve.start + curve.length
    }
    return curve.suite.begin_sums_of_products(
        (weights[number], stack([curve.at(TP, places), curve.at(FP, places)]))
        for number, places in (ours or positions).items()
    )()


def _begin_point(suite: Suite, block: _Block, positions: slice) -> Callable[[], Point]:
    """Begin to find, in the rows at these positions, what belongs to the last position within the limit."""
    last = last_set(block.within)
    tp, fp = (suite.begin_dot([(last, block.rows[row][positions])]) for row in (TP, FP))
    return lambda: Point(tp(), fp())


def areas_up_to(curve: Curve, crossings: Sequence[Crossing]) -> list[RingShare]:
    """Twice the area of TP over FP up to the last end within each limit. At the first worker only, too."""
    suite, blocks = curve.suite, _Blocks(curve.positions)
    if suite.team.leads and not crossings:
        return []
    of_blocks = suite.begin_sums_of_products(
        (
            curve.at(FP, here) - curve.at(FP, here, before=1),
            curve.at(TP, here) + curve.at(TP, here, before=1),
        )
        for here in blocks.steps()
    )
    begun = []
    for crossing in crossings:
        inside_tp, inside_fp = crossing.block.rows[TP][:-1], crossing.block.rows[FP][:-1]
        begun.append(suite.begin_mul(inside_fp[1:] - inside_fp[:-1], inside_tp[1:] + inside_tp[:-1]))
    block_areas = suite.team.total(of_blocks())
    inside_areas = [finish() for finish in begun]
    totals = [
        suite.begin_dot(
            [(crossing.block.starts_within[1:], block_areas), (crossing.block.within[1:], inside)]
        )
        for crossing, inside in zip(crossings, inside_areas, strict=True)
    ]
    return [finish() for finish in totals]


def _where_kept(suite: Suite, limits: Sequence[Limit], values: Sequence[RingShare]) -> list[RingShare]:
    """1 where a limit is kept, for each limit and its values."""
    gaps = [limit.most - row * limit.scale for limit, row in zip(limits, values, strict=True)]
    kept = suite.is_positive(concat(gaps) + 1)
    return [kept[place] for place in spans(len(gap) for gap in gaps)]


def last_set(flags: RingShare) -> RingShare:
    """1 at the last flag that is set, of flags that are set up to somewhere."""
    return concat([flags[:-1] - flags[1:], flags[-1]])
