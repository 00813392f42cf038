"""Everything one party needs to take part in one session, passed explicitly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from ppaurora.channel.base import Channel, Transport
from ppaurora.channel.meter import Meter
from ppaurora.errors import PeerMisbehavedError
from ppaurora.randomness.streams import Stream, StreamFamily
from ppaurora.servers import Server
from ppaurora.session.agreement import CONTRIBUTION_BYTES, PairKeys, SessionSecrets
from ppaurora.session.progress import Progress, no_progress


class Context:
    """One party in one session: its role, its channel, its shared randomness, and what it has opened."""

    def __init__(self, channel: Channel, keys: PairKeys, progress: Progress = no_progress) -> None:
        self.role = channel.role
        self.channel = channel
        self.progress = progress
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
        self.progress(name, 1, 1)

    def stream(self, peer: Server, label: str) -> Stream:
        """Open the stream `label` that is shared with `peer`; once per label."""
        return self._families[peer].open(label)

    def __repr__(self) -> str:
        return f"<Context of {self.role.title}>"


def open_session(
    transport: Transport, job_hash: bytes, attempt: int = 1, progress: Progress = no_progress
) -> Context:
    """Agree with all peers on the job and on fresh keys."""
    channel = Channel(transport)
    secrets = SessionSecrets()
    hello = job_hash + attempt.to_bytes(8, "big")
    for peer in channel.role.peers:
        channel.send(peer, hello, secrets.contribution())
    contributions = {}
    for peer in channel.role.peers:
        answer = bytes(channel.receive(peer, len(hello) + CONTRIBUTION_BYTES))
        if not answer.startswith(hello):
            raise PeerMisbehavedError(peer.title, "wants to run another job or another attempt")
        contributions[peer] = answer[len(hello) :]
    keys = secrets.agree(channel.role, contributions, job_hash, attempt)
    channel.session = keys.session
    return Context(channel, keys, progress)
