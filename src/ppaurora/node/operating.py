"""Operating a node from beside it, whether or not it runs: what its operator sees and does.

The commands and the pages of the local app are both written on this.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ppaurora.errors import InputError
from ppaurora.messages.owners import GOING_ON, GONE, StudyState, StudyStatus
from ppaurora.node.audit import CheckedLog, check_log
from ppaurora.node.clock import clock_problem
from ppaurora.node.states import NEW_STUDY
from ppaurora.node.status import broken_rule, study_status
from ppaurora.node.store import (
    STORAGE_ERRORS,
    AttemptRecord,
    NeedsRecoveryError,
    Rollback,
    Store,
    StudyRecord,
    recover_folder,
    trouble_of,
)
from ppaurora.study.kit import NodeKit, ProposedStudy, unaccepted_manifests

_THEIR_RETRY = "they let it go on with 'ppaurora retry'"


@contextlib.contextmanager
def opened(kit: NodeKit) -> Iterator[Store]:
    """Open the node's store; raise an `InputError` that its operator can act on if that fails."""
    try:
        with Store(kit.data) as store:
            yield store
    except STORAGE_ERRORS as error:
        raise InputError(f"{kit.data}: {trouble_of(error)}; nothing was changed") from None


def find_rollback(kit: NodeKit) -> Rollback:
    """Return what the database of a node lacks that was rolled back; raise if it lacks nothing.

    A damaged one lacks everything: it will be set aside.
    """
    try:
        with opened(kit):
            pass
    except NeedsRecoveryError as error:
        return error.rollback
    raise InputError(f"{kit.data}: this node was not rolled back; there is nothing to recover")


@dataclass(frozen=True)
class Recovered:
    """A node after a recovery: its studies, and the folder that keeps what was there before."""

    studies: list[StudyRecord]
    before: Path


def recover(kit: NodeKit) -> Recovered:
    """Let a node go on from what is left of its database; nothing that was there is deleted."""
    rollback = find_rollback(kit)
    try:
        before = recover_folder(kit.data, rollback)
        with opened(kit) as recovered:
            return Recovered(recovered.studies(), before)
    except STORAGE_ERRORS as error:
        raise InputError(
            f"{kit.data}: {trouble_of(error)}; run 'ppaurora recover {kit.folder}' again once that is fixed"
        ) from None


def find_study(store: Store, kit: NodeKit, name: str) -> StudyRecord:
    """Return the study of this name that was accepted here."""
    accepted = {known.manifest.study: known for known in store.studies()}
    if name not in accepted:
        names = ", ".join(accepted) or "none"
        raise InputError(f"{kit.folder}: has not accepted a study '{name}'; there are: {names}")
    return accepted[name]


@dataclass(frozen=True)
class NodeRecords:
    """The state of a node on disk: why it cannot write, what is wrong with its clock, its studies.

    `unclaimed` says how many shares it has of studies that are not on record, by the studies' hashes;
    `proposed` are the studies whose manifests lie in the kit and were not accepted.
    """

    trouble: str
    clock: str
    studies: list[StudyStatus]
    unclaimed: dict[str, int]
    proposed: tuple[ProposedStudy, ...]


def look_at_records(kit: NodeKit) -> NodeRecords:
    """Return what is on record, also while the node does not run."""
    with opened(kit) as store:
        trouble = store.writing_problem()
        seen = store.seen_time()
        clock = clock_problem(0.0 if seen is None else seen.ahead)
        studies = [study_status(kit, store, study, trouble=trouble) for study in store.studies()]
        proposed = tuple(unaccepted_manifests(kit, [study.name for study in studies]))
        return NodeRecords(trouble, clock, studies, store.unclaimed_shares(), proposed)


@dataclass(frozen=True)
class StudyRecords:
    """All that a node has on record of one study, but for what it holds in shares."""

    study: StudyRecord
    status: StudyStatus
    attempts: list[AttemptRecord]


def look_at_study(kit: NodeKit, name: str) -> StudyRecords:
    with opened(kit) as store:
        study = find_study(store, kit, name)
        return StudyRecords(study, study_status(kit, store, study), store.attempts(study.hash))


def note_of_stopped(kit: NodeKit, name: str) -> str:
    """Return why a study has stopped here; empty if it has not."""
    with opened(kit) as store:
        study = find_study(store, kit, name)
    return study.note if study.state is StudyState.STOPPED else ""


@dataclass(frozen=True)
class Retried:
    """A study that goes on: why it had stopped, and on which broken rule it waits even so, if on any."""

    stopped: str
    waits: str


def retry(kit: NodeKit, name: str) -> Retried:
    """Let a study that has stopped go on here."""
    with opened(kit) as store:
        study = find_study(store, kit, name)
        waits = broken_rule(store, study)
        if study.state in GOING_ON and waits:
            raise InputError(f"this study has not stopped; there is nothing to retry. It waits: {waits}")
        store.retry(study.hash)
    return Retried(study.note, waits)


def abort(kit: NodeKit, name: str) -> int:
    """End the attempt that is under way here. Its number."""
    with opened(kit) as store:
        note = f"this node's operator aborted the attempt; {_THEIR_RETRY}"
        return store.abort(find_study(store, kit, name).hash, note)


def stop(kit: NodeKit, name: str) -> None:
    """Stop a study here, with the attempt that is under way, if one is."""
    with opened(kit) as store:
        note = f"this node's operator stopped the study; {_THEIR_RETRY}"
        store.stop(find_study(store, kit, name).hash, note)


def state_to_delete(kit: NodeKit, name: str) -> StudyState:
    """Return the state of a study that has something to delete; raise if it has nothing."""
    with opened(kit) as store:
        return _find_to_delete(store, kit, name).state


def _find_to_delete(store: Store, kit: NodeKit, name: str) -> StudyRecord:
    study = find_study(store, kit, name)
    if study.state in GONE:
        raise InputError(f"the study '{name}' is {study.state} here; there is nothing to delete")
    return study


def delete(kit: NodeKit, name: str) -> int:
    """Shares and parts of the result, at once and for good. The number of shares."""
    with opened(kit) as store:
        study = _find_to_delete(store, kit, name)
        return store.delete(study.hash, f"this node's operator deleted the study; {NEW_STUDY}")


def unclaimed_shares(kit: NodeKit, study: str) -> int:
    """Return how many shares are here of a study that is not on record, by its hash."""
    with opened(kit) as store:
        return store.unclaimed_shares().get(study, 0)


def delete_unclaimed_shares(kit: NodeKit, study: str) -> int:
    """Delete shares of a study that is not on record, and return how many."""
    with opened(kit) as store:
        return store.delete_unclaimed_shares(study)


@dataclass(frozen=True)
class NodeLog:
    """A node's audit log, and the file that it is in."""

    checked: CheckedLog
    file: Path


def read_log(kit: NodeKit) -> NodeLog:
    with opened(kit) as store:
        return NodeLog(check_log(*store.audit_log()), store.audit_file)
