"""An owner's table: how many positives and negatives it has at every value of a grid."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ppaurora.data.grid import Grid
from ppaurora.data.samples import Samples
from ppaurora.errors import InputError

MOST_PER_CELL = (1 << 32) - 1

Counts = NDArray[np.uint32]


@dataclass(frozen=True)
class CountTable:
    """Counts in the clear, in increasing order of the source's scores. Never leaves the owner.

    Attributes
    ----------
    source
        The file or owner that errors name.
    grid
        How scores were read.
    positives, negatives
        How many samples of each class every value has.
    negated
        Whether lower scores are the more positive ones.
    """

    source: str
    grid: Grid
    positives: Counts = field(repr=False)
    negatives: Counts = field(repr=False)
    negated: bool = False

    def __post_init__(self) -> None:
        for counts in (self.positives, self.negatives):
            if counts.shape != (self.grid.cells,) or counts.dtype != np.uint32:
                raise InputError(f"{self.source}: a table has {self.grid.cells:,} counts of each class")

    @classmethod
    def of(cls, samples: Samples, grid: Grid) -> CountTable:
        """Count samples by class and by the value that their score is read as."""
        places = grid.places(samples)
        positives, negatives = (
            np.bincount(places[samples.labels == label], minlength=grid.cells).astype(np.uint32)
            for label in (1, 0)
        )
        return cls(samples.source, grid, positives, negatives, samples.negated)

    def __len__(self) -> int:
        """Return how many samples were counted."""
        return int(self.positives.sum(dtype=np.uint64) + self.negatives.sum(dtype=np.uint64))
