"""A world of three parties in threads, whose messages can be watched and changed on their way.

world = World()
run = world.run(lambda suite, x, y: suite.mul(x, y), [3, 5], [4, 6])
run.value          # array([12, 30]): the proxies' parts, added
run.cost           # what it took: messages, bytes, rounds
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ppaurora.channel.base import NO_SESSION, Buffer
from ppaurora.channel.frames import HEADER_BYTES, Header
from ppaurora.channel.memory import MemoryTransport, memory_transports
from ppaurora.channel.meter import Cost
from ppaurora.channel.servers import Server
from ppaurora.local.threads import run_parties
from ppaurora.randomness import Stream
from ppaurora.session import Context, open_session
from ppaurora.sharing.algebra import WIDE
from ppaurora.sharing.planes import Planes, unpack_lanes
from ppaurora.sharing.shares import BitShare, Holder, MaskedShare, MaskedWideShare, RingShare, WideShare
from ppaurora.suites.base import Suite
from ppaurora.suites.cecilia import CeciliaSuite
from ppaurora.suites.role import Role

Tamper = Callable[[Server, Server, bytes], bytes]


@dataclass(frozen=True)
class Message:
    sender: Server
    receiver: Server
    payload: bytes = field(repr=False)


@dataclass
class WorldRun:
    """What came out of a run."""

    results: list[Any]
    contexts: list[Context]
    messages: list[Message]
    cost: Cost

    @property
    def value(self) -> NDArray[Any]:
        """The secret, from the proxies' parts of the only result."""
        secret: NDArray[Any] = reconstruct(self.results)
        return secret

    @property
    def openings(self) -> Counter[str]:
        return self.contexts[Role.PROXY_0].openings


class _WatchedTransport(MemoryTransport):
    def __init__(self, inner: MemoryTransport, log: list[Message], tamper: Tamper | None) -> None:
        vars(self).update(vars(inner))
        self._log = log
        self._tamper = tamper

    def put(self, to: Server, buffers: Sequence[Buffer]) -> None:
        raw = b"".join(buffers)
        if Header.unpack(raw[:HEADER_BYTES], self.role).session != NO_SESSION:
            self._log.append(Message(self.role, to, raw[HEADER_BYTES:]))
        if self._tamper is not None:
            raw = self._tamper(self.role, to, raw)
        super().put(to, [raw])


class World:
    """Runs one function at three parties, on fresh shares of its inputs."""

    def __init__(
        self,
        suite: Callable[[Context], Suite] = CeciliaSuite,
        *,
        tamper: Tamper | None = None,
        timeout: float = 120.0,
        job_hash: bytes = bytes(32),
    ) -> None:
        self._suite = suite
        self._tamper = tamper
        self._timeout = timeout
        self._job_hash = job_hash

    def run(self, function: Callable[..., Any], *inputs: Any) -> WorldRun:
        """`function(suite, *shares)` at every party.

        Inputs of integers are shared in the ring, arrays of Python's modulo 2^256, bools modulo 2; others are
        passed on as they are.
        """
        shared = [share_input(value) for value in inputs]
        log: list[Message] = []
        transports = [
            _WatchedTransport(transport, log, self._tamper)
            for transport in memory_transports(Role, self._timeout)
        ]

        def party(role: Server) -> tuple[Any, Context, int, int, int]:
            context = open_session(transports[role], self._job_hash)
            before = context.meter.messages, context.meter.bytes, context.meter.depth
            result = function(self._suite(context), *(shares[role] for shares in shared))
            meter = context.meter
            return (
                result,
                context,
                meter.messages - before[0],
                meter.bytes - before[1],
                meter.depth - before[2],
            )

        outcomes = run_parties(party, transports)
        results, contexts, messages, sent, rounds = zip(*outcomes, strict=True)
        return WorldRun(list(results), list(contexts), log, Cost(sum(messages), sum(sent), max(rounds)))


def share_input(value: Any) -> list[Any]:
    """Three holders' parts of a value."""
    array = np.asarray(value)
    random = np.random.default_rng()
    if array.dtype == np.bool_:
        part = random.integers(0, 2, array.shape, dtype=np.uint8)
        return [
            BitShare(Holder.PROXY_0, part),
            BitShare(Holder.PROXY_1, part ^ array.view(np.uint8)),
            BitShare.zeros(Holder.HELPER, array.shape),
        ]
    if array.dtype.kind in "iu":
        words = random.integers(0, 1 << 64, array.shape, dtype=np.uint64)
        return [
            RingShare(Holder.PROXY_0, words),
            RingShare(Holder.PROXY_1, array.astype(np.uint64) - words),
            RingShare.zeros(Holder.HELPER, array.shape),
        ]
    if isinstance(value, np.ndarray) and array.dtype == WIDE.dtype:
        wide = WIDE.draw(Stream.fresh(), array.shape)
        return [
            WideShare(Holder.PROXY_0, wide),
            WideShare(Holder.PROXY_1, WIDE.sub(array, wide)),
            WideShare.zeros(Holder.HELPER, array.shape),
        ]
    return [value] * 3


def reconstruct(results: Sequence[Any]) -> Any:
    """The secret behind the parties' parts, in tuples and lists one by one; else what all three returned."""
    first = results[0]
    if isinstance(first, MaskedShare | MaskedWideShare):
        return first.ring.reduced(first.values[0] - first.values[1] - results[1].values[1])
    if isinstance(first, Planes):
        return unpack_lanes(first.data[0] ^ first.data[1] ^ results[1].data[1], len(first))
    if isinstance(first, RingShare | WideShare):
        return first.ring.add(first.values, results[1].values)
    if isinstance(first, BitShare):
        return first.values ^ results[1].values
    if isinstance(first, tuple | list):
        return type(first)(reconstruct(parts) for parts in zip(*results, strict=True))
    return first
