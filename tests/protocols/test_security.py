"""What a protocol promises, as values, and the words that are derived from them."""

from __future__ import annotations

import pytest

from ppaurora.channel.servers import Server
from ppaurora.protocols.security import NOTHING, Adversary, Corruption, Learnt, all_follow, by_kind, told

FOLLOWS, DEVIATES = Adversary.FOLLOWS, Adversary.DEVIATES
SIZES, TIES = Learnt("sizes"), Learnt("ties")


class Team(Server):
    JUDGE_0 = 0
    JUDGE_1 = 1
    CLERK = 2


@pytest.mark.parametrize(
    ("withstood", "happens", "holds"),
    [
        (Corruption(1, FOLLOWS), Corruption(1, FOLLOWS), True),
        (Corruption(1, FOLLOWS), Corruption(2, FOLLOWS), False),
        (Corruption(3, FOLLOWS), Corruption(1, DEVIATES), False),
        (Corruption(1, DEVIATES), Corruption(1, FOLLOWS), True),
        (Corruption(1, DEVIATES), Corruption(1, DEVIATES), True),
        (Corruption(1, DEVIATES), Corruption(2, FOLLOWS), False),
        (all_follow(Team), Corruption(3, FOLLOWS), True),
        (all_follow(Team), Corruption(1, DEVIATES), False),
    ],
)
def test_who_withstands_deviation_withstands_as_many_that_follow(
    withstood: Corruption, happens: Corruption, holds: bool
) -> None:
    assert withstood.includes(happens) is holds


@pytest.mark.parametrize(
    ("corruption", "words"),
    [
        (Corruption(1, FOLLOWS), "as long as each follows the protocol and no two collude"),
        (Corruption(2, FOLLOWS), "as long as each follows the protocol and no three collude"),
        (
            Corruption(1, DEVIATES),
            "as long as no two collude, even if one of them deviates from the protocol",
        ),
        (Corruption(6, FOLLOWS), "as long as each follows the protocol and no 7 collude"),
    ],
)
def test_the_condition_in_words(corruption: Corruption, words: str) -> None:
    assert corruption.condition == words


def test_servers_of_one_kind_that_learn_the_same_are_told_of_together() -> None:
    alike = by_kind({Team.JUDGE_0: NOTHING, Team.JUDGE_1: NOTHING, Team.CLERK: (SIZES, TIES)})
    assert alike == {"each judge": NOTHING, "the clerk": (SIZES, TIES)}
    assert [told(learnt) for learnt in alike.values()] == ["nothing", "sizes; ties"]
    unlike = by_kind({Team.JUDGE_0: NOTHING, Team.JUDGE_1: (TIES,), Team.CLERK: NOTHING})
    assert unlike == {"judge 0": NOTHING, "judge 1": (TIES,), "the clerk": NOTHING}
