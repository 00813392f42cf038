"""A slower network than the one at hand: latency and bandwidth on every link, for measurements.

The sender stamps each frame with the time; the receiver holds it back until it would have arrived
over a link of that delay and speed. A frame that was sent long before it is wanted costs nothing, as
in a real network. All parties must share a clock, so this is for one machine.
"""

from __future__ import annotations

import re
import struct
import time
from collections.abc import Sequence
from dataclasses import replace

import msgspec

from ppaurora.channel.base import Buffer, Transport
from ppaurora.channel.frames import HEADER_BYTES, MAX_PAYLOAD_BYTES, Frame, Header
from ppaurora.channel.servers import Server
from ppaurora.errors import InputError, PeerMisbehavedError

_STAMP = struct.Struct(">Q")
_NANOSECONDS = 1_000_000_000
_TIME_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6}
_RATE_UNITS = {"kbit": 1e3, "mbit": 1e6, "gbit": 1e9}


class Network(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A network: the round-trip time, and the bits per second of each direction of a link."""

    round_trip_seconds: float = 0.0
    bits_per_second: float | None = None

    @classmethod
    def parse(cls, round_trip: str | None, bandwidth: str | None) -> Network | None:
        """Return the network of words like "10ms" and "100mbit"; None if nothing is shaped."""
        if round_trip is None and bandwidth is None:
            return None
        return cls(
            0.0 if round_trip is None else _quantity(round_trip, _TIME_UNITS, "a round-trip time"),
            None if bandwidth is None else _quantity(bandwidth, _RATE_UNITS, "a bandwidth"),
        )

    def __str__(self) -> str:
        speed = "" if self.bits_per_second is None else f", {self.bits_per_second / 1e6:g} Mbit/s"
        return f"{self.round_trip_seconds * 1e3:g} ms{speed}"


def _quantity(text: str, units: dict[str, float], what: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]+)", text.strip().lower())
    if match is None or match[2] not in units or float(match[1]) == 0:
        raise InputError(f"'{text}' is not {what}; write a number and a unit: {', '.join(units)}")
    return float(match[1]) * units[match[2]]


class ShapedTransport:
    """Any transport, slowed down."""

    def __init__(self, inner: Transport, shape: Network) -> None:
        self.role = inner.role
        self._inner = inner
        self._delay = round(shape.round_trip_seconds / 2 * _NANOSECONDS)
        self._rate = shape.bits_per_second
        self._busy_until = dict.fromkeys(inner.role.peers, 0)

    def put(self, to: Server, buffers: Sequence[Buffer]) -> None:
        header = Header.unpack(memoryview(buffers[0])[:HEADER_BYTES], self.role)
        stamped = replace(header, length=header.length + _STAMP.size)
        self._inner.put(to, [stamped.pack(), *buffers[1:], _STAMP.pack(time.monotonic_ns())])

    def get(self, sender: Server, due: int = MAX_PAYLOAD_BYTES) -> Frame:
        frame = self._inner.get(sender, due + _STAMP.size)
        payload = memoryview(frame.payload)
        if len(payload) < _STAMP.size:
            raise PeerMisbehavedError(sender.title, "sent a frame without the time stamp of a shaped channel")
        (sent,) = _STAMP.unpack(payload[-_STAMP.size :])
        header = replace(frame.header, length=frame.header.length - _STAMP.size)
        start = max(sent, self._busy_until[sender])
        seconds = 0.0 if self._rate is None else 8 * (HEADER_BYTES + header.length) / self._rate
        self._busy_until[sender] = start + round(seconds * _NANOSECONDS)
        wait = self._busy_until[sender] + self._delay - time.monotonic_ns()
        if wait > 0:
            time.sleep(wait / _NANOSECONDS)
        return Frame(header, payload[: -_STAMP.size])

    def finish(self) -> None:
        self._inner.finish()

    def close(self) -> None:
        self._inner.close()
