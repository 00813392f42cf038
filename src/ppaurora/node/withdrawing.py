"""Withdrawals: decided at the node that leads, and passed on until all who take submissions have heard.

An attempt begins at the leader first. So the leader alone can tell whether a withdrawal is in time, and what
it has on record as withdrawn is never computed with: it begins no attempt without that owner. The others
delete their shares when it tells them.
"""

from __future__ import annotations

import logging

from ppaurora.errors import PeerError
from ppaurora.messages.nodes import Verdict, Withdrawn
from ppaurora.node.activity import Activity
from ppaurora.node.logs import about
from ppaurora.node.store import Store, StudyRecord, SubmissionRecord
from ppaurora.study.kit import NodeKit

_SECONDS_TO_ANSWER = 10.0

log = logging.getLogger(__name__)


class Withdrawals:
    """The withdrawals from studies that this node leads; methods may be called from any thread."""

    def __init__(self, kit: NodeKit, store: Store, activity: Activity) -> None:
        self._kit = kit
        self._store = store
        self._activity = activity

    def decides(self, study: StudyRecord) -> bool:
        """Return whether this node leads the study, and so decides on withdrawals."""
        return self._kit.server(study.manifest) is study.manifest.protocol.leader

    def record(self, study: StudyRecord, owner: str, revision: int) -> SubmissionRecord:
        """Record a withdrawal durably; the others hear of it now, or as soon as they can be reached."""
        withdrawal = self._store.withdraw(study.hash, owner, revision)
        log.info("submission withdrawn", extra={**about(study), "owner": owner})
        self._activity.pauses.forget(study.hash)
        return withdrawal

    def tell(self, study: StudyRecord) -> None:
        """Tell others of what is not known everywhere; raise if one of them has not heard it."""
        for withdrawal in self._store.withdrawals_to_tell(study):
            self._tell_all(study, withdrawal)
            self._store.told_of_withdrawal(study.hash, withdrawal.owner, withdrawal.revision)

    def _tell_all(self, study: StudyRecord, withdrawal: SubmissionRecord) -> None:
        question = Withdrawn(study=study.hash, owner=withdrawal.owner, revision=withdrawal.revision)
        takers = study.manifest.protocol.input_servers
        for peer in self._kit.server(study.manifest).peers:
            if peer not in takers:
                continue
            answer = self._activity.peers.ask(self._kit, study, peer, question, _SECONDS_TO_ANSWER)
            if answer.answer is not Verdict.WITHDRAWN:
                raise PeerError(peer.title, f"has not taken it: {answer.note or answer.answer.value}")
