"""A world of a protocol's servers in threads, whose messages can be watched and changed on their way.

world = World()
run = world.run(lambda suite, x, y: suite.mul(x, y), [3, 5], [4, 6])
run.value          # array([12, 30]): the servers' parts, added
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
from ppaurora.protocols import Paper, Protocol
from ppaurora.randomness import Stream
from ppaurora.session import Context, open_session
from ppaurora.sharing.algebra import BITS, RING, WIDE, Algebra
from ppaurora.sharing.shares import BitShare, RingShare, Share, WideShare
from ppaurora.suites.base import Suite

Tamper = Callable[[Server, Server, bytes], bytes]


@dataclass(frozen=True)
class Message:
    """What one server sent to another."""

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
    suite: Suite  # of the first server
    openings: Counter[str]  # as the leader counted them

    @property
    def value(self) -> NDArray[Any]:
        """The secret behind all servers' results."""
        secret: NDArray[Any] = reconstruct(self.suite, self.results)
        return secret


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
    """Runs one function at every server of a protocol, on fresh shares of its inputs."""

    def __init__(
        self,
        protocol: Protocol | None = None,
        *,
        suite: Callable[[Context], Suite] | None = None,
        tamper: Tamper | None = None,
        timeout: float = 120.0,
        job_hash: bytes = bytes(32),
    ) -> None:
        self._protocol = Paper() if protocol is None else protocol
        self._suite = self._protocol.suite if suite is None else suite
        self._tamper = tamper
        self._timeout = timeout
        self._job_hash = job_hash

    def run(self, function: Callable[..., Any], *inputs: Any) -> WorldRun:
        """Call `function(suite, *shares)` at every server.

        Inputs of integers are shared in the ring, arrays of Python's modulo 2^256, bools modulo 2; others are
        passed on as they are.
        """
        servers = list(self._protocol.servers)
        shared = [self._shared(value) for value in inputs]
        log: list[Message] = []
        transports = {
            transport.role: _WatchedTransport(transport, log, self._tamper)
            for transport in memory_transports(self._protocol.servers, self._timeout)
        }

        def party(server: Server) -> tuple[Any, Suite, Context, int, int, int]:
            context = open_session(transports[server], self._job_hash)
            before = context.meter.messages, context.meter.bytes, context.meter.depth
            suite = self._suite(context)
            result = function(suite, *(part(suite, server) for part in shared))
            meter = context.meter
            return (
                result,
                suite,
                context,
                meter.messages - before[0],
                meter.bytes - before[1],
                meter.depth - before[2],
            )

        outcomes = run_parties(party, list(transports.values()))
        results, suites, contexts, messages, sent, rounds = zip(*outcomes, strict=True)
        return WorldRun(
            list(results),
            list(contexts),
            log,
            Cost(sum(messages), sum(sent), max(rounds)),
            suites[0],
            contexts[servers.index(self._protocol.leader)].openings,
        )

    def _shared(self, value: Any) -> Callable[[Suite, Server], Any]:
        """Return what gives each server its share: parts that add up at those that take submissions."""
        kind = _kind(value)
        if kind is None:
            return lambda suite, server: value
        share, algebra = kind
        rest = np.asarray(value).astype(share.dtype)
        stream = Stream.fresh()
        parts: dict[Server, NDArray[Any]] = {}
        *others, last = self._protocol.input_servers
        for server in others:
            parts[server] = algebra.draw(stream, rest.shape)
            rest = algebra.sub(rest, parts[server])
        parts[last] = rest

        def part(suite: Suite, server: Server) -> Any:
            if server not in parts:
                return share.zeros(suite.additive, rest.shape)
            return share(suite.additive, parts[server])

        return part


def _kind(value: Any) -> tuple[type[Share], Algebra] | None:
    """Return how a value is shared, if it is a secret."""
    array = np.asarray(value)
    if array.dtype == np.bool_:
        return BitShare, BITS
    if array.dtype.kind in "iu":
        return RingShare, RING
    if isinstance(value, np.ndarray) and array.dtype == WIDE.dtype:
        return WideShare, WIDE
    return None


def reconstruct(suite: Suite, results: Sequence[Any]) -> Any:
    """Return the secret behind all servers' parts, tuples and lists one by one; else the first result."""
    first = results[0]
    if isinstance(first, tuple | list):
        return type(first)(reconstruct(suite, parts) for parts in zip(*results, strict=True))
    return suite.reconstruct(results) if hasattr(first, "holder") else first
