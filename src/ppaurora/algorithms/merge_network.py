"""Batcher's odd-even merge of two sorted lists of any lengths. Opens nothing.

Every layer is one vectorised compare-exchange. Both lists are laid around a power of two, as if the
wires before the first list held +infinity and those after the second -infinity; comparators that
touch such a wire would never exchange anything and are left out. About n log n comparators in
log n layers.

Source: K. E. Batcher, Sorting networks and their applications (1968).
"""

from __future__ import annotations

from ppaurora.algorithms.merge import ExchangeLayer, Merge, MergeTwo, Spread
from ppaurora.algorithms.merge_plan import Layer, layers_of, merge_cost, plan_network
from ppaurora.algorithms.redistribution import by_residue, in_block
from ppaurora.sharing.blocks import blocks
from ppaurora.sharing.planes import LANES
from ppaurora.suites.base import Records

_WORK_PER_WORD = 2  # of comparators
_WORK_WITHIN_WORDS = 3  # of a word whose records are gathered from two words, and put back
_WORK_PER_MERGE = 500  # to lay out the wires, and to take the records from them
_WORK_PER_LAYER = 150  # for its rounds


def _merge(one: Records, other: Records, spread: Spread) -> Merge:
    team, first, second = spread.team, spread.first, spread.second
    if not first or not second:
        return one if first else other
    size, wire = first + second, -first  # of the first record; only residues and differences count
    ones, others = [one], [other]
    del one, other  # the wires have their own copy
    wires = by_residue(team, ones, first, wire).wires(by_residue(team, others, second, 0))
    done = _WORK_PER_MERGE
    layers = list(layers_of(first, second))
    for layer in (layer for layer in layers if layer.stride >= team.count):
        done += _work_of(layer)
        yield ExchangeLayer(wires, layer.stride // team.count, progress=done)
    merged = [wires.merged()]
    del wires
    records, place = in_block(team, merged, size, wire)
    if team.count == 1:
        return records
    aligned = -(wire + place.start) % team.count
    before, after = records[:aligned], records[aligned:]
    del records
    wires = before.wires(after, least_half=team.count)
    del before, after
    for layer in (layer for layer in layers if layer.stride < team.count):
        done += _work_of(layer)
        yield ExchangeLayer(wires, layer.stride, progress=done)
    own = blocks(size, team.count)[team.index]
    return wires.merged()[own.start - place.start : own.stop - place.start]


def _work_of(layer: Layer) -> int:
    return layer.words * (_WORK_PER_WORD if layer.stride >= LANES else _WORK_WITHIN_WORDS)


def _work(first: int, second: int) -> int:
    return _WORK_PER_MERGE + sum(map(_work_of, layers_of(first, second)))


def _layers(first: int, second: int) -> int:
    return merge_cost(first, second).layers


merge_network = MergeTwo(_merge, _work, _layers, _WORK_PER_LAYER, plan_network, at_once=True)
