"""Made-up samples to measure with, the same ones every time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Owner = tuple[NDArray[np.bool_], NDArray[np.float64]]

TIED = 0.01  # of the scores, rounded to two decimals


def synthetic_owners(
    sizes: Sequence[int], seed: int, *, ties: bool, single_precision: bool = False
) -> list[Owner]:
    """Scores in [0, 1) and labels that follow them."""
    random = np.random.default_rng(seed)
    total = sum(sizes)
    scores = random.random(total)
    if ties:
        tied = random.random(total) < TIED
        scores[tied] = np.round(scores[tied], 2)
    if single_precision:
        scores = scores.astype(np.float32).astype(np.float64)
    labels = random.random(total) < scores
    bounds = np.cumsum(sizes)[:-1]
    return list(zip(np.split(labels, bounds), np.split(scores, bounds), strict=True))
