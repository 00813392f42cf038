"""What other nodes have on record of a study, compared with what this one has, which may be older.

A node whose whole folder was restored from a backup agrees with itself. Whether a release was forgotten, only
others can tell: a node that has released a result has signed a statement of it, and gives it with its answer
to a greeting.
"""

from __future__ import annotations

import logging
import threading
import time

from ppaurora.errors import InputError, PeerError
from ppaurora.messages.nodes import Hello
from ppaurora.messages.owners import SignedStatement, StudyState
from ppaurora.node.activity import Activity
from ppaurora.node.logs import about, log_unforeseen
from ppaurora.node.questions import ask
from ppaurora.node.runner import AttemptRunner
from ppaurora.node.states import StateError
from ppaurora.node.store import STORAGE_ERRORS, Store, StudyRecord
from ppaurora.study.kit import NodeKit
from ppaurora.study.receipt import problem_with_statement

_SECONDS_TO_ANSWER = 10.0
_SECONDS_BETWEEN_GREETINGS = 600.0
_SECONDS_AFTER_SILENCE = 30.0
_UNDER_WAY = (StudyState.COLLECTING, StudyState.RUNNING, StudyState.STOPPED)

log = logging.getLogger(__name__)


class PeerRecords:
    """Greets the other nodes of studies under way, at a start and every ten minutes, in its own thread."""

    def __init__(self, kit: NodeKit, store: Store, activity: Activity, runner: AttemptRunner) -> None:
        self._kit = kit
        self._store = store
        self._activity = activity
        self._runner = runner
        self._due: dict[str, float] = {}  # by study, when its nodes are greeted next
        self._thread = threading.Thread(target=self._watch, name="peer records", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _watch(self) -> None:
        while not self._activity.stopping.wait(1.0):
            try:
                for study in self._store.studies():
                    if study.state in _UNDER_WAY and time.monotonic() >= self._due.get(study.hash, 0.0):
                        self._greet_all(study)
            except STORAGE_ERRORS:
                pass  # the watcher tells of it
            except Exception as error:
                log_unforeseen(log, "comparing with other nodes failed", error)

    def _greet_all(self, study: StudyRecord) -> None:
        pause = _SECONDS_BETWEEN_GREETINGS
        for peer in self._kit.server(study.manifest).peers:
            if self._activity.stopping.is_set():
                return
            try:
                answer = ask(self._kit, study.manifest, peer, Hello(study=study.hash), _SECONDS_TO_ANSWER)
            except (PeerError, InputError):
                pause = _SECONDS_AFTER_SILENCE
                continue
            if answer.statement is not None:
                self.learn(study, answer.statement)
        self._due[study.hash] = time.monotonic() + pause

    def learn(self, study: StudyRecord, signed: SignedStatement) -> str:
        """Take note of a release that somebody shows; return why it shows none, or nothing.

        If this node took part in that attempt, and the leader has signed, it is released here too.
        """
        problem = problem_with_statement(signed, study.manifest)
        if problem:
            return problem
        said = signed.statement
        running = self._activity.attempt(study.hash)
        if running is not None and running.number == said.attempt:
            return ""  # this node's own part ends a moment after the others'
        protocol = study.manifest.protocol
        is_leaders = said.server == protocol.leader.file_name
        gets_a_part = self._kit.server(study.manifest) in protocol.result_servers
        is_known = self._store.attempt_state(study.hash, said.attempt) is not None
        if is_known and (is_leaders or not gets_a_part):
            try:
                self._runner.release(study, said.attempt)
            except StateError as error:
                log.warning("not released", extra={**about(study), "reason": str(error)})
        self._store.learn_of_release(study.hash, signed)
        if self._store.release_elsewhere(study.hash):
            log.warning("put back in time", extra={**about(study), "attempt": said.attempt})
        return ""
