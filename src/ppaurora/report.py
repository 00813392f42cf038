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

    Attributes
    ----------
    seconds
        Of the slowest server.
    bytes
        What all servers handed to their channels, frame headers included, TLS overhead not.
    rounds
        The longest chain of messages of which each had to wait for the one before.
    messages
        How many frames were sent in all.
    bytes_by_party, peak_bytes_by_party
        What each server sent, and the most memory that it held, by the server's name. Where servers are
        threads of one process, each has the memory of the whole process.
    bytes_by_step, rounds_by_step
        The same by step of the computation, such as "merge" and "division".

    Examples
    --------
    >>> import ppaurora
    >>> owners = [([1, 0, 1, 0], [0.9, 0.4, 0.7, 0.2]), ([0, 1, 0], [0.3, 0.6, 0.6])]
    >>> cost = ppaurora.evaluate(owners).cost
    >>> list(cost.bytes_by_party)
    ['proxy 0', 'proxy 1', 'helper']
    >>> sum(cost.bytes_by_party.values()) == cost.bytes
    True
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
    """Metrics by name, also as attributes: `report.auroc` is `report.metrics["auroc"]`."""

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
    """The metrics on everyone's samples together, and what they cost.

    Attributes
    ----------
    metrics
        The values by name. Each is also an attribute: `report.auroc`.
    owners, samples
        How many there were.
    protocol, parameters
        The protocol's name, and its parameters by name.
    transport
        How the servers talked: "memory" or "tls".
    cost
        What it took, as a `RunCost`.
    openings
        What the servers learnt: by name, which docs/leakage.md explains, how many values were opened.

    Examples
    --------
    >>> import ppaurora
    >>> hospital_a = ([1, 0, 1, 0], [0.9, 0.4, 0.7, 0.2])
    >>> hospital_b = ([0, 1, 0], [0.3, 0.6, 0.6])
    >>> report = ppaurora.evaluate([hospital_a, hospital_b], metrics=["auroc", "ap"])
    >>> report
    <Report auroc=0.958333, ap=0.916667; 7 samples of 2 owners, fast>
    >>> report.auroc == report.metrics["auroc"]
    True
    >>> report.to_dict()["parameters"]
    {'key_bits': 64}
    """

    metrics: dict[str, float]
    owners: int
    samples: int
    protocol: str
    parameters: dict[str, Any]
    transport: str
    cost: RunCost
    openings: dict[str, int]

    def __repr__(self) -> str:
        return f"<Report {self._in_short()}; {self.samples} samples of {self.owners} owners, {self.protocol}>"

    def to_dict(self) -> dict[str, Any]:
        """All of it as dictionaries, texts and numbers."""
        return asdict(self)

    def to_json(self) -> str:
        """As `ppaurora evaluate --format json` prints it."""
        return json.dumps(self.to_dict(), indent=2)
