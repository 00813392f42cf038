"""A made-up protocol of four equal servers without a helper: everybody computes everything in the clear.

It hides nothing. It shows that a protocol names its servers: their number, who leads, who takes submissions
and who gives out the result are its own words. `python -m tests.support.four_servers` is its server process.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np

from ppaurora.algorithms.merge import MergeTwo
from ppaurora.algorithms.merge_network import merge_network
from ppaurora.channel.base import Channel
from ppaurora.channel.servers import Server
from ppaurora.data import Samples
from ppaurora.io.models import StrictModel
from ppaurora.party.process import main
from ppaurora.protocols import Prepared, Protocol, register
from ppaurora.protocols.security import Adversary, Corruption, Knowledge, Learnt, all_follow
from ppaurora.randomness import Stream
from ppaurora.session import Context
from ppaurora.sharing.algebra import BITS, RING
from ppaurora.sharing.shares import RingShare, Words
from ppaurora.sharing.stages import ResultShare
from ppaurora.suites.arrays import AdditiveShare, ArrayRecords
from ppaurora.suites.cleartext import CleartextSuite


class Equal(Server):
    """Numbers with gaps: nothing may take them for positions."""

    NORTH = 2
    EAST = 3
    SOUTH = 5
    WEST = 8


class OpenedToAll(CleartextSuite):
    """Everybody is shown all four parts of every list; in the end the result is split again."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context

    def inputs(self, shares: Sequence[AdditiveShare], sizes: Sequence[int]) -> list[ArrayRecords]:
        channel = self._context.channel
        for peer in channel.role.peers:
            channel.send(peer, *(share.to_bytes() for share in shares))
        parts = [list(shares), *(_receive(channel, peer, sizes) for peer in channel.role.peers)]
        return super().inputs([_whole(of_one) for of_one in zip(*parts, strict=True)], sizes)

    def input_words(self, parts: Sequence[Words], shape: tuple[int, int]) -> RingShare:
        channel = self._context.channel
        own = np.array(parts, dtype=np.uint64)
        for peer in channel.role.peers:
            channel.send(peer, RING.to_wire(own))
        length = RING.wire_bytes(own.size)
        whole = sum(
            (RING.from_wire(channel.receive(peer, length), shape) for peer in channel.role.peers), own
        )
        return super().input_words(list(whole), shape)

    def result(self, x: RingShare, recipients: int) -> tuple[ResultShare, ...]:
        """North's part is what the parts of the others, which it shares with each, leave."""
        me = Equal(self._context.role)
        others = {
            peer: self._context.stream(peer, "result") for peer in me.peers if Equal.NORTH in (me, peer)
        }
        parts = []
        for _ in range(recipients):
            drawn = [stream.words(x.values.shape) for stream in others.values()]
            whole = x.values - sum(drawn, np.uint64(0)) if me is Equal.NORTH else drawn[0]
            parts.append(ResultShare(whole))
        return tuple(parts)


def _receive(channel: Channel, peer: Server, sizes: Sequence[int]) -> list[AdditiveShare]:
    lengths = [AdditiveShare.wire_bytes(size) for size in sizes]
    raw = bytes(channel.receive(peer, sum(lengths)))
    starts = np.cumsum([0, *lengths])
    return [
        AdditiveShare.from_bytes(raw[start : start + length], size)
        for start, length, size in zip(starts[:-1], lengths, sizes, strict=True)
    ]


def _whole(parts: Sequence[AdditiveShare]) -> AdditiveShare:
    keys, labels = parts[0].keys, parts[0].labels
    for part in parts[1:]:
        keys, labels = keys + part.keys, labels ^ part.labels
    return AdditiveShare(keys, labels)


class NoParameters(StrictModel):
    pass


class FourServers(Protocol):
    name = "four-servers"
    summary = "made up, to test that a protocol names its servers"
    Parameters = NoParameters
    servers = Equal
    leader = Equal.WEST
    input_servers = result_servers = tuple(Equal)
    privacy = Corruption(servers=0, adversary=Adversary.FOLLOWS)
    correctness = all_follow(Equal)
    checks_order = True
    process = "tests.support.four_servers"

    def encode(self, samples: Samples) -> Words:
        """Scores from 0 to 1, by their bit patterns."""
        return (samples.scores + 0.0).view(np.uint64)

    def split(self, prepared: Prepared, *, stream: Stream | None = None) -> tuple[AdditiveShare, ...]:
        stream = stream or Stream.fresh()
        shape = prepared.keys.shape
        drawn = [AdditiveShare(RING.draw(stream, shape), BITS.draw(stream, shape)) for _ in range(3)]
        rest = AdditiveShare(prepared.keys, prepared.labels)
        for part in drawn:
            rest = AdditiveShare(rest.keys - part.keys, rest.labels ^ part.labels)
        return (*drawn, rest)

    def input_bytes(self, size: int) -> int:
        return AdditiveShare.wire_bytes(size)

    def read_input(self, raw: bytes | memoryview, size: int) -> AdditiveShare:
        return AdditiveShare.from_bytes(raw, size)

    def suite(self, context: Context) -> OpenedToAll:
        return OpenedToAll(context)

    def merge_two(self) -> MergeTwo:
        return merge_network

    def learns(self, server: Server) -> Knowledge:
        return (Learnt("everything"),)


if __name__ == "__main__":
    register(FourServers)
    sys.exit(main())
