"""Frames, out of a stream that may be cut anywhere."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ppaurora.channel.frames import HEADER_BYTES, MAX_PAYLOAD_BYTES, FrameDecoder, Header
from ppaurora.errors import PeerMisbehavedError
from ppaurora.suites.role import Role
from tests.support.channels import frame

PROXY_0, PROXY_1, HELPER = Role


def decode(raw: bytes, cuts: Iterator[int]) -> tuple[list[bytes], FrameDecoder]:
    """Feed the decoder in pieces of at most the given sizes."""
    decoder = FrameDecoder(PROXY_0)
    payloads = []
    position = 0
    for cut in cuts:
        space = decoder.space()
        piece = raw[position : position + min(cut, len(space))]
        space[: len(piece)] = piece
        position += len(piece)
        whole = decoder.advance(len(piece))
        if whole is not None:
            assert whole.header.length == len(whole.payload)
            payloads.append(bytes(whole.payload))
        if position == len(raw):
            break
    return payloads, decoder


def endless(sizes: list[int]) -> Iterator[int]:
    while True:
        yield from sizes


def test_frames_come_out_of_single_bytes() -> None:
    payloads = [b"", b"x", bytes(300), b"", b"end"]
    decoded, decoder = decode(b"".join(map(frame, payloads)), endless([1]))
    assert decoded == payloads
    assert len(decoder.space()) == HEADER_BYTES, "it does not wait for a new frame"


@given(
    payloads=st.lists(st.binary(max_size=100), min_size=1, max_size=8),
    cuts=st.lists(st.integers(1, 150), min_size=1, max_size=20),
)
def test_frames_come_out_however_the_stream_is_cut(payloads: list[bytes], cuts: list[int]) -> None:
    decoded, decoder = decode(b"".join(map(frame, payloads)), endless(cuts))
    assert decoded == payloads
    assert len(decoder.space()) == HEADER_BYTES, "it does not wait for a new frame"


@pytest.mark.parametrize("missing", [1, 4, 5, HEADER_BYTES + 3])
def test_an_unfinished_frame_does_not_come_out(missing: int) -> None:
    raw = frame(b"whole") + frame(b"1234")
    decoded, decoder = decode(raw[:-missing], endless([7]))
    assert decoded == [b"whole"]
    assert len(decoder.space()) < HEADER_BYTES, "it does not wait for the rest"


def test_a_header_survives_the_wire() -> None:
    header = Header(depth=7, session=b"16 bytes exactly", sequence=(1 << 32) - 1, length=MAX_PAYLOAD_BYTES)
    assert Header.unpack(header.pack(), HELPER) == header


@pytest.mark.parametrize("raw", [bytes(HEADER_BYTES), b"PPA1" + bytes(HEADER_BYTES - 4)])
def test_the_decoder_refuses_what_is_not_a_frame(raw: bytes) -> None:
    with pytest.raises(PeerMisbehavedError, match="proxy 0 sent bytes that are not a ppaurora frame"):
        decode(raw, endless([5]))


def test_the_decoder_refuses_an_oversized_frame_before_it_makes_room() -> None:
    raw = Header(1, bytes(16), 0, (1 << 32) - 1).pack()
    with pytest.raises(PeerMisbehavedError, match="proxy 0 announced"):
        decode(raw, endless([HEADER_BYTES]))
