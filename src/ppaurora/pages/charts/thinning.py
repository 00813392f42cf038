"""Curves of many points, drawn with few."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ppaurora.statistics.curves import Points

_COLUMNS = 400  # more than a chart has places beside each other


def thinned(x: Sequence[float] | NDArray[np.float64], y: Sequence[float] | NDArray[np.float64]) -> Points:
    """Few enough points to draw, of a curve along growing x, that look the same.

    Of all points in a column that is thinner than the line, the first, the lowest, the highest and the last
    are kept: U. Jugel and others, M4: a visualization-oriented time series data aggregation, VLDB 2014.
    """
    across, up = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if len(across) <= _COLUMNS:
        return across, up
    columns = np.floor((across - across[0]) / ((across[-1] - across[0]) or 1.0) * _COLUMNS)
    starts = np.append(0, np.flatnonzero(np.diff(columns)) + 1)
    kept: set[int] = set()
    for start, end in zip(starts, [*starts[1:], len(across)], strict=True):
        inside = up[start:end]
        kept |= {int(start), int(start + inside.argmin()), int(start + inside.argmax()), int(end) - 1}
    chosen = sorted(kept)
    return across[chosen], up[chosen]
