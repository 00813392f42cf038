"""A merge by several workers is the merge by one: the same comparators, and the same list."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ppaurora.algorithms import redistribution
from ppaurora.algorithms.merge import PlannedMerge, merge_all
from ppaurora.algorithms.merge_network import merge_network
from ppaurora.session import Worker
from ppaurora.sharing import BitShare, RingShare
from ppaurora.sharing.blocks import blocks, unit
from ppaurora.sharing.spans import spans
from ppaurora.suites.arrays import ArrayRecords
from ppaurora.suites.base import Records, Suite
from ppaurora.suites.bitsliced.records import PlaneRecords, PlaneWires
from ppaurora.suites.cleartext import CLEARTEXT, CleartextSuite
from ppaurora.suites.network import comparators, half_for, strides
from ppaurora.suites.team import Team
from tests.suites.bitsliced.test_wires import INFINITY, exchange, keys_of, lanes_of
from tests.support.workers import by_threads, by_workers

Comparator = tuple[int, int]  # the positions of both records, list after list


def records_of(keys: Sequence[int], labels: Sequence[int] = ()) -> ArrayRecords:
    return ArrayRecords(
        RingShare(CLEARTEXT, np.array(keys, dtype=np.uint64)),
        BitShare(CLEARTEXT, np.array(labels or [key & 1 for key in keys], dtype=np.uint8)),
    )


class Tracing(CleartextSuite):
    """Exchanges nothing; as keys are positions, what is compared tells which records meet."""

    def exchange(self, left: ArrayRecords, right: ArrayRecords) -> tuple[ArrayRecords, ArrayRecords]:
        met = zip(left.keys.values.tolist(), right.keys.values.tolist(), strict=True)
        vars(self).setdefault("met", []).append(list(met))
        return left, right


def traced(workers: int, first: int, second: int) -> list[list[list[Comparator]]]:
    """Of every worker, layer by layer."""

    def algorithm(suite: CleartextSuite, lists: list[ArrayRecords]) -> list[list[Comparator]]:
        as_given = replace(merge_network, plan=lambda sizes: [PlannedMerge(0, 1, 2, sum(sizes))])
        merge_all(suite, lists, as_given, [first, second])
        met: list[list[Comparator]] = vars(suite).get("met", [])
        return met

    lists = [records_of(range(first)), records_of(range(first, first + second))]
    return by_workers(workers, algorithm, lists, Tracing)


def whole_network(first: int, second: int) -> list[tuple[int, set[Comparator]]]:
    """By the definition, layer by layer."""
    if not first or not second:
        return []
    half = half_for(first, second)
    start, stop = half - first, half + second
    return [
        (
            stride,
            {(int(j) - start, int(j) - start + stride) for j in comparators(half, stride, start, stop)},
        )
        for stride in strides(half, start, stop)
    ]


def check_comparators(workers: int, first: int, second: int) -> int:
    """Every layer has the comparators of the whole network; those twice lie at borders. How many are."""
    expected = whole_network(first, second)
    by_worker = traced(workers, first, second)
    borders = [own.start for own in blocks(first + second, workers)[1:]]
    twice = 0
    for number, (stride, layer) in enumerate(expected):
        times = Counter(pair for met in by_worker for pair in met[number])
        assert times.keys() == layer
        for (left, right), count in times.items():
            near = sum(left - workers < border < right + workers for border in borders)
            assert count == 1 or (stride < workers and count <= 1 + near)
            twice += count - 1
    assert {len(met) for met in by_worker} == {len(expected)}, "workers do not go on together"
    return twice


@pytest.mark.parametrize(
    ("workers", "most"),
    [(1, 20), (2, 20), (4, 12), (8, 12), *(pytest.param(n, 20, marks=pytest.mark.long) for n in (4, 8))],
)
def test_workers_have_the_comparators_of_the_whole_network(workers: int, most: int) -> None:
    for first, second in itertools.product(range(most), repeat=2):
        check_comparators(workers, first, second)
    for first, second in [(64, 64), (100, 37), (1, 130), (130, 1), (63, 65), (128, 128), (200, 255)]:
        check_comparators(workers, first, second)


@pytest.mark.parametrize("workers", [2, 8, 16, 64])
def test_few_comparators_are_computed_twice(workers: int) -> None:
    """At most those that a border's W - 1 neighbours have on both sides in log2 W layers."""
    twice = check_comparators(workers, 3000, 4000)
    assert twice <= (workers - 1) * (workers - 1) * workers.bit_length()


def test_a_block_without_its_neighbours_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The positive control."""
    monkeypatch.setattr(redistribution, "_surrounded", lambda place, size, reach: place)
    with pytest.raises(AssertionError):
        check_comparators(4, 100, 100)


@settings(max_examples=60, deadline=None)
@given(
    lists=st.lists(st.lists(st.integers(0, 40), max_size=70), min_size=1, max_size=7),
    workers=st.sampled_from([1, 2, 4, 8]),
)
def test_lists_of_any_sizes_are_merged_as_by_one_worker(lists: list[list[int]], workers: int) -> None:
    """Record for record, equal keys included: labels are their numbers' parity, list after list."""
    numbered = itertools.count()
    records = [
        records_of(keys, [next(numbered) % 2 for _ in keys])
        for keys in (sorted(one, reverse=True) for one in lists)
    ]
    sizes = [len(one) for one in records]

    def algorithm(suite: CleartextSuite, parts: list[ArrayRecords]) -> Records:
        return merge_all(suite, parts, merge_network, sizes)

    def contents(merged: Records) -> list[tuple[int, int]]:
        return list(zip(merged.keys.values.tolist(), merged.labels.values.tolist(), strict=True))

    expected = contents(algorithm(CleartextSuite(), records))
    found = by_workers(workers, algorithm, records)
    assert [len(part) for part in found] == [len(own) for own in blocks(sum(sizes), workers)]
    assert [pair for part in found for pair in contents(part)] == expected
    assert [key for key, _ in expected] == sorted((key for one in lists for key in one), reverse=True)


@given(size=st.integers(0, 100_000), workers=st.sampled_from([1, 2, 4, 8, 64]))
def test_blocks_are_all_of_a_list_and_about_equal(size: int, workers: int) -> None:
    found = blocks(size, workers)
    assert [position for own in found for position in (own.start, own.stop)][1:-1:2] == [
        own.start for own in found[1:]
    ] or workers == 1
    assert (found[0].start, found[-1].stop, len(found)) == (0, size, workers)
    step = unit(size, workers)
    assert step & (step - 1) == 0
    assert all((own.start + 1) % step == 0 for own in found[1:] if own.start < size)
    assert max(map(len, found)) <= -(-size // workers) * (1 + 1 / 64) + step


class PlainExchanges:
    """Exchanges records of planes whose masks are zero."""

    def __init__(self, team: Team) -> None:
        self.team = team

    def exchange_layer(self, layer: Sequence[tuple[PlaneWires, int]]) -> None:
        for wires, stride in layer:
            for place in list(wires.places(stride)):
                exchange(place)

    def progress(self, step: str, done: int, total: int) -> None:
        pass


@settings(max_examples=30, deadline=None)
@given(
    sizes=st.lists(st.integers(0, 700), min_size=2, max_size=5),
    workers=st.sampled_from([2, 4, 8, 64]),
    seed=st.integers(0, 2**32),
)
@example(sizes=[64, 64], workers=64, seed=0)
@example(sizes=[1, 700], workers=8, seed=1)
def test_planes_are_moved_and_merged_as_by_one_worker(sizes: list[int], workers: int, seed: int) -> None:
    """On lists that are not sorted, so that every comparator and its place counts."""
    keys = (np.random.default_rng(seed).permutation(INFINITY - 1)[: sum(sizes)] + 1).tolist()
    lists = [keys[place] for place in spans(sizes)]

    def work(team: Team, worker: Worker) -> list[int]:
        own = [blocks(size, team.count)[worker.index] for size in sizes]
        parts = [lanes_of(one[place.start : place.stop]) for one, place in zip(lists, own, strict=True)]
        suite = cast(Suite, PlainExchanges(team))
        return keys_of(cast(PlaneRecords, merge_all(suite, parts, merge_network, sizes)))

    (by_one,) = by_threads(1, work)
    found = by_threads(workers, work)
    assert [len(part) for part in found] == [len(own) for own in blocks(sum(sizes), workers)]
    assert [key for part in found for key in part] == by_one
