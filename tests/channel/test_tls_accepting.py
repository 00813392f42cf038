"""Who is accepted: versions, certificates, pins, clients that are no peers."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable
from contextlib import ExitStack, closing

import pytest

from ppaurora.errors import PeerTimeoutError
from ppaurora.suites.role import Role
from tests.support.channels import PATIENCE, Identities, tls_transports
from tests.support.tls_peers import GREETING, AcceptingParty, answer_to, client, connect_real_peers, connected

PROXY_0, PROXY_1, HELPER = Role


def test_the_parties_speak_tls_1_3(identities: Identities) -> None:
    with ExitStack() as cleanup:
        transports = [cleanup.enter_context(closing(end)) for end in tls_transports(identities)]
        versions = [link.sock.version() for end in transports for link in end._links.values()]
    assert versions == ["TLSv1.3"] * 6


def test_a_client_with_the_right_certificate_is_taken_for_the_peer(
    accepting: AcceptingParty, identities: Identities
) -> None:
    """The control of the refusals below: this client lacks only what they take from it."""
    with connected(accepting.address, client(identities[HELPER])):
        assert answer_to(accepting.address, client(identities[PROXY_1])).endswith(GREETING)


def test_a_tls_1_2_client_is_refused(accepting: AcceptingParty, identities: Identities) -> None:
    old_fashioned = client(identities[PROXY_1], newest=ssl.TLSVersion.TLSv1_2)
    assert answer_to(accepting.address, old_fashioned) == b"TLSV1_ALERT_PROTOCOL_VERSION"
    assert connect_real_peers(accepting, identities) == GREETING


def test_a_client_without_a_certificate_is_refused(accepting: AcceptingParty, identities: Identities) -> None:
    nameless = client(identities[PROXY_1], certificate=False)
    assert answer_to(accepting.address, nameless) == b"TLSV13_ALERT_CERTIFICATE_REQUIRED"
    assert connect_real_peers(accepting, identities) == GREETING


def test_a_certificate_of_another_authority_is_refused(
    accepting: AcceptingParty, identities: Identities, foreign: Identities
) -> None:
    assert answer_to(accepting.address, client(foreign[PROXY_1])) == b"TLSV1_ALERT_UNKNOWN_CA"
    assert connect_real_peers(accepting, identities) == GREETING


def test_a_certificate_for_no_awaited_role_is_refused(
    accepting: AcceptingParty, identities: Identities
) -> None:
    assert answer_to(accepting.address, client(identities[PROXY_0])) == b""
    assert connect_real_peers(accepting, identities) == GREETING


def test_a_peer_cannot_take_the_place_of_the_other(accepting: AcceptingParty, identities: Identities) -> None:
    with connected(accepting.address, client(identities[HELPER])):
        assert answer_to(accepting.address, client(identities[HELPER])) == b""
        assert answer_to(accepting.address, client(identities[PROXY_1])).endswith(GREETING)


@pytest.mark.parametrize(
    "words",
    [b"", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"GET / HTTP/1.0\r\n\r\n"],
    ids=["silence", "half a ClientHello", "no TLS"],
)
def test_a_client_that_lingers_holds_up_nobody(
    accepting: AcceptingParty, identities: Identities, words: bytes
) -> None:
    with socket.create_connection(accepting.address, timeout=PATIENCE) as client_socket:
        client_socket.sendall(words)
        start = time.monotonic()
        assert connect_real_peers(accepting, identities) == GREETING
        assert time.monotonic() - start < PATIENCE / 4  # it would be held up as long as peers are waited for
        accepting.transport.result(PATIENCE)
        assert is_dropped(client_socket)


def is_dropped(client_socket: socket.socket) -> bool:
    """The other end is closed, with or without last words."""
    try:
        while client_socket.recv(1000):
            pass
    except ConnectionResetError:
        pass
    except TimeoutError:
        return False
    return True


def test_a_flood_of_silent_clients_makes_room_for_the_peers(
    accepting: AcceptingParty, identities: Identities, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ppaurora.channel.tls.connecting._MAX_PENDING", 4)
    with ExitStack() as cleanup:
        clients = [
            cleanup.enter_context(socket.create_connection(accepting.address, timeout=PATIENCE))
            for _ in range(6)
        ]
        assert all(is_dropped(client_socket) for client_socket in clients[:2])
        clients[2].settimeout(0.1)
        assert not is_dropped(clients[2])
        assert connect_real_peers(accepting, identities) == GREETING
        accepting.transport.result(PATIENCE)
        assert all(is_dropped(client_socket) for client_socket in clients[3:])


def test_a_client_that_leaves_at_once_harms_nobody(accepting: AcceptingParty, identities: Identities) -> None:
    for _ in range(5):
        socket.create_connection(accepting.address).close()
    assert connect_real_peers(accepting, identities) == GREETING


def test_peers_that_never_come_are_named(
    start_accepting: Callable[..., AcceptingParty], identities: Identities
) -> None:
    accepting = start_accepting(timeout=5.0)  # in which proxy 1 does connect
    with (
        socket.create_connection(accepting.address),
        connected(accepting.address, client(identities[PROXY_1])),
        pytest.raises(PeerTimeoutError, match="helper did not connect in time"),
    ):
        accepting.transport.result(PATIENCE)
