"""What a report says was protected from whom follows from what the protocol says of itself, in values."""

from __future__ import annotations

import pytest

from ppaurora.channel.servers import Server
from ppaurora.pages.report.protection import Protection, protections
from ppaurora.policy.rules import Policy
from ppaurora.protocols import Fast, Paper, Protocol
from ppaurora.protocols.security import Adversary, Corruption, Knowledge, Learnt

DEVIATING = "a server that deviates from the protocol"


def shown(protocol: Protocol) -> dict[str, Protection]:
    return {one.whom: one for one in protections(protocol, Policy())}


class Withstanding(Fast):
    """A protocol that says more of itself than any that there is."""

    name = "withstanding"

    def learns(self, server: Server) -> Knowledge:
        return (Learnt("nothing at all"),)


def test_who_learns_nothing_is_not_read_from_prose() -> None:
    """A protocol may say `nothing` in words of its own; what counts is whether it names anything."""
    rows = shown(Withstanding())
    told = rows["each proxy, as long as it follows the protocol"]
    assert not told.protected
    assert told.words.startswith("It learns nothing at all;")
    assert shown(Fast())["each proxy, as long as it follows the protocol"].protected


def test_each_server_that_learns_something_is_told_of() -> None:
    rows = shown(Paper(delta=3))
    proxy = rows["each proxy, as long as it follows the protocol"]
    helper = rows["the helper, as long as it follows the protocol"]
    assert not proxy.protected
    assert "some comparisons of scores" in proxy.words
    assert "the number of ties" in helper.words
    assert "how many records the merge took from which list" in helper.words
    assert shown(Paper())["each proxy, as long as it follows the protocol"].protected


@pytest.mark.parametrize(
    ("most", "protected", "unprotected"),
    [(1, None, "two servers that collude"), (2, "two servers that collude", "three servers that collude")],
)
def test_how_many_may_collude(
    monkeypatch: pytest.MonkeyPatch, most: int, protected: str | None, unprotected: str
) -> None:
    monkeypatch.setattr(Withstanding, "privacy", Corruption(most, Adversary.FOLLOWS))
    colluding = {whom: row.protected for whom, row in shown(Withstanding()).items() if "collude" in whom}
    assert colluding == {unprotected: False} | ({protected: True} if protected else {})


@pytest.mark.parametrize("private", [False, True])
@pytest.mark.parametrize("right", [False, True])
def test_what_one_that_deviates_can_do(monkeypatch: pytest.MonkeyPatch, private: bool, right: bool) -> None:
    follows, deviates = Corruption(1, Adversary.FOLLOWS), Corruption(1, Adversary.DEVIATES)
    monkeypatch.setattr(Withstanding, "privacy", deviates if private else follows)
    monkeypatch.setattr(Withstanding, "correctness", deviates if right else follows)
    row = shown(Withstanding())[DEVIATING]
    assert row.protected is (private and right)
    assert ("cannot corrupt the result" in row.words) is right
    assert ("learns no more" in row.words) is private
