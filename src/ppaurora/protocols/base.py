"""What a protocol is: who computes, what they are given, what they do, and what each of them learns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from ppaurora.algorithms.merge import MergeTwo, merge_all
from ppaurora.algorithms.order import count_ascents
from ppaurora.data.samples import Samples
from ppaurora.errors import ProtocolError
from ppaurora.metrics.result import areas, column_count, read_columns
from ppaurora.models import StrictModel, checked, to_builtins
from ppaurora.protocols import registry
from ppaurora.randomness.streams import Stream
from ppaurora.servers import Server
from ppaurora.session import Context, Work
from ppaurora.sharing.shares import Bytes, Words
from ppaurora.sharing.stages import InputShare, ResultShare
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
    checks_order: ClassVar[bool]  # whether the owners learn if somebody's list was not sorted
    process: ClassVar[str] = "ppaurora.party"  # the module that a server process runs

    def __init__(self, **parameters: Any) -> None:
        self.parameters = self.Parameters(**registry.check_parameters(type(self), parameters))

    @classmethod
    def fitting(cls, owners: Sequence[Samples], **parameters: Any) -> Self:
        """With what was left out of the parameters chosen for this data, by who holds all of it."""
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
        """The parameters by name."""
        return dict(to_builtins(self.parameters))

    def to_plain(self) -> dict[str, Any]:
        return {"name": self.name, **self.settings()}

    @classmethod
    def from_plain(cls, plain: Any) -> Protocol:
        """Strictly: nothing of it is converted."""
        if not isinstance(plain, dict):
            raise ValueError("a protocol is a table with a name and its parameters")  # noqa: TRY004
        parameters = dict(plain)
        kind = registry.find_protocol(parameters.pop("name", None))
        protocol = kind()
        protocol.parameters = checked(kind.Parameters, parameters)
        return protocol

    def server_named(self, file_name: str) -> Server:
        """By the name that its folder and its section of a plan have."""
        return next(server for server in self.servers if server.file_name == file_name)

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
        """A share for every input server, from the operating system's randomness.

        Only test vectors give a stream of their own.
        """

    @abstractmethod
    def input_bytes(self, size: int) -> int:
        """How long an owner's share of so many samples is as bytes."""

    @abstractmethod
    def read_input(self, raw: bytes, size: int) -> InputShare:
        """A share from its bytes."""

    def combine(
        self, parts: Sequence[ResultShare], metrics: Sequence[str], owners: Sequence[str]
    ) -> dict[str, float]:
        """The metrics by name, from one part of every result server. Only an owner may do this."""
        checked_owners = owners if self.checks_order else ()
        shape = (2, column_count(metrics, len(checked_owners)))
        if [part.words.shape for part in parts] != [shape] * len(self.result_servers):
            raise ProtocolError("each server must give one part of every flag and of every metric asked for")
        whole = sum((part.words for part in parts), np.zeros(shape, dtype=np.uint64))
        return read_columns(whole, metrics, checked_owners)

    # A server's side

    @abstractmethod
    def suite(self, context: Context) -> Suite:
        """The functionalities at one server."""

    @abstractmethod
    def merge_two(self) -> MergeTwo:
        """How two sorted lists become one."""

    def work(self, metrics: Sequence[str], sizes: Sequence[int]) -> Mapping[str, int]:
        """About how much of a run's time each step takes, in any unit, from what is public."""
        return {"merge": 1}

    def run(
        self,
        context: Context,
        metrics: Sequence[str],
        sizes: Sequence[int],
        inputs: list[InputShare],
        recipients: int,
    ) -> tuple[ResultShare, ...]:
        """One server's part of the computation; a part of the result for every recipient, if it gets any.

        Takes the inputs: the list is empty afterwards.
        """
        context.progress = Work(self.work(metrics, sizes), context.progress)
        suite = self.suite(context)
        with context.step("input"):
            lists = suite.inputs(inputs, sizes)
        inputs.clear()
        ascents = count_ascents(suite, lists) if self.checks_order else None
        with context.step("merge"):
            merged = [merge_all(suite, lists, self.merge_two())]
        return suite.result(areas(suite, merged.pop(), metrics, ascents), recipients)

    # For people

    @abstractmethod
    def discloses(self) -> dict[str, str]:
        """What each kind of party learns beyond what is public anyway, in words."""

    def described(self) -> str:
        """The parameters as people see them."""
        return ", ".join(f"{name} {value}" for name, value in self.settings().items())
