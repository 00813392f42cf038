"""The header of a frame at its limits."""

from __future__ import annotations

import struct

import pytest

from ppaurora.channel.base import NO_SESSION, Channel
from ppaurora.channel.frames import HEADER_BYTES, MAX_PAYLOAD_BYTES, MAX_SEQUENCE, SESSION_BYTES, Header
from ppaurora.channel.memory import memory_transports
from ppaurora.errors import MisuseError
from ppaurora.suites.role import Role

PROXY_0, PROXY_1, HELPER = Role


@pytest.mark.parametrize(
    "header",
    [
        Header(depth=0, session=NO_SESSION, sequence=0, length=0),
        Header(depth=(1 << 32) - 1, session=b"\xff" * 16, sequence=(1 << 32) - 1, length=MAX_PAYLOAD_BYTES),
    ],
    ids=["smallest", "largest"],
)
def test_a_header_at_its_limits_survives_the_wire(header: Header) -> None:
    raw = header.pack()
    assert len(raw) == HEADER_BYTES == 32
    assert Header.unpack(raw, HELPER) == header


def test_the_layout_is_the_documented_one() -> None:
    session = bytes(range(100, 116))
    raw = Header(depth=7, session=session, sequence=9, length=1000).pack()
    assert raw == struct.pack(">4sI16sII", b"PPA8", 7, session, 9, 1000)
    assert NO_SESSION == bytes(SESSION_BYTES) == bytes(16)


def test_a_number_that_does_not_fit_does_not_wrap() -> None:
    with pytest.raises(struct.error):
        Header(1, NO_SESSION, MAX_SEQUENCE + 1, 0).pack()


def test_a_link_that_ran_out_of_numbers_refuses_to_send() -> None:
    sender, receiver, _ = map(Channel, memory_transports(Role))
    sender._sent[PROXY_1] = receiver._received[PROXY_0] = MAX_SEQUENCE
    # The control: the last number is still good.
    sender.send(PROXY_1, b"last")
    assert bytes(receiver.receive(PROXY_0, 4)) == b"last"
    counted = sender.meter.messages, sender.meter.bytes
    with pytest.raises(MisuseError, match=r"^proxy 1 was sent 4294967296 frames"):
        sender.send(PROXY_1, b"one too many")
    assert (sender.meter.messages, sender.meter.bytes) == counted
    # Every link has numbers of its own.
    sender.send(HELPER, b"first")
