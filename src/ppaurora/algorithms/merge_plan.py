"""Which lists a network merges with which, so that rounds and comparators are few together.

All merges whose lists are there run in the same rounds, layer by layer. So a plan takes as many layers as
its longest chain of merges has, and as many comparators as all merges have together. Merging the two
smallest lists, always, takes nearly the fewest comparators; but with lists of unequal lengths one small
merge waits for another. So both count: a layer as much as 512 words of 64 comparators, which take some
8 ms to compute, where its rounds take from 0.5 ms between neighbours to 25 ms over long distances; and not
less than a thousandth of all comparators, which nobody notices.

A few lists, sorted by length, are cut in two, and so are both parts, and so on: the best of all such trees
is found. As long as there are more lists, two of them are merged: those that count as the smallest, where
a merged list counts as `factor` times the sum, because it is there later. With a factor of 1 that is the
rule of the two smallest; a larger one makes the tree more even. All factors are tried.

Depends on lengths alone; at every server the same.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from ppaurora.algorithms.merge import PlannedMerge
from ppaurora.sharing.planes import LANES, word_count
from ppaurora.suites.network import half_for, strides

_WORDS_PER_LAYER = 512
_LAYERS_PER_JOB = 1000  # a layer counts as this part of it, or more
_MOST_LISTS = 10  # of which all trees are looked at
_FACTORS = (1, 2, 4, 8)


class PlanCost(NamedTuple):
    """What merges take: layers one after the other, and words of 64 comparators in all of them."""

    layers: int
    words: int


class _Tree(NamedTuple):
    """A list that merges make: its length, when it is there, and the words of comparators until then."""

    size: int
    layers: int
    words: int
    parts: tuple[_Tree, _Tree] | None = None  # none: a given list
    number: int = 0  # of a given list


class Layer(NamedTuple):
    """Comparators that run at once: the distance of the wires that meet, and words of comparators."""

    stride: int
    words: int


def layers_of(first: int, second: int) -> Iterator[Layer]:
    """All layers of a merge of two lists, as bit planes have them.

    Strides of a word or more pair whole words: all in the first layer, then the odd-numbered blocks with the
    blocks after them. Within words, every two are packed into one.
    """
    if not first or not second:
        return
    before, after = word_count(first), word_count(second)
    half = half_for(before, after)
    start, stop = half - before, half + after
    for stride in strides(half * LANES, half * LANES - first, half * LANES + second):
        if stride < LANES:
            words = -(-(before + after) // 2)
        elif stride == half * LANES:
            words = stop - half - start
        else:
            block = stride // LANES
            words = _in_odd_blocks(stop - block, block) - _in_odd_blocks(start, block)
        yield Layer(stride, words)


def _in_odd_blocks(stop: int, block: int) -> int:
    """Return how many of the wires before `stop` are in odd-numbered blocks."""
    pairs, rest = divmod(stop, 2 * block)
    return pairs * block + max(rest - block, 0)


@lru_cache(maxsize=1 << 14)
def merge_cost(first: int, second: int) -> PlanCost:
    """Return the cost of one merge."""
    words = [layer.words for layer in layers_of(first, second)]
    return PlanCost(len(words), sum(words))


def plan_cost(sizes: Sequence[int], merges: Iterable[PlannedMerge]) -> PlanCost:
    """Return what the network does for a plan, exactly."""
    ready = {number: _Tree(size, 0, 0) for number, size in enumerate(sizes)}
    for merge in merges:
        ready[merge.result] = _merged(ready.pop(merge.left), ready.pop(merge.right))
    return PlanCost(
        max((tree.layers for tree in ready.values()), default=0), sum(tree.words for tree in ready.values())
    )


def plan_network(sizes: Sequence[int]) -> list[PlannedMerge]:
    """Plan the merges, each after those that it needs."""
    return list(_plan(tuple(sizes)))


@lru_cache(maxsize=16)
def _plan(sizes: tuple[int, ...]) -> list[PlannedMerge]:
    if not sizes:
        return []
    given = [_Tree(size, 0, 0, number=number) for number, size in enumerate(sizes)]
    (smallest_first,) = _joined(given, 1, 1)
    weight = max(_WORDS_PER_LAYER, smallest_first.words // _LAYERS_PER_JOB)
    factors = _FACTORS if len(sizes) > _MOST_LISTS else (1,)
    trees = [_best_tree(_joined(given, factor, _MOST_LISTS), weight) for factor in factors]
    best = min([smallest_first, *trees], key=lambda tree: tree.words + weight * tree.layers)
    return _as_merges(best, len(sizes))


def _merged(left: _Tree, right: _Tree) -> _Tree:
    cost = merge_cost(left.size, right.size)
    return _Tree(
        left.size + right.size,
        max(left.layers, right.layers) + cost.layers,
        left.words + right.words + cost.words,
        (left, right),
    )


def _joined(lists: Sequence[_Tree], factor: int, most: int) -> list[_Tree]:
    """Join all lists into at most so many."""
    heap = [(tree.size, number, tree) for number, tree in enumerate(lists)]
    heapq.heapify(heap)
    for number in range(len(lists), 2 * len(lists) - most):
        left, _, left_tree = heapq.heappop(heap)
        right, _, right_tree = heapq.heappop(heap)
        heapq.heappush(heap, (factor * (left + right), number, _merged(left_tree, right_tree)))
    return [tree for _, _, tree in sorted(heap)]


def _best_tree(lists: list[_Tree], weight: int) -> _Tree:
    """Return the best of all trees over the lists in order of their lengths."""
    lists = sorted(lists, key=lambda tree: tree.size)
    best: dict[tuple[int, int], list[_Tree]] = {(at, at + 1): [tree] for at, tree in enumerate(lists)}
    for length in range(2, len(lists) + 1):
        for start in range(len(lists) - length + 1):
            best[start, start + length] = _worth_keeping(_cut(best, start, start + length), weight)
    return best[0, len(lists)][0]


def _cut(best: Mapping[tuple[int, int], list[_Tree]], start: int, stop: int) -> Iterator[_Tree]:
    for middle in range(start + 1, stop):
        for left in best[start, middle]:
            for right in best[middle, stop]:
                yield _merged(left, right)


def _worth_keeping(trees: Iterable[_Tree], weight: int) -> list[_Tree]:
    """Return the trees that no other betters in any larger tree; the best by itself comes first.

    A tree that is there later makes all later by as many layers at most. So it is better if it saves the
    words that these layers count as; and one that is there earlier and has no more words is better.
    """
    kept: list[_Tree] = []
    for tree in sorted(trees, key=lambda tree: (tree.words + weight * tree.layers, tree.layers)):
        if not kept or (tree.layers > kept[-1].layers and tree.words < kept[-1].words):
            kept.append(tree)
    return kept


def _as_merges(tree: _Tree, lists: int) -> list[PlannedMerge]:
    merges: list[PlannedMerge] = []

    def number_of(tree: _Tree) -> int:
        if tree.parts is None:
            return tree.number
        left, right = map(number_of, tree.parts)
        merges.append(PlannedMerge(left, right, lists + len(merges), tree.size))
        return merges[-1].result

    number_of(tree)
    return merges
