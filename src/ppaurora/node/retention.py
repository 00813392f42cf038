"""For how long a node keeps what it has."""

from __future__ import annotations

from ppaurora.messages.owners import StudyState
from ppaurora.node.store import Store, StudyRecord

_SECONDS_PER_DAY = 86_400.0


def is_over(store: Store, study: StudyRecord, now: float) -> bool:
    """Return whether what this node has of a study is to be deleted, by the node's time.

    The manifest's days count from the release, and before it from the last submission to this node. Without
    either there is nothing to delete.
    """
    if study.state in (StudyState.EXPIRED, StudyState.DELETED):
        return False
    times = [submission.received_at for submission in store.acknowledged(study)]
    since = study.ended_at or max(times, default=None)
    return since is not None and now >= since + study.manifest.terms.limits.retention_days * _SECONDS_PER_DAY
