"""The comparison itself: sizes, measurements, the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from benchmarks.peers.systems import System
from benchmarks.peers.worker import NotMeasuredError
from benchmarks.synthetic import Owner, synthetic_owners
from benchmarks.tables import Table
from ppaurora.errors import PpauroraError
from ppaurora.session import Progress

SEED = 2023
SIZES = (192, 3_072, 8_000)
HEADINGS = ("samples", "owners", "system", "seconds", "error", "MB sent", "remark")
LEFT_OUT = "what it shows or leaves out"

_FEW_OWNERS = 3
_MANY_OWNERS, _MANY_FROM = 8, 8_000
FEWEST_SAMPLES = _FEW_OWNERS  # no owner is without any


@dataclass(frozen=True)
class Measurement:
    """What one system took, or why there is nothing to tell.

    The error is against the exact fraction, both as the nearest float64. Seconds are of the
    computation, inputs and result included; processes are up and connected, programs loaded
    and compiled. Bytes are those of all parties.
    """

    system: str
    left_out: str
    samples: int
    owners: int
    version: str | None = None
    seconds: float | None = None
    compile_seconds: float | None = None
    error: float | None = None
    bytes: int | None = None
    not_measured: str | None = None

    def cells(self) -> list[str]:
        """As a row of a table."""
        return [
            f"{self.samples:,}",
            str(self.owners),
            self.system,
            "" if self.seconds is None else _seconds(self.seconds),
            "" if self.error is None else f"{self.error:.0e}" if self.error else "0",
            self._sent(),
            self._remark(),
        ]

    @property
    def name(self) -> str:
        return f"{self.system} ({self.version})" if self.version else self.system

    def _sent(self) -> str:
        if self.seconds is None:
            return ""
        return "unknown" if self.bytes is None else f"{self.bytes / 1e6:,.1f}"

    def _remark(self) -> str:
        if self.not_measured is not None:
            return self.not_measured
        return "" if self.compile_seconds is None else f"and {self.compile_seconds:.1f} s to compile"


def owners_of(samples: int) -> list[Owner]:
    """Three owners of about as many samples each, or eight of a larger number."""
    count = _MANY_OWNERS if samples >= _MANY_FROM else _FEW_OWNERS
    share, rest = divmod(samples, count)
    return synthetic_owners([share + (owner < rest) for owner in range(count)], SEED, ties=True)


def measure(system: System, owners: Sequence[Owner], exact: Fraction, progress: Progress) -> Measurement:
    """Never an error because of the system: that it has no result is a result."""
    samples = sum(len(labels) for labels, _ in owners)
    setting = (system.name, system.left_out, samples, len(owners))
    if system.samples_at_most is not None and samples > system.samples_at_most:
        return Measurement(*setting, not_measured="skipped: takes minutes; --long")
    try:
        answer = system.measure(owners, progress)
    except NotMeasuredError as reason:
        return Measurement(*setting, not_measured=str(reason))
    except PpauroraError as error:
        return Measurement(*setting, not_measured=f"failed: {error}")
    return Measurement(
        *setting,
        version=answer.version,
        seconds=answer.seconds,
        compile_seconds=answer.compile_seconds,
        error=abs(float(answer.auroc) - float(exact)),
        bytes=answer.bytes,
    )


def left_out(measurements: Sequence[Measurement]) -> dict[str, str]:
    """By name and, if it has told, version of the system; in order of appearance."""
    systems: dict[str, Measurement] = {}
    for measurement in measurements:
        if measurement.version or measurement.system not in systems:
            systems[measurement.system] = measurement
    return {measurement.name: measurement.left_out for measurement in systems.values()}


def tables(measurements: Sequence[Measurement]) -> tuple[Table, Table]:
    """What was measured, then what each system leaves out."""
    measured = [measurement.cells() for measurement in measurements]
    return (
        Table(HEADINGS, measured, words=("system", "remark")),
        Table(("system", LEFT_OUT), list(left_out(measurements).items()), words=("system", LEFT_OUT)),
    )


def saved_tables(rows: Sequence[dict[str, Any]]) -> tuple[Table, Table]:
    """The measurements as documents show them: of each system and size the latest."""
    latest = {(row["samples"], row["owners"], row["system"]): Measurement(**row) for row in rows}
    return tables(sorted(latest.values(), key=lambda measurement: measurement.samples))


def _seconds(seconds: float) -> str:
    return f"{seconds:.3f}" if seconds < 0.1 else f"{seconds:.2f}" if seconds < 10 else f"{seconds:.0f}"
