"""What a protocol is: who computes, what they are given, what they do, and what each of them learns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from ppaurora.algorithms.merge import MergeTwo, merge_all
from ppaurora.algorithms.order import count_ascents
from ppaurora.channel.base import Buffer
from ppaurora.channel.servers import Server
from ppaurora.data.samples import Samples
from ppaurora.errors import InputError, ProtocolError
from ppaurora.io.models import StrictModel, checked, to_builtins
from ppaurora.metrics import Metric, Query
from ppaurora.metrics.evidence import Inputs
from ppaurora.metrics.reading import ReleasedResult, column_count, read_release
from ppaurora.metrics.release import release
from ppaurora.metrics.sums import ListCounts, OwnerSum, sums_of
from ppaurora.policy.rules import EXACT, ROUNDED, Policy
from ppaurora.protocols import registry
from ppaurora.protocols.security import (
    ONE_CLASS,
    RELEASED_METRICS,
    SUPPRESSION,
    UNFIT_LIST,
    Corruption,
    Knowledge,
    by_kind,
    told,
)
from ppaurora.randomness.streams import Stream
from ppaurora.session import Context, Work, Worker
from ppaurora.sharing.algebra import RING
from ppaurora.sharing.blocks import blocks
from ppaurora.sharing.shares import Bytes, Words
from ppaurora.sharing.stages import InputShare, OwnerShare, ResultShare
from ppaurora.suites.base import Suite


@dataclass(frozen=True)
class Prepared:
    """An owner's list, encoded and sorted, descending; still in the clear."""

    keys: Words = field(repr=False)
    labels: Bytes = field(repr=False)


class Protocol(ABC):
    """One way to compute the metrics, with its parameters. Public in all its parts.

    Its servers are an enumeration of their own. `leader` begins attempts, `input_servers` each take
    one share of every owner's list, `result_servers` each get one part of the result.
    """

    name: ClassVar[str]
    summary: ClassVar[str]  # one line for people who choose
    Parameters: ClassVar[type[StrictModel]]
    expected: ClassVar[Mapping[str, str]] = {}  # by parameter, what it must be, in words
    servers: ClassVar[type[Server]]
    leader: ClassVar[Server]
    input_servers: ClassVar[tuple[Server, ...]]
    result_servers: ClassVar[tuple[Server, ...]]
    privacy: ClassVar[Corruption]  # up to which no more is learnt than `learns` says
    correctness: ClassVar[Corruption]  # up to which a result is right, or there is none
    checks_order: ClassVar[bool]  # whether the owners learn if somebody's list was not sorted
    most_workers: ClassVar[int] = 1  # of a server
    rounds_inside: ClassVar[bool] = True  # whether its suite has what a release policy needs
    process: ClassVar[str] = "ppaurora.party"  # the module that a server process runs

    def __init__(self, **parameters: Any) -> None:
        self.parameters = registry.check_parameters(type(self), parameters)

    @classmethod
    def fitting(cls, owners: Sequence[Samples], **parameters: Any) -> Self:
        """Choose, for whoever holds all data, what was left out of the parameters."""
        return cls(**parameters)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Protocol) and self.to_plain() == other.to_plain()

    def __hash__(self) -> int:
        return hash((self.name, self.parameters))

    def __repr__(self) -> str:
        return f"<Protocol {self}>"

    def __str__(self) -> str:
        """Name and parameters, for people."""
        shown = self.described()
        return f"{self.name} ({shown})" if shown else self.name

    def settings(self) -> dict[str, Any]:
        """Return the parameters by name."""
        return dict(to_builtins(self.parameters))

    def to_plain(self) -> dict[str, Any]:
        return {"name": self.name, **self.settings()}

    @classmethod
    def from_plain(cls, plain: Any) -> Protocol:
        """Read a protocol strictly: nothing of it is converted."""
        if not isinstance(plain, dict):
            raise ValueError("a protocol is a table with a name and its parameters")  # noqa: TRY004
        parameters = dict(plain)
        kind = registry.find_protocol(parameters.pop("name", None))
        protocol = kind()
        protocol.parameters = checked(kind.Parameters, parameters)
        return protocol

    def server_named(self, file_name: str) -> Server:
        """Return the server of the name that its folder and its section of a plan have."""
        return next(server for server in self.servers if server.file_name == file_name)

    def problem_with(self, metrics: Sequence[Metric], policy: Policy, confidence_level: float | None) -> str:
        """Return why these cannot be computed by this protocol, or nothing."""
        if self.rounds_inside:
            return ""
        if policy.is_private or policy.digits != EXACT or policy.counts == ROUNDED:
            return (
                f"the protocol '{self.name}' cannot round or draw noise inside the computation; its studies "
                "must say kind = 'exact', and leave digits and counts as they are, or counts = 'hidden'"
            )
        others = [metric.name for metric in metrics if not metric.is_area]
        if others or confidence_level is not None:
            what = f"the metric '{others[0]}'" if others else "intervals"
            return f"the protocol '{self.name}' does not compute {what}; use 'fast'"
        return ""

    # The owner's side

    @abstractmethod
    def encode(self, samples: Samples) -> Words:
        """Whole numbers that order as the scores do; a score that cannot be exact is refused."""

    def prepare(self, samples: Samples) -> Prepared:
        """Keys and labels in descending order of the keys; equal keys in the owner's order."""
        keys = self.encode(samples)
        order = np.argsort(~keys, kind="stable")
        return Prepared(keys[order], samples.labels[order])

    @abstractmethod
    def split(self, prepared: Prepared, *, stream: Stream | None = None) -> tuple[InputShare, ...]:
        """Split a list: a share for every input server, from the operating system's randomness.

        Only test vectors give a stream of their own.
        """

    @abstractmethod
    def input_bytes(self, size: int) -> int:
        """Return how long an owner's share of so many samples is as bytes."""

    @abstractmethod
    def read_input(self, raw: bytes | memoryview, size: int) -> InputShare:
        """Return a share from its bytes."""

    def share(
        self, samples: Samples, wanted_sums: Sequence[OwnerSum], *, stream: Stream | None = None
    ) -> tuple[OwnerShare, ...]:
        """Split an owner's list and sums: a share of both for every input server."""
        stream = Stream.fresh() if stream is None else stream
        lists = self.split(self.prepare(samples), stream=stream)
        sums = sums_of(samples, wanted_sums)
        drawn = [stream.words(sums.shape) for _ in lists[1:]]
        parts = [*drawn, sums - sum(drawn, np.zeros_like(sums))]
        return tuple(OwnerShare(*both) for both in zip(lists, parts, strict=True))

    def share_bytes(self, size: int, sums: int) -> int:
        """Return how long a share of list and sums is as bytes."""
        return self.input_bytes(size) + RING.wire_bytes(sums)

    def read_share(self, raw: Buffer, size: int, sums: int) -> OwnerShare:
        expected = self.share_bytes(size, sums)
        if len(raw) != expected:
            raise InputError(f"a share of {size:,} samples has {expected:,} bytes, not {len(raw):,}")
        list_bytes = self.input_bytes(size)
        words = RING.from_wire(memoryview(raw)[list_bytes:], (sums,))
        return OwnerShare(self.read_input(memoryview(raw)[:list_bytes], size), words)

    def combine(self, parts: Sequence[ResultShare], query: Query, owners: Sequence[str]) -> ReleasedResult:
        """Return the release, from one part of every result server. Only an owner may do this."""
        checked_owners = owners if self.checks_order else ()
        shape = (2, column_count(query, len(checked_owners)))
        if [part.words.shape for part in parts] != [shape] * len(self.result_servers):
            raise ProtocolError("each server must give one part of every flag and of every metric asked for")
        whole = sum((part.words for part in parts), np.zeros(shape, dtype=np.uint64))
        return read_release(whole, query, checked_owners)

    # A server's side

    def worker_share(self, share: OwnerShare, worker: Worker) -> OwnerShare:
        """Return what a worker gets of a server's share: a block of the list; the first also the sums."""
        block = blocks(len(share), worker.count)[worker.index]
        return OwnerShare(share.samples.part(block), share.sums if worker.leads else share.sums[:0])

    @abstractmethod
    def suite(self, context: Context) -> Suite:
        """Return the functionalities at one server."""

    @abstractmethod
    def merge_two(self) -> MergeTwo:
        """Return how two sorted lists become one."""

    def work(self, query: Query) -> Mapping[str, int]:
        """Estimate how much of a run's time each step takes, in any unit, from what is public."""
        return {"merge": 1}

    def run(
        self,
        context: Context,
        query: Query,
        inputs: list[OwnerShare],
        recipients: int,
    ) -> tuple[ResultShare, ...]:
        """Run one server's part; return a part of the result for every recipient, if the server gets any.

        Takes the inputs: the list is empty afterwards. Where the server has several workers, each is given
        what `worker_share` says, and the first one has the parts of the result.
        """
        context.progress = Work(self.work(query), context.progress)
        suite = self.suite(context)
        team = suite.team
        with context.step("input"):
            sizes_here = [len(blocks(size, team.count)[team.index]) for size in query.sizes]
            lists = suite.inputs([share.samples for share in inputs], sizes_here)
            sums = None
            if query.sums and team.leads:
                sums = suite.input_words(
                    [share.sums for share in inputs], (len(query.sizes), len(query.sums))
                )
        inputs.clear()
        ascents = count_ascents(suite, lists, query.sizes) if self.checks_order else None
        counts = None
        if query.needs_list_counts:
            sizes = np.array(query.sizes, dtype=np.uint64)
            counts = ListCounts(sizes, team.total(suite.count_positives(lists)))
        merged = []
        if query.needs_curve:
            with context.step("merge"):
                taken = (lists.pop(0) for _ in range(len(lists)))  # so that nobody else holds them
                merged.append(merge_all(suite, taken, self.merge_two(), query.sizes))
        lists.clear()
        columns = release(suite, query, merged, Inputs(ascents, counts, sums))
        return suite.result(columns, recipients) if team.leads else ()

    # What it promises

    @abstractmethod
    def learns(self, server: Server) -> Knowledge:
        """Return what a server learns beyond what is public anyway, up to the corruption in `privacy`."""

    def owners_learn(self, policy: Policy) -> Knowledge:
        """Return what an owner learns beyond what is public anyway; with noise, nothing is withheld."""
        withheld = () if policy.is_private else (SUPPRESSION, ONE_CLASS)
        released = (RELEASED_METRICS, *withheld)
        return (*released, UNFIT_LIST) if self.checks_order else released

    def servers_learn(self) -> dict[str, Knowledge]:
        """Return what servers learn by kind of server, as people call it."""
        return by_kind({server: self.learns(server) for server in self.servers})

    def discloses(self, policy: Policy) -> dict[str, str]:
        """Return what each kind of party learns beyond what is public anyway, in words."""
        of_servers = {party: told(learnt) for party, learnt in self.servers_learn().items()}
        return {**of_servers, "the owners": told(self.owners_learn(policy), "; or ")}

    def described(self) -> str:
        """Return the parameters as people see them."""
        return ", ".join(f"{name} {value}" for name, value in self.settings().items())
