"""What `paper` opens, and what its conversation depends on."""

from __future__ import annotations

from collections.abc import Sequence

from ppaurora.channel.servers import Server
from tests.support.cases import Owner, by_three_parties, paper, transcript


def openings(lists: Sequence[Owner], delta: int) -> int:
    return sum(by_three_parties(paper(delta), lists).openings.values())


def test_delta_1_opens_nothing_and_larger_deltas_open_what_the_rules_say() -> None:
    """The larger deltas are the positive control: they show that the counter counts."""
    lists: list[Owner] = [[(k / 32, k % 2) for k in range(12)], [(k / 37, k % 3 == 0) for k in range(12)]]
    assert openings(lists, delta=1) == 0
    assert openings(lists, delta=3) > 0
    assert openings(lists, delta=11) > openings(lists, delta=3)


def conversation(lists: Sequence[Owner], delta: int) -> list[tuple[Server, Server, list[int]]]:
    return transcript(by_three_parties(paper(delta), lists))


def test_with_delta_1_the_conversation_does_not_depend_on_the_data() -> None:
    """With delta 3 it does, which the paper accepts and docs/leakage.md names: the positive control."""
    rising = [[(k / 64, 1) for k in range(12)], [(k / 64 + 0.5, 0) for k in range(9)]]
    mixed = [[(k / 64, k % 2) for k in range(12)], [(k / 48, k % 2) for k in range(9)]]
    tied: list[Owner] = [[(0.5, 1)] * 12, [(0.5, 0)] * 9]
    assert conversation(rising, 1) == conversation(mixed, 1) == conversation(tied, 1)
    assert conversation(rising, 3) != conversation(mixed, 3)
