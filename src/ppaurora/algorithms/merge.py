"""Merging many sorted lists: which two next, and many merges in the same rounds.

A merge of two lists is a generator. It yields requests (`Exchange`, `ExchangeLayer`, ...), is sent the
answers, and returns the merged list. `merge_all` runs every merge whose two lists are there at
the same time, and answers all their requests of a kind with one call of the suite.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ppaurora.sharing.spans import spans
from ppaurora.suites.base import Records, Suite, Wires, concat_records


@dataclass(frozen=True)
class Exchange:
    """Pairwise, the larger key to the left. Answered by (Records, Records)."""

    left: Records
    right: Records
    progress: int  # how many records are merged so far, about


@dataclass(frozen=True)
class ExchangeLayer:
    """The same for all wires that meet at a stride, in place. Answered by nothing."""

    wires: Wires
    stride: int
    progress: int


@dataclass(frozen=True)
class OpenCompare:
    """OPENING. Is left's key >= right's? Answered by a bool, which the proxies learn.

    To the helper the answer is always False, so it must not go on as if it knew.
    """

    left: Records
    right: Records
    progress: int


@dataclass(frozen=True)
class TellHelper:
    """A number that follows from openings, at most `most`. Answered by the number as the proxies have it."""

    number: int
    most: int
    progress: int


Request = Exchange | ExchangeLayer | OpenCompare | TellHelper
Merge = Generator[Request, Any, Records]
MergeTwo = Callable[[Records, Records], Merge]


@dataclass(frozen=True)
class PlannedMerge:
    """Lists are numbered; the given ones come first, then one for every merge."""

    left: int
    right: int
    result: int
    size: int


def plan(sizes: Sequence[int]) -> list[PlannedMerge]:
    """Always the two smallest. Depends on the sizes alone, and among equals on the order."""
    heap = [(size, number) for number, size in enumerate(sizes)]
    heapq.heapify(heap)
    merges = []
    for result in range(len(sizes), 2 * len(sizes) - 1):
        left_size, left = heapq.heappop(heap)
        right_size, right = heapq.heappop(heap)
        merges.append(PlannedMerge(left, right, result, left_size + right_size))
        heapq.heappush(heap, (left_size + right_size, result))
    return merges


def merge_all(suite: Suite, lists: Iterable[Records], merge_two: MergeTwo) -> Records:
    """One sorted list of all records. A list is forgotten as soon as it is merged."""
    ready = dict(enumerate(lists))
    if not ready:
        return suite.no_records()
    waiting = plan([len(records) for records in ready.values()])
    running: dict[int, Merge] = {}
    answers: dict[int, Any] = {}
    total = sum(merge.size for merge in waiting)
    finished = 0
    while waiting or running:
        for merge in [merge for merge in waiting if merge.left in ready and merge.right in ready]:
            waiting.remove(merge)
            running[merge.result] = merge_two(ready.pop(merge.left), ready.pop(merge.right))
        requests: dict[int, Request] = {}
        for number, generator in list(running.items()):
            try:
                requests[number] = generator.send(answers.get(number))
            except StopIteration as stop:
                ready[number] = stop.value
                finished += len(stop.value)
                del running[number]
        answers = _answer(suite, requests)
        suite.progress("merge", finished + sum(request.progress for request in requests.values()), total)
    (merged,) = ready.values()
    return merged


def _answer(suite: Suite, requests: Mapping[int, Request]) -> dict[int, Any]:
    """Every request's answer; all of a kind in one go."""
    answers: dict[int, Any] = {}
    to_tell = {number: r for number, r in requests.items() if isinstance(r, TellHelper)}
    if to_tell:
        told = suite.tell_helper(
            [request.number for request in to_tell.values()], [request.most for request in to_tell.values()]
        )
        answers.update(zip(to_tell, told, strict=True))
    exchanges = {number: r for number, r in requests.items() if isinstance(r, Exchange)}
    if exchanges:
        high, low = suite.exchange(
            concat_records([request.left for request in exchanges.values()]),
            concat_records([request.right for request in exchanges.values()]),
        )
        places = spans(len(request.left) for request in exchanges.values())
        for number, place in zip(exchanges, places, strict=True):
            answers[number] = high[place], low[place]
    layers = [r for r in requests.values() if isinstance(r, ExchangeLayer)]
    if layers:
        suite.exchange_layer([(request.wires, request.stride) for request in layers])
    comparisons = {number: r for number, r in requests.items() if isinstance(r, OpenCompare)}
    if comparisons:
        left_wins = suite.open_comparison(
            concat_records([request.left for request in comparisons.values()]).keys,
            concat_records([request.right for request in comparisons.values()]).keys,
            "merge: which of two tops is larger",
        )
        answers.update(zip(comparisons, (bool(bit) for bit in left_wins), strict=True))
    return answers
