"""A protocol of four servers: additive sharing among three evaluators, with a dealer of random numbers.

x = x_0 + x_1 + x_2 modulo 2^64, or modulo 2, and evaluator i holds x_i. The dealer holds no share and sees no
message. Multiplications take Beaver's triples, and a comparison a random number whose bits are dealt. What
evaluators show each other is hidden by a mask that nobody but the dealer knows, so any one server that
follows the protocol learns nothing.

It is a scheme of its own: its servers, holders and suite are all here, and nothing elsewhere knows of it.
`python -m tests.support.four_servers` is its server process.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager

import numpy as np

from ppaurora.algorithms.merge import MergeTwo
from ppaurora.algorithms.merge_network import merge_network
from ppaurora.channel.servers import Server
from ppaurora.data.samples import Samples, check_probabilities
from ppaurora.io.models import StrictModel
from ppaurora.party.process import main
from ppaurora.protocols import ListProtocol, Prepared, register
from ppaurora.protocols.security import NOTHING, UNFIT_LIST, Adversary, Corruption, Knowledge, all_follow
from ppaurora.randomness import Stream
from ppaurora.session import Context
from ppaurora.sharing.algebra import BITS, RING, Algebra, Array, Shape
from ppaurora.sharing.shares import BitShare, Holder, RingShare, Words
from ppaurora.sharing.stages import ResultShare
from ppaurora.suites.arrays import AdditiveShare, ArrayRecords, ArraySuite

WORD_BITS = 64


class Server4(Server):
    """Three that hold shares, and one that deals. Numbers have gaps: nothing may take them for positions."""

    EVALUATOR_0 = 2
    EVALUATOR_1 = 3
    DEALER = 5
    EVALUATOR_2 = 8

    @property
    def runs_ahead(self) -> bool:
        return self is Server4.DEALER


EVALUATORS = (Server4.EVALUATOR_0, Server4.EVALUATOR_1, Server4.EVALUATOR_2)
HOLDERS: Mapping[Server4, Holder] = {
    server: Holder(server.title, (int(server is Server4.EVALUATOR_0),)) for server in Server4
}


class Moves:
    """How secrets move: one server's end. Every move is called by all four in the same order."""

    def __init__(self, context: Context) -> None:
        self.me = Server4(context.role)
        self.deals = self.me is Server4.DEALER
        self._channel = context.channel
        others = EVALUATORS if self.deals else (Server4.DEALER,)
        self._masks = [context.stream(other, "four/masks") for other in others]
        self._dealt = {
            server: context.stream(server if self.deals else Server4.DEALER, "four/dealt")
            for server in EVALUATORS[:2]
            if self.deals or server is self.me
        }

    def mask(self, algebra: Algebra, shape: Shape) -> Array:
        """Return a part of a random value, or at the dealer the value."""
        first, *others = (algebra.draw(stream, shape) for stream in self._masks)
        for other in others:
            first = algebra.add(first, other)
        return first

    def deal(self, algebra: Algebra, shape: Shape, make: Callable[[], Array]) -> Array:
        """Return a part of what the dealer makes: two are pseudorandom, one is sent, its own is zero."""
        if not self.deals:
            stream = self._dealt.get(self.me)
            if stream is None:
                return self._receive(Server4.DEALER, algebra, shape)
            return algebra.draw(stream, shape)
        rest = make()
        for stream in self._dealt.values():
            rest = algebra.sub(rest, algebra.draw(stream, shape))
        self._send(Server4.EVALUATOR_2, algebra, rest)
        return np.zeros_like(rest)

    def show(self, algebra: Algebra, part: Array) -> Array:
        """Return the value behind all evaluators' parts; the dealer is shown nothing."""
        if self.deals:
            return np.zeros_like(part)
        others = [server for server in EVALUATORS if server is not self.me]
        for other in others:
            self._send(other, algebra, part)
        for other in others:
            part = algebra.add(part, self._receive(other, algebra, part.shape))
        return part

    def _send(self, to: Server4, algebra: Algebra, values: Array) -> None:
        self._channel.send(to, algebra.to_wire(values))

    def _receive(self, sender: Server4, algebra: Algebra, shape: Shape) -> Array:
        length = algebra.wire_bytes(math.prod(shape))
        return algebra.from_wire(self._channel.receive(sender, length), shape)


class FourSuite(ArraySuite):
    """One server's end of the functionalities; at the dealer, all shares are zero."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._moves = Moves(context)
        self.holder = HOLDERS[self._moves.me]

    def step(self, name: str) -> AbstractContextManager[None]:
        return self._context.step(name)

    def progress(self, step: str, done: int, total: int) -> None:
        self._context.progress(step, done, total)

    def inputs(self, shares: Sequence[AdditiveShare], sizes: Sequence[int]) -> list[ArrayRecords]:
        if self._moves.deals:
            return [ArrayRecords.empty(self.holder, size) for size in sizes]
        return [
            ArrayRecords(RingShare(self.holder, share.keys), BitShare(self.holder, share.labels))
            for share in shares
        ]

    def input_words(self, parts: Sequence[Words], shape: tuple[int, int]) -> RingShare:
        if self._moves.deals:
            return RingShare.zeros(self.holder, shape[::-1])
        return RingShare(self.holder, np.stack(parts, axis=1))

    def result(self, x: RingShare, recipients: int) -> tuple[ResultShare, ...]:
        """Every pair of evaluators has a number that one adds and the other takes off."""
        me = self._moves.me
        if self._moves.deals:
            return ()
        pads = {peer: self._context.stream(peer, "four/release") for peer in EVALUATORS if peer is not me}
        parts = []
        for _ in range(recipients):
            part = x.values
            for peer, stream in pads.items():
                drawn = stream.words(part.shape)
                part = part + drawn if me < peer else part - drawn
            parts.append(ResultShare(part))
        return tuple(parts)

    def mul(self, x: RingShare, y: RingShare) -> RingShare:  # type: ignore[override]  # none are wide
        return RingShare(self.holder, self._product(RING, x.values, y.values))

    def _product(self, algebra: Algebra, x: Array, y: Array) -> Array:
        """With masks a and b: e = x - a and f = y - b are shown, and xy = ef + eb + fa + ab."""
        shape = np.broadcast_shapes(x.shape, y.shape)
        a, b = self._moves.mask(algebra, x.shape), self._moves.mask(algebra, y.shape)
        c = self._moves.deal(algebra, shape, lambda: a * b)
        e = self._moves.show(algebra, algebra.sub(x, a))
        f = self._moves.show(algebra, algebra.sub(y, b))
        if self._moves.deals:
            return np.zeros(shape, dtype=c.dtype)
        terms = algebra.add(algebra.add(e * b, f * a), c)
        return algebra.add(terms, e * f) if self.holder.units[0] else terms

    def lift(self, flags: RingShare | BitShare) -> RingShare:
        """With a mask a of bits, dealt in the ring, too: e = x xor a is shown, and x = e + (1 - 2e)a."""
        if isinstance(flags, RingShare):
            return flags
        a = self._moves.mask(BITS, flags.shape)
        in_ring = self._moves.deal(RING, flags.shape, lambda: a.astype(np.uint64))
        e = self._moves.show(BITS, flags.values ^ a).astype(np.uint64)
        if self._moves.deals:
            return RingShare.zeros(self.holder, flags.shape)
        return RingShare(self.holder, in_ring - 2 * e * in_ring) + e

    def negative(self, x: RingShare) -> BitShare:
        """Return the sign bit of x in two's complement.

        With a mask a whose bits are dealt and ' for all bits but the first: e = x - a is shown, and
        the sign is e_63 xor a_63 xor [e' + a' >= 2^63], where the last one is [a' > not e'].
        """
        a = self._moves.mask(RING, x.shape)
        bits = self._moves.deal(BITS, (WORD_BITS, *x.shape), lambda: _bits(a))
        e = _bits(self._moves.show(RING, x.values - a))
        unit = np.uint8(self.holder.units[0])
        # Where a' and not e' agree, and what a' has where they first differ; in the end they differ anyway.
        equal = np.concatenate([bits[1:] ^ e[1:] * unit, np.zeros_like(bits[:1])])
        value = np.concatenate([bits[1:], np.zeros_like(bits[:1])])
        while len(value) > 1:  # an even number: 64, 32, ...
            high, low = slice(0, None, 2), slice(1, None, 2)
            factors = np.stack([equal[low], value[high] ^ value[low]])
            both, choice = self._product(BITS, np.stack([equal[high]] * 2), factors)
            equal, value = both, value[high] ^ choice
        return BitShare(self.holder, bits[0] ^ e[0] * unit ^ value[0])

    def compare(self, x: RingShare, y: RingShare) -> RingShare:
        return 1 - self.lift(self.negative(x - y))

    def differ(self, x: RingShare, y: RingShare) -> RingShare:
        return 1 - self.mul(self.compare(x, y), self.compare(y, x))

    def is_positive(self, x: RingShare) -> RingShare:
        return self.lift(self.negative(0 - x))

    def exchange(self, left: ArrayRecords, right: ArrayRecords) -> tuple[ArrayRecords, ArrayRecords]:
        """Where left - right is negative, both change by the difference."""
        gap, unlike = left.keys - right.keys, left.labels ^ right.labels
        trades = self.negative(gap)
        move = self.mul(self.lift(trades), gap)
        turn = BitShare(self.holder, self._product(BITS, trades.values, unlike.values))
        return (
            ArrayRecords(left.keys - move, left.labels ^ turn),
            ArrayRecords(right.keys + move, right.labels ^ turn),
        )

    def div(self, numerator: RingShare, denominator: RingShare, bits: int, bound: int) -> RingShare:
        """Long division, a bit of the quotient per step."""
        remainder, quotient = numerator, numerator * 0
        for step in range(bits + 1):
            reduced = (remainder * 2 if step else remainder) - denominator
            negative = self.lift(self.negative(reduced))
            quotient = quotient * 2 + 1 - negative
            remainder = reduced + self.mul(negative, denominator)
        return quotient


def _bits(words: Words) -> Array:
    """Return the bits of words, a row for each place, the highest first."""
    places = np.arange(WORD_BITS, dtype=np.uint64)[::-1].reshape(-1, *(1,) * words.ndim)
    return ((words >> places) & np.uint64(1)).astype(np.uint8)


class NoParameters(StrictModel):
    """There is nothing to choose."""


class FourServers(ListProtocol):
    """Three evaluators and a dealer."""

    name = "four-servers"
    summary = "made up for tests: three evaluators and a dealer; scores from 0 to 1"
    Parameters = NoParameters
    servers = Server4
    leader = Server4.EVALUATOR_2
    input_servers = result_servers = EVALUATORS
    privacy = Corruption(servers=1, adversary=Adversary.FOLLOWS)
    correctness = all_follow(Server4)
    unfit = UNFIT_LIST
    rounds_inside = False
    process = "tests.support.four_servers"

    def encode(self, samples: Samples) -> Words:
        """Return the scores' bit patterns, which order as scores from 0 to 1 do."""
        check_probabilities(samples, "the protocol 'four-servers' takes scores from 0 to 1")
        return (samples.scores + 0.0).view(np.uint64)

    def split(self, prepared: Prepared, *, stream: Stream | None = None) -> tuple[AdditiveShare, ...]:
        stream = stream or Stream.fresh()
        keys, labels = prepared.keys, prepared.labels
        drawn = [
            AdditiveShare(RING.draw(stream, keys.shape), BITS.draw(stream, labels.shape))
            for _ in self.input_servers[1:]
        ]
        for part in drawn:
            keys, labels = keys - part.keys, labels ^ part.labels
        return (*drawn, AdditiveShare(keys, labels))

    def input_bytes(self, size: int) -> int:
        return AdditiveShare.wire_bytes(size)

    def read_input(self, raw: bytes | memoryview, size: int) -> AdditiveShare:
        return AdditiveShare.from_bytes(raw, size)

    def suite(self, context: Context) -> FourSuite:
        return FourSuite(context)

    def merge_two(self) -> MergeTwo:
        return merge_network

    def learns(self, server: Server) -> Knowledge:
        return NOTHING


if __name__ == "__main__":
    register(FourServers)
    sys.exit(main())
