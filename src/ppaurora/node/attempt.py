"""One node's part of one attempt: a server process, with one worker or several, watched."""

from __future__ import annotations

import contextlib
import logging
import queue
import secrets
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ppaurora.agreement.terms import Job
from ppaurora.errors import PartyFailedError
from ppaurora.io.models import canonical_json
from ppaurora.messages.owners import Submitted
from ppaurora.messages.process import Event, Failed, Finished, Opened, Placed, Progressed, Task
from ppaurora.messages.workers import Crew, Endpoint, PeerEndpoints
from ppaurora.node.sni_router import SniRouter, job_name
from ppaurora.party.driver import ServerProcess, links_for
from ppaurora.party.starting import WarmPool
from ppaurora.sharing.stages import ResultShare
from ppaurora.study.kit import NodeKit
from ppaurora.study.manifest import Manifest
from ppaurora.workers import PROCESS as CREW

_SECONDS_TO_START = 60.0
# What a computation takes on a slow machine and network; `budget_factor` of the settings is on top.
_SECONDS_AT_LEAST = 60.0
_BYTES_PER_SECOND = 1_000_000
_BYTES_PER_SAMPLE = 1_000

log = logging.getLogger(__name__)


def fresh_token() -> str:
    """Return a name for an attempt that outsiders cannot guess; the other nodes are told."""
    return secrets.token_hex(16)


def budget_seconds(job: Job, factor: float) -> float:
    """Return how long an attempt may take, from public facts: the work that the protocol declares."""
    work = sum(job.terms.protocol.work(job.query).values()) + _BYTES_PER_SAMPLE * sum(job.sizes)
    return factor * (_SECONDS_AT_LEAST + work / _BYTES_PER_SECOND)


class BlamelessError(PartyFailedError):
    """An attempt was cut off by what must not cost one: a disk has no room."""


@dataclass(frozen=True)
class AttemptPlan:
    """A computation to be made: of which study, with which shares, as which attempt."""

    manifest: Manifest
    number: int
    token: str
    agreed: tuple[Submitted, ...]  # one per owner; alike at all nodes
    shares: tuple[Path, ...] = field(default=(), repr=False)
    workers: int = 1  # alike at all nodes

    def binding(self) -> bytes:
        """Return what the session's keys are bound to: manifest and submissions."""
        return canonical_json([self.manifest.version, self.manifest.hash, self.agreed])


class Attempt:
    """Runs from its creation; `results` waits for the end.

    With a `warm_pool`, it takes a process that has loaded everything already, and leaves another one behind.
    """

    def __init__(
        self, kit: NodeKit, router: SniRouter, plan: AttemptPlan, warm_pool: WarmPool | None = None
    ) -> None:
        self.plan = plan
        self.number = plan.number
        self.progress = ""
        self.cost: dict[str, object] = {}  # of this node's part, once it is done
        self._about = {"study": plan.manifest.study, "attempt": plan.number}
        self._patience = kit.settings.silence_seconds + _SECONDS_TO_START
        task = _task(kit, plan)
        self._budget = task.links.budget or 0.0
        # The process itself keeps to the budget, and says whom it waited for; this is if it does not.
        self._deadline = time.monotonic() + self._budget + self._patience
        self._events: queue.Queue[Event | None] = queue.Queue()
        self.endpoints: tuple[Endpoint, ...] = ()  # once all workers stand ready, where there are several
        self._meeting = threading.Lock()  # held once it has begun
        self.has_ended = False
        self._aborted: PartyFailedError | None = None
        with contextlib.ExitStack() as resources:
            title = kit.server(plan.manifest).title
            module = plan.manifest.protocol.process if task.crew is None else CREW
            if warm_pool is not None and task.crew is None:
                resources.callback(warm_pool.keep, module, title)
            listener = resources.enter_context(router.expecting(plan.token)).fileno()
            self._process = ServerProcess(module, title, self._hear, listener, warm_pool=warm_pool)
            resources.callback(self._process.close)
            self._process.send(task)
            self._resources = resources.pop_all()

    def _hear(self, event: Event | None) -> None:
        if isinstance(event, Placed):
            self.endpoints = event.endpoints
        self.has_ended = self.has_ended or event is None
        self._events.put(event)

    def rendezvous(self, endpoints: Mapping[str, tuple[Endpoint, ...]]) -> None:
        """Tell the workers that everybody's stand ready, at these endpoints; only the first call counts."""
        if self._meeting.acquire(blocking=False):
            self._process.send(PeerEndpoints(endpoints=dict(endpoints)))

    def results(self) -> tuple[ResultShare, ...]:
        """Return one part per owner, if this server gets any; raise the error that ended the attempt."""
        with self._resources:
            while True:
                match self._next_event():
                    case Progressed() as event:
                        self.progress = f"{event.step} {100 * event.done // max(event.total, 1)} %"
                    case Opened() as event:
                        log.info("session opened", extra={**self._about, "session": event.session})
                    case Finished() as event:
                        self.cost = _cost(event)
                        return event.parts
                    case Failed() as event:
                        raise self._process.failure(event)
                    case None:
                        raise self._aborted or PartyFailedError(f"the computation {self._process.end()}")

    def _next_event(self) -> Event | None:
        left = self._deadline - time.monotonic()
        try:
            return self._events.get(timeout=max(min(self._patience, left), 0))
        except queue.Empty:
            if left < self._patience:
                problem = f"did not end in the {self._budget:g} seconds it has, and was stopped"
                raise PartyFailedError(f"the computation {problem}") from None
            raise PartyFailedError("the computation gave no sign of life and was stopped") from None

    def abort(self, reason: str, *, blameless: bool = False) -> None:
        """End the attempt from another thread; `results` then raises."""
        self._aborted = BlamelessError(reason) if blameless else PartyFailedError(reason)
        self.has_ended = True
        self._process.kill()


def _cost(done: Finished) -> dict[str, object]:
    """Numbers that this server has of its own part, for people."""
    return {
        "seconds": round(done.seconds, 3),
        "rounds": done.meter.rounds,
        "messages": done.meter.messages,
        "bytes": done.meter.bytes,
        "openings": sum(done.openings.values()),
    }


def _task(kit: NodeKit, plan: AttemptPlan) -> Task:
    manifest = plan.manifest
    job = manifest.job(plan.agreed)
    return Task(
        job=job,
        server=kit.server(manifest).file_name,
        links=links_for(
            kit.identity(manifest),
            manifest.addresses(),
            kit.settings.silence_seconds,
            passed=True,
            server_name=job_name(plan.token),
            budget=budget_seconds(job, kit.settings.budget_factor),
        ),
        attempt=plan.number,
        study=plan.binding(),
        recipients=len(plan.agreed),
        share_files=tuple(str(path) for path in plan.shares),
        crew=None
        if plan.workers == 1
        else Crew(workers=plan.workers, ray=kit.settings.workers.cluster(kit.folder)),
    )
