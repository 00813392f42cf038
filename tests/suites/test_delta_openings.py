"""Delta above 1: comparisons are opened to the proxies, and the helper is told how many records moved."""

from __future__ import annotations

import struct
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from ppaurora.algorithms.merge import merge_all
from ppaurora.algorithms.merge_delta import merge_delta
from ppaurora.channel.frames import HEADER_BYTES
from ppaurora.channel.meter import Cost
from ppaurora.channel.servers import Server
from ppaurora.errors import MisuseError, PeerError, PeerMisbehavedError
from ppaurora.protocols import Fast
from ppaurora.sharing import RingShare
from ppaurora.suites.arrays import ArrayRecords
from ppaurora.suites.base import Suite
from ppaurora.suites.bitsliced import BitslicedSuite
from ppaurora.suites.cecilia import CeciliaSuite, compare, costs
from ppaurora.suites.cecilia.residues import RESIDUES
from ppaurora.suites.cecilia.shares import HOLDERS
from ppaurora.suites.cleartext import CleartextSuite
from ppaurora.suites.role import Role
from ppaurora.testing import World
from ppaurora.testing.world import WorldRun
from tests.support.cases import Owner, by_three_parties, in_the_clear

WORD = 8


def owner(scores: Sequence[float]) -> Owner:
    return [(score, 0) for score in scores]


def merging(delta: int) -> Any:
    def algorithm(suite: Suite, lists: list[Any]) -> list[Any]:
        merged = merge_all(suite, lists, merge_delta(delta))
        return [merged.keys, merged.labels]

    return algorithm


def random_owners(*sizes: int) -> list[Owner]:
    random = np.random.default_rng(len(sizes))
    return [owner((random.integers(0, 500, size) / 512).tolist()) for size in sizes]


class Noted(CleartextSuite):
    """Notes how a merge goes, and what that must cost the three parties."""

    def __init__(self) -> None:
        super().__init__()
        self.cost = Cost()
        self.to_helper: list[int] = []  # lengths of proxy 0's messages
        self.told: list[int] = []

    def _private_compare(self, count: int) -> None:
        self.to_helper.append(RESIDUES.wire_bytes(compare.DIGITS * count))

    def exchange(self, left: ArrayRecords, right: ArrayRecords) -> tuple[ArrayRecords, ArrayRecords]:
        self.cost += costs.exchange(len(left))
        self._private_compare(len(left))
        return super().exchange(left, right)

    def open_comparison(self, x: RingShare, y: RingShare, name: str) -> Any:
        self.cost += costs.open_comparison(len(x))
        self._private_compare(len(x))
        return super().open_comparison(x, y, name)

    def tell_helper(self, numbers: Sequence[int], most: Sequence[int]) -> list[int]:
        self.cost += costs.tell_helper(len(numbers))
        self.to_helper.append(WORD * len(numbers))
        self.told += numbers
        assert all(0 <= number <= limit for number, limit in zip(numbers, most, strict=True))
        return super().tell_helper(numbers, most)


def noted(lists: Sequence[Owner], delta: int) -> Noted:
    notes = Noted()
    in_the_clear(lambda _, records: merging(delta)(notes, records), lists)
    return notes


def lengths(run: WorldRun, sender: Role, receiver: Role) -> list[int]:
    return [len(m.payload) for m in run.messages if (m.sender, m.receiver) == (sender, receiver)]


@pytest.mark.parametrize("delta", [1, 3, 5, 11])
@pytest.mark.parametrize("sizes", [(13, 9), (1, 6), (8, 8, 8), (5, 2, 9, 4)])
def test_a_merge_costs_what_its_requests_declare(sizes: tuple[int, ...], delta: int) -> None:
    lists = random_owners(*sizes)
    run = by_three_parties(merging(delta), lists)
    notes = noted(lists, delta)
    assert run.cost == notes.cost
    assert run.value[0].tolist() == in_the_clear(merging(delta), lists)[0].values.tolist()
    assert run.openings == notes.openings


def test_merges_in_step_share_the_rounds_of_their_openings() -> None:
    pair = random_owners(12, 12)
    once = noted(pair, 3).cost.rounds
    whole = [owner(sorted((score for one in pair for score, _ in one), reverse=True))] * 2
    assert by_three_parties(merging(3), [*pair, *pair]).cost.rounds == once + noted(whole, 3).cost.rounds


def test_all_that_the_helper_gets_are_private_compares_and_the_numbers_of_moved_records() -> None:
    lists = random_owners(20, 17)
    notes = noted(lists, 5)
    run = by_three_parties(merging(5), lists)
    assert lengths(run, Role.PROXY_0, Role.HELPER) == notes.to_helper
    assert lengths(run, Role.PROXY_1, Role.HELPER) == [n for n in notes.to_helper if n != WORD]
    payloads = [m.payload for m in run.messages if m.receiver is Role.HELPER and len(m.payload) == WORD]
    assert [struct.unpack("<Q", payload)[0] for payload in payloads] == notes.told
    assert len(set(notes.told)) > 1
    assert [bool(context.openings) for context in run.contexts] == [True, True, False]


def shapes(run: WorldRun) -> list[tuple[Server, Server, list[int]]]:
    return [(a, b, lengths(run, a, b)) for a in Role for b in Role if a is not b]


def test_the_helper_is_told_how_many_records_moved_and_not_which() -> None:
    """The shuffling changes none of these lists; then a record of each moves, in one order or the other.

    Control: where both come from the first list, the helper is told so.
    """
    high, low = owner([0.9, 0.8, 0.3]), owner([0.7, 0.2, 0.1])
    first_then_second = [high, low]
    second_then_first = [owner([0.9, 0.6, 0.3]), owner([0.7, 0.5, 0.1])]
    both_of_the_first = [owner([0.9, 0.8, 0.75]), low]
    runs = [
        by_three_parties(merging(3), lists)
        for lists in (first_then_second, second_then_first, both_of_the_first)
    ]
    assert [noted(lists, 3).told for lists in (first_then_second, second_then_first)] == [[1], [1]]
    assert noted(both_of_the_first, 3).told == [0]
    assert shapes(runs[0]) == shapes(runs[1]) != shapes(runs[2])


def test_what_the_helper_answers_is_a_fair_coin_to_it() -> None:
    """Within six standard deviations. To the proxies, who know how it is blinded, it is the result."""
    count = 20_000
    random = np.random.default_rng(3)
    y = random.integers(10, 1 << 62, count, dtype=np.uint64)
    x = y + random.integers(0, 2, count, dtype=np.uint64) * np.uint64(2) - np.uint64(1)

    def opened(suite: CeciliaSuite, a: RingShare, b: RingShare) -> Any:
        return suite.open_comparison(a, b, "test")

    run = World().run(opened, x, y)
    assert (run.results[Role.PROXY_0] == (x >= y)).all()
    assert (run.results[Role.PROXY_1] == (x >= y)).all()
    assert not run.results[Role.HELPER].any()
    *_, to_0, to_1 = (m.payload for m in run.messages if m.sender is Role.HELPER)
    assert to_0 == to_1
    answered = np.unpackbits(np.frombuffer(to_0, np.uint8), count=count, bitorder="little")
    assert abs((answered == (x >= y)).mean() - 0.5) < 6 * 0.5 / count**0.5


def test_the_helper_gets_no_more_than_in_a_comparison_that_is_not_opened() -> None:
    x, y = np.arange(50, dtype=np.uint64), np.full(50, 20, dtype=np.uint64)
    opened = World().run(lambda s, a, b: s.open_comparison(a, b, "test"), x, y)
    secret = World().run(lambda s, a, b: s.compare(a, b), x, y)
    for proxy in (Role.PROXY_0, Role.PROXY_1):
        assert lengths(opened, proxy, Role.HELPER) == lengths(secret, proxy, Role.HELPER)


def test_a_helper_that_lags_holds_nobody_up_for_good() -> None:
    lists = random_owners(15, 12)

    def lagging(suite: Any, records: Sequence[Any]) -> list[Any]:
        if suite.holder is HOLDERS[Role.HELPER]:
            tell = suite.tell_helper

            def late(numbers: Sequence[int], most: Sequence[int]) -> Any:
                time.sleep(0.05)
                return tell(numbers, most)

            suite.tell_helper = late
        result: list[Any] = merging(3)(suite, records)
        return result

    run = by_three_parties(lagging, lists)
    assert run.value[0].tolist() == in_the_clear(merging(3), lists)[0].values.tolist()
    assert run.cost == noted(lists, 3).cost


def telling(number: int) -> World:
    """A proxy 0 that tells the helper always the same."""

    def mislead(sender: Server, receiver: Server, raw: bytes) -> bytes:
        if (sender, receiver) == (Role.PROXY_0, Role.HELPER) and len(raw) == HEADER_BYTES + WORD:
            return raw[:HEADER_BYTES] + struct.pack("<Q", number)
        return raw

    return World(tamper=mislead, timeout=60)


@pytest.mark.parametrize("number", [3, 1 << 63, (1 << 64) - 1])
def test_a_number_that_cannot_be_is_refused_by_the_helper(number: int) -> None:
    with pytest.raises(PeerMisbehavedError, match="proxy 0 told a number that is too large"):
        by_three_parties(merging(3), random_owners(6, 6), telling(number))


def test_a_number_that_is_wrong_is_noticed_by_the_sizes_of_what_follows() -> None:
    lists = [owner([0.9, 0.8, 0.3]), owner([0.7, 0.2, 0.1])]
    assert noted(lists, 3).told == [1]
    assert by_three_parties(merging(3), lists, telling(1)).value[0].size == 6
    with pytest.raises(PeerError):
        by_three_parties(merging(3), lists, telling(0))


def test_fast_has_no_opened_comparisons() -> None:
    def refused(suite: BitslicedSuite) -> list[str]:
        said = []
        keys = suite.no_records().keys
        for attempt in (
            lambda: suite.open_comparison(keys, keys, "test"),
            lambda: suite.tell_helper([1], [1]),
        ):
            with pytest.raises(MisuseError) as caught:
                attempt()
            said.append(str(caught.value))
        return said

    run = World(Fast(), suite=lambda context: BitslicedSuite(context, 64)).run(refused)
    assert run.results == [["BitslicedSuite opens nothing"] * 2] * 3
    assert run.messages == []
