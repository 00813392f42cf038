"""How cost grows with the number of samples and of owners.

Every run is checked against scikit-learn on the pooled data, which is timed in the same run: a ratio
says more than seconds on somebody's machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ppaurora.channel.shaped import Network
from ppaurora.errors import InputError, PpauroraError
from ppaurora.evaluation import evaluate
from ppaurora.party.context import Progress

METRICS = ("auroc", "aupr")
TOLERANCE = 1e-9
SEED = 2023
HEADINGS = ("samples", "owners", "via", "network", "seconds", "x plain", "MB sent", "rounds", "peak MB")


class WrongResultError(PpauroraError):
    """A measured run gave another number than scikit-learn on the pooled data."""


@dataclass(frozen=True)
class Setting:
    """One run to measure."""

    samples: int
    owners: int
    transport: str
    key_bits: int = 64

    def __str__(self) -> str:
        return f"{self.owners} x {self.samples // self.owners:,}, {self.transport}"


@dataclass(frozen=True)
class Measurement:
    """What it took. Memory is a party's peak, or of all three together with the transport "memory"."""

    samples: int
    owners: int
    transport: str
    key_bits: int
    network: str
    seconds: float
    plain_seconds: float
    bytes: int
    rounds: int
    peak_bytes: dict[str, int]
    difference: float

    @property
    def ratio(self) -> float:
        """Times the plain computation."""
        return self.seconds / self.plain_seconds

    def cells(self) -> list[str]:
        """As a row of a table."""
        return [
            f"{self.samples:,}",
            str(self.owners),
            self.transport,
            self.network,
            f"{self.seconds:.2f}",
            f"{self.ratio:.0f}",
            f"{self.bytes / 1e6:,.1f}",
            str(self.rounds),
            f"{max(self.peak_bytes.values()) / 1e6:,.0f}",
        ]


def settings(
    sizes: Iterable[int], owners: Iterable[int], transports: Sequence[str], key_bits: int
) -> list[Setting]:
    return [
        Setting(size // count * count, count, transport, key_bits)
        for size in sizes
        for count in owners
        for transport in transports
        if size >= count
    ]


def make_owners(setting: Setting) -> list[tuple[NDArray[np.bool_], NDArray[np.float64]]]:
    """Equal parts of data whose labels follow the scores; one score in a hundred is tied."""
    random = np.random.default_rng(SEED)
    scores = random.random(setting.samples)
    tied = random.random(setting.samples) < 0.01
    scores[tied] = np.round(scores[tied], 2)
    if setting.key_bits == 32:
        scores = scores.astype(np.float32).astype(np.float64)
    labels = random.random(setting.samples) < scores
    return [(labels[part], scores[part]) for part in np.split(np.arange(setting.samples), setting.owners)]


def plain(owners: Sequence[tuple[NDArray[np.bool_], NDArray[np.float64]]]) -> tuple[dict[str, float], float]:
    """The same metrics by scikit-learn on the pooled data, and the seconds they took."""
    try:
        from sklearn.metrics import auc, precision_recall_curve, roc_auc_score
    except ImportError:
        raise InputError("benchmarks compare with scikit-learn: pip install 'ppaurora[demo]'") from None
    labels, scores = (np.concatenate(column) for column in zip(*owners, strict=True))
    start = time.perf_counter()
    precision, recall, _ = precision_recall_curve(labels, scores)
    values = {"auroc": float(roc_auc_score(labels, scores)), "aupr": float(auc(recall, precision))}
    return values, time.perf_counter() - start


def measure(setting: Setting, network: Network | None, progress: Progress) -> Measurement:
    owners = make_owners(setting)
    expected, plain_seconds = plain(owners)
    report = evaluate(
        owners,
        metrics=METRICS,
        key_bits=setting.key_bits,
        transport=setting.transport,
        network=network,
        progress=progress,
        timeout=600.0,
    )
    difference = max(abs(report.metrics[name] - expected[name]) for name in METRICS)
    if difference > TOLERANCE:
        raise WrongResultError(f"{setting}: differs from the pooled value by {difference:.1e}")
    return Measurement(
        **asdict(setting),
        network="loopback" if network is None else str(network),
        seconds=report.cost.seconds,
        plain_seconds=plain_seconds,
        bytes=report.cost.bytes,
        rounds=report.cost.rounds,
        peak_bytes=report.cost.peak_bytes_by_party,
        difference=difference,
    )


def run_scale(
    chosen: Sequence[Setting], network: Network | None, progress_for: Callable[[Setting], Progress]
) -> Iterator[Measurement]:
    for setting in chosen:
        yield measure(setting, network, progress_for(setting))


def to_rows(measurements: Sequence[Measurement]) -> list[dict[str, Any]]:
    return [asdict(measurement) for measurement in measurements]


def markdown_table(rows: Sequence[dict[str, Any]]) -> str:
    """The measurements as the README shows them."""
    lines = ["| " + " | ".join(HEADINGS) + " |", "|--:|--:|---|---|--:|--:|--:|--:|--:|"]
    measurements = sorted(
        (Measurement(**row) for row in rows), key=lambda m: (m.network != "loopback", m.samples, m.owners)
    )
    lines += ["| " + " | ".join(measurement.cells()) + " |" for measurement in measurements]
    return "\n".join(lines)
