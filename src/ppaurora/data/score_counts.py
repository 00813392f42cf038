"""Distinct scores and how many samples of each class have them: of rows and of tables alike."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ppaurora.data.count_table import CountTable
from ppaurora.data.samples import Samples


@dataclass(frozen=True)
class ScoreCounts:
    """What an owner's own numbers are computed from. Never leaves the owner; does not print its contents.

    Attributes
    ----------
    values
        The scores that there are, as the source has them, ascending.
    positives, negatives
        How many samples of each class have them.
    negated
        Whether lower scores are the more positive ones.
    """

    values: NDArray[np.float64] = field(repr=False)
    positives: NDArray[np.int64] = field(repr=False)
    negatives: NDArray[np.int64] = field(repr=False)
    negated: bool = False

    @classmethod
    def of(cls, data: Samples | CountTable) -> ScoreCounts:
        """Count rows by their scores, or take the values of a table that have any."""
        if isinstance(data, CountTable):
            there = np.flatnonzero((data.positives > 0) | (data.negatives > 0))
            positives, negatives = (
                counts[there].astype(np.int64) for counts in (data.positives, data.negatives)
            )
            return cls(data.grid.values[there], positives, negatives, data.negated)
        values, places = np.unique(data.scores_of_source, return_inverse=True)
        positives, negatives = (
            np.bincount(places[data.labels == bit], minlength=len(values)) for bit in (1, 0)
        )
        return cls(values, positives, negatives, data.negated)

    @property
    def by_class(self) -> tuple[int, int]:
        """Return how many positives and negatives there are."""
        return int(self.positives.sum()), int(self.negatives.sum())

    @property
    def tied(self) -> int:
        """Return how many samples share their score with another one."""
        times = self.positives + self.negatives
        return int(times[times > 1].sum())

    @property
    def pairs_in_one(self) -> int:
        """Return how many pairs of a positive and a negative have the same score."""
        return int(self.positives @ self.negatives)

    @property
    def ascending(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the counts of positives and of negatives, the least positive score first."""
        if self.negated:
            return self.positives[::-1], self.negatives[::-1]
        return self.positives, self.negatives

    @property
    def weighted(self) -> tuple[NDArray[np.uint8], NDArray[np.float64], NDArray[np.int64]]:
        """Return labels, scores of which the higher is the more positive, and how often each is there."""
        scores = 0.0 - self.values if self.negated else self.values
        labels = np.repeat(np.array([1, 0], dtype=np.uint8), len(scores))
        return labels, np.tile(scores, 2), np.concatenate([self.positives, self.negatives])
