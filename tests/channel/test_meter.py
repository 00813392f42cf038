"""The meter: messages, bytes, and rounds as the longest chain of messages."""

from __future__ import annotations

import pytest

from ppaurora.channel.base import Channel
from ppaurora.channel.frames import HEADER_BYTES
from ppaurora.channel.memory import memory_transports
from ppaurora.channel.meter import Cost, Meter
from ppaurora.suites.role import Role
from tests.support.channels import LINKS, receive_all, send_all

PROXY_0, PROXY_1, HELPER = Role


def rounds(channels: list[Channel]) -> int:
    return max(channel.meter.depth for channel in channels)


def test_the_meter_counts_payload_and_headers(channels: list[Channel]) -> None:
    payloads = [b"", b"a", bytes(1000)]
    send_all(channels[PROXY_0], PROXY_1, payloads)
    receive_all(channels[PROXY_1], PROXY_0, [0, 1, 1000])
    assert channels[PROXY_0].meter.messages == 3
    assert channels[PROXY_0].meter.bytes == 1001 + 3 * HEADER_BYTES
    assert channels[PROXY_1].meter.messages == 0
    assert channels[PROXY_1].meter.bytes == 0


def test_the_meter_counts_what_is_on_the_wire(monkeypatch: pytest.MonkeyPatch) -> None:
    transports = memory_transports(Role)
    wire = bytearray()
    monkeypatch.setattr(transports[PROXY_0], "put", lambda to, buffers: wire.extend(b"".join(buffers)))
    channel = Channel(transports[PROXY_0])
    channel.send(PROXY_1, b"abc", b"de")
    channel.send(HELPER)
    assert channel.meter.bytes == len(wire) == 5 + 2 * HEADER_BYTES


@pytest.mark.parametrize("turns", [1, 2, 7])
def test_ping_pong_takes_a_round_per_message(channels: list[Channel], turns: int) -> None:
    for turn in range(turns):
        sender, receiver = (PROXY_0, PROXY_1) if turn % 2 == 0 else (PROXY_1, PROXY_0)
        channels[sender].send(receiver, b"ball")
        channels[receiver].receive(sender, 4)
    assert rounds(channels) == turns


@pytest.mark.parametrize("exchanges", [1, 5])
def test_a_parallel_exchange_takes_one_round(channels: list[Channel], exchanges: int) -> None:
    for _ in range(exchanges):
        for sender, receiver in LINKS:
            channels[sender].send(receiver, b"x")
        for sender, receiver in LINKS:
            channels[receiver].receive(sender, 1)
    assert rounds(channels) == exchanges


def test_a_stream_that_needs_no_answer_takes_one_round(channels: list[Channel]) -> None:
    for _ in range(10):
        channels[HELPER].send(PROXY_0, b"dealt")
    receive_all(channels[PROXY_0], HELPER, [5] * 10)
    assert rounds(channels) == 1


def test_rounds_are_the_longest_chain_through_all_parties(channels: list[Channel]) -> None:
    def passes(sender: Role, receiver: Role) -> None:
        channels[sender].send(receiver, b"x")
        channels[receiver].receive(sender, 1)

    passes(PROXY_0, PROXY_1)
    passes(PROXY_1, HELPER)
    passes(HELPER, PROXY_0)
    passes(PROXY_1, PROXY_0)  # a side branch, two deep
    assert rounds(channels) == 3
    passes(PROXY_0, PROXY_1)
    assert rounds(channels) == 4


def test_a_message_that_was_not_read_yet_does_not_deepen_the_next(channels: list[Channel]) -> None:
    channels[PROXY_0].send(PROXY_1, b"x")
    channels[PROXY_1].send(PROXY_0, b"y")
    channels[PROXY_0].receive(PROXY_1, 1)
    channels[PROXY_1].receive(PROXY_0, 1)
    assert rounds(channels) == 1


def test_the_meter_attributes_rounds_to_the_innermost_step(channels: list[Channel]) -> None:
    """Two ping-pongs in the inner step, one before and one after it, one before everything."""
    proxy_0, proxy_1 = channels[PROXY_0], channels[PROXY_1]

    def ping_pong() -> None:
        proxy_0.send(PROXY_1, b"ping")
        proxy_1.receive(PROXY_0, 4)
        proxy_1.send(PROXY_0, b"pong")
        proxy_0.receive(PROXY_1, 4)

    ping_pong()
    with proxy_0.meter.step("outer"):
        ping_pong()
        with proxy_0.meter.step("inner"):
            ping_pong()
            ping_pong()
        ping_pong()
    counted = proxy_0.meter.reading()
    assert counted.rounds == 10
    assert {name: step.rounds for name, step in counted.steps.items()} == {
        "session": 2,
        "outer": 4,
        "inner": 4,
    }


def test_the_meter_attributes_messages_to_the_innermost_step(channels: list[Channel]) -> None:
    channel = channels[PROXY_0]
    channel.send(PROXY_1, b"1")
    with channel.meter.step("merge"):
        channel.send(PROXY_1, b"22")
        with channel.meter.step("compare"):
            channel.send(PROXY_1, b"333")
        channel.send(PROXY_1, b"4444")
    steps = channel.meter.reading().steps
    assert steps == {
        "session": Cost(messages=1, bytes=HEADER_BYTES + 1, rounds=0),
        "merge": Cost(messages=2, bytes=2 * HEADER_BYTES + 6, rounds=0),
        "compare": Cost(messages=1, bytes=HEADER_BYTES + 3, rounds=0),
    }
    assert channel.meter.bytes == sum(step.bytes for step in steps.values())


def test_a_step_ends_with_its_error() -> None:
    meter = Meter()
    with pytest.raises(KeyError), meter.step("doomed"):
        raise KeyError
    meter.sent(1)
    assert meter.steps["session"].messages == 1
    assert meter.steps["doomed"].messages == 0
