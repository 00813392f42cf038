"""Input shares survive the wire."""

from __future__ import annotations

import pytest

from ppaurora.protocols import Fast, ListProtocol, Paper
from ppaurora.suites.arrays import AdditiveShare
from ppaurora.suites.bitsliced.shares import PlanesShare
from tests.support.owners import each_split, samples_of, varied_data


def test_an_additive_share_survives_the_wire() -> None:
    paper = Paper()
    share, _ = paper.split(paper.prepare(samples_of([0.5, 0.25, 0.75], [1, 0, 0])))
    raw = share.to_bytes()
    assert len(raw) == AdditiveShare.wire_bytes(3) == 25
    back = AdditiveShare.from_bytes(raw, 3)
    assert back.keys.tolist() == share.keys.tolist()
    assert back.labels.tolist() == share.labels.tolist()


@pytest.mark.parametrize("key_bits", [32, 64])
@pytest.mark.parametrize("size", [1, 63, 64, 65, 200])
def test_a_planes_share_survives_the_wire(size: int, key_bits: int) -> None:
    for share in Fast(key_bits=key_bits).split(varied_data(size, key_bits)):
        raw = share.to_bytes()
        # Plane after plane, eight bytes to a word, the lowest first.
        assert raw == b"".join(int(word).to_bytes(8, "little") for word in share.planes.reshape(-1))
        assert len(raw) == PlanesShare.wire_bytes(size, key_bits) == (key_bits + 1) * -(-size // 64) * 8
        back = PlanesShare.from_bytes(raw, size, key_bits)
        assert len(back) == size
        assert back.planes.tolist() == share.planes.tolist()


@each_split
def test_a_server_reads_what_an_owner_writes(protocol: ListProtocol) -> None:
    prepared = protocol.prepare(samples_of([k / 128 for k in range(65)], [1] * 65))
    for share in protocol.split(prepared):
        raw = share.to_bytes()
        assert len(raw) == protocol.input_bytes(65)
        back = protocol.read_input(raw, 65)
        assert type(back) is type(share)
        assert back.to_bytes() == raw
