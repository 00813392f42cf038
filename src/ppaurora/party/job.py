"""What the three servers compute together, and one server's run of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from ppaurora.algorithms.curves import METRICS, areas, check_size
from ppaurora.algorithms.merge import merge_all
from ppaurora.algorithms.merge_delta import merge_delta
from ppaurora.algorithms.merge_network import merge_network
from ppaurora.algorithms.order import count_ascents
from ppaurora.errors import InputError
from ppaurora.session import Context
from ppaurora.sharing.shares import BitShare, RingShare
from ppaurora.sharing.stages import AdditiveShare, InputShare, PlanesShare, ResultShare
from ppaurora.suites.arrays import ArrayRecords
from ppaurora.suites.bitsliced import BitslicedSuite
from ppaurora.suites.cecilia import CeciliaSuite
from ppaurora.suites.role import Role

PROTOCOLS = ("fast", "paper")


@dataclass(frozen=True)
class Job:
    """Public in all its parts; its hash is bound into the session's keys."""

    sizes: tuple[int, ...]
    metrics: tuple[str, ...]
    protocol: str = "fast"
    key_bits: int = 64
    delta: int = 1

    def __post_init__(self) -> None:
        if self.protocol not in PROTOCOLS:
            raise InputError(f"unknown protocol '{self.protocol}'; there are: {', '.join(PROTOCOLS)}")
        if not all(isinstance(size, int) and size > 0 for size in self.sizes):
            raise InputError("every owner must have at least one sample")
        if len(self.sizes) < 2:
            raise InputError(f"at least two owners are needed, got {len(self.sizes)}")
        if not self.metrics:
            raise InputError(f"no metric asked for; there are: {', '.join(METRICS)}")
        for metric in self.metrics:
            if metric not in METRICS:
                raise InputError(f"unknown metric '{metric}'; there are: {', '.join(METRICS)}")
            if self.metrics.count(metric) > 1:
                raise InputError(f"the metric '{metric}' is asked for more than once")
        if self.key_bits not in (32, 64):
            raise InputError(f"keys have 32 or 64 bits, not {self.key_bits}")
        merge_delta(self.delta)
        if self.delta != 1 and self.protocol != "paper":
            raise InputError("delta applies to the protocol 'paper' only; leave it out")
        check_size(sum(self.sizes))

    def to_json(self) -> str:
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Self:
        fields: dict[str, Any] = json.loads(text)
        fields["sizes"], fields["metrics"] = tuple(fields["sizes"]), tuple(fields["metrics"])
        return cls(**fields)

    def hash(self, study: bytes = b"") -> bytes:
        """Also of the study that the job belongs to: its manifest and what was submitted to it."""
        return hashlib.sha256(
            b"ppaurora job\0" + hashlib.sha256(study).digest() + self.to_json().encode()
        ).digest()

    @property
    def checks_order(self) -> bool:
        """Whether the result tells the owners if somebody's list was unsorted."""
        return self.protocol == "fast"

    def input_bytes(self, size: int) -> int:
        """How long an owner's share is on the wire."""
        if self.protocol == "paper":
            return AdditiveShare.wire_bytes(size)
        return PlanesShare.wire_bytes(size, self.key_bits)

    def read_input(self, raw: bytes, size: int) -> InputShare:
        if self.protocol == "paper":
            return AdditiveShare.from_bytes(raw, size)
        return PlanesShare.from_bytes(raw, size, self.key_bits)


def run_job(context: Context, job: Job, inputs: Sequence[Any]) -> ResultShare | None:
    """One party's run. The helper has no inputs and gets no result."""
    return run_paper(context, job, inputs) if job.protocol == "paper" else run_fast(context, job, inputs)


def run_paper(context: Context, job: Job, inputs: Sequence[AdditiveShare]) -> ResultShare | None:
    """The paper's protocol: delta merge, Algorithm 3, division by CECILIA's primitives."""
    suite = CeciliaSuite(context)
    lists = [ArrayRecords.empty(suite.holder, size) for size in job.sizes]
    if not Role(context.role).is_helper:
        lists = [
            ArrayRecords(RingShare(suite.holder, share.keys), BitShare(suite.holder, share.labels))
            for share in inputs
        ]
    with context.step("merge"):
        merged = merge_all(suite, lists, merge_delta(job.delta))
    result = areas(suite, merged, job.metrics)
    return None if Role(context.role).is_helper else ResultShare(result.values)


def run_fast(context: Context, job: Job, inputs: Sequence[PlanesShare]) -> ResultShare | None:
    """Merge network on bit planes. Opens nothing: whether a list was unsorted is for the owners to learn."""
    suite = BitslicedSuite(context, job.key_bits)
    with context.step("input"):
        lists = suite.inputs([share.planes for share in inputs], job.sizes)
    ascents = count_ascents(suite, lists)
    with context.step("merge"):
        merged = merge_all(suite, lists, merge_network)
    result = areas(suite, merged, job.metrics, ascents)
    return None if Role(context.role).is_helper else ResultShare(suite.result_part(result))
