"""What a meter says at the end, as a typed value."""

from __future__ import annotations

import pytest

from ppaurora.channel.base import Channel
from ppaurora.channel.frames import HEADER_BYTES
from ppaurora.channel.memory import memory_transports
from ppaurora.channel.meter import Cost, Meter, MeterReading
from ppaurora.io.models import from_builtins, to_builtins
from ppaurora.suites.role import Role

PROXY_0, PROXY_1, HELPER = Role


def test_a_reading_has_the_whole_and_the_steps() -> None:
    """One ping-pong before everything, two within a step, one of them within an inner step."""
    proxy_0, proxy_1, _ = map(Channel, memory_transports(Role))

    def ping_pong() -> None:
        proxy_0.send(PROXY_1, b"ping")
        proxy_1.receive(PROXY_0, 4)
        proxy_1.send(PROXY_0, b"pong")
        proxy_0.receive(PROXY_1, 4)

    ping_pong()
    with proxy_0.meter.step("merge"):
        ping_pong()
        with proxy_0.meter.step("compare"):
            ping_pong()
    sent = HEADER_BYTES + 4
    one = Cost(messages=1, bytes=sent, rounds=2)
    assert proxy_0.meter.reading() == MeterReading(
        rounds=6, messages=3, bytes=3 * sent, steps={"session": one, "merge": one, "compare": one}
    )


def test_a_reading_can_be_taken_again_and_does_not_follow_the_meter() -> None:
    meter = Meter()
    meter.sent(10)
    first = meter.reading()
    assert meter.reading() == first
    meter.sent(7)
    assert (first.messages, first.bytes) == (1, 10)
    assert first.steps == {"session": Cost(messages=1, bytes=10)}
    assert meter.reading().steps == {"session": Cost(messages=2, bytes=17)}


def test_a_meter_that_counted_nothing_has_a_reading() -> None:
    assert Meter().reading() == MeterReading(rounds=0, messages=0, bytes=0, steps={"session": Cost()})


def test_a_reading_does_not_change() -> None:
    reading = Meter().reading()
    with pytest.raises(AttributeError, match="immutable"):
        reading.rounds = 1  # type: ignore[misc]


def test_plain_values_have_the_names_of_the_fields() -> None:
    meter = Meter()
    meter.sent(10)
    step = {"messages": 1, "bytes": 10, "rounds": 0}
    plain = to_builtins(meter.reading())
    assert plain == {"rounds": 0, "messages": 1, "bytes": 10, "steps": {"session": step}}
    assert from_builtins(MeterReading, plain) == meter.reading()
    with pytest.raises(ValueError, match="unknown field"):
        from_builtins(MeterReading, {**plain, "more": 1})
