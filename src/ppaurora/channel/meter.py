"""Meters what a party sends, step by step, and how deep the chain of messages is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import msgspec


class Cost(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The cost of a step, to one party or to all together. Bytes include frame headers, not TLS."""

    messages: int = 0
    bytes: int = 0
    rounds: int = 0

    def __add__(self, other: Cost) -> Cost:
        """Return the cost of one step after the other."""
        return Cost(self.messages + other.messages, self.bytes + other.bytes, self.rounds + other.rounds)

    def __mul__(self, times: int) -> Cost:
        """Return the cost of the same step several times in a row."""
        return Cost(self.messages * times, self.bytes * times, self.rounds * times)


class MeterReading(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The costs that one party counted in a session, in all and by step.

    What its own workers handed each other is no part of it: that is told beside it.
    """

    rounds: int
    messages: int
    bytes: int
    steps: dict[str, Cost]
    inside_messages: int = 0
    inside_bytes: int = 0


def together(readings: Sequence[MeterReading]) -> MeterReading:
    """Return the reading of all workers of a party: costs add up, and the longest chain of messages counts.

    The first worker hears from all others what the result depends on, so a step's rounds are those that it
    counted.
    """
    steps = dict(readings[0].steps)
    for reading in readings[1:]:
        for name, cost in reading.steps.items():
            so_far = steps.get(name, Cost())
            steps[name] = Cost(so_far.messages + cost.messages, so_far.bytes + cost.bytes, so_far.rounds)
    return MeterReading(
        max(reading.rounds for reading in readings),
        sum(reading.messages for reading in readings),
        sum(reading.bytes for reading in readings),
        steps,
        sum(reading.inside_messages for reading in readings),
        sum(reading.inside_bytes for reading in readings),
    )


@dataclass
class Tally:
    """The cost of a step so far."""

    messages: int = 0
    bytes: int = 0
    rounds: int = 0


@dataclass
class Meter:
    """Counts what one party hands to its channel.

    Rounds are the longest chain of dependent messages: a message is one deeper than the deepest
    message its sender had received before.
    """

    steps: dict[str, Tally] = field(default_factory=dict)
    depth: int = 0
    intra_party: Tally = field(default_factory=Tally)
    _step: str = "session"
    _inner_rounds: int = 0
    _forks: list[Meter] = field(default_factory=list)

    def fork(self) -> Meter:
        """Return a meter whose count is a part of this one's reading."""
        self._forks.append(Meter())
        return self._forks[-1]

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Attribute what happens inside to `name`, less what an inner step takes for itself."""
        outer, self._step = self._step, name
        start, outer_inner, self._inner_rounds = self.depth, self._inner_rounds, 0
        try:
            yield
        finally:
            rounds = self.depth - start
            self._tally(name).rounds += rounds - self._inner_rounds
            self._inner_rounds = outer_inner + rounds
            self._step = outer

    def _tally(self, name: str) -> Tally:
        return self.steps.setdefault(name, Tally())

    def sent(self, count: int) -> int:
        """Count a message of `count` bytes; returns the depth it carries."""
        tally = self._tally(self._step)
        tally.messages += 1
        tally.bytes += count
        return self.depth + 1

    def received(self, depth: int) -> None:
        self.depth = max(self.depth, depth)

    def passed_inside(self, count: int) -> None:
        """Count a message of `count` bytes to a worker of the same party: no round, and no traffic."""
        self.intra_party.messages += 1
        self.intra_party.bytes += count

    @property
    def messages(self) -> int:
        return sum(tally.messages for tally in self.steps.values())

    @property
    def bytes(self) -> int:
        return sum(tally.bytes for tally in self.steps.values())

    def reading(self) -> MeterReading:
        """Return everything counted, here and by forks; to be called outside of any step."""
        self._tally(self._step).rounds = self.depth - self._inner_rounds
        steps = {name: Cost(tally.messages, tally.bytes, tally.rounds) for name, tally in self.steps.items()}
        own = MeterReading(
            self.depth, self.messages, self.bytes, steps, self.intra_party.messages, self.intra_party.bytes
        )
        return together([own, *(fork.reading() for fork in self._forks)])
