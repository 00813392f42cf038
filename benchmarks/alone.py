"""What several workers of one party save it on this machine's cores, with nobody else at work on them.

A whole run keeps all cores busy with three parties. So one run is recorded: everything that one party's
workers received, and what they contributed to their keys. Then that party's workers alone do it all again, as
processes: whatever they wait for is there already, and what they send is thrown away. Nothing is left of the
network, and the results and all counts must be those of the recording.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import resource
import socket
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from unittest.mock import patch

import click
import numpy as np

from benchmarks.options import numbers, out_option
from benchmarks.plain import WrongResultError
from benchmarks.saving import Results
from benchmarks.scale import METRICS, SEED, cpu_seconds
from benchmarks.synthetic import synthetic_owners
from benchmarks.tables import Table, show
from ppaurora.agreement.terms import Job, Limits, Terms
from ppaurora.channel.base import Buffer, Transport
from ppaurora.channel.frames import MAX_PAYLOAD_BYTES, Frame
from ppaurora.channel.intra_party import IntraPartyChannel, memory_intra_party_channels
from ppaurora.channel.memory import memory_transports
from ppaurora.channel.servers import Server
from ppaurora.data import samples_of
from ppaurora.errors import PartyFailedError
from ppaurora.metrics import find_metric
from ppaurora.party.run import RunOutcome, take_part
from ppaurora.protocols import DEFAULT_PROTOCOL, find_protocol
from ppaurora.session import Worker
from ppaurora.session.agreement import SessionSecrets
from ppaurora.session.freed import keep_large_arrays_apart
from ppaurora.sharing.stages import OwnerShare
from ppaurora.workers.sockets import SocketChannel

OWNERS = 8
TIMEOUT = 600.0
HEADINGS = ("samples", "party", "workers", "seconds", "x faster", "CPU seconds", "x one worker's")
Received = Mapping[Server, Sequence[Frame]]
Who = tuple[Server, Worker]


@dataclass(frozen=True)
class Measurement:
    """The fastest of several."""

    samples: int
    party: str
    workers: int
    seconds: float
    cpu_seconds: float  # of all workers, with all cores at work: a core is faster while another one rests


@dataclass(frozen=True)
class Case:
    """A job and everybody's shares."""

    job: Job
    inputs: Mapping[Server, Sequence[OwnerShare]] = field(repr=False)

    @classmethod
    def of(cls, samples: int) -> Case:
        owners = samples_of(synthetic_owners([samples // OWNERS] * OWNERS, SEED, ties=True))
        protocol = find_protocol(DEFAULT_PROTOCOL).fitting(owners)
        metrics = tuple(find_metric(name)() for name in METRICS)
        limits = Limits(samples_per_owner=samples)
        terms = Terms(metrics=metrics, protocol=protocol, limits=limits)
        shares = zip(*(terms.share(one) for one in owners), strict=True)
        job = Job(terms=terms, sizes=tuple(len(one) for one in owners))
        return cls(job, dict(zip(protocol.input_servers, shares, strict=True)))

    def take_part(
        self, transport: Transport, worker: Worker, intra_party: IntraPartyChannel | None
    ) -> RunOutcome:
        """As one worker of one party."""
        protocol, shares = self.job.terms.protocol, self.inputs.get(transport.role, ())
        shared = zip(shares, self.job.sizes, strict=False)  # the helper has none
        given = [
            share if intra_party is None else protocol.worker_share(share, worker, size)
            for share, size in shared
        ]
        outcome = take_part(transport, self.job, given, worker=worker, intra_party=intra_party)
        transport.finish()
        return outcome


class Recorder:
    """Passes everything on, and keeps what was received."""

    def __init__(self, transport: Transport) -> None:
        self.role = transport.role
        self.received: dict[Server, list[Frame]] = defaultdict(list)
        self._transport = transport

    def put(self, to: Server, buffers: Sequence[Buffer]) -> None:
        self._transport.put(to, buffers)

    def get(self, sender: Server, due: int = MAX_PAYLOAD_BYTES) -> Frame:
        self.received[sender].append(self._transport.get(sender, due))
        return self.received[sender][-1]

    def finish(self) -> None:
        self._transport.finish()

    def close(self) -> None:
        self._transport.close()


class Player:
    """Everything that is waited for is there."""

    def __init__(self, role: Server, received: Received) -> None:
        self.role = role
        self._received = {peer: deque(frames) for peer, frames in received.items()}

    def put(self, to: Server, buffers: Sequence[Buffer]) -> None:
        """Drop what is sent: nobody is there."""

    def get(self, sender: Server, due: int = MAX_PAYLOAD_BYTES) -> Frame:
        return self._received[sender].popleft()

    def finish(self) -> None:
        """Nothing is under way."""

    def close(self) -> None:
        """There is no connection."""


class Secrets:
    """Everybody's contributions to keys, by who they are: played again, a session is the one recorded."""

    def __init__(self) -> None:
        self._kept: dict[Who, SessionSecrets] = defaultdict(SessionSecrets)
        self._thread = threading.local()

    @contextlib.contextmanager
    def used(self) -> Iterator[None]:
        """For all sessions that are opened in this process."""
        with patch("ppaurora.session.context.SessionSecrets", lambda: self._kept[self._thread.who]):
            yield

    def this_is(self, who: Who) -> None:
        """Who this thread is."""
        self._thread.who = who


@dataclass(frozen=True)
class Recording:
    """A run, as the workers of one party had it."""

    case: Case
    party: Server
    workers: tuple[Worker, ...]
    secrets: Secrets = field(repr=False)
    received: Mapping[Worker, Received] = field(repr=False)
    outcomes: Mapping[Worker, RunOutcome] = field(repr=False)


def record(case: Case, count: int, party: Server) -> Recording:
    """All parties as threads of this process, talking through memory."""
    servers = type(party)
    workers = tuple(Worker(index, count) for index in range(count))
    lanes = {worker: memory_transports(servers, TIMEOUT) for worker in workers}
    intra_party_channels = {
        server: memory_intra_party_channels(server.title, count, TIMEOUT) for server in servers
    }
    secrets = Secrets()
    recorders = {worker: Recorder(lanes[worker][party]) for worker in workers}
    outcomes: dict[Who, RunOutcome] = {}

    def work(server: Server, worker: Worker) -> None:
        secrets.this_is((server, worker))
        transport = recorders[worker] if server is party else lanes[worker][server]
        intra_party = intra_party_channels[server][worker.index] if count > 1 else None
        try:
            outcomes[server, worker] = case.take_part(transport, worker, intra_party)
        finally:
            transport.close()
            intra_party_channels[server][worker.index].close()

    with secrets.used():
        threads = [threading.Thread(target=work, args=(server, one)) for server in servers for one in workers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    received = {worker: recorders[worker].received for worker in workers}
    return Recording(
        case, party, workers, secrets, received, {worker: outcomes[party, worker] for worker in workers}
    )


def play(recording: Recording, copies: int = 1) -> tuple[float, float]:
    """Seconds until the last worker has finished, and the CPU seconds of a copy's workers: processes side by
    side.
    """
    controls = [control for _ in range(copies) for control in _processes(recording)]
    for control in controls:
        control.recv()
    begun = time.perf_counter()
    for control in controls:
        control.send("go")
    try:
        done = [control.recv() for control in controls]
    except EOFError:
        raise PartyFailedError(f"a worker of {recording.party.title} failed; what it said is above") from None
    seconds = time.perf_counter() - begun
    if not all(same for _, same in done):
        raise WrongResultError(f"{recording.party.title} played again has another outcome than it had")
    return seconds, sum(cpu for cpu, _ in done) / copies


def _processes(recording: Recording) -> list[Connection]:
    """One for each worker, which begins when it is told to."""
    count = len(recording.workers)
    pairs = {(a, b): socket.socketpair() for b in range(count) for a in range(b)}

    def ends(index: int) -> list[socket.socket]:
        """To all others, in order of their numbers."""
        return [
            pairs[min(index, other), max(index, other)][index > other]
            for other in range(count)
            if other != index
        ]

    def work(worker: Worker, control: Connection) -> None:
        player = Player(recording.party, recording.received[worker])
        intra_party = SocketChannel(recording.party.title, worker, ends(worker.index), TIMEOUT)
        recording.secrets.this_is((recording.party, worker))
        keep_large_arrays_apart()  # as server processes do
        control.send("ready")
        control.recv()
        before = cpu_seconds(resource.RUSAGE_SELF)
        with recording.secrets.used():
            outcome = recording.case.take_part(player, worker, intra_party if count > 1 else None)
        control.send(
            (cpu_seconds(resource.RUSAGE_SELF) - before, is_same(outcome, recording.outcomes[worker]))
        )

    controls = [_forked(work, worker) for worker in recording.workers]
    for ours, theirs in pairs.values():
        ours.close()
        theirs.close()
    return controls


def _forked(work: Callable[[Worker, Connection], None], worker: Worker) -> Connection:
    """A process that has the recording, because this one has it."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    context.Process(target=work, args=(worker, theirs), daemon=True).start()
    theirs.close()
    return ours


def is_same(one: RunOutcome, other: RunOutcome) -> bool:
    """But for what it took."""
    return (
        one.meter == other.meter
        and one.openings == other.openings
        and len(one.parts) == len(other.parts)
        and all(np.array_equal(a.words, b.words) for a, b in zip(one.parts, other.parts, strict=True))
    )


def measure(samples: int, counts: Sequence[int], repeats: int) -> Iterator[Measurement]:
    """A proxy, and the helper."""
    case = Case.of(samples)
    servers = case.job.terms.protocol.servers
    for party in (case.job.terms.protocol.leader, *(one for one in servers if one.runs_ahead)):
        for count in counts:
            recording = record(case, count, party)
            seconds = min(play(recording)[0] for _ in range(repeats))
            copies = max((os.cpu_count() or 1) // count, 1)
            cpu = min(play(recording, copies)[1] for _ in range(repeats))
            yield Measurement(sum(case.job.sizes), party.title, count, seconds, cpu)


def table(measurements: Iterable[Measurement]) -> Table:
    rows = []
    alone: dict[tuple[int, str], Measurement] = {}
    for one in measurements:
        alone.setdefault((one.samples, one.party), one)
        first = alone[one.samples, one.party]
        rows.append(
            [
                f"{one.samples:,}",
                one.party,
                str(one.workers),
                f"{one.seconds:.2f}",
                f"{first.seconds / one.seconds:.2f}",
                f"{one.cpu_seconds:.2f}",
                f"{one.cpu_seconds / first.cpu_seconds:.2f}",
            ]
        )
    return Table(HEADINGS, rows, words=("party",))


def saved_table(rows: Sequence[dict[str, Any]]) -> Table:
    """The latest of a setting."""
    latest = {(row["samples"], row["party"], row["workers"]): Measurement(**row) for row in rows}
    return table(latest.values())


@click.command("alone")
@click.option("--samples", type=click.IntRange(min=8_000), default=1_000_000, show_default=True)
@click.option(
    "--workers", default="1,2,4", show_default=True, help="Numbers of workers; the first is compared with."
)
@click.option(
    "--repeats", type=click.IntRange(min=1), default=3, show_default=True, help="The fastest counts."
)
@out_option("alone")
def alone_command(samples: int, workers: str, repeats: int, out: Path) -> None:
    """How much faster several workers make one party, alone on this machine's cores, without a network."""
    results = Results(out / "alone.json", SEED)
    measured = []
    for one in measure(samples, numbers(workers, "workers", 1), repeats):
        click.echo(f"{one.party}, {one.workers} workers: {one.seconds:.2f} s", err=True)
        results.add(asdict(one))
        measured.append(one)
    show(table(measured))
    click.echo(f"{os.cpu_count()} cores")
