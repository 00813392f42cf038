"""Merging many sorted lists: which two next, and many merges in the same rounds.

A merge of two lists is a generator. It yields requests (`Exchange`, `ExchangeLayer`, ...), is sent the
answers, and returns the merged list. `merge_all` runs every merge whose two lists are there at
the same time, and answers all their requests of a kind with one call of the suite.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from ppaurora.sharing.spans import spans
from ppaurora.suites.base import Records, Suite, Wires, concat_records
from ppaurora.suites.team import Team


@dataclass(frozen=True)
class Exchange:
    """Pairwise, the larger key to the left. Answered by (Records, Records)."""

    left: Records
    right: Records
    progress: int  # how much of the merge's work is done when this is answered


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


@dataclass(frozen=True)
class PlannedMerge:
    """Lists are numbered; the given ones come first, then one for every merge."""

    left: int
    right: int
    result: int
    size: int


Plan = Callable[[Sequence[int]], list[PlannedMerge]]  # from the lists' sizes, and nothing else


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


K = TypeVar("K")

Count = Callable[[int, int], int]  # for a merge of two lists of these sizes


@dataclass(frozen=True)
class Spread:
    """How long two lists are of which each of a party's workers has a part."""

    team: Team
    first: int
    second: int


@dataclass(frozen=True)
class MergeTwo:
    """How two sorted lists become one, how much work that is, and which two lists of many come next."""

    merge: Callable[[Records, Records, Spread], Merge]
    work: Count  # in any unit
    requests: Count  # about how many the merge makes
    work_per_request: int  # whether one merge asks or several at once
    plan: Plan = plan
    at_once: bool = False  # whether a merge begins in the rounds in which another ends, or in the next ones

    def __call__(self, one: Records, other: Records, spread: Spread | None = None) -> Merge:
        """Merge by one worker, unless the lists are spread over several."""
        return self.merge(one, other, spread or Spread(Team(), len(one), len(other)))

    def works(self, sizes: Sequence[int]) -> dict[int, int]:
        """Return the work of every merge of many lists, by its result's number, but for that per request."""
        return {number: self.work(*pair) for number, pair in self.pairs(sizes).items()}

    def total_work(self, sizes: Sequence[int]) -> int:
        """Return the work of all merges, with every request of the longest chain."""
        ready = dict.fromkeys(range(len(sizes)), 0)
        pairs = self.pairs(sizes)
        for merge in self.plan(sizes):
            begin = max(ready[merge.left], ready[merge.right])
            ready[merge.result] = begin + self.requests(*pairs[merge.result])
        longest = max(ready.values(), default=0)
        return sum(self.works(sizes).values()) + self.work_per_request * longest

    def pairs(self, sizes: Sequence[int]) -> dict[int, tuple[int, int]]:
        """Return the sizes of the two lists of every merge."""
        merges = self.plan(sizes)
        size_of = dict(enumerate(sizes)) | {merge.result: merge.size for merge in merges}
        return {merge.result: (size_of[merge.left], size_of[merge.right]) for merge in merges}


def merge_all(
    suite: Suite, lists: Iterable[Records], merge_two: MergeTwo, sizes: Sequence[int] | None = None
) -> Records:
    """Merge all records into one sorted list. A list is forgotten as soon as it is merged.

    Where a party has several workers, lists are their blocks, and of these sizes in all.
    """
    taken = list(lists)
    if not taken:
        return suite.no_records()
    (merged,) = merge_groups(suite, [taken], merge_two, sizes)
    return merged


def merge_groups(
    suite: Suite, groups: list[list[Any]], merge_two: MergeTwo, sizes: Sequence[int] | None = None
) -> list[Records]:
    """Merge every group of lists into one list, all groups in the same rounds. Takes the lists.

    Groups have lists of the same sizes.
    """
    merges = [
        _Merges(suite.team, lists, merge_two, sizes or [len(records) for records in lists])
        for lists in groups
    ]
    groups.clear()
    answers: dict[tuple[int, int], Any] = {}
    total = sum(one.total_work for one in merges)
    while True:
        requests: dict[tuple[int, int], Request] = {}
        done = 0
        for group, one in enumerate(merges):
            own = one.go_on({number: answers[key, number] for key, number in answers if key == group})
            done += one.work_done(own)
            requests |= {(group, number): request for number, request in own.items()}
            own.clear()  # a merge may let go of its wires
        answers.clear()
        if not requests:
            return [one.merged() for one in merges]
        answers = _answer(suite, requests)
        suite.progress("merge", done, total)
        requests.clear()


class _Merges:
    """The lists that are there, the merges that run, and those that wait for lists."""

    def __init__(self, team: Team, lists: Sequence[Any], merge_two: MergeTwo, sizes: Sequence[int]) -> None:
        self._team = team
        self._merge_two = merge_two
        self._ready: dict[int, Records] = dict(enumerate(lists))
        self._running: dict[int, Merge] = {}
        self._waiting = merge_two.plan(sizes)
        self._pairs = merge_two.pairs(sizes)
        self._works = merge_two.works(sizes)
        self._done = 0
        self.total_work = merge_two.total_work(sizes)

    def go_on(self, answers: Mapping[int, Any]) -> dict[int, Request]:
        """Return what all merges ask next that can run; none is left if nothing is asked."""
        requests: dict[int, Request] = {}
        to_ask = [*self._running, *self._begin()]
        while to_ask:
            for number in to_ask:
                self._send(number, answers.get(number), requests)
            to_ask = self._begin() if self._merge_two.at_once or not requests else []
        self._done += self._merge_two.work_per_request
        return requests

    def _begin(self) -> list[int]:
        """Begin the merges whose lists are there."""
        possible = [merge for merge in self._waiting if {merge.left, merge.right} <= self._ready.keys()]
        for merge in possible:
            self._waiting.remove(merge)
            left, right = self._ready.pop(merge.left), self._ready.pop(merge.right)
            spread = Spread(self._team, *self._pairs[merge.result])
            self._running[merge.result] = self._merge_two(left, right, spread)
        return [merge.result for merge in possible]

    def _send(self, number: int, answer: Any, requests: dict[int, Request]) -> None:
        try:
            requests[number] = self._running[number].send(answer)
        except StopIteration as stop:
            self._ready[number] = stop.value
            self._done += self._works[number]
            del self._running[number]

    def work_done(self, requests: Mapping[int, Request]) -> int:
        """Return how much work is done once these requests are answered."""
        done = self._done + sum(request.progress for request in requests.values())
        return min(done, self.total_work)

    def merged(self) -> Records:
        """Return the one list that is left."""
        (merged,) = self._ready.values()
        return merged


def _answer(suite: Suite, requests: Mapping[K, Request]) -> dict[K, Any]:
    """Answer every request; all of a kind in one go."""
    answers: dict[K, Any] = {}
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
