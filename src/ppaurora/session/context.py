"""Everything one party needs to take part in one session, passed explicitly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from ppaurora.channel.base import Channel, Transport
from ppaurora.channel.intra_party import Alone, IntraPartyChannel
from ppaurora.channel.meter import Meter
from ppaurora.channel.servers import Server
from ppaurora.errors import MisuseError, PeerMisbehavedError
from ppaurora.randomness.streams import Stream, StreamFamily
from ppaurora.session.agreement import CONTRIBUTION_BYTES, PairKeys, Purpose, SessionSecrets
from ppaurora.session.freed import give_back_freed_memory
from ppaurora.session.progress import Progress, no_progress
from ppaurora.session.worker import SINGLE, Worker


class Context:
    """One party in one session: its role, its channel, its shared randomness, and what it has opened.

    Where a party has several workers, each has a context: one is opened, and forks for the others.
    """

    def __init__(
        self,
        channel: Channel,
        keys: PairKeys,
        progress: Progress = no_progress,
        purpose: Purpose | None = None,
        intra_party: IntraPartyChannel | None = None,
    ) -> None:
        self.role = channel.role
        self.channel = channel
        self.progress = progress
        self.worker = SINGLE if purpose is None else purpose.worker
        self.intra_party = Alone() if intra_party is None else intra_party
        self._purpose = purpose
        self.openings: Counter[str] = Counter()
        self._families = {
            peer: StreamFamily(key, f"k{min(self.role, peer)}{max(self.role, peer)}")
            for peer, key in keys.keys.items()
        }

    @property
    def meter(self) -> Meter:
        return self.channel.meter

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Attribute the traffic inside to `name`; afterwards all of the step is done."""
        self.progress(name, 0, 1)
        with self.meter.step(name):
            yield
        give_back_freed_memory()
        self.progress(name, 1, 1)

    def stream(self, peer: Server, label: str) -> Stream:
        """Open the stream `label` that is shared with `peer`; once per label. Worker first, then label."""
        return self._families[peer].open(self.worker.label + label)

    def fork(self, index: int, transport: Transport, intra_party: IntraPartyChannel) -> Context:
        """Return the context of another worker in this process, over a transport of its own.

        It agrees on keys of its own with the workers of that number elsewhere, so no stream of its is one of
        this context's. What it sends is counted by itself, and in this context's reading.
        """
        if self._purpose is None:
            raise MisuseError("only the context of an open session can be forked")
        purpose = self._purpose._replace(worker=Worker(index, self.worker.count))
        return _agree(Channel(transport, self.meter.fork()), purpose, no_progress, intra_party)

    def __repr__(self) -> str:
        return f"<Context of {self.role.title}>"


def open_session(
    transport: Transport,
    job_hash: bytes,
    attempt: int = 1,
    progress: Progress = no_progress,
    *,
    worker: Worker = SINGLE,
    intra_party: IntraPartyChannel | None = None,
) -> Context:
    """Agree with all peers on the job, on who of its workers is who, and on fresh keys."""
    return _agree(Channel(transport), Purpose(job_hash, attempt, worker), progress, intra_party)


def _agree(
    channel: Channel, purpose: Purpose, progress: Progress, intra_party: IntraPartyChannel | None
) -> Context:
    secrets = SessionSecrets()
    hello = purpose.to_bytes()
    for peer in channel.role.peers:
        channel.send(peer, hello, secrets.contribution())
    contributions = {}
    for peer in channel.role.peers:
        answer = bytes(channel.receive(peer, len(hello) + CONTRIBUTION_BYTES))
        if not answer.startswith(hello):
            raise PeerMisbehavedError(peer.title, _difference(answer, purpose))
        contributions[peer] = answer[len(hello) :]
    keys = secrets.agree(channel.role, contributions, *purpose)
    channel.session = keys.session
    return Context(channel, keys, progress, purpose, intra_party)


def _difference(hello: bytes, purpose: Purpose) -> str:
    """Return what a peer has in mind that this party has not."""
    workers = 1 + int.from_bytes(hello[len(purpose.job_hash) + 2 :][:2], "big")
    if hello.startswith(purpose.job_hash) and workers != purpose.worker.count:
        return f"has {workers} workers, where this server has {purpose.worker.count}; all must have as many"
    return "wants to run another job or another attempt"
