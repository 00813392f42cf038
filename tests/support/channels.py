"""Three connected parties for the tests of channels, and threads that must come to an end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from ppaurora.channel.base import NO_SESSION, Channel, Transport
from ppaurora.channel.frames import Header
from ppaurora.channel.servers import Server
from ppaurora.channel.tls import Identity, TlsTransport, connect_parties, listen
from ppaurora.suites.role import Role

PATIENCE = 120.0  # far more than anything here takes on a busy machine
LINKS = [(sender, receiver) for sender in Role for receiver in sender.peers]
MB = 1 << 20

Address = tuple[str, int]
Identities = dict[Server, Identity]
Connect = Callable[..., Sequence[Transport]]
ConnectTls = Callable[..., Sequence[TlsTransport]]


def side_by_side(*parties: Callable[[], Any], patience: float = PATIENCE) -> list[Any]:
    """Run every function in a thread of its own; their results, or the first one's error."""
    pool = ThreadPoolExecutor(len(parties))
    futures = [pool.submit(party) for party in parties]
    try:
        return [future.result(patience) for future in futures]
    finally:
        pool.shutdown(wait=False)


def failure_of(party: Callable[[], Any]) -> Exception | None:
    """The error that `party` ends with, for use in a thread."""
    try:
        party()
    except Exception as error:
        return error
    return None


def tls_transports(identities: Identities, timeout: float = PATIENCE) -> list[TlsTransport]:
    """Three parties that found each other on loopback, in the order of the roles.

    `timeout` is for what they say from then on: to connect may take longer on a busy machine.
    """
    listeners = {role: listen() for role in Role}
    addresses: dict[Server, Address] = {role: listeners[role].getsockname() for role in Role}

    def join(role: Role) -> TlsTransport:
        with listeners[role] as listener:
            return connect_parties(role, identities[role], listener, addresses, PATIENCE)

    transports: list[TlsTransport] = side_by_side(*(lambda role=role: join(role) for role in Role))
    for transport in transports:
        transport._timeout = timeout
    return transports


def send_all(channel: Channel, to: Role, payloads: list[bytes]) -> None:
    for payload in payloads:
        channel.send(to, payload)
    channel.finish()


def receive_all(channel: Channel, sender: Role, lengths: list[int]) -> list[bytes]:
    return [bytes(channel.receive(sender, length)) for length in lengths]


def frame(payload: bytes = b"", *, session: bytes = NO_SESSION, sequence: int = 0, depth: int = 1) -> bytes:
    """A frame as it is on the wire."""
    return Header(depth, session, sequence, len(payload)).pack() + payload


def most_bytes_in_flight() -> int:
    """What the kernel may hold between two sockets on loopback, at the most."""
    limits = (Path(f"/proc/sys/net/ipv4/tcp_{kind}mem").read_text().split() for kind in "rw")
    return sum(int(largest) for _, _, largest in limits)
