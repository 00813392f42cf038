"""The runs of the paper's evaluation: which there are, how long they may take, and one of them measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.by_name import evaluate_by_name
from benchmarks.paper.printed import METRICS, OWNERS, SAMPLES, SETTINGS, Setting
from benchmarks.plain import checked_difference, pooled
from benchmarks.synthetic import synthetic_owners
from ppaurora.algorithms.merge import plan
from ppaurora.channel.shaped import Network
from ppaurora.metrics.roc import UntiedAuroc
from ppaurora.protocols import find_protocol
from ppaurora.session import Progress

SEED = 2023
PROTOCOLS = ("paper", "fast")
NETWORKS = {"LAN": Network(0.18e-3), "WAN": Network(10e-3)}
PATIENCE_SECONDS = 600.0


def has_delta(protocol: str) -> bool:
    """Whether delta is one of its parameters. One without stands, with delta 1, beside every delta."""
    return "delta" in find_protocol(protocol).Parameters.__struct_fields__


@dataclass(frozen=True)
class Experiment:
    """One run of the paper's evaluation."""

    setting: Setting
    metric: str
    network: str
    protocol: str

    def __str__(self) -> str:
        delta = f", delta {self.setting.delta}" if has_delta(self.protocol) else ""
        return f"{self.protocol}, {self.network}, {METRICS[self.metric]}, {self.setting.owners}{delta}"


@dataclass(frozen=True)
class Measured:
    """What it took; bytes by party are in the order proxy 0, proxy 1, helper."""

    sizes: tuple[int, ...]
    delta: int
    metric: str
    network: str
    protocol: str
    seconds: float
    plain_seconds: float
    bytes: int
    bytes_by_party: tuple[int, ...]
    rounds: int
    peak_bytes: int
    difference: float

    @classmethod
    def of_row(cls, row: dict[str, Any]) -> Measured:
        lists = {"sizes": tuple(row["sizes"]), "bytes_by_party": tuple(row["bytes_by_party"])}
        return cls(**{**row, **lists})

    @property
    def experiment(self) -> Experiment:
        return Experiment(Setting(self.sizes, self.delta), self.metric, self.network, self.protocol)


def all_experiments() -> list[Experiment]:
    """Return all experiments: an evening's work."""
    return [
        Experiment(setting, metric, network, protocol)
        for network in NETWORKS
        for protocol in PROTOCOLS
        for metric in METRICS
        for setting in SETTINGS
        if has_delta(protocol) or setting.delta == 1
    ]


def quick_experiments() -> list[Experiment]:
    """A few minutes' work: small settings of `paper`, all of `fast`, little of the slow network."""
    largest = OWNERS[-1]

    def quick(experiment: Experiment) -> bool:
        if experiment.network == "WAN":
            return experiment.setting == (SAMPLES[0] if has_delta(experiment.protocol) else largest)
        return not has_delta(experiment.protocol) or experiment.setting in SAMPLES[:3]

    return [experiment for experiment in all_experiments() if quick(experiment)]


def measure(experiment: Experiment, progress: Progress) -> Measured:
    setting, metric = experiment.setting, experiment.metric
    owners = synthetic_owners(setting.sizes, SEED, ties=metric != UntiedAuroc.name)
    expected, plain_seconds = pooled(owners, [metric])
    parameters: dict[str, Any] = (
        {"delta": setting.delta} if has_delta(experiment.protocol) else {"key_bits": 64}
    )
    report = evaluate_by_name(
        owners,
        metrics=[metric],
        protocol=experiment.protocol,
        transport="tls",
        network=NETWORKS[experiment.network],
        progress=progress,
        timeout=PATIENCE_SECONDS,
        **parameters,
    )
    return Measured(
        **asdict(setting),
        metric=metric,
        network=experiment.network,
        protocol=experiment.protocol,
        seconds=report.cost.seconds,
        plain_seconds=plain_seconds,
        bytes=report.cost.bytes,
        bytes_by_party=tuple(report.cost.bytes_by_party.values()),
        rounds=report.cost.rounds,
        peak_bytes=max(report.cost.peak_bytes_by_party.values()),
        difference=checked_difference(str(experiment), report, expected),
    )


class Estimate:
    """Seconds that experiments may take: a rough model, corrected by what is measured on this machine."""

    _COMPARISON_SECONDS = 4.5e-6
    _ROUND_SECONDS = 250e-6
    _START_SECONDS = 1.0
    _FAST_ROUNDS = 450

    def __init__(self) -> None:
        self._expected = 0.0
        self._taken = 0.0

    def learn(self, experiment: Experiment, seconds: float) -> None:
        """What one took, start included."""
        self._expected += self._model(experiment)
        self._taken += seconds

    def seconds(self, experiments: Sequence[Experiment]) -> float:
        correction = self._taken / self._expected if self._expected else 1.0
        return correction * sum(self._model(experiment) for experiment in experiments)

    def _model(self, experiment: Experiment) -> float:
        one_way = NETWORKS[experiment.network].round_trip_seconds / 2
        if not has_delta(experiment.protocol):
            return self._START_SECONDS + self._FAST_ROUNDS * (self._ROUND_SECONDS + one_way)
        comparisons, rounds = _work_of_paper(experiment.setting)
        return (
            self._START_SECONDS
            + comparisons * self._COMPARISON_SECONDS
            + rounds * (self._ROUND_SECONDS + one_way)
        )


def _work_of_paper(setting: Setting) -> tuple[int, int]:
    """About how many comparisons and rounds: a shuffling of all pairs takes 3, a choice of a top 4."""
    lengths = list(setting.sizes)
    depths = [0] * len(lengths)
    comparisons = 0
    for merge in plan(setting.sizes):
        shufflings = -(-merge.size // setting.delta)
        comparisons += shufflings * min(lengths[merge.left], lengths[merge.right]) // 2
        rounds = 3 * shufflings + 4 * (merge.size - shufflings)
        lengths.append(merge.size)
        depths.append(max(depths[merge.left], depths[merge.right]) + rounds)
    return comparisons, depths[-1]
