"""What workers of one party pass on: sums, parts, records; with the depth of the messages behind them."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppaurora.algorithms.redistribution import by_residue, in_block, with_next
from ppaurora.algorithms.scan import last_flagged
from ppaurora.channel.base import Buffer
from ppaurora.channel.intra_party import memory_intra_party_channels
from ppaurora.channel.meter import Meter
from ppaurora.errors import PartyFailedError
from ppaurora.session import Worker
from ppaurora.sharing import BitShare, RingShare
from ppaurora.sharing.blocks import blocks, unit
from ppaurora.sharing.planes import Planes
from ppaurora.suites.base import Records
from ppaurora.suites.bitsliced.records import PlaneRecords
from ppaurora.suites.bitsliced.shares import HOLDERS
from ppaurora.suites.cleartext import CLEARTEXT, CleartextSuite
from ppaurora.suites.role import Role
from ppaurora.suites.team import Team
from tests.support.workers import by_threads
from tests.workers.test_merging import records_of

each_count = pytest.mark.parametrize("workers", [1, 2, 8])


def numbers(*values: int) -> RingShare:
    return RingShare(CLEARTEXT, np.array(values, dtype=np.uint64))


def values(share: RingShare) -> list[int]:
    return [int(value) for value in share.values]


@each_count
def test_sums_and_parts(workers: int) -> None:
    def work(
        team: Team, worker: Worker
    ) -> tuple[list[int], list[int], list[int], list[list[int]], list[int]]:
        own = numbers(10**worker.index)
        before, whole = team.sums(own)
        gathered = team.gather(own)
        handed = team.hand_out([part * 3 for part in gathered], own)
        return (
            values(before),
            values(whole),
            values(team.total(own)),
            list(map(values, gathered)),
            values(handed),
        )

    found = by_threads(workers, work)
    every = [10**index for index in range(workers)]
    for index, (before, whole, total, gathered, handed) in enumerate(found):
        assert before == [sum(every[:index])]
        assert whole == [sum(every)]
        assert handed == [3 * every[index]]
        assert gathered == ([] if index else [[one] for one in every])
        assert index or total == [sum(every)]


def test_depth_goes_along_with_what_depends_on_it() -> None:
    """The second worker's ten messages are behind what the first has then; not behind what the third has."""
    meters = [Meter(depth=depth) for depth in (3, 10, 1, 0)]
    intra_party_channels = memory_intra_party_channels("proxy 0", 4)

    def work(_: Team, worker: Worker) -> None:
        team = Team(worker, intra_party_channels[worker.index], meters[worker.index])
        nothing = records_of([])
        outgoing = [records_of([1]) if worker.index == 1 and to == 0 else nothing for to in range(4)]
        team.all_to_all_records(outgoing, [0, 1, 0, 0] if worker.index == 0 else [0] * 4)

    by_threads(4, work)
    assert [meter.depth for meter in meters] == [10, 10, 1, 0]
    assert all(meter.intra_party.messages == 3 and not meter.messages for meter in meters)


def test_a_part_of_another_swap_is_refused() -> None:
    class Late:
        """Gives back what was handed on one time earlier."""

        def __init__(self) -> None:
            self.last: list[Buffer] = []

        def all_to_all(self, outgoing: Sequence[Buffer]) -> list[Buffer]:
            late, self.last = self.last or list(outgoing), list(outgoing)
            return late

        def close(self) -> None:
            pass

    team = Team(Worker(0, 2), Late())
    team.sums(numbers(1))
    with pytest.raises(PartyFailedError, match="worker 0 handed on its part 0 where 1 was due"):
        team.sums(numbers(1))


@settings(max_examples=40, deadline=None)
@given(sizes=st.lists(st.integers(0, 40), min_size=1, max_size=4), workers=st.sampled_from([1, 2, 4, 8]))
def test_a_block_and_the_record_after_it(sizes: list[int], workers: int) -> None:
    lists = [records_of(range(1000 * number, 1000 * number + size)) for number, size in enumerate(sizes)]

    def work(team: Team, worker: Worker) -> list[list[int]]:
        own = [blocks(size, workers)[worker.index] for size in sizes]
        parts = [whole[one.start : one.stop] for whole, one in zip(lists, own, strict=True)]
        return [values(part.keys) for part in with_next(team, parts, sizes)]

    for index, found in enumerate(by_threads(workers, work)):
        for whole, size, keys in zip(lists, sizes, found, strict=True):
            own = blocks(size, workers)[index]
            assert keys == values(whole.keys)[own.start : own.stop + 1]


def test_a_list_that_moves_is_there_twice_at_most() -> None:
    """What workers hold of it in all, while blocks become residues and residues blocks."""
    size, workers = 1 << 20, 4
    words = np.random.default_rng(7).integers(0, 1 << 64, (2, 65, size // 64), dtype=np.uint64)
    whole = PlaneRecords(Planes(HOLDERS[Role.PROXY_0], words, size))
    blocks_of_it: list[list[Records]] = [[whole[own.start : own.stop]] for own in blocks(size, workers)]
    expected = [whole[own.start : own.stop].bits.data for own in blocks(size, workers)]

    def work(team: Team, worker: Worker) -> tuple[Records, range]:
        residues = [by_residue(team, blocks_of_it[worker.index], size, 1)]
        return in_block(team, residues, size, 1)

    tracemalloc.start()
    try:
        found = by_threads(workers, work)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    for (records, place), own, bits in zip(found, blocks(size, workers), expected, strict=True):
        block = records[own.start - place.start : own.stop - place.start]
        assert isinstance(block, PlaneRecords)
        assert (block.bits.data == bits).all()
    assert most < 2.25 * words.nbytes


class Counting(CleartextSuite):
    """How many values are carried."""

    carried = 0

    def carry(self, flags: RingShare, values: RingShare, source: slice, target: slice, *, join: bool) -> None:
        type(self).carried += len(range(len(flags))[target])
        super().carry(flags, values, source, target, join=join)


@settings(max_examples=60, deadline=None)
@given(data=st.data(), size=st.integers(1, 3000), workers=st.sampled_from([1, 2, 4, 8]))
def test_a_scan_by_workers_takes_the_products_of_one(data: st.DataObject, size: int, workers: int) -> None:
    """And gives its values, from the position before a worker's first one on."""
    random = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    flags = (random.random(size) < data.draw(st.sampled_from([0.0, 0.01, 0.3, 1.0]))).astype(np.uint8)
    given_values = random.integers(0, 1 << 64, (2, size + 1), dtype=np.uint64)

    def scan(team: Team, worker: Worker) -> np.ndarray:
        suite = Counting(team)
        own = blocks(size, team.count)[worker.index]
        rows = RingShare(CLEARTEXT, given_values[:, own.start : own.stop + 1].copy())
        ends = BitShare(CLEARTEXT, flags[own.start : own.stop])
        last_flagged(suite, suite.flags_from_start(ends), rows, unit(size, team.count))
        return rows.values

    Counting.carried = 0
    (by_one,) = by_threads(1, scan)
    carried_by_one, Counting.carried = Counting.carried, 0
    for index, found in enumerate(by_threads(workers, scan)):
        own = blocks(size, workers)[index]
        if own:
            assert (found == by_one[:, own.start : own.stop + 1]).all()
    assert Counting.carried == carried_by_one


def test_what_was_sent_leaves_before_a_worker_waits_for_its_peer_workers() -> None:
    """Else another party waits for what lies here, the peers of its worker for it, and ours for those."""
    done: list[str] = []

    class Noting:
        def all_to_all(self, outgoing: Sequence[Buffer]) -> list[Buffer]:
            done.append("exchanged")
            return list(outgoing)

        def close(self) -> None:
            pass

    Team(Worker(0, 2), Noting(), flush=lambda: done.append("left")).sums(numbers(1))
    assert done == ["left", "exchanged"]
