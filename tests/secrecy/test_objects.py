"""No object shows what it holds, however it is printed or logged."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ppaurora.algorithms.merge import ExchangeLayer
from ppaurora.algorithms.pooled_table import OwnerTables
from ppaurora.channel.base import Channel
from ppaurora.channel.frames import Frame, FrameDecoder, Header
from ppaurora.channel.memory import memory_transports
from ppaurora.channel.meter import Meter
from ppaurora.data import Samples, check_samples, read_data
from ppaurora.data.count_table import CountTable
from ppaurora.data.grid import Grid
from ppaurora.io.times import as_time
from ppaurora.messages.owners import ReleasedPart
from ppaurora.messages.process import Finished
from ppaurora.owner.inbox import CollectedResult
from ppaurora.owner.ledger import LedgerContent, LedgerEntry, Sketch
from ppaurora.owner.outbox import Fingerprint
from ppaurora.owner.report import OwnPart
from ppaurora.party.run import RunOutcome
from ppaurora.protocols import Fast, Paper
from ppaurora.randomness import Stream, StreamFamily
from ppaurora.session import Context
from ppaurora.session.agreement import PairKeys, SessionSecrets
from ppaurora.sharing import BitShare, RingShare, WideShare
from ppaurora.sharing.algebra import WIDE
from ppaurora.sharing.commitment import Salt
from ppaurora.sharing.planes import Planes
from ppaurora.sharing.stages import OwnerShare, ResultShare, TableShare
from ppaurora.study.pack import PackedFile, PackedKit
from ppaurora.suites.arrays import ArrayRecords
from ppaurora.suites.bitsliced import BitslicedSuite
from ppaurora.suites.bitsliced.lanes import MaskedBits
from ppaurora.suites.bitsliced.records import PlaneRecords, PlaneWires
from ppaurora.suites.bitsliced.shares import HOLDERS as MASKED
from ppaurora.suites.bitsliced.shares import MaskedShare, MaskedWideShare
from ppaurora.suites.bitsliced.sums import SumsOfProducts
from ppaurora.suites.cecilia.shares import HOLDERS as ADDITIVE
from ppaurora.suites.role import Role
from ppaurora.testing.world import Message
from tests.support.secrecy import KEY, LABELS, OTHER_KEY, SCORES, WAYS_TO_SHOW, leaks


def midway_through(header: Header, payload: bytes) -> FrameDecoder:
    """All but the last byte of a frame has arrived."""
    decoder = FrameDecoder(Role.PROXY_0)
    rest = (header.pack() + payload)[:-1]
    while rest:
        space = decoder.space()
        piece, rest = rest[: len(space)], rest[len(space) :]
        space[: len(piece)] = piece
        assert decoder.advance(len(piece)) is None
    return decoder


def things() -> dict[str, tuple[object, list[object]]]:
    """Everything that holds a secret, with the secrets it holds."""
    samples = check_samples("owner 1", LABELS, SCORES)
    paper, fast = Paper(), Fast()
    prepared, fast_prepared = paper.prepare(samples), fast.prepare(samples)
    share, other_share = paper.split(prepared)
    planes_share, other_planes_share = fast.split(fast_prepared)
    owner_share = OwnerShare(planes_share, Stream(OTHER_KEY).words((12,)))
    words = Stream(KEY).words((2, 5))
    ring = RingShare(ADDITIVE[Role.PROXY_0], share.keys)
    bits = BitShare(ADDITIVE[Role.PROXY_1], share.labels)
    components = Stream(OTHER_KEY).words((2, 65, 1))
    masked = MaskedShare(MASKED[Role.PROXY_0], components[:, 0])
    wide = WIDE.draw(Stream(KEY), (2, 5))
    masked_wide = MaskedWideShare(MASKED[Role.PROXY_1], wide)
    planes = Planes(MASKED[Role.PROXY_0], components, 64)
    helper_planes = Planes(MASKED[Role.HELPER], components[:1], 64)
    bytes_of_bits = (components[:, 0] >> np.uint64(7) & np.uint64(1)).astype(np.uint8)
    masked_bits = MaskedBits(np.repeat(bytes_of_bits, 12, axis=1) ^ LABELS[:12])
    wires = PlaneWires(PlaneRecords(planes), PlaneRecords(planes))
    (place,) = wires.places(64)
    group = SumsOfProducts([components[:, :1], components[:, 1:2]], ((((0, 1),), 1),))
    result = ResultShare(words)
    reading = Meter().reading()
    fingerprint = Fingerprint.of(samples, KEY)
    sketch = Sketch.of(samples, KEY)
    entry = LedgerEntry(name="sepsis", samples=24, hashes=sketch.hashes.tobytes())
    released = ReleasedPart(
        study="0" * 64,
        owner="north",
        attempt=1,
        protocol_version=4,
        submissions=(),
        part=result,
        salt=Salt(KEY),
        statements=(),
    )
    pair_keys = PairKeys({Role.PROXY_1: KEY, Role.HELPER: OTHER_KEY}, b"\x01" * 16)
    context = Context(Channel(memory_transports(Role)[Role.PROXY_0]), pair_keys)
    raw = planes_share.to_bytes()
    header = Header(3, b"\x01" * 16, 2, len(raw))
    payload: Any = bytearray(raw)  # unlike a view, it would show what is in it
    family = StreamFamily(KEY, "k01")
    stream = family.open("masks")
    drawn = stream.words((4,))
    session = SessionSecrets()
    grid = Grid(decimals=1)
    counts = Stream(KEY).words((grid.cells,)).view(np.uint32)
    table = CountTable("owner 1", grid, counts[: grid.cells], counts[grid.cells :])
    seed_share, words_share = TableShare.split(counts, 2, Stream.fresh())
    owner_tables = OwnerTables(grid, False, MaskedShare(MASKED[Role.PROXY_0], components[:, :22].copy()))
    packed = PackedFile(sha256="0" * 64, content=KEY.hex())
    clear: list[object] = [SCORES, LABELS, prepared.keys, fast_prepared.keys, prepared.labels]
    return {
        "Samples": (samples, clear),
        "Samples of a file": (Samples("a.csv", SCORES, LABELS, np.arange(24), "risk"), clear),
        "Prepared for paper": (prepared, clear),
        "Prepared for fast": (fast_prepared, clear),
        "AdditiveShare 0": (share, [share.keys, share.labels]),
        "AdditiveShare 1": (other_share, [other_share.keys, other_share.labels]),
        "PlanesShare 0": (planes_share, [planes_share.planes]),
        "PlanesShare 1": (other_planes_share, [other_planes_share.planes]),
        "OwnerShare": (owner_share, [planes_share.planes, owner_share.sums]),
        "CountTable": (table, [counts]),
        "TableShare of a seed": (seed_share, [seed_share.content, seed_share.parts()]),
        "TableShare of words": (words_share, [words_share.content, words_share.parts()]),
        "OwnerShare of a table": (
            OwnerShare(None, Stream(OTHER_KEY).words((1,)), words_share),
            [words_share.content, words_share.parts()],
        ),
        "OwnerTables": (owner_tables, [components[:, :22]]),
        "PooledTable": (owner_tables.pooled, [components[:, 0]]),
        "ResultShare": (result, [words, result.to_bytes()]),
        "RingShare": (ring, [share.keys]),
        "RingShare computed": (ring * 2 + 1, [(share.keys * np.uint64(2))]),
        "BitShare": (bits, [share.labels]),
        "MaskedShare": (masked, [components[:, 0]]),
        "MaskedShare computed": (masked * 2 + 1, [components[:, 0] * np.uint64(2)]),
        "WideShare": (WideShare(ADDITIVE[Role.PROXY_0], wide), [wide]),
        "MaskedWideShare": (masked_wide, [wide]),
        "MaskedWideShare computed": (masked_wide * 2 + 1, [WIDE.reduced(wide * 2)]),
        "Planes": (planes, [components]),
        "Planes of the helper": (helper_planes, [components[:1]]),
        "Planes inverted": (~planes, [~components[0], components[1]]),
        "ArrayRecords": (ArrayRecords(ring, bits), [share.keys, share.labels]),
        "PlaneRecords": (PlaneRecords(planes), [components]),
        "MaskedBits": (masked_bits, [masked_bits.data[0], masked_bits.data[1]]),
        "PlaneWires": (wires, [components]),
        "a place of wires": (place, [components]),
        "ExchangeLayer": (ExchangeLayer(wires, 64, 0), [components]),
        "SumsOfProducts": (group, [components[:, :2]]),
        "Frame": (Frame(header, payload), [raw]),
        "Frame of a view": (Frame(header, memoryview(raw)), [raw]),
        "FrameDecoder": (midway_through(header, raw), [raw]),
        "Message": (Message(Role.PROXY_0, Role.PROXY_1, raw), [raw]),
        "RunOutcome": (RunOutcome((result,), 0.5, reading, {}, peak_bytes=0), [words, result.to_bytes()]),
        "Finished": (
            Finished(parts=(result,), seconds=0.5, meter=reading, openings={}, peak_bytes=0),
            [words, result.to_bytes()],
        ),
        "ReleasedPart": (released, [words, result.to_bytes(), KEY]),
        "Salt": (Salt(KEY), [KEY]),
        "OwnPart": (OwnPart(server="proxy-0", salt=Salt(KEY), part=result), [words, KEY]),
        "CollectedResult": (
            CollectedResult(study="0" * 64, answers=(released,), collected_at=as_time(0)),
            [words, result.to_bytes()],
        ),
        "Sketch": (sketch, [KEY, sketch.hashes]),
        "LedgerEntry": (entry, [KEY, entry.hashes]),
        "LedgerContent": (LedgerContent(key=KEY, studies={"0" * 64: entry}), [KEY, entry.hashes]),
        "Fingerprint": (fingerprint, [fingerprint.salt, fingerprint.digest]),
        "PackedFile": (packed, [KEY]),
        "PackedKit": (
            PackedKit(participant="north", study="sepsis", hash="0" * 64, files={"key.pem": packed}),
            [KEY],
        ),
        "Dataset": (read_data((LABELS, SCORES)), [SCORES, LABELS]),
        "Stream": (stream, [KEY, drawn]),
        "Stream of its own": (Stream(OTHER_KEY, "own"), [OTHER_KEY]),
        "StreamFamily": (family, [KEY, drawn]),
        "PairKeys": (pair_keys, [KEY, OTHER_KEY]),
        "Context": (context, [KEY, OTHER_KEY]),
        "BitslicedSuite": (BitslicedSuite(context), [KEY, OTHER_KEY]),
        "SessionSecrets": (session, [session._private.private_bytes_raw(), session.contribution()]),
    }


THINGS = things()


@pytest.mark.parametrize("way", WAYS_TO_SHOW)
@pytest.mark.parametrize("name", THINGS)
def test_no_object_shows_what_it_holds(name: str, way: str) -> None:
    thing, secrets = THINGS[name]
    shown = WAYS_TO_SHOW[way](thing)
    assert type(thing).__name__ in shown, "this does not show the object at all"
    assert leaks(shown, secrets) == []
