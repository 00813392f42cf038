"""Batcher's odd-even merge of two sorted lists of any lengths. Opens nothing.

Every layer is one vectorised compare-exchange. Both lists are laid around a power of two, as if the
wires before the first list held +infinity and those after the second -infinity; comparators that
touch such a wire would never exchange anything and are left out. About n log n comparators in
log n layers.

Source: K. E. Batcher, Sorting networks and their applications (1968).
"""

from __future__ import annotations

from ppaurora.algorithms.merge import ExchangeLayer, Merge
from ppaurora.suites.base import Records


def merge_network(one: Records, other: Records) -> Merge:
    if not len(one) or not len(other):
        return one if len(one) else other
    wires = one.wires(other)
    strides = list(wires.strides())
    size = len(one) + len(other)
    del one, other  # the wires have their own copy
    for layer, stride in enumerate(strides):
        yield ExchangeLayer(wires, stride, progress=size * layer // len(strides))
    return wires.merged()
