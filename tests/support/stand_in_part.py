"""What workers do in tests of the engines: they meet, hand on, and say how many bytes they got."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

import numpy as np

from ppaurora.channel.base import Buffer, Channel
from ppaurora.errors import PeerMisbehavedError
from ppaurora.messages.process import Finished, Opened, Progressed
from ppaurora.party.run import peak_memory
from ppaurora.workers.part import Station
from tests.support.dumps import may_be_dumped

BYTES = 300_000  # to every other worker: more than Ray sends without its object store
ROUNDS = 3


def pattern(party: int, sender: int, receiver: int, number: int, length: int) -> np.ndarray:
    """What only this sender has for this receiver."""
    return np.random.default_rng([party, sender, receiver, number]).integers(0, 256, length, dtype=np.uint8)


def hand_on(station: Station, inputs: Sequence[Buffer]) -> Finished:
    """Some rounds with the peers of the same number and with the peer workers; everything is compared."""
    assert not may_be_dumped()
    start = time.perf_counter()
    worker, me = station.worker, station.order.server
    transport = station.connect()
    assert {link.workers for link in transport._links.values()} == {worker.count}  # who share the room
    channel = Channel(transport)
    station.tell(Opened(session=f"{worker.index:032x}"))
    handed = 0
    for number in range(ROUNDS):
        station.tell(Progressed(step="merge", done=number, total=ROUNDS))
        for peer in me.peers:
            channel.send(peer, bytes([me, worker.index, worker.count, number]))
        for peer in me.peers:
            if bytes(channel.receive(peer, 4)) != bytes([peer, worker.index, worker.count, number]):
                raise PeerMisbehavedError(peer.title, "is another worker than was meant")
        lengths = [0 if number == 1 else BYTES + other for other in range(worker.count)]
        outgoing = [pattern(me, worker.index, other, number, length) for other, length in enumerate(lengths)]
        received = station.intra_party.all_to_all([part.data for part in outgoing])
        for other, got in enumerate(received):
            expected = pattern(me, other, worker.index, number, lengths[worker.index])
            assert bytes(got) == expected.tobytes()
            handed += len(bytes(got)) if other != worker.index else 0
    transport.finish()
    transport.close()
    return Finished(
        parts=(),
        seconds=time.perf_counter() - start,
        meter=channel.meter.reading(),
        openings={"bytes handed on": handed, f"process {os.getpid()}": 1},
        peak_bytes=peak_memory(),
    )


def work_longer(station: Station, inputs: Sequence[Buffer]) -> Finished:
    """Worker 1 has more to do with its peers than anybody may be silent; worker 0 waits for it meanwhile."""
    transport, me = station.connect(), station.order.server
    channel = Channel(transport)
    pause = station.order.task.links.timeout / 4
    for _ in range(6 * station.worker.index):
        time.sleep(pause)
        for peer in me.peers:
            channel.send(peer, b"still here")
        for peer in me.peers:
            channel.receive(peer, 10)
    station.intra_party.all_to_all([b""] * station.worker.count)
    transport.finish()
    transport.close()
    return Finished(
        parts=(), seconds=0.0, meter=channel.meter.reading(), openings={}, peak_bytes=peak_memory()
    )


def wait(station: Station, inputs: Sequence[Buffer]) -> Finished:
    """Until it is killed."""
    transport = station.connect()
    station.tell(Progressed(step=f"process {os.getpid()}", done=station.worker.index, total=100))
    if station.worker.index == 0:
        station.intra_party.all_to_all([b""] * station.worker.count)  # a peer worker that never comes
    time.sleep(600)
    transport.close()
    raise AssertionError("nobody came")


def fail(station: Station, inputs: Sequence[Buffer]) -> Finished:
    """Worker 1 of proxy 1 has a bug; all others wait for it."""
    transport = station.connect()
    if (station.order.server, station.worker.index) == (1, 1):
        raise ZeroDivisionError("the text of an unforeseen error may quote data")
    station.intra_party.all_to_all([b""] * station.worker.count)
    Channel(transport).receive(station.order.server.peers[0], 1)
    raise AssertionError("nobody came")
