"""Why studies wait at a node, in one word of a few: what an administrator is alerted by."""

from __future__ import annotations

import time
from collections.abc import Container
from dataclasses import dataclass
from enum import StrEnum

from ppaurora.messages.owners import GONE, StudyState
from ppaurora.node.store import Store, StudyRecord
from ppaurora.study.kit import NodeKit


class WaitReason(StrEnum):
    """What a study waits for. Of several, the one that needs somebody most is told."""

    RULE = "rule"  # what owners have sent breaks a public rule of the study
    OPERATOR = "operator"  # it has stopped here, until this node's operator resumes it
    DISK = "disk"  # this node cannot write
    SHARES_LOST = "shares-lost"  # owners have to submit again what this node's disk has lost
    NODE_SILENT = "node-silent"  # another node does not answer
    DEADLINE = "deadline"  # submissions are missing, and none are taken any longer
    OWNER_MISSING = "owner-missing"  # submissions are missing
    AGREEMENT = "agreement"  # owners have yet to agree to an amendment
    LEADER = "leader"  # what comes next is for the leader to begin
    NOT_ACCEPTED = "not-accepted"  # another node's operator has not accepted the study
    NODE_NOT_READY = "node-not-ready"  # another node says that it cannot go on yet
    ATTEMPT_FAILED = "attempt-failed"  # another attempt follows
    OTHER = "other"  # the study's note says what


@dataclass(frozen=True)
class Circumstances:
    """All beside its records that may keep a study waiting."""

    trouble: str  # why this node cannot write; empty if it can
    silenced: Container[str]  # studies that wait for a silent node
    computed: Container[str]  # studies of which an attempt is under way here
    paused: dict[str, WaitReason]  # studies that this node leads, and that rest before the next step


def wait_reason(
    kit: NodeKit, store: Store, study: StudyRecord, circumstances: Circumstances
) -> WaitReason | None:
    """Return why a study waits at this node; None if it is over, is computed, or is about to go on."""
    manifest = study.manifest
    if study.state in GONE:
        return None
    if study.state is StudyState.RELEASED:  # others may not have heard of it
        return WaitReason.NODE_SILENT if study.hash in circumstances.silenced else None
    server, protocol = kit.server(manifest), manifest.protocol
    takes_submissions = server in protocol.input_servers
    here = [submission.submitted for submission in store.submissions(study)]
    is_complete = len(here) == len(manifest.owners)
    if study.state is not StudyState.RUNNING and is_complete and manifest.problem_with_submissions(here):
        return WaitReason.RULE
    if study.state is StudyState.STOPPED:
        return WaitReason.OPERATOR
    if circumstances.trouble:
        return WaitReason.DISK
    if store.lost_shares(study):
        return WaitReason.SHARES_LOST
    if study.hash in circumstances.silenced:
        return WaitReason.NODE_SILENT
    if study.hash in circumstances.computed:
        return None
    if takes_submissions and not is_complete:
        is_open = manifest.evaluation.takes_submissions(time.time())
        return WaitReason.OWNER_MISSING if is_open else WaitReason.DEADLINE
    if store.to_agree(study):
        return WaitReason.AGREEMENT
    return circumstances.paused.get(study.hash) if server is protocol.leader else WaitReason.LEADER
