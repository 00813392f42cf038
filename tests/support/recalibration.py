"""Tables of probabilities, and logistic recalibration of them by plain Newton steps, in long doubles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ppaurora.data.grid import Grid
from ppaurora.sharing.shares import RingShare
from ppaurora.suites.cleartext import CLEARTEXT

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Counted:
    """How many positives and negatives every value of a grid has."""

    grid: Grid
    positives: Counts
    negatives: Counts

    @property
    def samples(self) -> int:
        return int(self.positives.sum() + self.negatives.sum())

    @property
    def words(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        return self.positives.astype(np.uint64), self.negatives.astype(np.uint64)

    @property
    def shares(self) -> tuple[RingShare, RingShare]:
        """The counts in the clear, as `CleartextSuite` takes them."""
        positives, negatives = self.words
        return RingShare(CLEARTEXT, positives), RingShare(CLEARTEXT, negatives)

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """0 and 1 are half a step from the end."""
        half = 0.5 / 10**self.grid.decimals
        return np.array([min(max(value, half), 1 - half) for value in self.grid.values])

    def fitted(self, *, with_slope: bool) -> tuple[float, float]:
        """The last coefficient, and its standard error."""
        there = self.positives + self.negatives > 0
        p, y = self.probabilities[there].astype(np.longdouble), self.positives[there].astype(np.longdouble)
        n = y + self.negatives[there]
        x = np.log(p / (1 - p))
        a, b = np.longdouble(0), np.longdouble(1)
        for _ in range(100):
            s = 1 / (1 + np.exp(-(a + b * x)))
            f, g = (y - n * s).sum(), ((y - n * s) * x).sum()
            w = n * s * (1 - s)
            aa, ab, bb = w.sum(), (w * x).sum(), (w * x * x).sum()
            if not with_slope:
                a += max(min(f / aa, np.longdouble(1)), np.longdouble(-1))
                error = np.sqrt(1 / aa)
                continue
            det = aa * bb - ab * ab
            da, db = (f * bb - g * ab) / det, (g * aa - f * ab) / det
            shorter = max(np.longdouble(1), abs(da) / 2, abs(db) * 2)
            a, b = a + da / shorter, b + db / shorter
            error = np.sqrt(aa / det)
        return float(b if with_slope else a), float(error)


def random_table(seed: int, decimals: int = 4) -> Counted:
    """Logits that are normal, or have few values, or a long tail; up to a billion samples."""
    random = np.random.default_rng(seed)
    grid = Grid(decimals=decimals)
    x = np.log(np.clip(grid.values, grid.step / 2, 1) / np.clip(1 - grid.values, grid.step / 2, 1))
    kind = seed % 3
    if kind == 0:
        weights = np.exp(-0.5 * ((x - random.uniform(-3, 1)) / random.uniform(0.5, 2)) ** 2)
    elif kind == 1:
        weights = np.zeros(grid.cells)
        weights[random.choice(grid.cells, min(6, grid.cells), replace=False)] = random.random(
            min(6, grid.cells)
        )
    else:
        weights = np.exp(-random.uniform(0.5, 2) * np.abs(x - random.uniform(-4, 0)))
    counts = random.multinomial(int(10 ** random.uniform(2.5, 9)), weights / weights.sum())
    a, b = random.normal(0, 0.7), random.uniform(0.2, 2.5)
    positives = random.binomial(counts, 1 / (1 + np.exp(-(a + b * x))))
    return Counted(grid, positives, counts - positives)
