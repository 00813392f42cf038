"""The mechanism of all that is at thresholds and in bins: a table of counts by class and cell, with noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from fractions import Fraction
from functools import reduce
from itertools import pairwise
from operator import add
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ppaurora.data.samples import Samples
from ppaurora.metrics.private.mechanism import Coordinate, Ingredients, Mechanism
from ppaurora.metrics.sums import Disjoint, Fit, ListCounts, Mask, OwnerSum
from ppaurora.sharing.shares import RingShare, concat
from ppaurora.suites.base import Suite

OFFSET_STEPS = 1 << 32  # of a sum of offsets
_HALF_OFFSET = OFFSET_STEPS // 8  # the largest offset of a sample, in steps


class CutKind(IntEnum):
    """Which scores lie beyond a cut. In this order where values are equal, so that beyond a cut lies no score
    that is not beyond all cuts before it, whatever the direction of the scores."""

    EDGE_BELOW = 0  # of a bin that its lower edge belongs to: score >= value
    THRESHOLD = 1  # score >= value; if lower scores are the more positive ones, score > value
    EDGE_ABOVE = 2  # of a bin that its upper edge belongs to: score > value


@dataclass(frozen=True, order=True)
class Cut:
    """A place on the scale of scores, as their source has them, at which cells are divided."""

    value: float
    kind: CutKind

    def beyond(self, samples: Samples) -> Mask:
        """Return which samples lie beyond it."""
        scores = samples.scores_of_source
        beyond: Mask = scores > self.value if self.excludes(negated=samples.negated) else scores >= self.value
        return beyond

    def excludes(self, *, negated: bool) -> bool:
        """Return whether a score that is equal to it does not lie beyond."""
        return self.kind is CutKind.EDGE_ABOVE or (self.kind is CutKind.THRESHOLD and negated)


@dataclass(frozen=True)
class Cell:
    """The scores beyond one cut, if there is one below, and not beyond the next, if there is one."""

    low: Cut | None
    high: Cut | None

    def holds(self, samples: Samples) -> Mask:
        """Return which samples are in it."""
        held: Mask = np.ones(len(samples), dtype=np.bool_)
        if self.low is not None:
            held &= self.low.beyond(samples)
        if self.high is not None:
            held &= ~self.high.beyond(samples)
        return held

    def is_empty(self, *, negated: bool) -> bool:
        """Return whether no score at all is in it: cuts of one value may be the same cut."""
        if self.low is None or self.high is None or self.low.value != self.high.value:
            return False
        return self.low.excludes(negated=negated) == self.high.excludes(negated=negated)


@dataclass(frozen=True)
class SamplesBetween(OwnerSum):
    """Samples of either class whose score is in a cell."""

    cell: Cell

    def of_each(self, samples: Samples) -> Mask:
        return self.cell.holds(samples)


def beside_threshold(threshold: float, edges: Sequence[Cut]) -> tuple[SamplesBetween, ...]:
    """Return the samples between a threshold and the edge that is the same number, or the nearest ones.

    By them a table of bins and one of thresholds differ. There may be some even if threshold and edge are the
    same number: those whose score it is.
    """
    at = Cut(threshold, CutKind.THRESHOLD)
    same = [edge for edge in edges if edge.value == threshold]
    if same:
        return tuple(SamplesBetween(Cell(*sorted((at, edge)))) for edge in same)
    below, above = [edge for edge in edges if edge < at][-1:], [edge for edge in edges if edge > at][:1]
    return tuple(SamplesBetween(Cell(*ends)) for ends in ((*below, at), (at, *above)) if len(ends) == 2)


@dataclass(frozen=True)
class CellCount(OwnerSum):
    """Samples of one class whose score is in a cell."""

    cell: Cell
    label: int

    def of_each(self, samples: Samples) -> Mask:
        counted: Mask = self.cell.holds(samples) & (samples.labels == self.label)
        return counted

    def most(self, counts: ListCounts) -> RingShare:
        return counts.positives if self.label else counts.negatives


@dataclass(frozen=True)
class OffsetsIn(OwnerSum):
    """Over the probabilities in a bin, a quarter of how far each is from its low end, in widths."""

    parts: ClassVar[int] = 2 * _HALF_OFFSET
    bin: Cell
    low: float
    high: float

    def of_each(self, samples: Samples) -> NDArray[np.float64]:
        counted: NDArray[np.float64] = (
            (samples.scores_of_source - self.low) / (self.high - self.low) * self.bin.holds(samples)
        )
        return counted

    def of(self, samples: Samples) -> int:
        return int(self.weights(samples).sum())


@dataclass(frozen=True)
class Inside:
    """Offsets in a bin are at most those of as many samples as its cells have."""

    offsets: OffsetsIn
    counts: tuple[CellCount, ...]

    def room(self, by_owner: Mapping[OwnerSum, RingShare], counts: ListCounts) -> RingShare:
        samples = reduce(add, (by_owner[one] for one in self.counts))
        room: RingShare = samples * self.offsets.parts - by_owner[self.offsets]
        return room


@dataclass(frozen=True)
class TableMechanism(Mechanism):
    """How many positives and negatives have scores in each cell between all cuts of all metrics.

    And for every bin of which the mean is asked for, a quarter of the sum over its samples of
    (score - middle) / width, in steps of 2^-32 to which every sample's part is rounded.

    **Sensitivity 2, and 1/4 for every division into bins of which means are asked for.** A person is counted
    once, in the cell of its score and class. Replaced, it leaves one cell and joins another: two counts move
    by 1. A sample's part of the sum of a bin that it is in is from -1/8 to 1/8, rounded as well, and it has
    none in others. So where no score is in more than k bins, which metrics may choose each for itself, it has
    parts in at most k sums before and after, and sums move together by at most k/4. The same holds for the
    tables of all levels of a subgroup together, as a person is in one level.
    """

    name = "table"
    cuts: tuple[Cut, ...]  # in increasing order, each once
    means: tuple[OffsetsIn, ...] = ()  # of bins that are made of whole cells

    def __or__(self, other: TableMechanism) -> TableMechanism:
        means = tuple(dict.fromkeys((*self.means, *other.means)))
        return TableMechanism(tuple(sorted({*self.cuts, *other.cuts})), means)

    @property
    def sensitivity(self) -> Fraction:
        bins_of_cells = [0] * len(self.cells)
        for mean in self.means:
            for number in range(len(self.cells))[self.within(mean.bin)]:
                bins_of_cells[number] += 1
        return 2 + Fraction(max(bins_of_cells), 4)

    @property
    def cells(self) -> tuple[Cell, ...]:
        """All cells, from the lowest scores on."""
        return tuple(Cell(low, high) for low, high in pairwise((None, *self.cuts, None)))

    @property
    def coordinates(self) -> tuple[Coordinate, ...]:
        cells, bins = range(len(self.cells)), range(len(self.means))
        return (
            *(Coordinate(f"positives in cell {number}") for number in cells),
            *(Coordinate(f"negatives in cell {number}") for number in cells),
            *(Coordinate(f"offsets in bin {number}", OFFSET_STEPS) for number in bins),
        )

    @property
    def sums(self) -> tuple[OwnerSum, ...]:
        return (*self._counts(self.cells), *self.means)

    @property
    def fits(self) -> tuple[Fit, ...]:
        by_class = (tuple(CellCount(cell, label) for cell in self.cells) for label in (1, 0))
        return (
            *map(Disjoint, by_class),
            *(Inside(mean, self._counts(self.cells[self.within(mean.bin)])) for mean in self.means),
        )

    def integers(self, suite: Suite, given: Ingredients) -> RingShare:
        offsets = []
        for mean in self.means:
            counts = self._counts(self.cells[self.within(mean.bin)])
            samples = reduce(add, (given.totals[one] for one in counts))
            offsets.append(given.totals[mean] - samples * _HALF_OFFSET)
        return concat([*(given.totals[one] for one in self._counts(self.cells)), *offsets])

    def within(self, span: Cell) -> slice:
        """Return where the cells are that a span between two cuts is made of."""
        first = 0 if span.low is None else self.cuts.index(span.low) + 1
        last = len(self.cuts) if span.high is None else self.cuts.index(span.high)
        return slice(first, last + 1)

    @staticmethod
    def _counts(cells: Sequence[Cell]) -> tuple[CellCount, ...]:
        return tuple(CellCount(cell, label) for label in (1, 0) for cell in cells)
