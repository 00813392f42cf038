"""What a protocol is: who computes, what they are given, what they do, and what each of them learns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from ppaurora.algorithms.pooled_table import OwnerTables
from ppaurora.channel.base import Buffer
from ppaurora.channel.meter import Cost
from ppaurora.channel.servers import Server
from ppaurora.data.count_table import CountTable
from ppaurora.data.grid import Grid
from ppaurora.data.samples import Samples
from ppaurora.errors import InputError, ProtocolError
from ppaurora.io.models import StrictModel, checked, to_builtins
from ppaurora.metrics import Metric, Query
from ppaurora.metrics.reading import ReleasedResult, column_count, read_release
from ppaurora.metrics.sums import OwnerSum
from ppaurora.policy.rules import EXACT, ROUNDED, Policy
from ppaurora.protocols import registry
from ppaurora.protocols.security import (
    ONE_CLASS,
    RELEASED_METRICS,
    SUPPRESSION,
    UNFIT_TABLE,
    Corruption,
    Knowledge,
    Learnt,
    by_kind,
    told,
)
from ppaurora.randomness.streams import Stream
from ppaurora.session import Context, Worker
from ppaurora.sharing.shares import RingShare, Words
from ppaurora.sharing.stages import Counts, OwnerShare, ResultShare, Shape, TableShare
from ppaurora.suites.base import Suite


class Protocol(ABC):
    """One way to compute the metrics, with its parameters. Public in all its parts.

    Its servers are an enumeration of their own. `leader` begins attempts, `input_servers` each take
    one share of what every owner submits, `result_servers` each get one part of the result.
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
    unfit: ClassVar[Learnt | None]  # what owners learn of a submission that does not fit; None: nothing
    takes_negated: ClassVar[bool] = True  # scores of which the lower one is the more positive
    most_workers: ClassVar[int] = 1  # of a server
    rounds_inside: ClassVar[bool] = True  # whether its suite has what a release policy needs
    process: ClassVar[str] = "ppaurora.party"  # the module that a server process runs

    def __init__(self, **parameters: Any) -> None:
        self.parameters = registry.check_parameters(type(self), parameters)

    @classmethod
    def fitting(cls, owners: Sequence[Samples | CountTable], **parameters: Any) -> Self:
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
        """Return the parameters by name; one that is left out by default is not there."""
        plain = to_builtins(self.parameters)
        return {name: value for name, value in plain.items() if value is not None}

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

    @property
    def grid(self) -> Grid | None:
        """How scores are read for the table that owners submit, if they do."""
        return None

    @property
    def tabulated(self) -> bool:
        """Return whether everything is computed from tables, and no list is submitted."""
        return False

    # The owner's side

    @property
    def counting_grid(self) -> Grid | None:
        """Return on which grid owners may count their samples in the place of keeping them, if they may."""
        return self.grid if self.tabulated else None

    @property
    def takes_float64(self) -> bool:
        """Return whether scores may have all digits of a float64."""
        return True

    def check_table(self, table: CountTable) -> None:
        """Raise unless owners may submit this table in the place of samples."""
        if self.counting_grid is None:
            raise no_table(table)
        if table.grid != self.grid:
            raise InputError(f"{table.source}: the table is on another grid than the study: {self.grid}")

    def read(self, samples: Samples) -> Samples:
        """Return samples with their scores as the protocol reads them; one that it cannot is refused."""
        return samples

    @abstractmethod
    def share(
        self, data: Samples | CountTable, wanted_sums: Sequence[OwnerSum], *, stream: Stream | None = None
    ) -> tuple[OwnerShare, ...]:
        """Split all that an owner submits to a plain study, a share for every input server; from the
        operating system's randomness.

        Only test vectors give a stream of their own.
        """

    @abstractmethod
    def share_parts(
        self, lists: Sequence[Samples], words: Words, counts: Counts, *, stream: Stream | None = None
    ) -> tuple[OwnerShare, ...]:
        """Split lists, sums with other numbers, and counts; a protocol that takes no lists leaves them."""

    def shape(self, sums: int) -> Shape:
        """Return how much an owner of a plain study submits, with so many sums."""
        return Shape(sums, counts=0 if self.grid is None else 2 * self.grid.cells)

    @abstractmethod
    def share_bytes(self, server: Server, size: int, shape: Shape, *, leads: bool = True) -> int:
        """Return how long a server's share of so many samples is as bytes.

        Or the share of one of its workers; only the first one has more than samples.
        """

    @abstractmethod
    def read_share(
        self, raw: Buffer, server: Server, size: int, shape: Shape, *, leads: bool = True
    ) -> OwnerShare:
        """Return a server's share from its bytes, or that of one of its workers."""

    def table_bytes(self, server: Server, shape: Shape) -> int:
        """Return how long a server's share of all counts is, if owners submit any."""
        return TableShare.wire_bytes(shape.counts, is_seed=self._has_seed(server)) if shape.counts else 0

    def split_words(self, words: Words, stream: Stream) -> list[Words]:
        """Split numbers modulo 2^64: a part for every input server."""
        drawn = [stream.words(words.shape) for _ in self.input_servers[1:]]
        return [*drawn, words - sum(drawn, np.zeros_like(words))]

    def split_counts(self, counts: Counts, stream: Stream) -> Sequence[TableShare | None]:
        """Split counts: a seed for every input server but the last, and words for that."""
        if not len(counts):
            return [None] * len(self.input_servers)
        return TableShare.split(counts, len(self.input_servers), stream)

    def read_table(self, raw: Buffer, server: Server, shape: Shape) -> TableShare | None:
        """Return a server's share of all counts from its bytes, if owners submit any."""
        if not shape.counts:
            return None
        return TableShare(bytes(raw), shape.counts, is_seed=self._has_seed(server))

    def _has_seed(self, server: Server) -> bool:
        return server != self.input_servers[-1]

    def input_counts(
        self, suite: Suite, query: Query, inputs: Sequence[OwnerShare], counts: int
    ) -> RingShare | None:
        """Return so many counts of every owner in secret, a row for each; None if there are none."""
        if not counts:
            return None
        parts = [share.table.parts() for share in inputs if share.table is not None]
        return suite.input_counts(parts, (len(query.sizes), counts))

    def input_words(
        self, suite: Suite, query: Query, inputs: Sequence[OwnerShare], words: int
    ) -> RingShare | None:
        """Return so many numbers of every owner in secret, a column for each; None if there are none."""
        if not words:
            return None
        return suite.input_words([share.sums for share in inputs], (len(query.sizes), words))

    def tables(self, suite: Suite, query: Query, inputs: Sequence[OwnerShare]) -> OwnerTables | None:
        """Return every owner's table in secret, if they submit one to a plain study."""
        if self.grid is None:
            return None
        counts = self.input_counts(suite, query, inputs, 2 * self.grid.cells)
        return None if counts is None else OwnerTables(self.grid, query.negated, counts)

    def combine(self, parts: Sequence[ResultShare], query: Query, owners: Sequence[str]) -> ReleasedResult:
        """Return the release, from one part of every result server. Only an owner may do this."""
        checked_owners = () if self.unfit is None else owners
        shape = (2, column_count(query, len(checked_owners)))
        if [part.words.shape for part in parts] != [shape] * len(self.result_servers):
            raise ProtocolError("each server must give one part of every flag and of every metric asked for")
        whole = sum((part.words for part in parts), np.zeros(shape, dtype=np.uint64))
        return read_release(whole, query, checked_owners)

    # A server's side

    @abstractmethod
    def worker_share(self, share: OwnerShare, worker: Worker, size: int) -> OwnerShare:
        """Return what a worker gets of a server's share of so many samples."""

    @abstractmethod
    def suite(self, context: Context) -> Suite:
        """Return the functionalities at one server."""

    def declared(self, query: Query) -> Mapping[str, Cost]:
        """Return about what the steps cost, from what primitives declare; of some protocols, nothing."""
        return {}

    def work(self, query: Query) -> Mapping[str, int]:
        """Estimate how much of a run's time each step takes, in any unit, from what is public."""
        return {"merge": 1}

    @abstractmethod
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

    # What it promises

    @abstractmethod
    def learns(self, server: Server) -> Knowledge:
        """Return what a server learns beyond what is public anyway, up to the corruption in `privacy`."""

    def owners_learn(self, policy: Policy) -> Knowledge:
        """Return what an owner learns beyond what is public anyway; with noise, nothing is withheld."""
        withheld = () if policy.is_private else (SUPPRESSION, ONE_CLASS)
        unfit = () if self.unfit is None else (self.unfit,)
        beside_lists = () if self.grid is None or self.tabulated else (UNFIT_TABLE,)
        return (RELEASED_METRICS, *withheld, *unfit, *beside_lists)

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


def no_table(table: CountTable) -> InputError:
    """Return the error of whoever gives a table where lists are submitted."""
    return InputError(f"{table.source}: a table of counts is for the protocol 'grid'; give the samples")
