"""Lists of a party's workers on their way through a merge: in blocks, by residues, in blocks again.

Worker i takes the wires whose number is i modulo W, the number of workers. A layer of stride s >= W pairs
wires j and j + s of one worker, and its wires j·W + i meet as wires j of a network of stride s/W do: all
layers down to stride W are a complete merge of the worker's own sublists. The last layers, of strides
W/2, ..., 1, pair neighbours: for them each worker takes a block of wires, and on both sides of it W - 1 more,
as far as these layers reach. So every worker computes what its block depends on, some comparators at borders
are computed by two, and nothing is passed on between layers.

A record is passed on twice in a merge, 16 bytes each time at a proxy; between parties it takes some 1,400.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ppaurora.channel.meter import Cost
from ppaurora.sharing.blocks import blocks
from ppaurora.suites.base import Records, concat_records
from ppaurora.suites.team import Team


def by_residue(team: Team, taken: list[Records], size: int, wire: int) -> Records:
    """Move blocks of a list of this size, whose position 0 is at this wire, to wires by residues.

    Takes the block: `taken` is empty afterwards, so that a worker has no more copies than it needs.
    """
    records = taken.pop()
    if team.count == 1:
        return records
    block, none = blocks(size, team.count)[team.index], records[:0]
    outgoing: list[Any] = [none] * team.count
    for number, part in enumerate(records.deal(team.count)):
        outgoing[(wire + block.start + number) % team.count] = part
    del records, part
    received = team.all_to_all_records(outgoing, _by_residue_sizes(size, wire, team.count, team.index))
    return concat_records(received) if received else none


def in_block(team: Team, taken: list[Records], size: int, wire: int) -> tuple[Records, range]:
    """Move wires by residues to this worker's block and what it needs besides; return also their positions.

    Takes the records, too.
    """
    records = taken.pop()
    if team.count == 1:
        return records, range(size)
    places = _places(size, team.count)
    mine = (team.index - wire) % team.count  # the first position that this worker has
    outgoing = []
    for place in places:
        found = _with_residue(place, mine, team.count)
        start = (found.start - mine) // team.count
        outgoing.append(records[start : start + len(found)])
    none = records[:0]
    del records
    sizes = _in_block_sizes(size, wire, team.count, team.index)
    received = team.all_to_all_records(outgoing, sizes)
    by_worker = [received.pop(0) if count else none for count in sizes]
    place = places[team.index]
    by_turns = [by_worker[(wire + place.start + number) % team.count] for number in range(team.count)]
    by_worker.clear()
    return type(none).interleave(by_turns), place


def with_next(team: Team, lists: Sequence[Any], sizes: Sequence[int]) -> list[Any]:
    """Return each list's block, and behind it the record that the next worker begins with, if any."""
    if team.count == 1:
        return list(lists)
    outgoing, due = [lists[0][:0]] * team.count, [0] * team.count
    if team.index:
        outgoing[team.index - 1] = concat_records([records[:1] for records in lists])
    followed = [
        number
        for number, size in enumerate(sizes)
        if team.index + 1 < team.count and blocks(size, team.count)[team.index + 1]
    ]
    if followed:
        due[team.index + 1] = len(followed)
    extended = list(lists)
    for following in team.all_to_all_records(outgoing, due):
        for place, number in enumerate(followed):
            extended[number] = concat_records([lists[number], following[place]])
    return extended


def intra_party_cost(first: int, second: int, workers: int, message: Callable[[int], int]) -> Cost:
    """Return what a merge costs within a party, all of its workers together.

    `message` gives the bytes of so many records.
    """
    moves = [
        partial(_by_residue_sizes, first, -first, workers),
        partial(_by_residue_sizes, second, 0, workers),
        partial(_in_block_sizes, first + second, -first, workers),
    ]
    passed_on = [
        message(count)
        for sizes in moves
        for receiver in range(workers)
        for sender, count in enumerate(sizes(receiver))
        if sender != receiver
    ]
    return Cost(len(passed_on), sum(passed_on))


def _by_residue_sizes(size: int, wire: int, workers: int, receiver: int) -> list[int]:
    """Return how many records a worker gets from each worker."""
    residue = (receiver - wire) % workers
    return [len(_with_residue(own, residue, workers)) for own in blocks(size, workers)]


def _in_block_sizes(size: int, wire: int, workers: int, receiver: int) -> list[int]:
    """Return the same for the way back to blocks."""
    place = _places(size, workers)[receiver]
    return [len(_with_residue(place, (sender - wire) % workers, workers)) for sender in range(workers)]


def _places(size: int, workers: int) -> list[range]:
    """Return every worker's block with what it needs on both sides of it."""
    return [_surrounded(own, size, workers - 1) for own in blocks(size, workers)]


def _surrounded(place: range, size: int, reach: int) -> range:
    return range(max(place.start - reach, 0), min(place.stop + reach, size)) if place else place


def _with_residue(place: range, residue: int, modulus: int) -> range:
    """Positions of a stretch that have this residue."""
    first = place.start + (residue - place.start) % modulus
    return range(first, max(place.stop, first), modulus)
