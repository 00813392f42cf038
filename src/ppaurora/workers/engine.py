"""The interface of all engines: each runs the workers of one server, for one attempt."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self

from ppaurora.channel.base import Buffer
from ppaurora.messages.process import Event, Order
from ppaurora.messages.workers import Endpoint


@dataclass(frozen=True)
class Ended:
    """A worker is gone without an event of its own; how, in words that follow "worker 3"."""

    how: str


class Engine(Protocol):
    """Places workers, tells each what to do, hears what they say, and leaves none behind.

    No worker is ever restarted and nothing is done twice, for a second run could use masks of the first: one
    that is lost ends the attempt, and the next attempt has fresh keys.
    """

    def place(self) -> Sequence[Endpoint]:
        """Start all workers, and wait until they stand ready; raises a `PartyFailedError` if they cannot."""

    def begin(self, order: Order, inputs: Sequence[Buffer]) -> None:
        """Have a worker, the one that the order names, do its part."""

    def admit(self, worker: int, connection: socket.socket) -> None:
        """Hand on a connection of a peer's worker; it is the engine's from now on."""

    def next_event(self, seconds: float) -> tuple[int, Event | Ended] | None:
        """Return what a worker says next, or how it ended; None if nothing is heard for so long."""

    def close(self) -> None:
        """End all workers: none is left behind, nor what was kept for it."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...
