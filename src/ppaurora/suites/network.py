"""Batcher's odd-even merge as a plan of comparators, for the wires of any suite.

The first list ends and the second begins at wire `half`, a power of two not below either length. So
the lists are in start..stop, with start = half - len(first) and stop = half + len(second).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray


def half_for(first: int, second: int) -> int:
    """Return the smallest power of two that is not below either length."""
    return 1 << max(first - 1, second - 1, 0).bit_length()


def comparators(half: int, stride: int, start: int, stop: int) -> NDArray[np.intp]:
    """Return the upper wires of a layer's comparators, of which both wires lie in start..stop.

    Batcher's odd-even merge of two lists of `half` wires: in the first layer (stride = half) wire
    j meets j + half; then, for strides of half/2, half/4, ..., 1, the odd-numbered blocks of
    `stride` wires meet the blocks that follow them.
    """
    upper = np.arange(start, max(stop - stride, start))
    return upper if stride == half else upper[(upper // stride) % 2 == 1]


def strides(half: int, start: int, stop: int) -> Iterator[int]:
    """The strides of the layers that have a comparator with both wires in start..stop."""
    stride = half
    while stride:
        odd_block = start // stride if start // stride % 2 else start // stride + 1
        first = start if stride == half else max(start, odd_block * stride)
        if first + stride < stop:
            yield stride
        stride //= 2
