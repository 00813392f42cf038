"""What an evaluation returns."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ppaurora.party.run import Outcome
from ppaurora.suites.role import Role


@dataclass(frozen=True)
class RunCost:
    """What the computation took once the three servers were connected.

    Bytes are what all parties handed to their channels, frame headers included, TLS overhead not.
    Rounds are the longest chain of dependent messages. Peak memory is a server's, or of the whole
    process where the servers are its threads.
    """

    seconds: float
    bytes: int
    rounds: int
    messages: int
    bytes_by_party: dict[str, int]
    peak_bytes_by_party: dict[str, int]
    bytes_by_step: dict[str, int]
    rounds_by_step: dict[str, int]

    @classmethod
    def of(cls, outcomes: Sequence[Outcome]) -> RunCost:
        meters = [outcome.meter for outcome in outcomes]
        by_step: Counter[str] = Counter()
        for meter in meters:
            by_step.update({step: tally["bytes"] for step, tally in meter["steps"].items()})

        def rounds_of(step: str) -> int:
            return max(int(meter["steps"][step]["rounds"]) for meter in meters if step in meter["steps"])

        return cls(
            seconds=max(outcome.seconds for outcome in outcomes),
            bytes=sum(meter["bytes"] for meter in meters),
            rounds=max(meter["rounds"] for meter in meters),
            messages=sum(meter["messages"] for meter in meters),
            bytes_by_party={role.title: meters[role]["bytes"] for role in Role},
            peak_bytes_by_party={role.title: outcomes[role].peak_bytes for role in Role},
            bytes_by_step=dict(by_step),
            rounds_by_step={name: rounds_of(name) for name in by_step},
        )


class MetricValues:
    """Metrics by name, also as attributes."""

    metrics: dict[str, float]

    def _metric(self, name: str) -> float:
        if name not in self.metrics:
            raise AttributeError(f"'{name}' was not asked for; this report has: {', '.join(self.metrics)}")
        return self.metrics[name]

    @property
    def auroc(self) -> float:
        return self._metric("auroc")

    @property
    def auroc_no_ties(self) -> float:
        return self._metric("auroc_no_ties")

    @property
    def aupr(self) -> float:
        return self._metric("aupr")

    @property
    def ap(self) -> float:
        return self._metric("ap")


@dataclass(frozen=True)
class Report(MetricValues):
    """The metrics on everyone's samples together, and what they cost."""

    metrics: dict[str, float]
    owners: int
    samples: int
    protocol: str
    delta: int
    key_bits: int
    transport: str
    cost: RunCost
    openings: dict[str, int]

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value:.6g}" for name, value in self.metrics.items())
        return f"<Report {values}; {self.samples} samples of {self.owners} owners, protocol {self.protocol}>"

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2)
