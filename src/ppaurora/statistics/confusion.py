"""What a threshold makes of samples: counts of right and wrong calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True)
class Confusion:
    """Counts at one threshold, as integers or as shares; `tp` and `fp` are called positive."""

    tp: Any
    fp: Any
    positives: Any
    negatives: Any

    @property
    def fn(self) -> Any:
        return self.positives - self.tp

    @property
    def tn(self) -> Any:
        return self.negatives - self.fp


def confusion(y_true: ArrayLike, called_positive: ArrayLike) -> Confusion:
    """Count the samples of each class, and those of them that are called positive."""
    is_positive, called = np.asarray(y_true) == 1, np.asarray(called_positive, dtype=bool)
    tp, positives = (int(np.count_nonzero(some)) for some in (called & is_positive, is_positive))
    return Confusion(tp, int(np.count_nonzero(called)) - tp, positives, len(is_positive) - positives)
