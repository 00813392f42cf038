"""Clients and servers at the two ends of a TLS connection, made without the code under test."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import closing, contextmanager
from dataclasses import dataclass

from ppaurora.channel.base import Channel
from ppaurora.channel.servers import Server
from ppaurora.channel.tls import Identity, TlsTransport, connect_parties, listen
from ppaurora.suites.role import Role
from tests.support.channels import PATIENCE, Address, Identities, side_by_side

PROXY_0, PROXY_1, HELPER = Role
GREETING = b"greeting"
Conversation = Callable[[socket.socket], None]
Serve = Callable[[Conversation], Address]


@dataclass
class AcceptingParty:
    """Proxy 0, waiting for both of its peers. Once they are there, it says `GREETING` to proxy 1."""

    address: Address
    transport: Future[TlsTransport]


def client(
    identity: Identity, *, certificate: bool = True, newest: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3
) -> ssl.SSLContext:
    """A client that trusts anybody."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.maximum_version = newest
    if certificate:
        context.load_cert_chain(identity.certificate, identity.key)
    return context


@contextmanager
def connected(address: Address, context: ssl.SSLContext) -> Iterator[ssl.SSLSocket]:
    with socket.create_connection(address, timeout=PATIENCE) as raw, context.wrap_socket(raw) as sock:
        yield sock


def answer_to(address: Address, context: ssl.SSLContext) -> bytes:
    """What the accepting party answers: a frame, nothing, or the reason why it refuses.

    A refusal shows when the client reads: in TLS 1.3 its own handshake ends before the server has
    seen its certificate.
    """
    try:
        with connected(address, context) as sock:
            return sock.recv(1000)
    except ssl.SSLError as error:
        return error.reason.encode()


def connect_real_peers(accepting: AcceptingParty, identities: Identities) -> bytes:
    """The real peers join; what proxy 0 says to proxy 1."""
    listeners = {PROXY_1: listen(), HELPER: listen()}
    addresses: dict[Server, Address] = {PROXY_0: accepting.address, PROXY_1: listeners[PROXY_1].getsockname()}

    def join(role: Role) -> TlsTransport:
        with listeners[role] as listener:
            return connect_parties(role, identities[role], listener, addresses, PATIENCE)

    proxy_1, helper = side_by_side(lambda: join(PROXY_1), lambda: join(HELPER))
    with closing(proxy_1), closing(helper):
        return bytes(Channel(proxy_1).receive(PROXY_0, len(GREETING)))


def server(identity: Identity, newest: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> ssl.SSLContext:
    """A server that takes anybody."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(identity.certificate, identity.key)
    context.maximum_version = newest
    return context


def serve_with(context: ssl.SSLContext) -> Conversation:
    def serve(raw: socket.socket) -> None:
        with context.wrap_socket(raw, server_side=True) as sock:
            sock.recv(1)

    return serve
