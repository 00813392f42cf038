"""Withdrawals: decided at the node that leads, and passed on until all who take submissions have heard.

An attempt begins at the leader first. So the leader alone can tell whether a withdrawal is in time, and what
it has on record as withdrawn is never computed with: it begins no attempt without that owner. The others
delete their shares when it tells them.
"""

from __future__ import annotations

import logging
import threading

from ppaurora.errors import PeerError
from ppaurora.messages.nodes import Verdict, Withdrawn
from ppaurora.messages.owners import StudyState
from ppaurora.node.activity import Pauses
from ppaurora.node.logs import RateLimitedLog, about
from ppaurora.node.questions import ask
from ppaurora.node.store import STORAGE_ERRORS, Store, StudyRecord, SubmissionRecord
from ppaurora.study.kit import NodeKit

_SECONDS_TO_ANSWER = 10.0
_OVER = (StudyState.EXPIRED, StudyState.DELETED)

log = logging.getLogger(__name__)


class Withdrawals:
    """The withdrawals from studies that this node leads; methods may be called from any thread."""

    def __init__(self, kit: NodeKit, store: Store) -> None:
        self._kit = kit
        self._store = store
        self._pauses = Pauses()
        self._telling = threading.Lock()
        self._complaints = RateLimitedLog(log, most=20)

    def decides(self, study: StudyRecord) -> bool:
        """Return whether this node leads the study, and so decides on withdrawals."""
        return self._kit.server(study.manifest) is study.manifest.protocol.leader

    def record(self, study: StudyRecord, owner: str, revision: int) -> SubmissionRecord:
        """Record a withdrawal durably; the others hear of it now, or as soon as they can be reached."""
        withdrawal = self._store.withdraw(study.hash, owner, revision)
        log.info("submission withdrawn", extra={**about(study), "owner": owner})
        self._pauses.forget(study.hash)
        return withdrawal

    def consider(self, study: StudyRecord) -> None:
        """Pass on what is not known everywhere, in a thread of its own."""
        if not self.decides(study) or study.state in _OVER or self._pauses.is_paused(study.hash):
            return
        if not self._store.withdrawals_to_tell(study) or not self._telling.acquire(blocking=False):
            return
        self._pauses.pause(study.hash)
        try:
            threading.Thread(target=self._tell, args=(study,), name="withdrawals", daemon=True).start()
        except RuntimeError:  # no more threads
            self._telling.release()

    def _tell(self, study: StudyRecord) -> None:
        try:
            for withdrawal in self._store.withdrawals_to_tell(study):
                self._tell_all(study, withdrawal)
                self._store.told_of_withdrawal(study.hash, withdrawal.owner, withdrawal.revision)
            self._pauses.forget(study.hash)
        except PeerError as error:
            facts = {**about(study), "reason": str(error)}
            self._complaints.info("a withdrawal could not be passed on yet", facts)
        except STORAGE_ERRORS:
            pass  # the watcher tells of it, and comes again
        finally:
            self._telling.release()

    def _tell_all(self, study: StudyRecord, withdrawal: SubmissionRecord) -> None:
        """Tell all others who take submissions; raise if one has not heard it."""
        question = Withdrawn(study=study.hash, owner=withdrawal.owner, revision=withdrawal.revision)
        takers = study.manifest.protocol.input_servers
        for peer in self._kit.server(study.manifest).peers:
            if peer not in takers:
                continue
            answer = ask(self._kit, study.manifest, peer, question, _SECONDS_TO_ANSWER)
            if answer.answer is not Verdict.WITHDRAWN:
                raise PeerError(peer.title, f"has not taken it: {answer.note or answer.answer.value}")
