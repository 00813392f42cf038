"""Slower networks, as benchmarks ask for them: latency, bandwidth, and their spelling."""

from __future__ import annotations

import time

import pytest

from ppaurora.channel.base import Channel
from ppaurora.channel.memory import memory_transports
from ppaurora.channel.servers import Server
from ppaurora.channel.shaped import Network, ShapedTransport
from ppaurora.errors import InputError
from ppaurora.local.threads import run_parties
from ppaurora.suites.role import Role


def ping_pong(shape: Network, payload: int, turns: int) -> float:
    """Seconds that proxy 0 and proxy 1 take to throw a payload to and fro."""
    transports = [ShapedTransport(transport, shape) for transport in memory_transports(Role, timeout=120)]

    def party(server: Server) -> float:
        role = Role(server)
        channel = Channel(transports[role])
        start = time.monotonic()
        if role is not Role.HELPER:
            for turn in range(2 * turns):
                if turn % 2 == role:
                    channel.send(role.other_proxy, bytes(payload))
                else:
                    assert bytes(channel.receive(role.other_proxy, payload)) == bytes(payload)
        return time.monotonic() - start

    return max(run_parties(party, transports))


def test_latency_is_paid_once_per_message() -> None:
    """Ten round trips of 20 ms cannot take less; a loaded machine may take longer."""
    assert ping_pong(Network(0.020), payload=10, turns=10) >= 0.2


def test_bandwidth_is_paid_per_byte() -> None:
    """Four messages of 100 kB at 8 Mbit/s take 0.1 s each."""
    assert ping_pong(Network(0.0, 8e6), payload=100_000, turns=2) >= 0.4


def test_what_was_sent_early_is_not_delayed_again() -> None:
    """Twenty frames on their way at once arrive after one delay, not twenty."""
    delay = 1.0  # of which twenty are more than a busy machine adds to one
    transports = [
        ShapedTransport(transport, Network(2 * delay)) for transport in memory_transports(Role, timeout=120)
    ]
    start = time.monotonic()

    def party(role: Server) -> float:
        channel = Channel(transports[role])
        if role is Role.HELPER:
            for _ in range(20):
                channel.send(Role.PROXY_1, b"dealt")
        elif role is Role.PROXY_1:
            for _ in range(20):
                channel.receive(Role.HELPER, 5)
        return time.monotonic() - start

    took = run_parties(party, transports)[Role.PROXY_1]
    assert delay <= took < 20 * delay


@pytest.mark.parametrize("text", ["10", "ms", "-3ms", "10 parsecs", "0ms"])
def test_a_bad_round_trip_time_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="round-trip"):
        Network.parse(text, None)


def test_shapes_are_parsed() -> None:
    assert Network.parse("10ms", "100mbit") == Network(0.01, 100e6)
    assert Network.parse(None, "1.5gbit") == Network(0.0, 1.5e9)
    assert Network.parse(None, None) is None
