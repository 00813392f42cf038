"""frame.json: headers and whole frames."""

from __future__ import annotations

from dataclasses import dataclass

from ppaurora.channel.base import NO_SESSION, Channel
from ppaurora.channel.frames import HEADER_BYTES, MAX_PAYLOAD_BYTES, Frame, FrameDecoder, Header
from ppaurora.channel.memory import memory_transports
from ppaurora.errors import PeerMisbehavedError
from ppaurora.suites.role import Role
from tests.messages.vectors.file import Bad, Entry, VectorFile
from tests.messages.vectors.seeds import seed

WHAT = """
Frames between servers. `header` is packed as the 32 bytes `packed`; with `payload` behind it, where
there is one, it is a frame. `stream` is what goes over a connection in one direction, all frames one
after the other. Refused are frames in `stream` to a server that is in session `session`, where the next
frame has the number `sequence` and `length` bytes are due.
"""

SESSION = seed("a session's name", 16)


@dataclass(frozen=True)
class _Case:
    header: Header
    payload: bytes | None  # none: only the header, of a frame too large for a file


CASES = {
    "the first frame, before there is a session": _Case(Header(1, NO_SESSION, 0, 3), b"abc"),
    "a frame in a session": _Case(Header(7, SESSION, 5, 40), seed("a payload", 40)),
    "an empty frame": _Case(Header(2, SESSION, 1, 0), b""),
    "the largest numbers": _Case(Header(2**32 - 1, b"\xff" * 16, 2**32 - 1, 4), b"last"),
    "the header of the largest frame": _Case(Header(258, SESSION, 66051, MAX_PAYLOAD_BYTES), None),
}


def make() -> list[Entry]:
    entries: list[Entry] = []
    for name, case in CASES.items():
        header = case.header
        entries.append(
            {
                "name": name,
                "header": {
                    "depth": header.depth,
                    "session": header.session.hex(),
                    "sequence": header.sequence,
                    "length": header.length,
                },
                "packed": header.pack().hex(),
            }
        )
        if case.payload is not None:
            entries[-1]["payload"] = case.payload.hex()
    stream = b"".join(
        case.header.pack() + case.payload for case in CASES.values() if case.payload is not None
    )
    return [*entries, {"name": "all of them on one connection", "stream": stream.hex()}]


def _frames(stream: bytes) -> list[Frame]:
    """What the decoder makes of it, byte after byte."""
    decoder = FrameDecoder(Role.PROXY_1)
    frames = []
    for byte in stream:
        decoder.space()[0] = byte
        frame = decoder.advance(1)
        if frame is not None:
            frames.append(frame)
    assert len(decoder.space()) == HEADER_BYTES, "a frame is not finished"
    return frames


def check(vector: Entry) -> None:
    if "stream" in vector:
        raw = bytes.fromhex(vector["stream"])
        assert b"".join(frame.header.pack() + bytes(frame.payload) for frame in _frames(raw)) == raw
        return
    fields = {**vector["header"], "session": bytes.fromhex(vector["header"]["session"])}
    packed = bytes.fromhex(vector["packed"])
    assert Header(**fields).pack() == packed
    assert Header.unpack(packed, Role.PROXY_1) == Header(**fields)
    if "payload" in vector:
        payload = bytes.fromhex(vector["payload"])
        (frame,) = _frames(packed + payload)
        assert frame.header == Header(**fields)
        assert bytes(frame.payload) == payload


def take(bad: Entry) -> object:
    """First as bytes of a connection, then as what is due in a session."""
    transports = memory_transports(Role, timeout=60)
    for frame in _frames(bytes.fromhex(bad["stream"])):
        transports[Role.PROXY_1].put(Role.PROXY_0, [frame.header.pack(), frame.payload])
    channel = Channel(transports[Role.PROXY_0])
    channel.session = bytes.fromhex(bad["session"])
    for _ in range(bad["sequence"]):
        channel.receive(Role.PROXY_1, bad["length"])
    return channel.receive(Role.PROXY_1, bad["length"])


def spoil() -> list[Bad]:
    good = Header(1, SESSION, 0, 4)
    streams = {
        "another magic": ("not a ppaurora frame", b"PPA1" + good.pack()[4:] + bytes(4)),
        "zeros": ("not a ppaurora frame", bytes(HEADER_BYTES)),
        "a web request": ("not a ppaurora frame", b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n"),
        "an oversized frame": ("above the limit", Header(1, SESSION, 0, MAX_PAYLOAD_BYTES + 1).pack()),
        "the most that a header can announce": ("above the limit", Header(1, SESSION, 0, 2**32 - 1).pack()),
        "another session": (
            "another session",
            Header(1, seed("another session", 16), 0, 4).pack() + bytes(4),
        ),
        "no session yet": ("another session", Header(1, NO_SESSION, 0, 4).pack() + bytes(4)),
        "a frame left out": ("frame number 1 where 0", Header(1, SESSION, 1, 4).pack() + bytes(4)),
        "a frame that is too short": ("3 bytes in frame 0", Header(1, SESSION, 0, 3).pack() + bytes(3)),
        "a frame that is too long": ("5 bytes in frame 0", Header(1, SESSION, 0, 5).pack() + bytes(5)),
    }
    due = {"session": SESSION.hex(), "sequence": 0, "length": 4}
    refused = [
        Bad(why, PeerMisbehavedError, says, {**due, "stream": stream.hex()})
        for why, (says, stream) in streams.items()
    ]
    twice = 2 * (good.pack() + bytes(4))
    again = Bad(
        "a frame sent twice",
        PeerMisbehavedError,
        "frame number 0 where 1",
        {**due, "sequence": 1, "stream": twice.hex()},
    )
    return [*refused, again]


FILE = VectorFile("frame", WHAT, make, spoil, check, take)
