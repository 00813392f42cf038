"""What a protocol promises, as values: which corrupted servers it withstands, and what each party learns.

People read the words that are derived from these values, before they agree to a study and in its report.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from ppaurora.channel.servers import Server

_NUMBERS = ("no", "one", "two", "three", "four", "five")


class Adversary(Enum):
    """How corrupted servers behave."""

    FOLLOWS = "follows"
    """They do what the program does, and put together all that they see: semi-honest."""

    DEVIATES = "deviates"
    """They do whatever they like: malicious."""


@dataclass(frozen=True)
class Corruption:
    """So many servers, any of them, that one adversary controls."""

    servers: int
    adversary: Adversary

    def includes(self, other: Corruption) -> bool:
        """Return whether what holds against this corruption holds against the other, too."""
        at_least_as_free = self.adversary is Adversary.DEVIATES or other.adversary is Adversary.FOLLOWS
        return other.servers <= self.servers and at_least_as_free

    @property
    def beyond(self) -> str:
        """How many servers are one too many, as a word."""
        return in_words(self.servers + 1)

    @property
    def condition(self) -> str:
        """Under which condition on the servers no worse corruption happens, in words."""
        apart = f"no {self.beyond} collude"
        if self.adversary is Adversary.FOLLOWS:
            return f"as long as each follows the protocol and {apart}"
        return f"as long as {apart}, even if {in_words(self.servers)} of them deviates from the protocol"


ONE_DEVIATES = Corruption(servers=1, adversary=Adversary.DEVIATES)


@dataclass(frozen=True)
class Learnt:
    """Something that a party learns beyond what is public anyway, in words that go on from "it learns"."""

    words: str


Knowledge = tuple[Learnt, ...]
"""All that a party learns beyond what is public anyway."""

NOTHING: Knowledge = ()

# What owners learn.
RELEASED_METRICS = Learnt("the metrics, as the policy lets them out")
SUPPRESSION = Learnt("that they are suppressed")
ONE_CLASS = Learnt("that there is one class only")
UNFIT_TABLE = Learnt("whose table does not add up to its number of samples")
UNFIT_LIST = Learnt("whose list was not sorted or had sums that do not fit")


def told(learnt: Knowledge, between: str = "; ") -> str:
    """Return what a party learns in words, "nothing" if that is so."""
    return between.join(one.words for one in learnt) or "nothing"


def by_kind(learnt: Mapping[Server, Knowledge]) -> dict[str, Knowledge]:
    """Return what servers learn by kind of server, as people call it, such as "each proxy" or "the helper".

    Servers of one kind that learn different things are named one by one.
    """
    kinds: dict[str, list[Server]] = {}
    for server in learnt:
        kinds.setdefault(server.kind, []).append(server)
    parties: dict[str, Knowledge] = {}
    for kind, servers in kinds.items():
        if len({learnt[server] for server in servers}) == 1:
            parties[f"{'each' if len(servers) > 1 else 'the'} {kind}"] = learnt[servers[0]]
        else:
            parties |= {server.title: learnt[server] for server in servers}
    return parties


def in_words(number: int) -> str:
    """Return a small number as a word."""
    return _NUMBERS[number] if number < len(_NUMBERS) else str(number)


def all_follow(servers: Iterable[Server]) -> Corruption:
    """Return that all servers are studied by one adversary, but do what the program does."""
    return Corruption(servers=len(list(servers)), adversary=Adversary.FOLLOWS)
