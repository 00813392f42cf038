"""What the three servers compute together, and one server's run of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from ppaurora.algorithms.curves import METRICS, areas, precision_bits
from ppaurora.algorithms.merge import merge_all
from ppaurora.algorithms.merge_delta import merge_delta
from ppaurora.errors import InputError
from ppaurora.party.context import Context
from ppaurora.sharing.shares import BitShare, RingShare
from ppaurora.sharing.stages import InputShare, ResultShare
from ppaurora.suites.base import Records
from ppaurora.suites.cecilia import CeciliaSuite

PROTOCOLS = ("paper",)


@dataclass(frozen=True)
class Job:
    """Public in all its parts; its hash is bound into the session's keys."""

    sizes: tuple[int, ...]
    metrics: tuple[str, ...]
    protocol: str = "paper"
    delta: int = 1

    def __post_init__(self) -> None:
        if self.protocol not in PROTOCOLS:
            raise InputError(f"unknown protocol '{self.protocol}'; there is: {', '.join(PROTOCOLS)}")
        if len(self.sizes) < 2:
            raise InputError(f"at least two owners are needed, got {len(self.sizes)}")
        if not self.metrics:
            raise InputError(f"no metric asked for; there are: {', '.join(METRICS)}")
        for metric in self.metrics:
            if metric not in METRICS:
                raise InputError(f"unknown metric '{metric}'; there are: {', '.join(METRICS)}")
        if len(set(self.metrics)) < len(self.metrics):
            raise InputError("a metric is asked for twice")
        merge_delta(self.delta)
        precision_bits(sum(self.sizes))

    def to_json(self) -> str:
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Self:
        fields: dict[str, Any] = json.loads(text)
        fields["sizes"], fields["metrics"] = tuple(fields["sizes"]), tuple(fields["metrics"])
        return cls(**fields)

    def hash(self) -> bytes:
        return hashlib.sha256(b"ppaurora job\0" + self.to_json().encode()).digest()


def run_job(context: Context, job: Job, inputs: Sequence[InputShare]) -> ResultShare | None:
    """One party's run. The helper has no inputs and gets no result."""
    suite = CeciliaSuite(context)
    if context.role.is_helper:
        lists = [
            Records(RingShare.zeros(context.holder, (size,)), BitShare.zeros(context.holder, (size,)))
            for size in job.sizes
        ]
    else:
        lists = [
            Records(RingShare(context.holder, share.keys), BitShare(context.holder, share.labels))
            for share in inputs
        ]
    with context.step("merge"):
        merged = merge_all(suite, lists, merge_delta(job.delta))
    result = areas(suite, merged, job.metrics)
    return None if context.role.is_helper else ResultShare(result.values)
