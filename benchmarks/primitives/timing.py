"""Every primitive at three parties: time, bytes and rounds, the latter two as declared or not at all."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.primitives.cases import CASES, SUITES, Case
from benchmarks.primitives.made_up import MadeUpData
from benchmarks.primitives.parties import Parties
from benchmarks.tables import Table
from ppaurora.channel.base import Channel, Transport
from ppaurora.channel.meter import Cost, Meter
from ppaurora.errors import PpauroraError
from ppaurora.session import open_session
from ppaurora.suites.role import Role

HEADINGS = ("suite", "primitive", "elements", "ns each", "bytes each", "rounds")
_NO_JOB = bytes(32)
_DEPTH_AT_START = 1


class CostDiffersError(PpauroraError):
    """The meter saw something else than `costs` declares."""

    exit_code = 3


@dataclass(frozen=True)
class Measurement:
    """What a primitive took on `elements` at once. Seconds are the median of the repeats."""

    suite: str
    primitive: str
    detail: str
    elements: int
    repeats: int
    seconds: float
    best_seconds: float
    bytes: int
    rounds: int

    def cells(self) -> list[str]:
        """As a row of a table."""
        return [
            self.suite,
            f"{self.primitive}, {self.detail}" if self.detail else self.primitive,
            f"{self.elements:,}",
            _short(self.seconds * 1e9 / self.elements),
            _short(self.bytes / self.elements),
            str(self.rounds),
        ]


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}" if value < 1 else f"{value:.1f}"


@dataclass(frozen=True)
class Trial:
    """One call at one party: what it took and sent there, and the depth it reached."""

    seconds: float
    cost: Cost


def run_case(transport: Transport, suite_name: str, name: str, elements: int, repeats: int) -> list[Trial]:
    """A party's part of a measurement. The first call warms up; it is left out."""
    case = CASES[suite_name, name]
    context = open_session(transport, _NO_JOB)
    suite = SUITES[suite_name](context)
    inputs = case.prepare(suite, MadeUpData(Role(context.role), elements))
    trials = []
    for _ in range(repeats + 1):
        rendezvous(context.channel)
        context.channel.meter = meter = fresh_meter(Role(context.role))
        start = time.perf_counter()
        case.run(suite, *inputs)
        seconds = time.perf_counter() - start
        trials.append(Trial(seconds, _counted(meter)))
    rendezvous(context.channel)
    return trials[1:]


def fresh_meter(role: Role) -> Meter:
    """What the helper deals ahead is no deeper than what the proxies had received before, as in a run."""
    return Meter() if role.is_helper else Meter(depth=_DEPTH_AT_START)


def _counted(meter: Meter) -> Cost:
    return Cost(meter.messages, meter.bytes, max(meter.depth - _DEPTH_AT_START, 0))


def rendezvous(channel: Channel) -> None:
    """Nobody goes on before everybody is here, and nothing is on its way."""
    for peer in channel.role.peers:
        channel.send(peer)
    for peer in channel.role.peers:
        channel.receive(peer, 0)


def measure(parties: Parties, case: Case, elements: int, repeats: int) -> Measurement:
    """The slowest party's time. Raises if any repeat costs other than declared."""
    trials = list(zip(*parties.ask(run_case, case.suite, case.name, elements, repeats), strict=True))
    declared = case.declared(elements)
    for by_party in trials:
        costs = [trial.cost for trial in by_party]
        metered = Cost(
            sum(cost.messages for cost in costs),
            sum(cost.bytes for cost in costs),
            max(cost.rounds for cost in costs),
        )
        if metered != declared:
            raise CostDiffersError(
                f"{case} of {elements} elements: declared {declared}, metered {metered}; "
                f"one of the primitive and suites/{case.suite}/costs.py is wrong"
            )
    seconds = [max(trial.seconds for trial in by_party) for by_party in trials]
    return Measurement(
        suite=case.suite,
        primitive=case.name,
        detail=case.detail,
        elements=elements,
        repeats=repeats,
        seconds=statistics.median(seconds),
        best_seconds=min(seconds),
        bytes=declared.bytes,
        rounds=declared.rounds,
    )


def measure_all(parties: Parties, elements: int, repeats: int) -> Iterator[Measurement]:
    for case in CASES.values():
        yield measure(parties, case, case.elements(elements), repeats)


def to_row(measurement: Measurement) -> dict[str, Any]:
    """As it is saved, next to the limits."""
    return {"table": "primitives", **asdict(measurement)}


def from_rows(rows: Sequence[dict[str, Any]]) -> list[Measurement]:
    """The latest of every primitive that there still is."""
    latest = {}
    for row in rows:
        if row["table"] == "primitives" and (row["suite"], row["primitive"]) in CASES:
            measurement = Measurement(**{name: value for name, value in row.items() if name != "table"})
            latest[measurement.suite, measurement.primitive] = measurement
    return list(latest.values())


def table(measurements: Iterable[Measurement]) -> Table:
    return Table(HEADINGS, [measurement.cells() for measurement in measurements], words=HEADINGS[:2])


def saved_table(rows: Sequence[dict[str, Any]]) -> Table:
    return table(from_rows(rows))
