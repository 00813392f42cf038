"""How a list lies with a party's workers: each has a block of it.

Borders are chosen for the scan along the curve (`algorithms.scan`). With the start of the curve before the
first sample, positions are cut at multiples of a power of two: the scan's work is then cut at the same
places for any number of workers, and what is left to the first one are so few of its nodes that nobody
notices.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

_UNITS_PER_WORKER = 64  # at least, of a list that is long enough


def unit(size: int, workers: int) -> int:
    """Return a power of two that divides every border but the last, if the start is counted, too."""
    if workers == 1:
        return 1 << (size + 1).bit_length()
    most = max((size + 1) // (_UNITS_PER_WORKER * workers), 1)
    return 1 << (most.bit_length() - 1)


@lru_cache(maxsize=1 << 10)
def blocks(size: int, workers: int) -> tuple[range, ...]:
    """Return the positions of a list's samples that each worker has; the last ones may have none."""
    step = unit(size, workers)
    units = -(-(size + 1) // step)
    per_worker = -(-units // workers) * step
    borders = [0, *(min(number * per_worker, size + 1) - 1 for number in range(1, workers)), size]
    return tuple(range(start, stop) for start, stop in pairwise(borders))
