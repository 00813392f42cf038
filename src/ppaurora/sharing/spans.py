"""Where parts lie in a whole."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate, pairwise


def spans(lengths: Iterable[int]) -> list[slice]:
    """Return the place of each part when parts of these lengths are laid one after the other."""
    return [slice(start, stop) for start, stop in pairwise(accumulate(lengths, initial=0))]
