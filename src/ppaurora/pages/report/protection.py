"""What was protected from whom, in plain words. SECURITY.md has the whole of it."""

from __future__ import annotations

from dataclasses import dataclass

from ppaurora.study.manifest import Manifest


@dataclass(frozen=True)
class Protection:
    """From whom, whether it is protected, and what they learn."""

    whom: str
    protected: bool
    words: str


def protections(manifest: Manifest) -> tuple[Protection, ...]:
    """As the study's protocol has it."""
    learnt = dict(manifest.protocol.discloses())
    of_owners = learnt.pop("the owners", "")
    return (
        *(_server(party, what) for party, what in learnt.items()),
        Protection(
            "every other institution",
            True,
            "Scores, labels and ranking, but for what follows from the released values. "
            f"An institution learns {of_owners}.",
        ),
        Protection(
            "whoever listens on the network",
            True,
            "Everything but who talks to whom, and when, and how much: connections are TLS 1.3 between keys "
            "that the manifest names.",
        ),
        Protection(
            "two servers that collude",
            False,
            "Two servers that put together what they hold see every score and every label.",
        ),
        Protection(
            "a server that deviates from the program",
            False,
            "It can spoil the result unnoticed; and if it also sees the result, it can have made it depend "
            "on a sample of its choice.",
        ),
        Protection(
            "whoever made the keys",
            False,
            "A coordinator who made the participants' keys, instead of their making their own, could have "
            "taken their places.",
        ),
        Protection(
            "all participants",
            False,
            "Who takes part, how many samples each institution has, and what was computed, are public among "
            "them.",
        ),
    )


def _server(party: str, what: str) -> Protection:
    whom = f"{party}, while it does what the program does"
    if what == "nothing":
        return Protection(
            whom, True, "Scores, labels, ranking, class counts and the result: it learns nothing of them."
        )
    return Protection(whom, False, f"It learns {what}; otherwise nothing of scores, labels and result.")


ON_ONE_MACHINE = (
    Protection(
        "whoever controlled the machine",
        False,
        "All servers ran on one machine, and one person held all data: nothing was protected from them. "
        "The computation shows and checks the protocol.",
    ),
)
