"""Watching: a look at all studies, again and again, for whatever is due."""

from __future__ import annotations

import logging
import threading
import time

from ppaurora.messages.owners import StudyState
from ppaurora.node.activity import Activity
from ppaurora.node.authorities import Authorities
from ppaurora.node.leading import Leader
from ppaurora.node.logs import about, log_unforeseen
from ppaurora.node.metrics import Metrics
from ppaurora.node.runner import AttemptRunner
from ppaurora.node.store import Store, StudyRecord

_SECONDS_BETWEEN_LOOKS = 0.5
_SECONDS_PER_DAY = 86_400.0

log = logging.getLogger(__name__)


class Watcher:
    """Lets in participants of new studies, deletes what is kept no longer, has studies led, tells metrics."""

    def __init__(
        self,
        store: Store,
        activity: Activity,
        authorities: Authorities,
        runner: AttemptRunner,
        leader: Leader,
        metrics: Metrics,
    ) -> None:
        self._store = store
        self._activity = activity
        self._authorities = authorities
        self._runner = runner
        self._leader = leader
        self._metrics = metrics
        self.accepted: set[str] = set()  # studies whose participants are let in
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
                log_unforeseen(log, "looking after the studies failed", error)
            self._activity.news.wait(_SECONDS_BETWEEN_LOOKS)
            self._activity.news.clear()

    def _look(self) -> None:
        now = time.time()
        studies = self._store.studies()
        for study in studies:
            self._let_in(study)
        for study in studies:
            try:
                self._look_at(study, now)
            except Exception as error:
                # One study's trouble is not the others'.
                log_unforeseen(log, f"looking after {study.manifest.study} failed", error)
        self._metrics.studies(self._store.studies())

    def _let_in(self, study: StudyRecord) -> None:
        if study.hash not in self.accepted:
            self._authorities.trust(study.manifest.authorities)
            self.accepted.add(study.hash)
            log.info("study accepted", extra=about(study))

    def _look_at(self, study: StudyRecord, now: float) -> None:
        if self._retain(study, now):
            return
        if study.state is StudyState.RELEASED and self._store.holds_shares(study.hash):
            self._runner.forget_shares(study)
        self._leader.consider(study)

    def _retain(self, study: StudyRecord, now: float) -> bool:
        """Delete what the manifest says is not kept any longer. True if the study's time is over."""
        kept_seconds = study.manifest.limits.retention_days * _SECONDS_PER_DAY
        if study.state is StudyState.EXPIRED:
            return True
        times = [submission.received_at for submission in self._store.submissions(study)]
        since = study.ended_at or max(times, default=None)
        if since is None or now < since + kept_seconds:
            return False  # without a submission or a result there is nothing to delete
        files = self._store.expire(study.hash)
        log.info("study expired; shares and results were deleted", extra={**about(study), "files": files})
        return True
