"""A party's channel to its peers: frames checked one by one on top of any transport."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ppaurora.channel.frames import (
    HEADER_BYTES,
    MAX_PAYLOAD_BYTES,
    MAX_SEQUENCE,
    SESSION_BYTES,
    Frame,
    Header,
)
from ppaurora.channel.meter import Meter
from ppaurora.channel.servers import Server
from ppaurora.errors import MisuseError, PeerMisbehavedError

Buffer = bytes | bytearray | memoryview
NO_SESSION = bytes(SESSION_BYTES)


class Transport(Protocol):
    """Moves whole frames between this party and its peers.

    `put` may return before the frame has left: two parties that both send before they receive do
    not block each other. The buffers must not change afterwards. `get` waits for the next frame of
    one peer; a peer that is silent, gone or talking nonsense raises the matching `PeerError`, and so does
    one that announces more bytes than are due, before they are taken.
    `finish` waits until all that was put has left; `close` ends everything at once.
    """

    role: Server

    def put(self, to: Server, buffers: Sequence[Buffer]) -> None: ...

    def get(self, sender: Server, due: int = MAX_PAYLOAD_BYTES) -> Frame: ...

    def finish(self) -> None: ...

    def close(self) -> None: ...


class Channel:
    """Sends and receives payloads of known length, in order, within one session."""

    def __init__(self, transport: Transport, meter: Meter | None = None) -> None:
        self.role = transport.role
        self.meter = Meter() if meter is None else meter
        self.session = NO_SESSION
        self._transport = transport
        self._sent = dict.fromkeys(self.role.peers, 0)
        self._received = dict.fromkeys(self.role.peers, 0)

    def send(self, to: Server, *payload: Buffer) -> None:
        """Send the buffers, one after the other, as one frame."""
        length = sum(memoryview(part).nbytes for part in payload)
        if length > MAX_PAYLOAD_BYTES:
            raise MisuseError(f"a frame of {length} bytes is above the limit of {MAX_PAYLOAD_BYTES}")
        sequence = self._sent[to]
        if sequence > MAX_SEQUENCE:
            raise MisuseError(
                f"{to.title} was sent {sequence} frames, as many as can be numbered in one session"
            )
        depth = self.meter.sent(HEADER_BYTES + length)
        header = Header(depth, self.session, sequence, length)
        self._sent[to] += 1
        self._transport.put(to, (header.pack(), *payload))

    def receive(self, sender: Server, length: int) -> memoryview:
        """Return the next frame of `sender`, which must have exactly `length` bytes."""
        frame = self._transport.get(sender, length)
        header = frame.header
        if header.session != self.session:
            raise PeerMisbehavedError(sender.title, "speaks in another session")
        expected = self._received[sender]
        if header.sequence != expected:
            raise PeerMisbehavedError(
                sender.title, f"sent frame number {header.sequence} where {expected} was due"
            )
        if header.length != length:
            raise PeerMisbehavedError(
                sender.title, f"sent {header.length} bytes in frame {expected} where {length} were due"
            )
        self._received[sender] += 1
        self.meter.received(header.depth)
        return memoryview(frame.payload)

    def finish(self) -> None:
        """Wait until all that was sent has left."""
        self._transport.finish()

    def close(self) -> None:
        """End the connections at once; what has not left is lost."""
        self._transport.close()
