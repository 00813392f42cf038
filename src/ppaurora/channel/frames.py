"""The frame: a fixed header, then exactly as many bytes as it announces. No I/O here.

magic     4 bytes   "PPA8": the same in all versions of the protocol with this form of a frame
depth     4 bytes   how many messages led to this one, itself included (for counting rounds)
session  16 bytes   the session's public name; zeros until the keys are agreed
sequence  4 bytes   0, 1, 2, ... per direction of a link
length    4 bytes   of the payload that follows
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

import numpy as np

from ppaurora.channel.servers import Server
from ppaurora.errors import PeerMisbehavedError

SESSION_BYTES = 16
_LAYOUT = struct.Struct(f">4sI{SESSION_BYTES}sII")
_MAGIC = b"PPA8"
HEADER_BYTES = _LAYOUT.size
MAX_PAYLOAD_BYTES = 1 << 31
MAX_SEQUENCE = (1 << 32) - 1
_MAX_DEPTH = (1 << 32) - 1


@dataclass(frozen=True, slots=True)
class Header:
    depth: int
    session: bytes
    sequence: int
    length: int

    def pack(self) -> bytes:
        # A peer may have claimed any depth; what follows from it must still fit.
        depth = min(self.depth, _MAX_DEPTH)
        return _LAYOUT.pack(_MAGIC, depth, self.session, self.sequence, self.length)

    @classmethod
    def unpack(cls, raw: bytes | bytearray | memoryview, sender: Server) -> Header:
        magic, depth, session, sequence, length = _LAYOUT.unpack(raw)
        if magic != _MAGIC:
            raise PeerMisbehavedError(sender.title, "sent bytes that are not a ppaurora frame")
        if length > MAX_PAYLOAD_BYTES:
            raise PeerMisbehavedError(
                sender.title, f"announced a frame of {length} bytes, above the limit of {MAX_PAYLOAD_BYTES}"
            )
        return cls(depth, session, sequence, length)

    def check_due(self, due: int, sender: Server) -> None:
        """Refuse a longer frame than is due, before anything of it is kept."""
        if self.length > due:
            raise PeerMisbehavedError(
                sender.title, f"sent {self.length} bytes in frame {self.sequence} where {due} were due"
            )


@dataclass(slots=True)
class Frame:
    header: Header
    payload: memoryview = field(repr=False)


class FrameDecoder:
    """Turns one direction of a byte stream into frames.

    `space()` says where the next bytes go, `advance(n)` that n of them have arrived; a finished
    frame is returned by the `advance` that completed it. `announced` is the header of a frame whose
    bytes are not all here; there is no room for them before `space()` is called.
    """

    def __init__(self, sender: Server) -> None:
        self._sender = sender
        self._begin(None, HEADER_BYTES)

    def _begin(self, announced: Header | None, size: int) -> None:
        self.announced = announced
        self._size = size
        self._filled = 0
        self._buffer: memoryview | None = None

    def space(self) -> memoryview:
        if self._buffer is None:
            # Not a bytearray: that would fill a large announced frame with zeros before a byte of it is here.
            self._buffer = np.empty(self._size, dtype=np.uint8).data
        return self._buffer[self._filled :]

    def advance(self, count: int) -> Frame | None:
        self._filled += count
        if self._filled < self._size:
            return None
        assert self._buffer is not None  # noqa: S101 (what has arrived is in it)
        whole = self._buffer
        if self.announced is None:
            header = Header.unpack(whole, self._sender)
            if header.length:
                self._begin(header, header.length)
                return None
            frame = Frame(header, memoryview(b""))
        else:
            frame = Frame(self.announced, whole)
        self._begin(None, HEADER_BYTES)
        return frame
