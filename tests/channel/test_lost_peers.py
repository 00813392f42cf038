"""Peers that close, and peers that fall silent."""

from __future__ import annotations

import time

import pytest

from ppaurora.channel.base import Channel
from ppaurora.channel.frames import HEADER_BYTES
from ppaurora.channel.servers import Server
from ppaurora.errors import PeerLostError, PeerTimeoutError
from ppaurora.local.threads import run_parties
from ppaurora.suites.role import Role
from tests.support.channels import (
    MB,
    Connect,
    ConnectTls,
    failure_of,
    frame,
    most_bytes_in_flight,
    send_all,
    side_by_side,
)

PROXY_0, PROXY_1, HELPER = Role


def test_a_peer_that_closes_is_named(connect: Connect) -> None:
    transports = connect()
    waiting = Channel(transports[PROXY_0])
    transports[HELPER].close()
    for _ in range(2):
        with pytest.raises(PeerLostError, match=r"^helper closed the connection") as caught:
            waiting.receive(HELPER, 1)
        assert caught.value.peer == "helper"


def test_a_peer_that_closes_wakes_who_waits(connect: Connect) -> None:
    transports = connect()

    def close_later() -> None:
        time.sleep(0.1)
        transports[HELPER].close()

    error, _ = side_by_side(
        lambda: failure_of(lambda: Channel(transports[PROXY_0]).receive(HELPER, 1)), close_later
    )
    assert isinstance(error, PeerLostError)
    assert error.peer == "helper"


def test_who_closes_harms_only_its_own_links(connect: Connect) -> None:
    transports = connect()
    transports[HELPER].close()
    Channel(transports[PROXY_0]).send(PROXY_1, b"still here")
    assert bytes(Channel(transports[PROXY_1]).receive(PROXY_0, 10)) == b"still here"


def test_what_was_finished_before_the_close_still_arrives(channels: list[Channel]) -> None:
    payload = bytes(most_bytes_in_flight() + MB)

    def say_and_leave() -> None:
        send_all(channels[HELPER], PROXY_0, [payload, b"bye"])
        channels[HELPER].close()

    def read_late() -> list[int]:
        time.sleep(0.1)
        return [channels[PROXY_0].receive(HELPER, size).nbytes for size in (len(payload), 3)]

    _, sizes = side_by_side(say_and_leave, read_late)
    assert sizes == [len(payload), 3]
    with pytest.raises(PeerLostError, match="helper"):
        channels[PROXY_0].receive(HELPER, 1)


def test_the_last_frames_of_a_party_in_a_thread_are_delivered(connect: Connect) -> None:
    """A helper that is done must not take with it what the proxies have not read yet."""
    transports = connect()
    size = most_bytes_in_flight() + MB

    def party(role: Server) -> int:
        channel = Channel(transports[role])
        if role is HELPER:
            channel.send(PROXY_0, bytes(size))
            return 0
        if role is PROXY_1:
            time.sleep(0.1)
            channel.send(PROXY_0, b"now")
            return 0
        channel.receive(PROXY_1, 3)
        return channel.receive(HELPER, size).nbytes

    assert run_parties(party, transports) == [size, 0, 0]


@pytest.mark.parametrize("cut", [1, HEADER_BYTES - 1, HEADER_BYTES, HEADER_BYTES + 3])
def test_a_peer_that_closes_within_a_frame_is_lost(connect_tls: ConnectTls, cut: int) -> None:
    transports = connect_tls()
    transports[PROXY_0].put(PROXY_1, [frame(b"1234")[:cut]])
    transports[PROXY_0].close()
    with pytest.raises(PeerLostError, match="proxy 0"):
        Channel(transports[PROXY_1]).receive(PROXY_0, 4)


def test_sending_to_a_peer_that_left_fails_in_the_end(connect_tls: ConnectTls) -> None:
    transports = connect_tls()
    transports[HELPER].close()
    channel = Channel(transports[PROXY_0])
    with pytest.raises(PeerLostError, match="helper"):
        send_all(channel, HELPER, [bytes(MB)] * 100)


def test_a_silent_peer_is_named_after_the_timeout(connect: Connect) -> None:
    transports = connect(timeout=0.3)
    Channel(transports[HELPER]).send(PROXY_0, b"not the one that is awaited")
    start = time.monotonic()
    with pytest.raises(PeerTimeoutError, match=r"^proxy 1 sent nothing for 0\.3 seconds$") as caught:
        Channel(transports[PROXY_0]).receive(PROXY_1, 1)
    assert caught.value.peer == "proxy 1"
    assert time.monotonic() - start >= 0.3


def test_a_peer_that_speaks_within_the_timeout_is_heard(connect: Connect) -> None:
    """The control of the test above."""
    transports = connect(timeout=60.0)

    def speak_late() -> None:
        time.sleep(0.3)
        Channel(transports[PROXY_1]).send(PROXY_0, b"!")

    received, _ = side_by_side(lambda: Channel(transports[PROXY_0]).receive(PROXY_1, 1), speak_late)
    assert bytes(received) == b"!"


def test_a_slow_frame_is_not_silence(connect_tls: ConnectTls) -> None:
    """It takes longer than a peer may be silent, in pieces of which none is late, also on a busy machine."""
    timeout = 8.0
    transports = connect_tls(timeout=timeout)
    raw = frame(bytes(4))

    def trickle() -> float:
        start = time.monotonic()
        for byte in raw:
            time.sleep(1.2 * timeout / len(raw))
            transports[PROXY_0].put(PROXY_1, [bytes([byte])])
        return time.monotonic() - start

    received, seconds = side_by_side(lambda: Channel(transports[PROXY_1]).receive(PROXY_0, 4), trickle)
    assert received.nbytes == 4
    assert seconds > timeout
