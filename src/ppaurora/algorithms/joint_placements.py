"""Sums of products of placements over a joint table, from which variances of differences follow (DeLong).

Scores are counted in coarse cells. In cell x let c(x) be twice the placement of a positive, the negatives in
more positive cells doubled and those in its own cell once; b(x) likewise of a negative. For models a and b
and the counts J(x, y) of positives in cell x of a and cell y of b, wanted are, as exact integers,

    S_ab = sum over x, y of J(x, y)·c_a(x)·c_b(y)

and the same of single models. c is at most 2N <= 2^31, so that it is made of two limbs, 2^16·c1 + c0; with at
most 2^30 samples in all, or products of counts of clusters that add up to 2^32, each of the sums

    S_ab = 2^32·S11 + 2^16·(S10 + S01) + S00

is below 2^64. The sum over y is a dot product for every x, and so is the sum over x: 24 bytes each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ppaurora.sharing.shares import RingShare, concat
from ppaurora.suites.base import Suite

LIMB_BITS = 16


def in_cells(counts: RingShare, of_value: NDArray[np.int64]) -> RingShare:
    """Add up counts of grid values by the cells that these are in."""
    starts = np.flatnonzero(np.append(True, np.diff(of_value) != 0))
    return counts.like(np.add.reduceat(counts.values, starts, axis=-1))


def margins(counts: RingShare, shape: tuple[int, int]) -> tuple[RingShare, RingShare]:
    """Return the sums of a matrix, given row after row, over its columns and over its rows."""
    values = counts.values.reshape(*counts.values.shape[:-1], *shape)
    over_columns, over_rows = (values.sum(axis=axis, dtype=values.dtype) for axis in (-1, -2))
    return counts.like(over_columns), counts.like(over_rows)


def doubled_placements(others: RingShare, *, negated: bool) -> RingShare:
    """Return, for every cell, twice how many of the other class are more positive, and those in the cell."""
    up_to_here = others.cumsum() * 2
    return up_to_here - others if negated else others.sum() * 2 - up_to_here + others


@dataclass(frozen=True)
class Limbs:
    """Numbers of up to 32 bits: 2^16·high + low."""

    high: RingShare = field(repr=False)
    low: RingShare = field(repr=False)

    @property
    def whole(self) -> RingShare:
        """The numbers, put together from both limbs."""
        return self.high * (1 << LIMB_BITS) + self.low


def split(suite: Suite, vectors: Sequence[RingShare]) -> list[Limbs]:
    """Cut all numbers of some vectors into limbs, in the same rounds."""
    together = concat(vectors)
    high = suite.shift_right(together, LIMB_BITS)
    low = together - high * (1 << LIMB_BITS)
    found, start = [], 0
    for vector in vectors:
        place = slice(start, start + len(vector))
        found.append(Limbs(high[place], low[place]))
        start += len(vector)
    return found


Times = Callable[[RingShare], Callable[[], RingShare]]  # from a vector to its product with a matrix, begun


def matrix(suite: Suite, counts: RingShare, shape: tuple[int, int]) -> Times:
    """Return how a matrix of counts, row after row, is multiplied by a vector."""
    rows, columns = shape
    places = np.arange(rows) * columns

    def times(vector: RingShare) -> Callable[[], RingShare]:
        return suite.begin_sums_of_products(
            (counts.take(places + column), vector[column]) for column in range(columns)
        )

    return times


def diagonal(suite: Suite, counts: RingShare) -> Times:
    """Return how a matrix that has these counts on its diagonal is multiplied by a vector."""
    return lambda vector: suite.begin_mul(counts, vector)


@dataclass(frozen=True)
class Bilinear:
    """A sum of products u(x)·M(x, y)·v(y) that is wanted."""

    left: Limbs
    times: Times
    right: Limbs


def bilinear_sums(suite: Suite, wanted: Sequence[Bilinear]) -> list[list[RingShare]]:
    """Return the words of every sum, the most significant one first; all in two rounds."""
    begun = [(one.times(one.right.high), one.times(one.right.low)) for one in wanted]
    inner = [(high(), low()) for high, low in begun]
    sums = []
    for one, (high, low) in zip(wanted, inner, strict=True):
        left = one.left
        sums.append(
            (
                suite.begin_dot([(left.high, high)]),
                suite.begin_dot([(left.high, low), (left.low, high)]),
                suite.begin_dot([(left.low, low)]),
            )
        )
    return [[finish() for finish in some] for some in sums]
