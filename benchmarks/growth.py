"""How cost grows, from saved measurements: exponents, memory per sample, and a projection."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.paper.experiments import Measured
from benchmarks.paper.printed import METRICS, OWNERS, PRINTED, SAMPLES, Setting
from benchmarks.paper.tables import Measurements
from benchmarks.scale import Measurement
from benchmarks.tables import Table

PROJECTED_SAMPLES = 100_000_000
PROJECTED_OWNERS = 8
RATES = {"1 Gbit/s": 1e9, "10 Gbit/s": 1e10}
GIGABYTE = 1e9
MINUTE = 60.0


def exponent(points: Iterable[tuple[float, float]]) -> float:
    """The slope of log y over log x, by least squares: y grows like x to that power."""
    x, y = np.log(np.array(sorted(points))).T
    return float(np.polyfit(x, y, 1)[0])


@dataclass(frozen=True)
class Line:
    """y = start + slope·x, by least squares."""

    start: float
    slope: float

    @classmethod
    def through(cls, points: Iterable[tuple[float, float]]) -> Line:
        x, y = np.array(sorted(points)).T
        slope, start = np.polyfit(x, y, 1)
        return cls(float(start), float(slope))

    def at(self, x: float) -> float:
        return self.start + self.slope * x


def exponents_table(paper_rows: Sequence[dict[str, Any]], scale_rows: Sequence[dict[str, Any]]) -> Table:
    """For n and for the number of owners: traffic, rounds and seconds of both protocols."""
    measurements = Measurements(Measured.of_row(row) for row in paper_rows)
    rows = []
    for name, settings, size in (
        ("samples, 3 owners of 64 to 1,024", SAMPLES, lambda setting: setting.sizes[0]),
        ("owners, 2 to 8 of 1,000 samples", OWNERS, lambda setting: len(setting.sizes)),
    ):
        rows.append([name, "as printed", *_printed_exponents(settings, size)])
        rows += [
            [name, protocol, *_measured_exponents(measurements, settings, size, protocol)]
            for protocol in ("paper", "fast")
        ]
    by_samples = [(m.samples, m) for m in projected_from(scale_rows)]
    by_owners = [(m.owners, m) for m in _loopback(scale_rows) if m.samples == 100_000]
    for name, points in (
        (f"samples, {PROJECTED_OWNERS} owners of {_range(by_samples, PROJECTED_OWNERS)}", by_samples),
        (f"owners, {_range(by_owners, 1)} with 100,000 samples in all", by_owners),
    ):
        rows.append(
            [
                name,
                "fast",
                *(
                    f"{exponent((x, getattr(m, quantity)) for x, m in points):.2f}"
                    for quantity in ("bytes", "rounds", "seconds")
                ),
            ]
        )
    headings = ["what grows", "protocol", "traffic", "rounds", "seconds"]
    return Table(headings, rows, words=headings[:2])


def _range(points: Sequence[tuple[int, Measurement]], divisor: int) -> str:
    sizes = sorted(x // divisor for x, _ in points)
    return f"{sizes[0]:,} to {sizes[-1]:,}"


def _printed_exponents(settings: Sequence[Setting], size: Callable[[Setting], int]) -> list[str]:
    """The mean over the three metrics; the paper prints no rounds."""
    traffic = [exponent((size(s), PRINTED[metric, s].total) for s in settings) for metric in METRICS]
    seconds = [exponent((size(s), PRINTED[metric, s].seconds) for s in settings) for metric in METRICS]
    return [f"{np.mean(traffic):.2f}", "", f"{np.mean(seconds):.2f} (WAN)"]


def _measured_exponents(
    measurements: Measurements, settings: Sequence[Setting], size: Callable[[Setting], int], protocol: str
) -> list[str]:
    """The mean over the three metrics, on the local network."""

    def mean(quantity: str) -> str:
        fits = []
        for metric in METRICS:
            found = [(size(s), measurements.get(s, metric, "LAN", protocol)) for s in settings]
            fits.append(exponent((x, getattr(run, quantity)) for x, run in found if run is not None))
        return f"{np.mean(fits):.2f}"

    return [mean("bytes"), mean("rounds"), f"{mean('seconds')} (LAN)"]


def _loopback(scale_rows: Sequence[dict[str, Any]]) -> list[Measurement]:
    measured = [Measurement(**row) for row in scale_rows]
    return [m for m in measured if m.network == "loopback" and m.transport == "tls" and m.key_bits == 64]


@dataclass(frozen=True)
class Projection:
    """What so many samples would take.

    Traffic per sample grows with log2 of their number; computing time with traffic, as in the largest
    measured run; memory with samples.
    """

    samples: int
    bytes: float
    busiest_bytes: float  # what proxy 1 receives: more than anyone sends or receives
    computing_seconds: float
    peak_bytes: float

    @classmethod
    def of(cls, measured: Sequence[Measurement], samples: int) -> Projection:
        def per_sample(quantity: Callable[[Measurement], float]) -> float:
            line = Line.through((float(np.log2(m.samples)), quantity(m) / m.samples) for m in measured)
            return samples * line.at(float(np.log2(samples)))

        largest = max(measured, key=lambda m: m.samples)
        sent = per_sample(lambda m: m.bytes)
        return cls(
            samples,
            sent,
            per_sample(lambda m: m.bytes - m.bytes_by_party["proxy 1"]),
            largest.seconds / largest.bytes * sent,
            _memory(_largest(measured)).at(samples),
        )


def projected_from(scale_rows: Sequence[dict[str, Any]], *, up_to: int | None = None) -> list[Measurement]:
    """The measurements that a projection is made from."""
    return [
        m
        for m in _loopback(scale_rows)
        if m.owners == PROJECTED_OWNERS and m.samples >= 10_000 and (up_to is None or m.samples <= up_to)
    ]


def _largest(measured: Sequence[Measurement]) -> list[Measurement]:
    """The three that memory is fitted to."""
    return sorted(measured, key=lambda m: m.samples)[-3:]


def _memory(measured: Sequence[Measurement]) -> Line:
    """The largest server's, over samples."""
    return Line.through((m.samples, max(m.peak_bytes.values())) for m in measured)


def memory_sentence(scale_rows: Sequence[dict[str, Any]]) -> str:
    largest = _largest(projected_from(scale_rows))
    line = _memory(largest)
    sizes = ", ".join(f"{m.samples:,}" for m in largest)
    return (
        f"Memory: {line.slope:.0f} bytes per sample and {max(line.start, 0) / 1e6:.0f} MB besides, for the "
        f"largest server; fitted to its peaks at {sizes} samples."
    )


def projection_table(scale_rows: Sequence[dict[str, Any]]) -> Table:
    """A hundred million samples; and, to check the method, the largest measured run from smaller ones."""
    everything = projected_from(scale_rows)
    largest = max(everything, key=lambda m: m.samples)
    smaller = projected_from(scale_rows, up_to=largest.samples - 1)
    check = Projection.of(smaller, largest.samples)
    goal = Projection.of(everything, PROJECTED_SAMPLES)

    def cells(name: str, p: Projection) -> list[str]:
        network = [f"{8 * p.busiest_bytes / rate / MINUTE:.1f}" for rate in RATES.values()]
        return [
            name,
            f"{p.bytes / GIGABYTE:,.0f}",
            f"{p.peak_bytes / GIGABYTE:,.1f}",
            f"{p.computing_seconds / MINUTE:.1f}",
            *network,
        ]

    found = Projection(
        largest.samples,
        largest.bytes,
        largest.bytes - largest.bytes_by_party["proxy 1"],
        largest.seconds,
        max(largest.peak_bytes.values()),
    )
    headings = ["samples", "GB sent", "GB memory", "minutes of computing"]
    return Table(
        [*headings, *(f"minutes on the wire, {rate}" for rate in RATES)],
        [
            cells(f"{largest.samples:,}, measured", found),
            cells(f"{largest.samples:,}, projected from smaller runs", check),
            cells(f"{PROJECTED_SAMPLES:,}, projected", goal),
        ],
        words=("samples",),
    )
