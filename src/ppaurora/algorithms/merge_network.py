"""Batcher's odd-even merge of two sorted lists of any lengths. Opens nothing.

Every layer is one vectorised compare-exchange. Both lists are laid around a power of two, as if the
wires before the first list held +infinity and those after the second -infinity; comparators that
touch such a wire would never exchange anything and are left out. About n log n comparators in
log n layers.

Source: K. E. Batcher, Sorting networks and their applications (1968).
"""

from __future__ import annotations

from itertools import accumulate

from ppaurora.algorithms.merge import ExchangeLayer, Merge, MergeTwo
from ppaurora.algorithms.merge_plan import layer_words, merge_cost, plan_network
from ppaurora.suites.base import Records


def _merge(one: Records, other: Records) -> Merge:
    if not len(one) or not len(other):
        return one if len(one) else other
    wires = one.wires(other)
    words = accumulate(layer_words(len(one), len(other)))
    del one, other  # the wires have their own copy
    for stride, done in zip(wires.strides(), words, strict=True):
        yield ExchangeLayer(wires, stride, progress=done)
    return wires.merged()


def _words(first: int, second: int) -> int:
    return merge_cost(first, second).words


merge_network = MergeTwo(_merge, _words, plan_network, at_once=True)
