"""The release policy in the clear: which results are published, and with how many digits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ppaurora.metrics.precision_recall import AveragePrecision

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

STANDARD_ERROR = "se"
_MOST_DIGITS = 4
_SAMPLES_PER_STEP = 4


@dataclass(frozen=True)
class Policy:
    """The rules of a study; the defaults are a study's defaults."""

    minimum_owners: int = 3
    largest_share: float = 0.5
    minimum_positives: int = 10
    minimum_negatives: int = 10
    average_precision_less: int = 1  # digits fewer than others

    def digits(self, sizes: Sequence[int]) -> int:
        """At most: the largest d with 4·10^d <= n - max(n_i), at most 4. Below 1 nothing is published."""
        enough = (sum(sizes) - max(sizes)) // _SAMPLES_PER_STEP
        return max((d for d in range(1, _MOST_DIGITS + 1) if 10**d <= enough), default=0)

    def granted(self, positives: Ints, sizes: Sequence[int]) -> Ints:
        """Return each study's digits: from the second on, 4·10^d of either class without any one owner."""
        smaller = np.minimum(*(_without_any_one(counts) for counts in _classes(positives, sizes)))
        most = self.digits(sizes)
        finer = [smaller >= _SAMPLES_PER_STEP * 10**d for d in range(2, most + 1)]
        granted: Ints = np.sum([np.full(len(positives), min(most, 1)), *finer], axis=0)
        return granted

    def admits(self, sizes: Sequence[int]) -> bool:
        """The rules that everybody can check."""
        shares_fit = max(sizes) <= self.largest_share * sum(sizes)
        return len(sizes) >= self.minimum_owners and shares_fit and self.digits(sizes) >= 1

    def releases(self, positives: Ints, sizes: Sequence[int]) -> Bools:
        """Whether each study is published. `positives` has a row per study, a column per owner."""
        enough: Bools = np.full(len(positives), self.admits(sizes))
        floors = self.minimum_positives, self.minimum_negatives
        for counts, floor in zip(_classes(positives, sizes), floors, strict=True):
            enough = enough & (_without_any_one(counts) >= floor)
        return enough

    def published(
        self, numbers: Mapping[str, Floats], sizes: Sequence[int], positives: Ints
    ) -> dict[str, Floats]:
        granted = self.granted(positives, sizes)
        more = {STANDARD_ERROR: 1, AveragePrecision.name: -self.average_precision_less}
        return {
            name: rounded(values, np.maximum(granted + more.get(name, 0), 1))
            for name, values in numbers.items()
        }


def _classes(positives: Ints, sizes: Sequence[int]) -> tuple[Ints, Ints]:
    return positives, np.asarray(sizes) - positives


def _without_any_one(counts: Ints) -> Ints:
    """Without the owner that has most."""
    rest: Ints = counts.sum(axis=1) - counts.max(axis=1)
    return rest


def rounded(values: Floats, digits: int | Ints) -> Floats:
    """Half away from zero, for values from 0 on; a product that float64 puts just below a half is one."""
    steps = 10.0 ** np.asarray(digits)
    nearest: Floats = np.floor(values * steps + 0.5 + 1e-9) / steps
    return nearest
