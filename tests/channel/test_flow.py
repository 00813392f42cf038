"""Who sends ahead of its reader: nobody blocks anybody for ever, and nobody fills another's memory."""

from __future__ import annotations

import fcntl
import socket
import sys
import termios
import time

import numpy as np
import pytest

from ppaurora.channel import memory
from ppaurora.channel.base import Channel
from ppaurora.channel.frames import HEADER_BYTES
from ppaurora.channel.memory import memory_transports
from ppaurora.errors import PeerTimeoutError
from ppaurora.suites.role import Role
from tests.support.channels import (
    MB,
    ConnectTls,
    failure_of,
    most_bytes_in_flight,
    receive_all,
    send_all,
    side_by_side,
)
from tests.support.server_processes import wait_until

PROXY_0, PROXY_1, HELPER = Role


def send_then_receive(channel: Channel, payloads: list[bytes]) -> list[bytes]:
    """One of two proxies that both speak before they listen."""
    peer = Role(channel.role).other_proxy
    for payload in payloads:
        channel.send(peer, payload)
    received = receive_all(channel, peer, [len(payload) for payload in payloads])
    channel.finish()
    return received


def both_proxies_speak_first(channels: list[Channel], sizes: list[int]) -> None:
    first = [np.random.default_rng(1).bytes(size) for size in sizes]
    second = [np.random.default_rng(2).bytes(size) for size in sizes]
    received_0, received_1 = side_by_side(
        lambda: send_then_receive(channels[PROXY_0], first),
        lambda: send_then_receive(channels[PROXY_1], second),
    )
    assert received_0 == second
    assert received_1 == first


def test_both_parties_may_send_a_large_frame_before_they_receive(channels: list[Channel]) -> None:
    both_proxies_speak_first(channels, [most_bytes_in_flight() + 8 * MB])


def test_both_parties_may_send_more_than_all_limits_before_they_receive(
    channels: list[Channel], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ppaurora.channel.tls.transport.OUTBOX_LIMIT", MB)
    monkeypatch.setattr("ppaurora.channel.tls.transport.INBOX_LIMIT", MB)
    both_proxies_speak_first(channels, [MB] * (most_bytes_in_flight() // MB + 8))


def test_a_large_frame_blocks_a_plain_socket(connect_tls: ConnectTls) -> None:
    """The control of the two tests above: the kernel alone does not hold what they send."""
    transport = connect_tls()[PROXY_0]
    sock = transport._links[PROXY_1].sock
    sock.settimeout(0.3)
    with pytest.raises(TimeoutError):
        sock.sendall(bytes(most_bytes_in_flight() + 8 * MB))


def test_frames_sent_far_ahead_wait_for_a_late_reader(
    channels: list[Channel], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ppaurora.channel.tls.transport.OUTBOX_LIMIT", MB)
    monkeypatch.setattr("ppaurora.channel.tls.transport.INBOX_LIMIT", MB)
    stream = [number.to_bytes(4, "big") * 50_000 for number in range(200)]

    def late_reader() -> list[bytes]:
        channels[PROXY_0].receive(PROXY_1, 4)
        return receive_all(channels[PROXY_0], HELPER, [len(payload) for payload in stream])

    def slow_proxy() -> None:
        time.sleep(0.2)  # meanwhile the helper's frames pile up
        channels[PROXY_1].send(PROXY_0, b"late")

    received, _, _ = side_by_side(
        late_reader, slow_proxy, lambda: send_all(channels[HELPER], PROXY_0, stream)
    )
    assert received == stream


@pytest.mark.parametrize(
    ("roomy", "workers"),
    [(False, 1), (True, 64), (True, 1)],
    ids=["held back", "one of many workers: held back", "control: within the limits"],
)
def test_a_helper_far_ahead_is_held_back(
    connect_tls: ConnectTls, monkeypatch: pytest.MonkeyPatch, roomy: bool, workers: int
) -> None:
    """While proxy 0 waits for proxy 1, only so much of the helper's stream is kept for later.

    Workers of a party share its room.
    """
    frames = most_bytes_in_flight() // MB + 8
    limit = frames * MB if roomy else MB
    monkeypatch.setattr("ppaurora.channel.tls.transport.OUTBOX_LIMIT", limit)
    monkeypatch.setattr("ppaurora.channel.tls.transport.INBOX_LIMIT", limit)
    transports = connect_tls()
    for transport in transports:
        for link in transport._links.values():
            link.workers = workers
    transports[HELPER]._timeout = 0.5
    proxy_0, proxy_1, helper = map(Channel, transports)

    def run_ahead() -> None:
        try:
            for _ in range(frames):
                helper.send(PROXY_0, bytes(MB))
        finally:
            proxy_1.send(PROXY_0, b"go")

    held_back, _ = side_by_side(lambda: failure_of(run_ahead), lambda: proxy_0.receive(PROXY_1, 2))
    if roomy and workers == 1:
        assert held_back is None
    else:
        assert isinstance(held_back, PeerTimeoutError)
        assert str(held_back) == "proxy 0 received nothing for 0.5 seconds"


@pytest.mark.parametrize("bounded", [True, False], ids=["held back", "control: within the limit"])
def test_a_helper_far_ahead_is_held_back_in_memory(monkeypatch: pytest.MonkeyPatch, bounded: bool) -> None:
    monkeypatch.setattr(memory, "MAILBOX_LIMIT", (4 if bounded else 8) * MB)
    transports = memory_transports(Role, timeout=0.3)
    helper, proxy_1 = Channel(transports[HELPER]), Channel(transports[PROXY_1])

    def run_ahead() -> None:
        for _ in range(6):
            helper.send(PROXY_1, bytes(MB - HEADER_BYTES))

    held_back = failure_of(run_ahead)
    if bounded:
        assert isinstance(held_back, PeerTimeoutError)
        assert str(held_back) == "proxy 1 received nothing for 0.3 seconds"
    else:
        assert held_back is None
    proxy_1.receive(HELPER, MB - HEADER_BYTES)
    # A reader that has left does not hold anybody up.
    proxy_1.close()
    run_ahead()


def bytes_at_hand(sock: socket.socket) -> int:
    """That have arrived, and were not read."""
    return int.from_bytes(fcntl.ioctl(sock, termios.FIONREAD, bytes(4)), sys.byteorder)


def test_empty_frames_count_against_the_limit_too(
    connect_tls: ConnectTls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ppaurora.channel.tls.transport.INBOX_LIMIT", 10 * HEADER_BYTES)
    proxy_0, _, helper = connect_tls()
    sender, receiver = Channel(helper), Channel(proxy_0)
    for _ in range(100):
        sender.send(PROXY_0)
    link = proxy_0._links[HELPER]
    # Even loopback delivers a little later on a busy machine: more must be there than is kept.
    assert wait_until(lambda: bytes_at_hand(link.sock) > 50 * HEADER_BYTES)
    receiver.receive(HELPER, 0)
    assert len(link.inbox) == 9
    for _ in range(99):
        receiver.receive(HELPER, 0)
    assert link.inbox_bytes == 0
