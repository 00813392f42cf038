"""An owner's table: how many positives and negatives it has at every value of a grid."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ppaurora.data.grid import Grid
from ppaurora.data.samples import Samples
from ppaurora.errors import DataError, InputError

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

    Examples
    --------
    >>> import ppaurora
    >>> table = ppaurora.tabulate(([1, 0, 0, 1], [0.8, 0.3, 0.31, 0.8]), ppaurora.Grid(decimals=1))
    >>> table.positives.tolist()
    [0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0]
    >>> table.negatives.tolist()
    [0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]
    >>> len(table)
    4
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
        """Count samples by class and by the value that their score is read as, each as often as it weighs."""
        places = grid.places(samples)
        weights = None if samples.further is None else samples.further.weights
        positives, negatives = (
            np.bincount(places[own], None if weights is None else weights[own], grid.cells).astype(np.uint32)
            for own in (samples.labels == label for label in (1, 0))
        )
        return cls(samples.source, grid, positives, negatives, samples.negated)

    def negate(self) -> CountTable:
        """Return the same counts where the lower scores are the more positive ones, or again the higher."""
        return replace(self, negated=not self.negated)

    def fixed(self) -> CountTable:
        """Return a copy that nobody can change, whoever has the arrays that this one was made of."""
        positives, negatives = self.positives.copy(), self.negatives.copy()
        for counts in (positives, negatives):
            counts.flags.writeable = False
        return replace(self, positives=positives, negatives=negatives)

    @property
    def counts(self) -> Counts:
        """Return all counts as they are submitted: positives at every value, then negatives."""
        return np.concatenate([self.positives, self.negatives])

    def __len__(self) -> int:
        """Return how many samples were counted."""
        return int(self.positives.sum(dtype=np.uint64) + self.negatives.sum(dtype=np.uint64))


def check_probability_cells(table: CountTable, hint: str) -> None:
    """Refuse a table that has samples outside 0 to 1."""
    values, is_there = table.grid.values, (table.positives > 0) | (table.negatives > 0)
    if (is_there & ((values < 0) | (values > 1))).any():
        raise DataError("a score is outside [0, 1]", source=table.source, hint=hint)
