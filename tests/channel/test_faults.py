"""What a peer may not send, and who is blamed for it."""

from __future__ import annotations

import pytest

from ppaurora.channel.base import Channel
from ppaurora.channel.frames import MAX_PAYLOAD_BYTES, Header
from ppaurora.channel.memory import memory_transports
from ppaurora.errors import PeerMisbehavedError
from ppaurora.suites.role import Role
from tests.support.channels import Connect, ConnectTls, frame

PROXY_0, PROXY_1, HELPER = Role
SESSION = b"a session's name"
FAULTS = {
    "another length": (frame(b"12345", session=SESSION), "sent 5 bytes in frame 0 where 4 were due"),
    "another session": (frame(b"1234", session=b"another's, or so"), "speaks in another session"),
    "no session": (frame(b"1234"), "speaks in another session"),
    "a frame skipped": (
        frame(b"1234", session=SESSION, sequence=1),
        "sent frame number 1 where 0 was due",
    ),
    "garbage": (
        b"GET / HTTP/1.1\r\nHost: proxy-1\r\n\r\n".ljust(64),
        "sent bytes that are not a ppaurora frame",
    ),
    "too large to be true": (
        Header(1, SESSION, 0, MAX_PAYLOAD_BYTES + 1).pack(),
        f"announced a frame of {MAX_PAYLOAD_BYTES + 1} bytes",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_the_protocol_does_not_allow_is_blamed_on_the_peer(connect: Connect, fault: str) -> None:
    raw, complaint = FAULTS[fault]
    transports = connect()
    receiver = Channel(transports[PROXY_1])
    receiver.session = SESSION
    transports[PROXY_0].put(PROXY_1, [raw])
    with pytest.raises(PeerMisbehavedError, match=f"^proxy 0 {complaint}") as caught:
        receiver.receive(PROXY_0, 4)
    assert caught.value.peer == "proxy 0"


def test_a_frame_made_by_hand_is_taken_if_it_is_right(connect: Connect) -> None:
    """The control of the test above."""
    transports = connect()
    receiver = Channel(transports[PROXY_1])
    receiver.session = SESSION
    transports[PROXY_0].put(PROXY_1, [frame(b"1234", session=SESSION)])
    assert bytes(receiver.receive(PROXY_0, 4)) == b"1234"


def test_a_frame_sent_twice_is_noticed(connect: Connect) -> None:
    transports = connect()
    receiver = Channel(transports[PROXY_1])
    for _ in range(2):
        transports[PROXY_0].put(PROXY_1, [frame(b"1234")])
    assert bytes(receiver.receive(PROXY_0, 4)) == b"1234"
    with pytest.raises(PeerMisbehavedError, match="proxy 0 sent frame number 0 where 1 was due"):
        receiver.receive(PROXY_0, 4)


def test_a_frame_shorter_than_it_announces_is_noticed_in_memory() -> None:
    transports = memory_transports(Role)
    transports[PROXY_0].put(PROXY_1, [frame(b"1234")[:-1]])
    with pytest.raises(PeerMisbehavedError, match="proxy 0 sent a frame whose length"):
        transports[PROXY_1].get(PROXY_0)
    transports[PROXY_0].put(PROXY_1, [b"short"])
    with pytest.raises(PeerMisbehavedError, match="proxy 0 sent bytes that are not"):
        transports[PROXY_1].get(PROXY_0)


def test_bytes_from_outside_the_tls_session_are_noticed(connect_tls: ConnectTls) -> None:
    """Somebody on the wire: bytes that never went through the peer's encryption."""
    transports = connect_tls()
    sock = transports[PROXY_0]._links[PROXY_1].sock
    receiver = Channel(transports[PROXY_1])
    sock.send(frame(b"fine"))
    assert bytes(receiver.receive(PROXY_0, 4)) == b"fine"
    with open(sock.fileno(), "wb", buffering=0, closefd=False) as wire:
        wire.write(frame(b"evil", sequence=1))
    with pytest.raises(PeerMisbehavedError, match=r"^proxy 0 broke the TLS connection"):
        receiver.receive(PROXY_0, 4)
