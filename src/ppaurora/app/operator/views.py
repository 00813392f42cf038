"""View models of an operator's pages: of the node that runs, of what it has on disk, of one study."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass

from ppaurora.errors import InputError
from ppaurora.io.text import listed, printable
from ppaurora.io.times import as_people_say
from ppaurora.messages.findings import Finding
from ppaurora.messages.owners import StudyState, StudyStatus
from ppaurora.node.admin_client import RunningNode, find_running
from ppaurora.node.attention import DAYS_OF_WARNING
from ppaurora.node.audit import Entry
from ppaurora.node.operating import StudyRecords, look_at_records, look_at_study, read_log
from ppaurora.node.states import AttemptState
from ppaurora.node.store import AttemptRecord
from ppaurora.study.amendments import Amendments, Change
from ppaurora.study.kit import NodeKit
from ppaurora.study.manifest import Manifest

_LITTLE_ROOM = 1 << 30
ENTRIES_AT_ONCE = 200

# How a state is shown, and what it means in words.
_STATES = {
    StudyState.COLLECTING: ("accent", "waiting until all owners have submitted"),
    StudyState.RUNNING: ("accent", "all owners have submitted; the servers are computing"),
    StudyState.STOPPED: ("warn", "nothing happens here until you resume it"),
    StudyState.RELEASED: ("good", "the owners can fetch the result"),
    StudyState.EXPIRED: ("plain", "its retention period is over; nothing of it is kept"),
    StudyState.DELETED: ("plain", "you deleted it; nothing of it is kept"),
}
_ATTEMPTS = {
    AttemptState.RUNNING: "accent",
    AttemptState.COMPUTED: "accent",
    AttemptState.RELEASED: "good",
    AttemptState.FAILED: "warn",
}


@dataclass(frozen=True)
class StudyRow:
    """A study as a list shows it."""

    name: str
    hash: str
    state: str
    kind: str
    meaning: str
    note: str
    progress: str
    missing: tuple[str, ...]
    attempts: int

    @classmethod
    def of(cls, status: StudyStatus, running: RunningNode | None) -> StudyRow:
        kind, meaning = _STATES[status.state]
        if status.state is StudyState.COLLECTING and not status.missing:
            meaning = "all owners have submitted"
        return cls(
            status.name,
            status.study,
            status.state.value,
            kind,
            meaning,
            printable(status.note),
            "" if running is None else printable(running.progress.get(status.study, "")),
            status.missing if status.state is StudyState.COLLECTING else (),
            status.attempt,
        )


@dataclass(frozen=True)
class NodeView:
    """A node from outside and inside. If nothing on disk can be read, `problem` says why."""

    findings: tuple[Finding, ...]
    studies: tuple[StudyRow, ...]
    proposed: tuple[Manifest, ...]  # that came with the kit, and nobody has accepted
    problem: str = ""

    @classmethod
    def of(cls, kit: NodeKit) -> NodeView:
        running = find_running(kit)
        about_node = [_is_running(kit, running), *_problems(running)]
        try:
            records = look_at_records(kit)
        except InputError as error:
            database = Finding.bad("Database and disk", str(error))
            return cls((*about_node, database, *_machine(kit)), (), (), str(error))
        findings = [*about_node, _database(records.trouble), _clock(records.clock), *_machine(kit)]
        proposed: list[Manifest] = []
        try:
            proposed = kit.manifests()
        except InputError as error:
            findings.append(Finding.warn("Kit", str(error)))
        accepted = {study.study for study in records.studies}
        return cls(
            tuple(findings),
            tuple(StudyRow.of(study, running) for study in records.studies),
            tuple(manifest for manifest in proposed if manifest.hash not in accepted),
        )


def _is_running(kit: NodeKit, running: RunningNode | None) -> Finding:
    if running is not None:
        return Finding.good("Node", f"running ppaurora {running.version}")
    return Finding.bad(
        "Node",
        f"not running: nothing answers at {kit.settings.listen_admin} as {kit.title}. Owners and the other "
        "nodes cannot reach it. What is shown below is from its disk",
        f"start it: ppaurora serve {kit.folder}",
    )


def _problems(running: RunningNode | None) -> list[Finding]:
    """Return what the running node itself says is wrong with it."""
    if running is None or running.status == "ok":
        return []
    told = printable(f"{running.status}: {'; '.join(running.problems)}")
    return [Finding(name="Reported by the node", severity=running.severity, detail=told)]


def _database(trouble: str) -> Finding:
    if trouble:
        return Finding.bad("Database and disk", f"{trouble}; studies wait until it is fixed")
    return Finding.good("Database and disk", "readable and writable; integrity verified")


def _clock(problem: str) -> Finding:
    if problem:
        return Finding.warn("Clock", problem)
    return Finding.good("Clock", "no sign of a wrong clock on this machine")


def _machine(kit: NodeKit) -> list[Finding]:
    """Return what an operator watches beside the node: disk space, and the certificate's last day."""
    found = []
    try:
        free = shutil.disk_usage(kit.folder).free
        space = "Disk space", f"{free / 1e9:,.0f} GB free"
        found.append(Finding.good(*space) if free >= _LITTLE_ROOM else Finding.warn(*space))
        file, validity = kit.validity()
        valid = "Certificate", f"valid for {validity.days_left:.0f} more days"
        if validity.problem:
            found.append(Finding.bad("Certificate", f"{file.name} {validity.problem}", validity.remedy))
        elif validity.days_left < DAYS_OF_WARNING:
            found.append(Finding.warn(*valid, "ask the coordinator to renew it: ppaurora renew"))
        else:
            found.append(Finding.good(*valid))
    except (OSError, InputError) as error:
        found.append(Finding.bad("Kit", str(error)))
    return found


@dataclass(frozen=True)
class AttemptRow:
    """An attempt as a table shows it."""

    number: int
    state: str
    kind: str
    began: str
    took: str
    note: str

    @classmethod
    def of(cls, attempt: AttemptRecord, progress: str) -> AttemptRow:
        is_running = attempt.state is AttemptState.RUNNING
        took = "" if attempt.ended_at is None else f"{attempt.ended_at - attempt.started_at:.1f} s"
        return cls(
            attempt.number,
            attempt.state.value,
            _ATTEMPTS[attempt.state],
            as_people_say(attempt.started_at),
            took,
            progress if is_running else printable(attempt.note),
        )


@dataclass(frozen=True)
class OwnerRow:
    """An owner, and whether this node has its share; a server that takes none hears it from the leader."""

    name: str
    organisation: str
    state: str
    kind: str


@dataclass(frozen=True)
class AmendedView:
    """How a study was amended: what is in force, for whom it waits, and what differs from the first terms."""

    amendments: Amendments
    said: str
    changes: tuple[Change, ...]
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class StudyView:
    """One study, and what its operator may do with it now."""

    manifest: Manifest
    row: StudyRow
    runs: bool
    accepted: str
    owners: tuple[OwnerRow, ...]
    takes_shares: bool
    attempts: tuple[AttemptRow, ...]
    amended: AmendedView | None
    can_retry: bool
    can_stop: bool
    can_abort: bool
    can_delete: bool

    @property
    def path(self) -> str:
        return f"/studies/{self.manifest.study}"

    @classmethod
    def of(cls, kit: NodeKit, name: str) -> StudyView:
        running = find_running(kit)
        records = look_at_study(kit, name)
        manifest, state = records.study.manifest, records.status.state
        row = StudyRow.of(records.status, running)
        return cls(
            manifest,
            row,
            running is not None,
            as_people_say(records.study.accepted_at),
            _owners(records),
            kit.server(manifest) in manifest.protocol.input_servers,
            tuple(AttemptRow.of(attempt, row.progress) for attempt in reversed(records.attempts)),
            _amended(records),
            can_retry=state is StudyState.STOPPED,
            can_stop=state in (StudyState.COLLECTING, StudyState.RUNNING),
            can_abort=any(one.state is AttemptState.RUNNING for one in records.attempts),
            can_delete=state not in (StudyState.EXPIRED, StudyState.DELETED),
        )


def _amended(records: StudyRecords) -> AmendedView | None:
    amendments, manifest = records.study.amendments, records.study.manifest
    if amendments is None:
        return None
    accepted, leader = len(amendments.steps), manifest.protocol.leader
    said = [f"Amendment {manifest.amendment} is in force." if manifest.amendment else ""]
    if manifest.amendment < accepted:
        said.append(
            f"Amendment {accepted} is accepted here, and not in force yet: it counts once {leader.title}, "
            "whose operator has to accept it too, says so."
        )
    awaited = records.status.to_agree
    if awaited:
        have = "has" if len(awaited) == 1 else "have"
        said.append(f"{listed(awaited)} {have} yet to agree to it: the study waits for that.")
    elif manifest.amendment:
        said.append("All owners have agreed to it.")
    return AmendedView(
        amendments,
        " ".join(filter(None, said)),
        tuple(amendments.changes(0)),
        tuple(str(step.reason) for step in amendments.steps),
    )


def _owners(records: StudyRecords) -> tuple[OwnerRow, ...]:
    status = records.status
    rows = []
    for owner in records.study.manifest.owners:
        state, kind = "not yet", "plain"
        if owner.name in status.submitted:
            state, kind = "submitted", "good"
        elif owner.name in status.withdrawn:
            state, kind = "withdrawn", "warn"
        rows.append(OwnerRow(owner.name, owner.organisation, state, kind))
    return tuple(rows)


@dataclass(frozen=True)
class LogView:
    """A part of the audit log, the latest entry first, and whether all of it verifies."""

    file: str
    entries: tuple[Entry, ...]
    total: int
    problem: str
    waiting: int
    earlier: int | None  # before which entry the next part begins, if there is one

    @classmethod
    def of(cls, kit: NodeKit, before: int | None) -> LogView:
        log = read_log(kit)
        entries: Sequence[Entry] = log.checked.entries
        end = len(entries) if before is None else min(max(before - 1, 0), len(entries))
        start = max(end - ENTRIES_AT_ONCE, 0)
        return cls(
            str(log.file),
            tuple(reversed(entries[start:end])),
            len(entries),
            log.checked.problem,
            log.checked.waiting,
            start + 1 if start else None,
        )
