"""Every merge under every suite."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from ppaurora.algorithms.merge import MergeTwo, merge_all
from ppaurora.algorithms.merge_delta import merge_delta
from ppaurora.algorithms.merge_network import merge_network
from ppaurora.errors import MisuseError
from ppaurora.suites.base import Records, Suite
from tests.support.cases import Owner, by_three_parties, encoded, in_the_clear, on_planes, owners


def merged_under(suite: str, merge_two: MergeTwo, lists: list[Owner]) -> list[tuple[int, int]]:
    def algorithm(party: Suite, records: list[Records]) -> list[Any]:
        merged = merge_all(party, records, merge_two)
        return [merged.keys, merged.labels]

    if suite == "cleartext":
        keys, labels = (part.values for part in in_the_clear(algorithm, lists))
    elif suite == "cecilia":
        keys, labels = by_three_parties(algorithm, lists).value
    else:
        planes, (labels,) = on_planes(algorithm, lists).value
        keys = [int("".join(map(str, column)), 2) for column in planes.T]
    return list(zip(map(int, keys), map(int, labels), strict=True))


def lists_of(sizes: tuple[int, ...]) -> list[Owner]:
    random = np.random.default_rng(sum(sizes))
    lists = [[(float(s), int(b)) for s, b in random.integers(0, 2, (n, 2)) / 1] for n in sizes]
    return [[(score * random.random(), label) for score, label in owner] for owner in lists]


SIZES = [(5, 3), (1, 1), (0, 4), (9, 0, 1, 20), (30, 66)]
WITH_OPENINGS = [(5, 3), (9, 0, 1, 20), (30, 66)]  # if delta is 3
MERGES = {"network": merge_network, "delta 1": merge_delta(1), "delta 3": merge_delta(3)}
SUITES = ("cleartext", "cecilia", "bitsliced")


@pytest.mark.parametrize(
    ("suite", "merge", "sizes"),
    [
        (suite, merge, sizes)
        for suite in SUITES
        for merge in MERGES
        for sizes in SIZES
        if (suite, merge) != ("bitsliced", "delta 3") or sizes not in WITH_OPENINGS
    ],
)
def test_every_merge_runs_under_every_suite(suite: str, merge: str, sizes: tuple[int, ...]) -> None:
    lists = lists_of(sizes)
    merged = merged_under(suite, MERGES[merge], lists)
    keys = [key for key, _ in merged]
    assert keys == sorted(keys, reverse=True)
    everything = [
        pair for owner in lists for pair in zip(*map(np.ndarray.tolist, encoded(owner)), strict=True)
    ]
    assert sorted(merged) == sorted((key, int(label)) for key, label in everything)


@pytest.mark.parametrize("sizes", WITH_OPENINGS)
def test_a_suite_that_opens_nothing_refuses_a_merge_that_does(sizes: tuple[int, ...]) -> None:
    with pytest.raises(MisuseError, match="BitslicedSuite opens nothing"):
        merged_under("bitsliced", MERGES["delta 3"], lists_of(sizes))


@settings(max_examples=150, deadline=None)
@given(lists=owners(min_owners=1, min_size=0))
def test_the_network_merges_any_number_of_lists(lists: list[Owner]) -> None:
    merged = merged_under("cleartext", merge_network, lists)
    keys = [key for key, _ in merged]
    assert keys == sorted(keys, reverse=True)
    assert len(keys) == sum(map(len, lists))
