"""Attempts at this node, whoever leads them: begun on record, watched, ended on record."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass

from ppaurora.errors import PpauroraError
from ppaurora.messages.owners import StudyState, Submitted
from ppaurora.node.activity import Activity
from ppaurora.node.attempt import Attempt, AttemptPlan, BlamelessError
from ppaurora.node.health import not_ready
from ppaurora.node.logs import about
from ppaurora.node.metrics import Metrics
from ppaurora.node.sni_router import SniRouter
from ppaurora.node.states import RETRY, AttemptState, StateError
from ppaurora.node.store import Store, StudyRecord, known_trouble
from ppaurora.party.starting import WarmPool
from ppaurora.sharing.stages import ResultShare
from ppaurora.study.kit import NodeKit

log = logging.getLogger(__name__)


class AttemptFailedError(PpauroraError):
    """An attempt came to nothing; it is on record already."""


@dataclass(frozen=True)
class AttemptRunner:
    """Starts a node's parts of attempts, and sees them through."""

    kit: NodeKit
    store: Store
    router: SniRouter
    activity: Activity
    metrics: Metrics
    warm_pool: WarmPool | None = None

    def obstacle(self, study: StudyRecord) -> str:
        """Return why nothing could be written here that an attempt has to write; nothing if it could."""
        trouble = self.activity.health.note_trouble(self.store.writing_problem())
        if not trouble:
            self.end_unwritten(study)
        return trouble

    def end_unwritten(self, study: StudyRecord) -> None:
        """Fail an attempt that has ended here when that could not be written down: nobody is to blame."""
        number = self.store.last_attempt(study.hash)
        attempt = self.activity.attempt(study.hash)
        is_under_way = attempt is not None and attempt.number == number
        if self.store.attempt_state(study.hash, number) is AttemptState.RUNNING and not is_under_way:
            self.fail(study, number, "its outcome could not be written down", counts=False)

    def lost_shares(self, study: StudyRecord) -> list[str]:
        """Owners whose shares, compared with their commitments now, are not here as they were sent."""
        place = self._place(study)
        if place is None:
            return []
        self.store.check_shares(study, place)
        return self.store.lost_shares(study)

    def take_back(self, study: StudyRecord) -> None:
        """Take in again what is on disk of a study whose rows were lost, if this node takes submissions."""
        place = self._place(study)
        taken = [] if place is None else self.store.take_back(study, place)
        if taken:
            log.warning("shares were taken back in", extra={**about(study), "owners": taken})

    def _place(self, study: StudyRecord) -> int | None:
        """Return which of an owner's commitments is to this node's share; None if it gets none."""
        server, takers = self.kit.server(study.manifest), study.manifest.protocol.input_servers
        return takers.index(server) if server in takers else None

    def workers_for(self, study: StudyRecord, agreed: Sequence[Submitted]) -> int:
        """Return how many workers this node would compute with."""
        job = study.manifest.job(tuple(agreed))
        return job.fitting_workers(self.kit.settings.workers.workers_for(job.sizes))

    def plan(
        self, study: StudyRecord, number: int, token: str, agreed: Sequence[Submitted], workers: int = 1
    ) -> AttemptPlan:
        """Return the plan of an attempt, with the shares that this node has, if it takes any."""
        kept = [submission.file for submission in self.store.submissions(study)]
        files = tuple(self.store.shares / file for file in kept if file is not None)
        return AttemptPlan(study.manifest, number, token, tuple(agreed), files, workers)

    def start(self, study: StudyRecord, plan: AttemptPlan) -> Attempt:
        """Start an attempt, which is on record before its first message."""
        has_shares = self.kit.server(study.manifest) in study.manifest.protocol.input_servers
        self.store.begin_attempt(
            study.hash, plan.number, plan.agreed, has_shares=has_shares, manifest=plan.manifest.hash
        )
        earlier = self.activity.attempt(study.hash)
        if earlier is not None:
            earlier.abort("a later attempt began")
        self.metrics.begun.inc()
        log.info("attempt begins", extra={**about(study), "attempt": plan.number})
        try:
            attempt = Attempt(self.kit, self.router, plan, self.warm_pool)
        except Exception as error:
            self.fail(study, plan.number, f"could not start: {type(error).__name__}")
            raise AttemptFailedError(f"attempt {plan.number} could not start") from error
        self.metrics.running.inc()
        self.activity.add(study.hash, attempt)
        return attempt

    def finish(self, study: StudyRecord, attempt: Attempt) -> None:
        """Wait for the end; afterwards this node's part is on disk. Raises `AttemptFailedError`."""
        start = time.monotonic()
        try:
            self.store.computed(study.hash, attempt.number, self._by_owner(study, attempt.results()))
            self.metrics.computed.inc()
            log.info("attempt computed", extra={**about(study), "attempt": attempt.number, **attempt.cost})
        except Exception as error:
            reason = self._reason(study, error)
            counts = not (known_trouble(error) or isinstance(error, BlamelessError))
            self.fail(study, attempt.number, reason, counts=counts)
            raise AttemptFailedError(reason) from None
        finally:
            self.activity.remove(study.hash, attempt)
            self.metrics.running.dec()
            self.metrics.attempt_seconds.observe(time.monotonic() - start)
        self.activity.pauses.forget(study.hash)

    def _reason(self, study: StudyRecord, error: Exception) -> str:
        if isinstance(error, PpauroraError):
            return str(error)
        trouble = self.activity.health.note_error(error)
        title = self.kit.server(study.manifest).title
        return not_ready(trouble, title) if trouble else f"internal error: {type(error).__name__}"

    def _by_owner(self, study: StudyRecord, parts: Sequence[ResultShare]) -> dict[str, ResultShare]:
        gets_parts = self.kit.server(study.manifest) in study.manifest.protocol.result_servers
        owners = study.manifest.owner_names if gets_parts else []
        return dict(zip(owners, parts, strict=True))

    def fail(self, study: StudyRecord, number: int, reason: str, *, counts: bool = True) -> None:
        """Write it down. What somebody cut off by stopping this node is nobody's failure."""
        counts = counts and not self.activity.stopping.is_set()
        self.store.fail_attempt(study.hash, number, reason, counts=counts)
        self.metrics.failed.inc()
        log.warning("attempt failed", extra={**about(study), "attempt": number, "reason": reason})

    def limit_problem(self, study: StudyRecord) -> str:
        """Return why no further attempt is made, if the manifest allows no more; else nothing."""
        spent = self.store.spent_attempts(study.hash)
        if spent < study.manifest.terms.limits.attempts:
            return ""
        last = f"; the last one: {study.note}" if study.note else ""
        return f"{spent} attempts failed{last}; {RETRY}"

    def stop(self, study: StudyRecord, note: str) -> None:
        """Stop a study until this node's operator has looked."""
        self.store.set_state(study.hash, StudyState.STOPPED, note)
        log.warning("study stopped", extra={**about(study), "note": note})

    def release(self, study: StudyRecord, number: int) -> None:
        """Let owners get their parts here, if this node has any, and delete shares."""
        if self.kit.server(study.manifest) in study.manifest.protocol.result_servers:
            self.store.release(study.hash, number)
        else:  # it follows the leader, unless it has stopped: then its own operator has to look
            try:
                self.store.end_with(study.hash, number)
            except StateError:
                return
        attempt = self.activity.attempt(study.hash)
        if attempt is not None and attempt.number != number:
            attempt.abort("another attempt was released")
        self.metrics.released.inc()
        log.info("result released", extra={**about(study), "attempt": number})
        self.forget_shares(study)

    def forget_shares(self, study: StudyRecord) -> None:
        files = self.store.forget_shares(study.hash)
        log.info("shares were deleted after the release", extra={**about(study), "files": files})
