"""Who gets in: versions, certificates, pins, strangers at the door."""

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
from tests.support.tls_peers import WELCOME, House, client, knock, let_peers_in, visit

PROXY_0, PROXY_1, HELPER = Role


def test_the_parties_speak_tls_1_3(identities: Identities) -> None:
    with ExitStack() as cleanup:
        transports = [cleanup.enter_context(closing(end)) for end in tls_transports(identities)]
        versions = [link.sock.version() for end in transports for link in end._links.values()]
    assert versions == ["TLSv1.3"] * 6


def test_a_client_with_the_right_certificate_is_taken_for_the_peer(
    house: House, identities: Identities
) -> None:
    """The control of the refusals below: this client lacks only what they take from it."""
    with visit(house.address, client(identities[HELPER])):
        assert knock(house.address, client(identities[PROXY_1])).endswith(WELCOME)


def test_a_tls_1_2_client_is_refused(house: House, identities: Identities) -> None:
    old_fashioned = client(identities[PROXY_1], newest=ssl.TLSVersion.TLSv1_2)
    assert knock(house.address, old_fashioned) == b"TLSV1_ALERT_PROTOCOL_VERSION"
    assert let_peers_in(house, identities) == WELCOME


def test_a_client_without_a_certificate_is_refused(house: House, identities: Identities) -> None:
    nameless = client(identities[PROXY_1], certificate=False)
    assert knock(house.address, nameless) == b"TLSV13_ALERT_CERTIFICATE_REQUIRED"
    assert let_peers_in(house, identities) == WELCOME


def test_a_certificate_of_another_authority_is_refused(
    house: House, identities: Identities, foreign: Identities
) -> None:
    assert knock(house.address, client(foreign[PROXY_1])) == b"TLSV1_ALERT_UNKNOWN_CA"
    assert let_peers_in(house, identities) == WELCOME


def test_a_certificate_for_no_awaited_role_is_refused(house: House, identities: Identities) -> None:
    assert knock(house.address, client(identities[PROXY_0])) == b""
    assert let_peers_in(house, identities) == WELCOME


def test_a_peer_cannot_take_the_place_of_the_other(house: House, identities: Identities) -> None:
    with visit(house.address, client(identities[HELPER])):
        assert knock(house.address, client(identities[HELPER])) == b""
        assert knock(house.address, client(identities[PROXY_1])).endswith(WELCOME)


@pytest.mark.parametrize(
    "words",
    [b"", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"GET / HTTP/1.0\r\n\r\n"],
    ids=["silence", "half a greeting", "no TLS"],
)
def test_a_stranger_that_lingers_holds_up_nobody(house: House, identities: Identities, words: bytes) -> None:
    with socket.create_connection(house.address, timeout=PATIENCE) as stranger:
        stranger.sendall(words)
        start = time.monotonic()
        assert let_peers_in(house, identities) == WELCOME
        assert time.monotonic() - start < 3
        house.owner.result(PATIENCE)
        assert is_dropped(stranger)


def is_dropped(stranger: socket.socket) -> bool:
    """The other end is closed, with or without last words."""
    try:
        while stranger.recv(1000):
            pass
    except ConnectionResetError:
        pass
    except TimeoutError:
        return False
    return True


def test_a_crowd_of_silent_strangers_makes_room_for_the_peers(
    house: House, identities: Identities, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ppaurora.channel.tls.connecting._MAX_PENDING", 4)
    with ExitStack() as cleanup:
        crowd = [
            cleanup.enter_context(socket.create_connection(house.address, timeout=PATIENCE)) for _ in range(6)
        ]
        assert all(is_dropped(stranger) for stranger in crowd[:2])
        crowd[2].settimeout(0.1)
        assert not is_dropped(crowd[2])
        assert let_peers_in(house, identities) == WELCOME
        house.owner.result(PATIENCE)
        assert all(is_dropped(stranger) for stranger in crowd[3:])


def test_a_stranger_that_leaves_at_once_harms_nobody(house: House, identities: Identities) -> None:
    for _ in range(5):
        socket.create_connection(house.address).close()
    assert let_peers_in(house, identities) == WELCOME


def test_peers_that_never_come_are_named(open_house: Callable[..., House], identities: Identities) -> None:
    house = open_house(timeout=0.5)
    with (
        socket.create_connection(house.address),
        visit(house.address, client(identities[PROXY_1])),
        pytest.raises(PeerTimeoutError, match="helper did not connect in time"),
    ):
        house.owner.result(PATIENCE)
