"""`python -m tests.workers.kill_campaign`: workers killed at random moments, each in an attempt of its own.

An attempt must give the right result, or fail with a sentence that names a server; then the next attempt,
which nobody disturbs, must give it. No process may be left behind, and over all attempts no party may open a
stream of masks twice. The exit code is 1 if anything happened that must not be.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np

from ppaurora.channel.servers import Server
from ppaurora.data import samples_of
from ppaurora.errors import PpauroraError
from ppaurora.evaluation.evaluate import evaluate_samples
from ppaurora.messages.workers import RayPlace
from ppaurora.protocols import DEFAULT_PROTOCOL, find_protocol
from ppaurora.session import Progress, no_progress
from ppaurora.testing.ray_clusters import RayCluster
from ppaurora.testing.ray_clusters import clusters as start_clusters
from tests.campaign.tally import RIGHT, BreachError, Tally
from tests.support.deployment import children
from tests.support.recorded_part import Streams, recorded_streams

FAILED = "clean failure, then right result"
NOBODY = "right result (nobody was there to be killed)"
PLACING = "before the first step"
_SAMPLES = 10_000
_SECONDS_TO_LEAVE = 60.0


def owners(samples: int) -> list[tuple[np.ndarray, np.ndarray]]:
    values = np.random.default_rng(7)
    return [(values.integers(0, 2, samples), values.integers(0, 900, samples) / 900) for _ in range(2)]


def attempt(
    workers: int,
    clusters: Mapping[Server, RayPlace] | None = None,
    progress: Progress = no_progress,
    samples: int = _SAMPLES,
) -> float:
    """Always at the same job: only fresh keys tell two attempts apart."""
    report = evaluate_samples(
        samples_of(owners(samples)),
        metrics=("auroc",),
        protocol=DEFAULT_PROTOCOL,
        parameters={},
        transport="tls",
        progress=progress,
        timeout=120.0,
        workers=workers,
        clusters=clusters,
    )
    return float(report.auroc)


@dataclass
class Phases:
    """How long workers are placed, and how long they compute, when nobody kills them: in seconds."""

    placing: float
    computing: float


class Killer:
    """Kills one worker, some seconds after the first is there, or after the first step was begun."""

    def __init__(self, campaign: Campaign, *, seconds: float | None = None, computing: bool = False) -> None:
        """Only watches if it is given no seconds."""
        self.killed_in = ""
        self._campaign = campaign
        self._seconds = seconds
        self._computing = computing
        self._step = PLACING
        self._first_seen = self._first_step = 0.0
        self._begun = threading.Event()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def progress(self, step: str, done: int, total: int) -> None:
        self._step = step
        if not self._begun.is_set():
            self._first_step = time.monotonic()
            self._begun.set()

    def _watch(self) -> None:
        while not self._campaign.workers_there():
            if self._ended.wait(0.02):
                return
        self._first_seen = time.monotonic()
        while self._computing and not self._begun.wait(0.02):
            if self._ended.is_set():
                return
        if self._seconds is None or self._ended.wait(self._seconds):
            return
        found = self._campaign.workers_there()
        if found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._campaign.draws.choice(found), signal.SIGKILL)
                self.killed_in = self._step

    def end(self) -> Phases:
        """Of an attempt that came to its end."""
        self._ended.set()
        self._thread.join()
        return Phases(self._first_step - self._first_seen, time.monotonic() - self._first_step)


class Campaign:
    """On this machine, or on clusters that were started for it."""

    def __init__(
        self, workers: int, started: Mapping[Server, RayCluster] | None, draws: random.Random
    ) -> None:
        self.tally = Tally("killed workers" + (" on Ray" if started else ""))
        self.attempts = 0
        self.draws = draws
        self._workers = workers
        self._started = started
        self._clusters = {server: cluster.place() for server, cluster in (started or {}).items()} or None
        self._right = 0.0
        self._phases = Phases(0.0, 0.0)

    def carry_out(self, kills: int) -> None:
        watching = Killer(self)
        self._right = self._attempt(watching.progress)
        self._phases = watching.end()
        click.echo(
            f"left alone, workers are placed in {self._phases.placing:.1f} s, and compute for "
            f"{self._phases.computing:.1f} s"
        )
        start = time.monotonic()
        while self.tally.details.total() + len(self.tally.breaches) < kills:
            self._trial()
        self.tally.seconds = time.monotonic() - start

    def _attempt(self, progress: Progress) -> float:
        self.attempts += 1
        return attempt(self._workers, self._clusters, progress)

    def _trial(self) -> None:
        computing = self.draws.random() < 0.5  # for placing takes long, and is but one thing to disturb
        most = self._phases.computing if computing else self._phases.placing
        killer = Killer(self, seconds=self.draws.uniform(0, most), computing=computing)
        try:
            outcome = self._disturbed(killer)
            self._check_left_behind()
        except BreachError as error:
            killer.end()
            self.tally.breach(f"killed in '{killer.killed_in}': {error}")
            click.echo(f"MUST NOT BE: {error}")
            return
        self.tally.count(outcome, killer.killed_in)
        click.echo(f"killed in '{killer.killed_in}': {outcome}" if killer.killed_in else outcome)

    def _disturbed(self, killer: Killer) -> str:
        try:
            found = self._attempt(killer.progress)
        except PpauroraError as error:
            killer.end()
            if not killer.killed_in or not re.match(r"proxy \d|helper", str(error)):
                raise BreachError(f"a failure that is not clear: {error}") from None
            click.echo(f"  {error}")
            self._check(self._attempt(no_progress))
            return FAILED
        phases = killer.end()
        self._check(found)
        if not killer.killed_in:
            self._phases = phases
        return RIGHT if killer.killed_in else NOBODY

    def _check(self, found: float) -> None:
        if found != self._right:
            raise BreachError("a wrong result")

    def workers_there(self) -> list[int]:
        """By their processes."""
        if self._started is not None:
            return [pid for cluster in self._started.values() for pid in cluster.workers()]
        return [worker for server in children(os.getpid()) for worker in children(server)]

    def _check_left_behind(self) -> None:
        deadline = time.monotonic() + _SECONDS_TO_LEAVE
        while left := (self.workers_there() if self._started else children(os.getpid())):
            if time.monotonic() > deadline:
                raise BreachError(f"{len(left)} processes were left behind")
            time.sleep(0.2)

    def judge(self, streams: Streams) -> None:
        """Of all attempts together."""
        if repeated := streams.repeated():
            self.tally.breach(f"{len(repeated)} streams were opened twice by the same party")
        opened, keys = streams.opened().total(), streams.keys()
        click.echo(
            f"{self.tally.kind}: {self.tally.details.total()} kills in {self.attempts} attempts, "
            f"{self.tally.seconds / 60:.1f} min: {self.tally.happened()}"
        )
        for step, count in self.tally.details.most_common():
            click.echo(f"  {count} killed in '{step}'")
        click.echo(f"  {opened:,} streams of masks under {keys:,} keys, {len(repeated)} of them opened twice")
        for breach in self.tally.breaches:
            click.echo(f"  MUST NOT BE: {breach}")


@click.command()
@click.option("--kills", default=50, show_default=True)
@click.option("--workers", default=2, show_default=True)
@click.option("--engine", type=click.Choice(["local", "ray"]), default="local", show_default=True)
@click.option("--seed", default=1, show_default=True)
def main(kills: int, workers: int, engine: str, seed: int) -> None:
    """Kill, and count what came of it."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that no cluster is left behind
    with contextlib.ExitStack() as stack:
        streams = stack.enter_context(recorded_streams())  # before clusters, which must know of it
        started = stack.enter_context(_clusters(workers)) if engine == "ray" else None
        campaign = Campaign(workers, started, random.Random(seed))  # noqa: S311 (no secret)
        campaign.carry_out(kills)
        campaign.judge(streams)
    sys.exit(bool(campaign.tally.breaches))


@contextlib.contextmanager
def _clusters(workers: int) -> Iterator[dict[Server, RayCluster]]:
    servers = find_protocol(DEFAULT_PROTOCOL).servers
    with tempfile.TemporaryDirectory() as folder:
        places = {server.file_name: Path(folder) / server.file_name for server in servers}
        with start_clusters(places, cpus=workers) as started:
            yield {server: started[server.file_name] for server in servers}


if __name__ == "__main__":
    main()
