"""A worker's station, wherever it runs: its order, its credentials, its ways to other workers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ppaurora.channel.base import Buffer
from ppaurora.channel.intra_party import LONGEST_WAIT, IntraPartyChannel
from ppaurora.channel.tls import Listener, TlsTransport, connect_parties
from ppaurora.channel.tls.hello import worker_name
from ppaurora.errors import MisuseError
from ppaurora.messages.process import Event, Finished, Order, Task
from ppaurora.messages.workers import Crew
from ppaurora.session import Worker
from ppaurora.workers.credentials import Credentials


@dataclass(frozen=True)
class Station:
    """Where a worker stands: its order and credentials, where peers arrive, its peer workers."""

    order: Order
    credentials: Credentials
    listener: Listener
    intra_party: IntraPartyChannel = field(repr=False)
    tell: Callable[[Event], None] = field(repr=False)

    @property
    def worker(self) -> Worker:
        return worker_of(self.order)

    def connect(self) -> TlsTransport:
        """Connect to the workers of the same number at all other servers."""
        order, links = self.order, self.order.task.links
        endpoints = {peer: order.endpoints[peer.file_name] for peer in order.server.peers}
        addresses = {
            peer: endpoint.address or links.addresses[peer.file_name] for peer, endpoint in endpoints.items()
        }
        with self.credentials.identity(endpoints) as identity:
            return connect_parties(
                order.server,
                identity,
                self.listener,
                addresses,
                links.timeout,
                worker_name(order.worker, links.server_name),
                links.budget,
                self.worker.count,
            )


Part = Callable[[Station, Sequence[Buffer]], Finished]  # what a worker does, with its inputs


def worker_of(order: Order) -> Worker:
    return Worker(order.worker, crew_of(order.task).workers)


def longest_wait(order: Order) -> float:
    """Return for how many seconds a worker waits for its peer workers: as long as all may take."""
    return order.task.links.budget or LONGEST_WAIT


def crew_of(task: Task) -> Crew:
    """Return the crew of a task; raise if the task is for one worker."""
    if task.crew is None:
        raise MisuseError("a task for one worker is no task for a crew")
    return task.crew
