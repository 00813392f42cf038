"""What participants may know about a study's course at a node."""

from __future__ import annotations

import time

from ppaurora.messages import VERSION
from ppaurora.messages.owners import StudyState, StudyStatus
from ppaurora.node.store import Store, StudyRecord
from ppaurora.study.kit import NodeKit
from ppaurora.version import __version__


def study_status(kit: NodeKit, store: Store, study: StudyRecord, progress: str = "") -> StudyStatus:
    """As this node sees it; `progress` of an attempt that runs."""
    submitted = tuple(submission.owner for submission in store.submissions(study))
    missing = tuple(name for name in study.manifest.owner_names if name not in submitted)
    note, now = study.note, time.time()
    if not note and study.state is StudyState.COLLECTING:
        if not missing:
            note = f"all have submitted; {study.manifest.protocol.leader.title} leads on"
        elif not study.manifest.evaluation.takes_submissions(now):
            note = f"{study.manifest.evaluation.too_late}; those of {', '.join(missing)} are missing"
    return StudyStatus(
        study=study.hash,
        name=study.manifest.study,
        state=study.state,
        note=note,
        submitted=submitted,
        missing=missing,
        progress=progress,
        attempt=store.last_attempt(study.hash),
        version=__version__,
        protocol_version=VERSION,
        server=kit.server(study.manifest).title,
        time=now,
    )
