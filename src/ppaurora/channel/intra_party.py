"""How the workers of one party hand each other what that party holds anyway.

Nothing here leaves a party: workers together hold that party's shares, and no more. How it travels between
threads, processes or machines is the engine's choice.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import Protocol

from ppaurora.channel.base import Buffer
from ppaurora.errors import PartyFailedError

# A worker may have hours of work left when another is done with its part. Whether it is alive, whoever
# started the workers watches; this is if nobody does.
LONGEST_WAIT = 86_400.0


class LostWorkerError(PartyFailedError):
    """Another worker of this party hands nothing on; it may tell itself why. `peer` is its number."""

    def __init__(self, party: str, worker: int, problem: str) -> None:
        self.peer = str(worker)
        super().__init__(f"worker {worker} of {party} {problem}")


class IntraPartyChannel(Protocol):
    """One worker's end of the channel to the other workers of its party.

    All workers call `all_to_all` equally often and in the same order, so the n-th call of one goes with the
    n-th call of each other one. A worker that is gone, or comes too late, raises a `LostWorkerError` at all
    others.
    """

    def all_to_all(self, outgoing: Sequence[Buffer]) -> list[Buffer]:
        """`outgoing[k]` goes to worker k; returned is what each had for this one. The buffers must not
        change afterwards.
        """

    def close(self) -> None:
        """Leave: this worker takes no further part."""


class Alone:
    """The channel of a party that has one worker: there is nobody to talk to."""

    def all_to_all(self, outgoing: Sequence[Buffer]) -> list[Buffer]:
        return list(outgoing)

    def close(self) -> None:
        """Do nothing: nobody waits for a single worker."""


class MemoryIntraPartyChannel:
    """Workers are threads of this process."""

    def __init__(self, index: int, table: _Table, timeout: float) -> None:
        self._index = index
        self._table = table
        self._timeout = timeout

    def all_to_all(self, outgoing: Sequence[Buffer]) -> list[Buffer]:
        self._table.put(self._index, outgoing)
        return self._table.take(self._index, self._timeout)

    def close(self) -> None:
        self._table.leave(self._index)


class _Table:
    """The messages that lie between the workers, until they are taken."""

    def __init__(self, party: str, count: int) -> None:
        self._party = party
        self._changed = threading.Condition()
        self._queues: list[list[deque[Buffer]]] = [[deque() for _ in range(count)] for _ in range(count)]
        self._gone: set[int] = set()

    def put(self, sender: int, outgoing: Sequence[Buffer]) -> None:
        with self._changed:
            for queue, buffer in zip(self._queues[sender], outgoing, strict=True):
                queue.append(buffer)
            self._changed.notify_all()

    def take(self, receiver: int, timeout: float) -> list[Buffer]:
        taken: list[Buffer] = []
        for sender, queues in enumerate(self._queues):
            with self._changed:
                if not self._changed.wait_for(partial(self._settled, sender, receiver), timeout):
                    raise LostWorkerError(self._party, sender, f"handed on nothing for {timeout:g} seconds")
                if not queues[receiver]:
                    raise LostWorkerError(self._party, sender, "is gone")
                taken.append(queues[receiver].popleft())
        return taken

    def _settled(self, sender: int, receiver: int) -> bool:
        """Return whether there is something, or never will be."""
        return bool(self._queues[sender][receiver]) or sender in self._gone

    def leave(self, index: int) -> None:
        with self._changed:
            self._gone.add(index)
            self._changed.notify_all()


def memory_intra_party_channels(
    party: str, count: int, timeout: float = LONGEST_WAIT
) -> list[MemoryIntraPartyChannel]:
    """Return the ends of all workers of a party."""
    table = _Table(party, count)
    return [MemoryIntraPartyChannel(index, table, timeout) for index in range(count)]
