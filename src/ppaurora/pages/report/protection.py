"""What was protected from whom, in plain words. SECURITY.md has the whole of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ppaurora.policy.rules import Policy
from ppaurora.protocols import Protocol
from ppaurora.protocols.security import ONE_DEVIATES, Knowledge, in_words, told


@dataclass(frozen=True)
class Protection:
    """From whom something is or is not protected, and what they learn."""

    whom: str
    protected: bool
    words: str


def protections(protocol: Protocol, policy: Policy) -> tuple[Protection, ...]:
    """Return what a protocol promises of its studies, and what nothing protects from."""
    return (
        *(_server(party, learnt) for party, learnt in protocol.servers_learn().items()),
        Protection(
            "every other institution",
            True,
            "Scores, labels and ranking, except for what follows from the released values. "
            f"An institution learns {protocol.discloses(policy)['the owners']}.",
        ),
        Protection(
            "anyone listening on the network",
            True,
            "Everything but who talks to whom, when, and how much: connections use TLS 1.3 between keys that "
            "the manifest names.",
        ),
        *_colluding(protocol),
        _deviating(protocol),
        Protection(
            "whoever made the keys",
            False,
            "A coordinator who created the participants' keys, instead of the participants themselves, could "
            "have impersonated them.",
        ),
        Protection(
            "all participants",
            False,
            "Who takes part, how many samples each institution has, and what was computed are known to all "
            "of them.",
        ),
    )


def _server(party: str, learnt: Knowledge) -> Protection:
    whom = f"{party}, as long as it follows the protocol"
    if not learnt:
        return Protection(
            whom, True, "Scores, labels, ranking, class counts and the result: it learns nothing about them."
        )
    return Protection(
        whom, False, f"It learns {told(learnt)}; otherwise nothing about scores, labels and the result."
    )


def _colluding(protocol: Protocol) -> Iterator[Protection]:
    most, too_many = protocol.privacy.servers, protocol.privacy.beyond
    if most > 1:
        yield Protection(
            f"{in_words(most)} servers that collude",
            True,
            "Together they learn no more than each does alone, as long as they follow the protocol.",
        )
    if most < len(protocol.servers):
        yield Protection(
            f"{too_many} servers that collude",
            False,
            f"{too_many.capitalize()} servers that combine what they hold see every score and every label.",
        )


def _deviating(protocol: Protocol) -> Protection:
    whom = "a server that deviates from the protocol"
    private = protocol.privacy.includes(ONE_DEVIATES)
    right = protocol.correctness.includes(ONE_DEVIATES)
    if private and right:
        return Protection(
            whom, True, "It learns no more than it would otherwise, and cannot corrupt the result unnoticed."
        )
    if private:
        return Protection(
            whom, False, "It can corrupt the result unnoticed. It learns no more than it would otherwise."
        )
    if right:
        return Protection(
            whom, False, "It can learn about scores and labels. It cannot corrupt the result unnoticed."
        )
    return Protection(
        whom,
        False,
        "It can corrupt the result unnoticed; and if it also sees the result, it can have made it depend "
        "on a sample of its choice.",
    )


ON_ONE_MACHINE = (
    Protection(
        "whoever controlled the machine",
        False,
        "All servers ran on one machine, and one person held all data: nothing was protected from them. "
        "The computation demonstrates and checks the protocol.",
    ),
)
