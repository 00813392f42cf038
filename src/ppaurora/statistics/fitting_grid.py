"""A grid that fits scores in the clear: their decimals, between round numbers."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ppaurora.data.grid import MOST_DECIMALS, Grid

_CLOSE = 1e-9  # to a decimal: what a division may leave of one
_USUAL_DECIMALS = 4
_MOST_STEPS = 1 << 17  # of a grid that is proposed, which costs as much as some ten thousand samples in lists


def decimals_of(scores: NDArray[np.float64]) -> int | None:
    """Return how many decimals all scores have, up to 1e-9; None if there are more than eight."""
    for decimals in range(MOST_DECIMALS):  # with nine of them, every number would be one
        if _have(scores[:1000], decimals) and _have(scores, decimals):
            return decimals
    return None


def _have(scores: NDArray[np.float64], decimals: int) -> bool:
    unit = 10.0**decimals
    with np.errstate(over="ignore", invalid="ignore"):
        return bool((np.abs(np.rint(scores * unit) / unit - scores) <= _CLOSE).all())


def fitting_grid(low: float, high: float, decimals: int | None) -> Grid | None:
    """Return a grid between round numbers that stays small, if there is one.

    It has so many decimals; or four, or fewer, if these are unknown or too many for it. Scores from 0 to 1
    are probabilities.
    """
    if low >= 0 and high <= 1:
        low, high = 0.0, 1.0
    tried = [] if decimals is None else [decimals]
    grids = (_between(low, high, some) for some in [*tried, *range(_USUAL_DECIMALS, -1, -1)])
    return next((grid for grid in grids if grid is not None), None)


def _between(low: float, high: float, decimals: int) -> Grid | None:
    """Return the grid whose ends are not inside of these, if it stays small."""
    unit = 10**decimals
    if max(abs(low), abs(high)) * unit > 2**53:
        return None
    first, last = math.floor(low * unit), math.ceil(high * unit)
    if last - first > _MOST_STEPS:
        return None
    return Grid(low=first / unit, high=max(last, first + 1) / unit, decimals=decimals)
