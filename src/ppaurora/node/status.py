"""The status of a study at a node, as participants may know it."""

from __future__ import annotations

import time
from collections.abc import Sequence

from msgspec import UNSET

from ppaurora.io.text import listed
from ppaurora.messages.owners import GOING_ON, UNDER_WAY, StudyState, StudyStatus
from ppaurora.node.health import not_ready
from ppaurora.node.store import Store, StudyRecord
from ppaurora.study.kit import NodeKit
from ppaurora.study.manifest import Manifest
from ppaurora.version import __version__


def study_status(
    kit: NodeKit,
    store: Store,
    study: StudyRecord,
    progress: str = "",
    trouble: str = "",
    asker: str = "",
    silence: str = "",
) -> StudyStatus:
    """Return the status as this node sees it, with an attempt's `progress` and the disk's `trouble`.

    `silence` says for which other node the study waits. `asker` is the owner who wants to know, if one does.
    """
    revisions = store.latest_revisions(study)
    submitted = tuple(submission.owner for submission in store.submissions(study))
    missing = tuple(name for name in study.manifest.owner_names if name not in submitted)
    return StudyStatus(
        study=study.hash,
        name=study.manifest.study,
        state=study.state,
        note=_note(kit, store, study, missing, trouble, silence),
        submitted=submitted,
        missing=missing,
        withdrawn=tuple(one.owner for one in revisions if one.withdrawn),
        revision=max((one.revision for one in revisions if one.owner == asker), default=0),
        progress=progress,
        attempt=store.last_attempt(study.hash),
        version=__version__,
        protocol_version=study.manifest.version,
        server=kit.server(study.manifest).title,
        time=time.time(),
        amendment=UNSET if study.amendments is None else len(study.amendments.steps),
        to_agree=UNSET if study.amendments is None else tuple(store.to_agree(study)),
    )


def lost_shares(owners: Sequence[str], where: str = "here") -> str:
    """Return the note that tells whose shares were lost, and what to do."""
    return f"shares of {', '.join(owners)} were lost {where}; they have to submit again"


def still_to_agree(owners: list[str], manifest: Manifest) -> str:
    """Return for whose agreement a study waits, and what they do; nothing if for nobody's."""
    if not owners:
        return ""
    have = "has" if len(owners) == 1 else "have"
    how = f"with 'ppaurora accept KIT --study {manifest.study}' or in the app"
    return f"{listed(owners)} {have} yet to agree to amendment {manifest.amendment}, {how}"


def broken_rule(store: Store, study: StudyRecord) -> str:
    """Return which public rule the submissions at this node break, and who can do what; empty if none, or
    if they can change no longer.
    """
    if study.state not in UNDER_WAY or store.has_begun(study.hash):
        return ""
    submitted = [submission.submitted for submission in store.submissions(study)]
    return study.manifest.problem_with_submissions(submitted, at=time.time())


def _note(
    kit: NodeKit, store: Store, study: StudyRecord, missing: Sequence[str], trouble: str, silence: str
) -> str:
    """Return what stands in the way at this node; if nothing does, the note on record of the study."""
    manifest = study.manifest
    lost = store.lost_shares(study)
    if study.state in GOING_ON and trouble:
        return not_ready(trouble, kit.server(manifest).title)
    if study.state in GOING_ON and lost:
        return lost_shares(lost)
    if study.state in GOING_ON and not missing and silence:
        return silence
    if study.note or study.state is not StudyState.COLLECTING:
        return study.note
    accepted = study.manifests[-1].amendment
    if accepted > manifest.amendment:
        return f"amendment {accepted} was accepted here, and waits for {manifest.protocol.leader.title}"
    awaited = still_to_agree(store.to_agree(study), manifest)
    if awaited:
        return awaited
    broken = broken_rule(store, study)
    if broken:
        return broken
    if not missing:
        return f"all have submitted; {manifest.protocol.leader.title} begins the computation"
    if not manifest.evaluation.takes_submissions(time.time()):
        return f"{manifest.evaluation.too_late}; those of {', '.join(missing)} are missing"
    return ""
