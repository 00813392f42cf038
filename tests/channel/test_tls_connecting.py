"""Whom a party takes for its peer when it connects."""

from __future__ import annotations

import socket
import ssl
from contextlib import closing
from dataclasses import replace

import pytest

from ppaurora.channel.base import Channel
from ppaurora.channel.servers import Server
from ppaurora.channel.tls import Identity, connect_parties, listen
from ppaurora.errors import PeerLostError, PeerMisbehavedError, PeerTimeoutError
from ppaurora.suites.role import Role
from tests.support.channels import PATIENCE, Address, Identities
from tests.support.relay import CuttingRelay
from tests.support.tls_peers import GREETING, AcceptingParty, Serve, connect_real_peers, serve_with, server

PROXY_0, PROXY_1, HELPER = Role


def join_as_proxy_1(identity: Identity, proxy_0: Address, timeout: float = PATIENCE) -> None:
    with listen() as listener:
        connect_parties(PROXY_1, identity, listener, {PROXY_0: proxy_0}, timeout).close()


def test_a_server_with_the_right_certificate_is_taken_for_the_peer(
    serve: Serve, identities: Identities
) -> None:
    """The control of the refusals below: proxy 1 is content and goes on to wait for the helper."""
    address = serve(serve_with(server(identities[PROXY_0])))
    with pytest.raises(PeerTimeoutError, match="helper did not connect in time"):
        join_as_proxy_1(identities[PROXY_1], address, timeout=5.0)


def test_a_tls_1_2_server_is_refused(serve: Serve, identities: Identities) -> None:
    host, port = serve(serve_with(server(identities[PROXY_0], newest=ssl.TLSVersion.TLSv1_2)))
    with pytest.raises(PeerMisbehavedError, match=f"proxy 0 at {host}:{port} failed .*PROTOCOL_VERSION"):
        join_as_proxy_1(identities[PROXY_1], (host, port))


def test_a_server_of_another_authority_is_refused(
    serve: Serve, identities: Identities, foreign: Identities
) -> None:
    host, port = serve(serve_with(server(foreign[PROXY_0])))
    with pytest.raises(PeerMisbehavedError, match=f"proxy 0 at {host}:{port} .*CERTIFICATE_VERIFY_FAILED"):
        join_as_proxy_1(identities[PROXY_1], (host, port))


@pytest.mark.parametrize("role", [PROXY_1, HELPER])
def test_a_server_of_another_role_is_refused(serve: Serve, identities: Identities, role: Role) -> None:
    address = serve(serve_with(server(identities[role])))
    with pytest.raises(
        PeerMisbehavedError, match="proxy 0 presented a certificate whose key is not the one pinned"
    ):
        join_as_proxy_1(identities[PROXY_1], address)


def test_a_server_that_speaks_no_tls_is_refused(serve: Serve, identities: Identities) -> None:
    host, port = serve(lambda raw: raw.sendall(b"220 mail.example.org ESMTP\r\n"))
    with pytest.raises(PeerMisbehavedError, match=f"proxy 0 at {host}:{port} failed the TLS handshake"):
        join_as_proxy_1(identities[PROXY_1], (host, port))


def test_a_server_that_is_cut_off_in_the_handshake_is_lost(serve: Serve, identities: Identities) -> None:
    """After any number of bytes of its answer; what comes behind the handshake nobody reads here."""
    target = serve(serve_with(server(identities[PROXY_0])))
    with closing(CuttingRelay(target[1])) as relay:
        address = ("127.0.0.1", relay.port)
        for after in (1, 100, 600, 1000, 1200):
            for reset in (False, True):
                relay.cut(after, reset=reset)
                with pytest.raises(PeerLostError, match=r"proxy 0 at 127.*lost in the TLS handshake"):
                    join_as_proxy_1(identities[PROXY_1], address)


def test_a_server_that_says_nothing_is_a_timeout(identities: Identities) -> None:
    with listen() as mute:
        host, port = mute.getsockname()
        with pytest.raises(PeerTimeoutError, match=f"proxy 0 at {host}:{port} did not answer"):
            join_as_proxy_1(identities[PROXY_1], (host, port), timeout=2.0)


def test_an_address_where_nobody_listens_is_named(identities: Identities) -> None:
    with socket.socket() as taken:  # and never listens, so that nobody else can meanwhile
        taken.bind(("127.0.0.1", 0))
        host, port = taken.getsockname()
        with pytest.raises(PeerLostError, match=f"proxy 0 cannot be reached at {host}:{port}: ") as caught:
            join_as_proxy_1(identities[PROXY_1], (host, port))
    assert caught.value.peer == "proxy 0"


def test_who_is_refused_learns_why(
    accepting: AcceptingParty,
    serve: Serve,
    identities: Identities,
    foreign: Identities,
) -> None:
    """A helper whose own certificate is of the wrong authority hears so from the peer that it named."""
    mistaken = replace(
        foreign[HELPER], authorities=identities[HELPER].authorities, pins=identities[HELPER].pins
    )
    addresses: dict[Server, Address] = {
        PROXY_0: accepting.address,
        PROXY_1: serve(serve_with(server(identities[PROXY_1]))),
    }
    with (
        listen() as listener,
        closing(connect_parties(HELPER, mistaken, listener, addresses, PATIENCE)) as transport,
        pytest.raises(PeerMisbehavedError, match=r"proxy 0 broke the TLS connection: .*UNKNOWN_CA"),
    ):
        Channel(transport).receive(PROXY_0, 1)
    assert connect_real_peers(accepting, identities) == GREETING
