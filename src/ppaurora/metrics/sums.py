"""What every owner sums over its own samples and submits, split into shares, beside its list.

A sum is a whole number below 2^63. Scores that are probabilities are summed in steps of 2^-32. Servers add
the owners' sums up for nothing; inside the computation each is checked against what the list can give. Those
of bins are also checked against each other: else an owner could claim all its samples for every bin, and bins
in which another owner is nearly alone would not be withheld.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from ppaurora.data.grid import Grid
from ppaurora.data.samples import Samples
from ppaurora.errors import MisuseError
from ppaurora.sharing.shares import RingShare, Words
from ppaurora.statistics.calibration import Bin, squared_errors

STEPS_PER_ONE = 1 << 32  # of a sum of probabilities

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class ListCounts:
    """What a list or a table tells of every owner: how many samples it has, in secret how many are positive.

    Of a level of a subgroup the number of samples is secret, too.
    """

    sizes: Words | RingShare
    positives: RingShare

    @property
    def negatives(self) -> RingShare:
        return self.sizes - self.positives

    @property
    def secret_sizes(self) -> RingShare:
        """The numbers of samples, where they are secret."""
        if not isinstance(self.sizes, RingShare):
            raise MisuseError("these numbers of samples are public")
        return self.sizes


class OwnerSum(ABC):
    """One of them; two that are equal are submitted once."""

    parts: ClassVar[int] = 1  # of one, in which it is counted

    @abstractmethod
    def of_each(self, samples: Samples) -> Mask | NDArray[np.float64]:
        """Return what every sample counts, from 0 to 1; it depends on its score and label alone."""

    def of(self, samples: Samples) -> int:
        """Add up what one owner's samples count, in parts of one, rounded once."""
        each = self.of_each(samples)
        return int(np.count_nonzero(each)) if self.parts == 1 else in_parts(each, self.parts)

    def weights(self, samples: Samples) -> Words:
        """Return what every sample counts, rounded to parts of one."""
        weights: Words = np.rint(self.of_each(samples) * np.float64(self.parts)).astype(np.uint64)
        return weights

    def most(self, counts: ListCounts) -> RingShare | Words:
        """Return the largest that it can be, for every owner: by default that of all its samples."""
        return counts.sizes * self.parts


@dataclass(frozen=True)
class TruePositives(OwnerSum):
    """Positives whose score is at least the threshold."""

    threshold: float

    def of_each(self, samples: Samples) -> Mask:
        counted: Mask = at_least(samples, self.threshold) & (samples.labels == 1)
        return counted

    def most(self, counts: ListCounts) -> RingShare:
        return counts.positives


@dataclass(frozen=True)
class FalsePositives(OwnerSum):
    """Negatives whose score is at least the threshold."""

    threshold: float

    def of_each(self, samples: Samples) -> Mask:
        counted: Mask = at_least(samples, self.threshold) & (samples.labels == 0)
        return counted

    def most(self, counts: ListCounts) -> RingShare:
        return counts.negatives


@dataclass(frozen=True)
class ExpectedEvents(OwnerSum):
    """The sum of probabilities."""

    parts = STEPS_PER_ONE

    def of_each(self, samples: Samples) -> NDArray[np.float64]:
        return samples.scores


@dataclass(frozen=True)
class SquaredErrors(OwnerSum):
    """The sum of squared differences between probability and label."""

    parts = STEPS_PER_ONE

    def of_each(self, samples: Samples) -> NDArray[np.float64]:
        counted: NDArray[np.float64] = squared_errors(samples.labels, samples.scores)
        return counted


@dataclass(frozen=True)
class FourthPowers(OwnerSum):
    """The sum of fourth powers of differences between probability and label; none is above its square."""

    parts = STEPS_PER_ONE

    def of_each(self, samples: Samples) -> NDArray[np.float64]:
        counted: NDArray[np.float64] = squared_errors(samples.labels, samples.scores) ** 2
        return counted


@dataclass(frozen=True)
class SquaredProbabilities(OwnerSum):
    """The sum of squared probabilities."""

    parts = STEPS_PER_ONE

    def of_each(self, samples: Samples) -> NDArray[np.float64]:
        counted: NDArray[np.float64] = samples.scores**2
        return counted


@dataclass(frozen=True)
class ExpectedAmongPositives(OwnerSum):
    """The sum of the probabilities of positives."""

    parts = STEPS_PER_ONE

    def of_each(self, samples: Samples) -> NDArray[np.float64]:
        counted: NDArray[np.float64] = samples.scores * samples.labels
        return counted

    def most(self, counts: ListCounts) -> RingShare:
        return counts.positives * STEPS_PER_ONE


@dataclass(frozen=True)
class SamplesIn(OwnerSum):
    """Samples whose score is in a bin."""

    bin: Bin

    def of_each(self, samples: Samples) -> Mask:
        return self.bin.holds(samples.scores_of_source)


@dataclass(frozen=True)
class PositivesIn(OwnerSum):
    """Positives whose score is in a bin."""

    bin: Bin

    def of_each(self, samples: Samples) -> Mask:
        counted: Mask = self.bin.holds(samples.scores_of_source) & (samples.labels == 1)
        return counted

    def most(self, counts: ListCounts) -> RingShare:
        return counts.positives


@dataclass(frozen=True)
class NegativesIn(OwnerSum):
    """Negatives whose score is in a bin."""

    bin: Bin

    def of_each(self, samples: Samples) -> Mask:
        counted: Mask = self.bin.holds(samples.scores_of_source) & (samples.labels == 0)
        return counted

    def most(self, counts: ListCounts) -> RingShare:
        return counts.negatives


@dataclass(frozen=True)
class ExpectedIn(OwnerSum):
    """The sum of the probabilities that are in a bin."""

    parts = STEPS_PER_ONE
    bin: Bin

    def of_each(self, samples: Samples) -> NDArray[np.float64]:
        counted: NDArray[np.float64] = samples.scores_of_source * self.bin.holds(samples.scores_of_source)
        return counted


@dataclass(frozen=True)
class SquaredErrorsIn(OwnerSum):
    """The sum of squared differences between probability and label, of probabilities that are in a bin."""

    parts = STEPS_PER_ONE
    bin: Bin

    def of_each(self, samples: Samples) -> NDArray[np.float64]:
        scores = samples.scores_of_source
        counted: NDArray[np.float64] = squared_errors(samples.labels, scores) * self.bin.holds(scores)
        return counted


class Fit(Protocol):
    """How sums of any list are related to each other."""

    def room(self, by_owner: Mapping[OwnerSum, RingShare], counts: ListCounts) -> RingShare:
        """Return, for every owner, a number that is not negative if its sums fit each other."""


@dataclass(frozen=True)
class Ordered:
    """For every owner, the larger sum counts every sample that the smaller one counts at least as much."""

    larger: OwnerSum
    smaller: OwnerSum

    def room(self, by_owner: Mapping[OwnerSum, RingShare], counts: ListCounts) -> RingShare:
        return by_owner[self.larger] * (self.smaller.parts // self.larger.parts) - by_owner[self.smaller]


@dataclass(frozen=True)
class Disjoint:
    """No sample is counted by two of them, so together they are at most what one can be."""

    sums: tuple[OwnerSum, ...]

    def room(self, by_owner: Mapping[OwnerSum, RingShare], counts: ListCounts) -> RingShare:
        together = reduce(add, (by_owner[total] for total in self.sums))
        room: RingShare = self.sums[0].most(counts) - together
        return room


def at_least(samples: Samples, threshold: float) -> Mask:
    """Return where a score says "positive": it has reached the threshold, from whichever side."""
    reached: Mask = samples.scores >= (-threshold if samples.negated else threshold)
    return reached


def in_parts(values: Mask | NDArray[np.float64], parts: int) -> int:
    """Return the sum of values from 0 to 1 in parts of one, rounded once."""
    return round(math.fsum(values.tolist()) * parts)


def weights_on(grid: Grid, wanted: Sequence[OwnerSum], *, negated: bool) -> Iterator[Words]:
    """Give, for every sum, what one positive at each value of a grid counts, and then one negative.

    One after the other: hundreds of sums on a million values would not fit into memory together.
    """
    positive, negative = (grid.as_samples(label, negated=negated) for label in (1, 0))
    for total in wanted:
        yield np.concatenate([total.weights(positive), total.weights(negative)])


def sums_of(samples: Samples, wanted: Sequence[OwnerSum]) -> Words:
    """Return one owner's sums, in the order in which they are submitted."""
    return np.array([total.of(samples) for total in wanted], dtype=np.uint64)
