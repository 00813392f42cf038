"""How cost grows with the number of samples and of owners.

Every run is checked against scikit-learn on the pooled data, which is timed in the same run: a ratio
says more than seconds on somebody's machine.
"""

from __future__ import annotations

import contextlib
import resource
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click

from benchmarks import grids
from benchmarks.options import network_options, numbers, out_option
from benchmarks.plain import checked_difference, pooled
from benchmarks.progress import progress_of
from benchmarks.saving import Results
from benchmarks.synthetic import Owner, synthetic_owners
from benchmarks.tables import Table, show
from ppaurora.channel.servers import Server
from ppaurora.channel.shaped import Network
from ppaurora.data import samples_of
from ppaurora.errors import InputError
from ppaurora.evaluation.evaluate import TRANSPORTS, evaluate_samples
from ppaurora.messages.workers import RayPlace
from ppaurora.metrics import DEFAULT_METRICS
from ppaurora.protocols import DEFAULT_PROTOCOL, GridProtocol, find_protocol
from ppaurora.session import Progress
from ppaurora.testing.ray_clusters import clusters as start_clusters
from ppaurora.workers.cluster import installed_ray

METRICS = DEFAULT_METRICS
SEED = 2023
SIZES = (1_000, 10_000, 100_000, 1_000_000)
LARGE = 10_000_000
LOCAL, RAY = "local", "ray"
_STORE_BYTES = 1_000_000_000
OWNERS = (2, 8, 32)
HEADINGS = ("samples", "owners", "via", "network", "seconds", "x plain", "MB sent", "rounds", "peak MB")


@dataclass(frozen=True)
class Setting:
    """One run to measure."""

    samples: int
    owners: int
    transport: str
    key_bits: int = 64
    workers: int = 1
    engine: str = LOCAL

    def __str__(self) -> str:
        return f"{self.owners} x {self.samples // self.owners:,}, {_via(self)}"


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
    bytes_by_party: dict[str, int]
    bytes_by_step: dict[str, int]
    rounds: int
    rounds_by_step: dict[str, int]
    peak_bytes: dict[str, int]
    difference: float
    workers: int = 1
    engine: str = LOCAL
    inside_bytes: int = 0  # between the workers of one party
    cpu_seconds: float = 0.0  # of all servers' processes; not known of Ray's, nor of threads

    @property
    def ratio(self) -> float:
        """Times the plain computation."""
        return self.seconds / self.plain_seconds

    def cells(self) -> list[str]:
        """As a row of a table."""
        return [
            f"{self.samples:,}",
            str(self.owners),
            _via(self),
            self.network,
            f"{self.seconds:.2f}",
            f"{self.ratio:.0f}",
            f"{self.bytes / 1e6:,.1f}",
            str(self.rounds),
            f"{max(self.peak_bytes.values()) / 1e6:,.0f}",
        ]


def _via(run: Setting | Measurement) -> str:
    return run.transport if run.workers == 1 else f"{run.transport}, {run.workers} workers ({run.engine})"


def settings(
    sizes: Iterable[int],
    owners: Iterable[int],
    transports: Sequence[str],
    key_bits: int,
    workers: Iterable[int] = (1,),
    engines: Sequence[str] = (LOCAL,),
) -> list[Setting]:
    """One worker is the same with every engine, and Ray's workers speak TLS."""
    return [
        Setting(size // count * count, count, transport, key_bits, number, engine)
        for size in sizes
        for count in owners
        for transport in transports
        for number in workers
        for engine in (engines if number > 1 and transport == "tls" else (LOCAL,))
        if size >= count
    ]


def make_owners(setting: Setting) -> list[Owner]:
    """Equal parts; one score in a hundred is tied."""
    sizes = [setting.samples // setting.owners] * setting.owners
    return synthetic_owners(sizes, SEED, ties=True, single_precision=setting.key_bits == 32)


def measure(
    setting: Setting,
    network: Network | None,
    progress: Progress,
    clusters: Mapping[Server, RayPlace] | None = None,
) -> Measurement:
    """With Ray, `clusters` has a place for every server's workers."""
    owners = make_owners(setting)
    expected, plain_seconds = pooled(owners, METRICS)
    before = cpu_seconds(resource.RUSAGE_CHILDREN)
    report = evaluate_samples(
        samples_of(owners),
        metrics=METRICS,
        protocol=DEFAULT_PROTOCOL,
        parameters={"key_bits": setting.key_bits},
        transport=setting.transport,
        network=network,
        progress=progress,
        timeout=600.0,
        workers=setting.workers,
        clusters=clusters if setting.engine == RAY else None,
    )
    difference = checked_difference(str(setting), report, expected)
    return Measurement(
        **asdict(setting),
        network="loopback" if network is None else str(network),
        seconds=report.cost.seconds,
        plain_seconds=plain_seconds,
        bytes=report.cost.bytes,
        bytes_by_party=report.cost.bytes_by_party,
        bytes_by_step=report.cost.bytes_by_step,
        rounds=report.cost.rounds,
        rounds_by_step=report.cost.rounds_by_step,
        peak_bytes=report.cost.peak_bytes_by_party,
        difference=difference,
        inside_bytes=report.cost.inside_bytes,
        cpu_seconds=0.0 if setting.engine == RAY else cpu_seconds(resource.RUSAGE_CHILDREN) - before,
    )


def cpu_seconds(whose: int) -> float:
    """Return the CPU seconds of this process, or of all that it had started and that have ended."""
    used = resource.getrusage(whose)
    return used.ru_utime + used.ru_stime


def table(measurements: Iterable[Measurement]) -> Table:
    return Table(HEADINGS, [measurement.cells() for measurement in measurements], words=("via", "network"))


def saved_table(rows: Sequence[dict[str, Any]]) -> Table:
    """All measurements, as docs/performance.md shows them."""
    return table(_sorted(rows))


def cost_table(rows: Sequence[dict[str, Any]]) -> Table:
    """What the README says of eight owners."""
    headings = ("samples of 8 owners", "network", "seconds", "MB sent", "MB of memory")
    cells = [dict(zip(HEADINGS, one.cells(), strict=True)) for one in _sorted(rows)]
    columns = ("samples", "network", "seconds", "MB sent", "peak MB")
    chosen = [one for one in cells if one["owners"] == "8" and one["samples"] in _IN_THE_README]
    return Table(headings, [[one[name] for name in columns] for one in chosen], words=("network",))


_IN_THE_README = ("8,000", "100,000", "1,000,000")


def _sorted(rows: Sequence[dict[str, Any]]) -> list[Measurement]:
    measurements = (Measurement(**row) for row in rows)
    return sorted(measurements, key=lambda m: (m.network != "loopback", m.samples, m.owners))


_STEPS = {
    "session": "nonces and public keys, for fresh pairwise keys",
    "input": "owners' xor shares into masked form",
    "order check": "neighbours compared, ascents counted for every owner",
    "merge": "the merge network, layer by layer",
    "ties": "equality of neighbours",
    "precision": "TP[j] / j, rounded off exactly",
    "curve": "labels and flags to the ring, the scan, areas as dot products",
    "division": "quotient bits, rounding to a float64",
    "release": "what is withheld: rules on secret counts, owners' lists and sums",
}


def steps_table(rows: Sequence[dict[str, Any]], samples: int, owners: int) -> Table:
    """Where the traffic and the rounds of one run go."""
    (measurement,) = (
        m
        for m in (Measurement(**row) for row in rows)
        if (m.samples, m.owners, m.network, m.transport) == (samples, owners, "loopback", "tls")
    )
    return Table(
        ["step", "what it does", "MB sent", "rounds"],
        [
            [step, _STEPS[step], f"{sent / 1e6:,.1f}", str(measurement.rounds_by_step[step])]
            for step, sent in measurement.bytes_by_step.items()
        ],
        words=("step", "what it does"),
    )


@click.command("scale")
@click.option(
    "--sizes", default=",".join(map(str, SIZES)), show_default=True, help="Numbers of samples in all."
)
@click.option("--owners", default=",".join(map(str, OWNERS)), show_default=True, help="Numbers of owners.")
@click.option(
    "--transports",
    default=",".join(TRANSPORTS),
    show_default=True,
    help="Three threads, three processes, or both.",
)
@click.option(
    "--key-bits", type=click.Choice(["32", "64"]), default="64", show_default=True, help="Width of the keys."
)
@click.option("--workers", default="1", show_default=True, help="Numbers of workers of each party.")
@click.option(
    "--engine",
    "engines",
    default=LOCAL,
    show_default=True,
    help="Where several workers run: local, ray, or both. Ray is started for it, a cluster per party.",
)
@click.option(
    "--protocol",
    type=click.Choice([DEFAULT_PROTOCOL, GridProtocol.name]),
    default=DEFAULT_PROTOCOL,
    show_default=True,
    help="With 'grid', tables of up to a billion samples beside lists; other options do not apply.",
)
@click.option("--large", is_flag=True, help=f"Also {LARGE:,} samples; takes minutes and some gigabytes.")
@network_options
@out_option("scale", "scale.json, or workers.json if there are several, which the measurements are added to")
def scale_command(
    sizes: str,
    owners: str,
    transports: str,
    key_bits: str,
    workers: str,
    engines: str,
    protocol: str,
    large: bool,
    network: Network | None,
    out: Path,
) -> None:
    """Time, traffic, rounds and memory against samples and owners, checked against scikit-learn."""
    if protocol == GridProtocol.name:
        grids.run(out)
        return
    chosen = settings(
        numbers(sizes, "sizes", 2) + ([LARGE] if large else []),
        numbers(owners, "owners", 2),
        _words(transports, "transport", TRANSPORTS),
        int(key_bits),
        numbers(workers, "workers", 1),
        _words(engines, "engine", (LOCAL, RAY)),
    )
    several = any(setting.workers > 1 for setting in chosen)
    results = Results(out / ("workers.json" if several else "scale.json"), SEED)
    done: list[Measurement] = []
    with _clusters(chosen) as clusters:
        for setting in chosen:
            with progress_of(setting) as progress:
                done.append(measure(setting, network, progress, clusters))
            results.add(asdict(done[-1]))
    show(table(done))


@contextlib.contextmanager
def _clusters(chosen: Sequence[Setting]) -> Iterator[dict[Server, RayPlace] | None]:
    """One per party on this machine, for as long as they are needed, if they are."""
    if all(setting.engine != RAY for setting in chosen):
        yield None
        return
    installed_ray()
    most = max(setting.workers for setting in chosen)
    servers = find_protocol(DEFAULT_PROTOCOL).servers
    with tempfile.TemporaryDirectory(prefix="ppaurora-") as folder:
        folders = {server.file_name: Path(folder) / server.file_name for server in servers}
        with start_clusters(folders, cpus=most, store=_STORE_BYTES) as started:
            yield {server: started[server.file_name].place() for server in servers}


def _words(text: str, what: str, known: Sequence[str]) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in known:
            raise InputError(f"unknown {what} '{name}'; there are: {', '.join(known)}")
    return names
