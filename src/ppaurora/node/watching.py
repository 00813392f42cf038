"""Watching: a look at all studies, again and again, for whatever is due."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence

from ppaurora.errors import InputError
from ppaurora.messages.owners import GOING_ON, StudyState
from ppaurora.node.activity import Activity
from ppaurora.node.attention import awaiting_operator
from ppaurora.node.authorities import Authorities
from ppaurora.node.clock import Clock
from ppaurora.node.leading import Leader
from ppaurora.node.logs import about, log_unforeseen
from ppaurora.node.metrics import Metrics
from ppaurora.node.retention import is_over
from ppaurora.node.runner import AttemptRunner
from ppaurora.node.states import AttemptState
from ppaurora.node.store import Store, StudyRecord
from ppaurora.node.upkeep import Certificates, DiskSpace
from ppaurora.node.waiting import Circumstances, WaitReason, wait_reason
from ppaurora.study.kit import NodeKit, unaccepted_manifests

_SECONDS_BETWEEN_LOOKS = 0.5
_SECONDS_BETWEEN_TRIALS = 5.0
_SECONDS_BETWEEN_REMINDERS = 3_600.0

log = logging.getLogger(__name__)


class Watcher:
    """Lets in participants of new studies, deletes what is kept no longer, has studies led, tells metrics."""

    def __init__(
        self,
        kit: NodeKit,
        store: Store,
        activity: Activity,
        authorities: Authorities,
        runner: AttemptRunner,
        leader: Leader,
        metrics: Metrics,
        clock: Clock,
    ) -> None:
        self._kit = kit
        self._store = store
        self._activity = activity
        self._authorities = authorities
        self._runner = runner
        self._leader = leader
        self._metrics = metrics
        self._clock = clock
        self._tried = float("-inf")
        self._kit_seen = float("-inf")
        self._kit_told = float("-inf")
        self._to_do: set[str] = set()
        self._certificates = Certificates(kit)
        self._told = float("-inf")
        metrics.watch(activity.health)
        self.accepted: set[str] = set()  # hashes of manifests whose participants are let in
        self._looked_through: set[str] = set()  # of these, those whose shares on disk are taken back in
        self._thread = threading.Thread(target=self._watch, name="watch", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def join(self) -> None:
        self._thread.join()

    def _watch(self) -> None:
        while not self._activity.stopping.is_set():
            try:
                self._look()
            except Exception as error:
                self._note(error, "looking after the studies failed")
            self._tell_health()
            self._activity.news.wait(_SECONDS_BETWEEN_LOOKS)
            self._activity.news.clear()

    def _look(self) -> None:
        self._clock.look()
        self._try_writing()
        now = self._clock.now()
        studies = self._store.studies()
        for study in studies:
            try:
                self._let_in(study)
                self._look_at(study, now)
            except InputError as error:
                log.warning("for the operator", extra={**about(study), "reason": str(error)})
            except Exception as error:
                # One study's trouble is not the others'.
                self._note(error, f"looking after {study.manifest.study} failed")
        self._leader.give_turns()
        self._tell(self._store.studies())
        self._tell_slowly(studies)
        self._look_at_kit([study.manifest.study for study in studies])
        self._activity.health.looked()

    def _try_writing(self) -> None:
        """Now and then; more often while it does not go, so that the studies go on once it does."""
        health = self._activity.health
        pause = _SECONDS_BETWEEN_TRIALS if not health.trouble else _SECONDS_BETWEEN_LOOKS
        if time.monotonic() < self._tried + pause:
            return
        before = health.trouble
        if not health.note_trouble(self._store.writing_problem()) and before:
            self._activity.pauses.forget_all()
        self._tried = time.monotonic()

    def _look_at_kit(self, accepted: Sequence[str]) -> None:
        """Note what waits for the operator, and log it: when it changes, and every hour while it lasts."""
        now = time.monotonic()
        if now < self._kit_seen + _SECONDS_BETWEEN_TRIALS:
            return
        self._kit_seen = now
        findings = tuple(awaiting_operator(self._kit, accepted))
        self._activity.health.awaiting_operator = findings
        to_do = {finding.fix for finding in findings}
        if to_do == self._to_do and now < self._kit_told + _SECONDS_BETWEEN_REMINDERS:
            return
        self._to_do, self._kit_told = to_do, now
        for finding in findings:
            log.warning("for the operator", extra={"reason": finding.detail, "do": finding.fix})

    def _note(self, error: Exception, what: str) -> None:
        """Log what failed; a disk that cannot be written to is told of once."""
        if not self._activity.health.note_error(error):
            log_unforeseen(log, what, error)

    def _tell(self, studies: Sequence[StudyRecord]) -> None:
        lost = [self._store.lost_shares(study) for study in studies if study.state in GOING_ON]
        self._metrics.studies(studies)
        self._metrics.lost_shares.set(sum(map(len, lost)))
        stopped = [study for study in studies if study.state is StudyState.STOPPED]
        self._activity.health.forgotten_releases = tuple(
            study.manifest.study for study in stopped if self._store.release_elsewhere(study.hash)
        )

    def _tell_slowly(self, studies: Sequence[StudyRecord]) -> None:
        """Tell what takes longer to find out than it matters."""
        if time.monotonic() < self._told + _SECONDS_BETWEEN_TRIALS:
            return
        self._told = time.monotonic()
        activity = self._activity
        circumstances = Circumstances(
            trouble=activity.health.trouble,
            silenced=frozenset().union(*(silence.studies for silence in activity.peers.silences())),
            computed=activity.studies_computed(),
            paused=activity.pauses.reasons(),
        )
        self._metrics.waits(self._wait_reason(study, circumstances) for study in studies)
        unaccepted = unaccepted_manifests(self._kit, [study.manifest.study for study in studies])
        self._metrics.upkeep(
            DiskSpace.of(self._kit), self._certificates.days_left(studies), len(list(unaccepted))
        )

    def _wait_reason(self, study: StudyRecord, circumstances: Circumstances) -> WaitReason | None:
        try:
            return wait_reason(self._kit, self._store, study, circumstances)
        except InputError:  # the study does not mean this node
            return WaitReason.OTHER

    def _tell_health(self) -> None:
        health = self._activity.health
        health.clock = self._clock.problem
        health.silences = self._activity.peers.silences()
        self._metrics.silences(health.silences)
        self._metrics.clock_not_trusted.set(bool(health.clock))

    def _let_in(self, study: StudyRecord) -> None:
        for manifest in study.manifests:
            if manifest.hash not in self.accepted:
                owners = [owner.pin for owner in manifest.owners]
                self._authorities.trust(manifest.authorities, owners)
                self.accepted.add(manifest.hash)
                what = f"amendment {manifest.amendment}" if manifest.amendment else "study"
                log.info(f"{what} accepted", extra=about(study))
        if study.hash not in self._looked_through:
            self._runner.take_back(study)
            self._looked_through.add(study.hash)

    def _look_at(self, study: StudyRecord, now: float) -> None:
        self._cut_off(study)
        if self._retain(study, now):
            self._leader.forget(study)
            return
        if study.state is StudyState.RELEASED and self._store.holds_shares(study.hash):
            self._runner.forget_shares(study)
        self._leader.consider(study)

    def _cut_off(self, study: StudyRecord) -> None:
        """End attempts that the operator has aborted, stopped or deleted from beside this process."""
        attempt = self._activity.attempt(study.hash)
        if attempt is None or study.state not in (StudyState.STOPPED, StudyState.DELETED):
            return
        if self._store.attempt_state(study.hash, attempt.number) is AttemptState.FAILED:
            attempt.abort(study.note)

    def _retain(self, study: StudyRecord, now: float) -> bool:
        """Delete what the manifest says is not kept any longer. True if the study's time is over."""
        if study.state in (StudyState.EXPIRED, StudyState.DELETED):
            return True
        if not is_over(self._store, study, now):
            return False
        files = self._store.expire(study.hash)
        log.info("study expired; shares and results were deleted", extra={**about(study), "files": files})
        return True
