"""What every transport promises to a `Channel`: payloads arrive whole, in order, on the right link."""

from __future__ import annotations

import numpy as np
import pytest

from ppaurora.channel.base import Channel
from ppaurora.errors import MisuseError
from ppaurora.suites.role import Role
from tests.support.channels import LINKS, Connect, frame, receive_all, send_all, side_by_side

PROXY_0, PROXY_1, HELPER = Role


@pytest.mark.parametrize(("sender", "receiver"), LINKS)
def test_payloads_arrive_intact_and_in_order(channels: list[Channel], sender: Role, receiver: Role) -> None:
    payloads = [b"first", b"", bytes(range(256)) * 4096, b"\0", b"", b"last"]
    _, received = side_by_side(
        lambda: send_all(channels[sender], receiver, payloads),
        lambda: receive_all(channels[receiver], sender, [len(payload) for payload in payloads]),
    )
    assert received == payloads


def test_several_buffers_leave_as_one_frame(channels: list[Channel]) -> None:
    channels[PROXY_0].send(PROXY_1, b"one", bytearray(b"two"), b"", memoryview(b"three"))
    assert bytes(channels[PROXY_1].receive(PROXY_0, 11)) == b"onetwothree"
    assert channels[PROXY_0].meter.messages == 1


def test_a_send_without_buffers_is_an_empty_frame(channels: list[Channel]) -> None:
    channels[PROXY_0].send(PROXY_1)
    assert bytes(channels[PROXY_1].receive(PROXY_0, 0)) == b""


@pytest.mark.parametrize(
    "array",
    [
        np.arange(7, dtype=np.uint64),
        np.arange(12, dtype=np.uint64).reshape(3, 4),
        np.zeros((0, 5), dtype=np.uint64),
        np.arange(100_000, dtype=np.uint64).reshape(2, -1),
        np.array([True, False, True]),
    ],
    ids=["words", "table", "no rows", "many", "bools"],
)
def test_arrays_are_sent_by_their_memory(channels: list[Channel], array: np.ndarray) -> None:
    def send() -> None:
        channels[PROXY_0].send(HELPER, array.data, b"!")
        channels[PROXY_0].finish()

    _, received = side_by_side(send, lambda: channels[HELPER].receive(PROXY_0, array.nbytes + 1))
    assert bytes(received) == array.tobytes() + b"!"


def test_links_do_not_disturb_each_other(channels: list[Channel]) -> None:
    for sender, receiver in LINKS:
        channels[sender].send(receiver, f"{sender.title} to {receiver.title}".encode())
    for sender, receiver in LINKS[::-1]:
        words = f"{sender.title} to {receiver.title}".encode()
        assert bytes(channels[receiver].receive(sender, len(words))) == words


def test_a_frame_above_the_limit_is_our_own_mistake(
    channels: list[Channel], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ppaurora.channel.base.MAX_PAYLOAD_BYTES", 1000)
    with pytest.raises(MisuseError, match="1001 bytes"):
        channels[PROXY_0].send(PROXY_1, bytes(1001))
    channels[PROXY_0].send(PROXY_1, bytes(1000))
    assert channels[PROXY_1].receive(PROXY_0, 1000).nbytes == 1000


def test_every_link_counts_its_own_frames(channels: list[Channel]) -> None:
    channels[PROXY_0].send(HELPER, b"1234")
    channels[PROXY_0].send(PROXY_1, b"5678")
    assert bytes(channels[PROXY_1].receive(PROXY_0, 4)) == b"5678"


def test_an_absurd_depth_does_not_stop_the_honest(connect: Connect) -> None:
    transports = connect()
    channel = Channel(transports[PROXY_1])
    transports[PROXY_0].put(PROXY_1, [frame(depth=(1 << 32) - 1)])
    channel.receive(PROXY_0, 0)
    channel.send(HELPER, b"goes on")
    assert bytes(Channel(transports[HELPER]).receive(PROXY_1, 7)) == b"goes on"
