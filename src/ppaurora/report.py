"""What an evaluation returns."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ppaurora.metrics import METRICS
from ppaurora.party.run import RunOutcome
from ppaurora.servers import Server


@dataclass(frozen=True)
class RunCost:
    """What the computation took once the servers were connected.

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
    def of(cls, servers: type[Server], outcomes: Mapping[Server, RunOutcome]) -> RunCost:
        meters = [outcome.meter for outcome in outcomes.values()]
        by_step: Counter[str] = Counter()
        for meter in meters:
            by_step.update({step: cost.bytes for step, cost in meter.steps.items()})
        return cls(
            seconds=max(outcome.seconds for outcome in outcomes.values()),
            bytes=sum(meter.bytes for meter in meters),
            rounds=max(meter.rounds for meter in meters),
            messages=sum(meter.messages for meter in meters),
            bytes_by_party={server.title: outcomes[server].meter.bytes for server in servers},
            peak_bytes_by_party={server.title: outcomes[server].peak_bytes for server in servers},
            bytes_by_step=dict(by_step),
            rounds_by_step={
                step: max(meter.steps[step].rounds for meter in meters if step in meter.steps)
                for step in by_step
            },
        )


class MetricValues:
    """Metrics by name, also as attributes."""

    metrics: dict[str, float]

    def __getattr__(self, name: str) -> float:
        if name not in METRICS:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        if name not in self.metrics:
            raise AttributeError(f"'{name}' was not asked for; this report has: {', '.join(self.metrics)}")
        return self.metrics[name]

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.metrics]

    def shown(self) -> list[tuple[str, str]]:
        """Names and values, for people."""
        return [(name, METRICS[name].shown(value)) for name, value in self.metrics.items()]

    def _in_short(self) -> str:
        return ", ".join(f"{name}={value:.6g}" for name, value in self.metrics.items())


@dataclass(frozen=True, repr=False)
class Report(MetricValues):
    """The metrics on everyone's samples together, and what they cost."""

    metrics: dict[str, float]
    owners: int
    samples: int
    protocol: str
    parameters: dict[str, Any]  # of the protocol
    transport: str
    cost: RunCost
    openings: dict[str, int]

    def __repr__(self) -> str:
        return f"<Report {self._in_short()}; {self.samples} samples of {self.owners} owners, {self.protocol}>"

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2)
