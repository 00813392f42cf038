"""All that a node keeps, in one class: every method is one transaction, or a part of one."""

from __future__ import annotations

import errno
import hashlib
import shutil
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ppaurora.errors import InputError, reason_of
from ppaurora.io.files import sync
from ppaurora.io.models import from_json, to_json
from ppaurora.io.times import Time, as_seconds, as_time
from ppaurora.messages.owners import (
    GOING_ON,
    GONE,
    OVER,
    UNDER_WAY,
    HistoryEntry,
    HistoryEvent,
    SignedAgreement,
    SignedStatement,
    StudyState,
    Submitted,
)
from ppaurora.node.audit import (
    ACCEPTED,
    ATTEMPT_BEGAN,
    ENTRIES_LOST,
    OPERATOR_DELETED,
    RELEASED_WITH,
    REPLACED,
    STOPPED,
    SUBMITTED,
    TIME_IS_OVER,
    StudyEntries,
    read_entry,
)
from ppaurora.node.states import (
    ATTEMPT_CHANGES,
    NEW_STUDY,
    STUDY_CHANGES,
    THEY_RETRY,
    AttemptState,
    ChangedError,
    StaleAttemptError,
    StateError,
)
from ppaurora.node.store.audit import AuditedDatabase
from ppaurora.node.store.descriptions import (
    ShareDescription,
    delete_share,
    describe,
    described,
    description_path,
    unreadable,
)
from ppaurora.node.store.migration import delete_copies
from ppaurora.node.store.records import (
    AttemptRecord,
    BegunError,
    ClosedError,
    ConflictError,
    ReleasedAttempt,
    ReusedError,
    SeenTime,
    StudyRecord,
    SubmissionRecord,
    SupersededError,
    TooOftenError,
)
from ppaurora.node.store.rollback import (
    TO_GO_ON,
    Rollback,
    entries_of,
    fresh_folder,
    kept_as_found,
    last_line,
)
from ppaurora.node.store.trouble import DAMAGED, DamagedError
from ppaurora.sharing.commitment import Salt, commit, fresh_salt
from ppaurora.sharing.stages import ResultShare
from ppaurora.study.amendments import Amendments
from ppaurora.study.manifest import Manifest, is_supported

_MOST_LINES = 100  # of one owner in one study: every receipt carries them, and no receipt may grow too large


class Store(AuditedDatabase):
    """Studies, submissions, attempts and their results, as this node has them on record.

    Methods are atomic, durable on return, and may be called from any thread.
    """

    # The last time seen, and what the operator has said of the clock.

    def seen_time(self) -> SeenTime | None:
        """Return what was last written down of the time; None if nothing was."""
        rows = self._rows("SELECT seen_at, ahead, confirmations FROM clock")
        return SeenTime(rows[0]["seen_at"], rows[0]["ahead"], rows[0]["confirmations"]) if rows else None

    def see_time(self, at: float, ahead: float, confirmations: int) -> None:
        """Write down the node's time, unless the operator has confirmed another one meanwhile."""
        with self._transaction() as db:
            db.execute("INSERT OR IGNORE INTO clock (id, seen_at) VALUES (1, ?)", (at,))
            db.execute(
                "UPDATE clock SET seen_at = ?, ahead = ? WHERE confirmations = ?", (at, ahead, confirmations)
            )

    def confirm_time(self, now: float) -> None:
        """Record that the machine's clock is right: what was stamped later happened now at the latest."""
        with self._transaction() as db:
            db.execute("INSERT OR IGNORE INTO clock (id, seen_at) VALUES (1, ?)", (now,))
            self.record(f"the operator confirmed that the machine's clock is right: {as_time(now)}")
            db.execute("UPDATE clock SET seen_at = ?, ahead = 0, confirmations = confirmations + 1", (now,))
            db.execute("UPDATE submissions SET received_at = MIN(received_at, ?)", (now,))
            db.execute(
                "UPDATE studies SET accepted_at = MIN(accepted_at, ?), ended_at = MIN(ended_at, ?)",
                (now, now),
            )

    # What is left of a database that was rolled back; see `recovery`.

    def go_on_without(self, rollback: Rollback) -> None:
        """Let a node go on whose database was rolled back: continue its mark and its audit log.

        A study that has lost more than submissions, whose shares are taken back in, stops here until the
        operator has looked. One that has lost its release is released again, if its result is here; else it
        is over, as is one that has lost its deletion.
        """
        ended: list[str] = []
        with self._transaction() as db:
            db.execute("UPDATE progress SET changes = MAX(changes, ?)", (rollback.mark.changes,))
            line = last_line(self.audit_file)
            if line is not None:
                last = read_entry(line)
                if last.entry > self.audit_head().entries:
                    db.execute("DELETE FROM audit")
                    db.execute(
                        "INSERT INTO audit (entry, line, written) VALUES (?, ?, 1)", (last.entry, line)
                    )
                # Else a clock that is ahead would have everything expire at once.
                seen = as_seconds(last.time)
                db.execute("INSERT OR IGNORE INTO clock (id, seen_at) VALUES (1, ?)", (seen,))
            lacks = f"{rollback.changes} changes and {len(rollback.lost)} of these entries"
            self.record(f"rolled back: the database lacked {lacks}; the operator let the node go on")
            if not rollback.is_told:
                self.record(ENTRIES_LOST)
            for study in self.studies():
                lost = rollback.entries_of(study.manifest.study)
                if not lost.are_submissions_alone:
                    ended += self._recover_study(study.hash, lost)
        self._unlink(ended)

    def _recover_study(self, study: str, lost: StudyEntries) -> list[str]:
        """Give a study the state that it has without what was lost, and return the files it has no longer."""
        told = "; ".join(lost.shown) or "nobody can tell what"
        note = f"this node was rolled back, and has lost: {told}"
        with self._transaction() as db:
            for number in lost.attempts:
                self.learn_of_attempt(study, number)
            state, released = self._state(study), lost.released_attempt
            if state in GONE or (state is StudyState.RELEASED and not lost.deletion):
                return []
            if lost.deletion or (released and not self._has_computed(study, released)):
                ended = f"{note}; owners to whom no result is given need a new study"
                return self._end(study, StudyState.DELETED, ended)
            if released and lost.are_all:
                self.set_state(study, StudyState.RUNNING, "", among=UNDER_WAY)
                self.end_with(study, released)
                return []
            self._fail_running(study, "this node was rolled back")
            to_go_on = f"{note}; {TO_GO_ON} {THEY_RETRY}"
            self.set_state(study, StudyState.STOPPED, to_go_on, among=UNDER_WAY)
            db.execute("UPDATE studies SET rolled_back = 1 WHERE hash = ?", (study,))
        return []

    def learn_of_attempt(self, study: str, number: int) -> None:
        """Record an attempt that this node has forgotten, so that no number is used twice."""
        with self._transaction() as db:
            note, now = "begun before this node was rolled back", self.now()
            db.execute(
                "INSERT OR IGNORE INTO attempts "
                "(study, number, state, note, started_at, ended_at, forgotten) VALUES (?, ?, ?, ?, ?, ?, 1)",
                (study, number, AttemptState.FAILED, note, now, now),
            )

    def learn_of_release(self, study: str, signed: SignedStatement) -> None:
        """Keep what a node has signed of a release, and stop the study if that is news here.

        From then on no attempt begins: a second result of the same study would tell how the two differ. An
        attempt that was computed here may yet be released.
        """
        number = signed.statement.attempt
        with self._transaction():
            self.keep_statement(study, signed)
            state = self._state(study)
            if self._has_computed(study, number) or state in OVER:
                return
            self.learn_of_attempt(study, number)
            if state is StudyState.STOPPED:
                self.set_note(study, self._release_note(study, signed))
                return
            self.set_state(study, StudyState.STOPPED, self._release_note(study, signed))
            self._fail_running(study, "its result was released with another attempt")

    def release_elsewhere(self, study: str) -> str:
        """Return the note on a release that this node was told of and has forgotten, if there is one."""
        if self._state(study) in OVER:
            return ""
        statements = self.statements(study).values()
        if any(self._has_computed(study, signed.statement.attempt) for signed in statements):
            return ""
        return next((self._release_note(study, signed) for signed in statements), "")

    def _release_note(self, study: str, signed: SignedStatement) -> str:
        """Return the note on a release of which this node has no part."""
        said = signed.statement
        rows = self._rows(
            "SELECT 1 FROM attempts WHERE study = ? AND number = ? AND NOT forgotten", study, said.attempt
        )
        why = "that attempt failed here" if rows else "this node does not know of it: it was rolled back"
        return (
            f"its result was released with attempt {said.attempt}, as {said.server} has signed, and {why}. "
            f"Nothing more is computed; {NEW_STUDY}"
        )

    def _fail_running(self, study: str, note: str) -> None:
        """Record that what runs has failed."""
        for number in self._open_attempts(study):
            if self.attempt_state(study, number) is AttemptState.RUNNING:
                self._set_attempt_state(study, number, AttemptState.FAILED, note)

    def _has_computed(self, study: str, number: int) -> bool:
        return self.attempt_state(study, number) in (AttemptState.COMPUTED, AttemptState.RELEASED)

    # Studies that the operator has accepted, and the one way to change their states.

    def accept(self, manifest: Manifest) -> bool:
        """Accept a manifest, and return whether it is new here.

        What the audit log tells of a study that is not on record, this node has lost: it goes on as after
        `recover`, or is refused if it is over.
        """
        rows = self._rows("SELECT 1 FROM studies WHERE name = ?", manifest.study)
        lost = StudyEntries(()) if rows else entries_of(self.audit_file, manifest.study)
        unclaimed = {} if lost.are_all else self.unclaimed_shares()
        with self._transaction() as db:
            row = db.execute("SELECT hash, state FROM studies WHERE name = ?", (manifest.study,)).fetchone()
            accepted = row["hash"] if row else lost.accepted
            if accepted and accepted != manifest.hash:
                raise InputError(
                    f"another manifest was accepted under the name '{manifest.study}'; "
                    "give the new study its own name"
                )
            over = lost.deletion or lost.release
            if row and row["state"] in GONE:
                over = row["state"]
            if over:
                raise InputError(
                    f"the study '{manifest.study}' is over here ({over}); it takes a new one, with a "
                    "name of its own"
                )
            if row:
                return False
            db.execute(
                "INSERT INTO studies (hash, name, manifest, accepted_at, state) VALUES (?, ?, ?, ?, ?)",
                (manifest.hash, manifest.study, manifest.text(), self.now(), StudyState.COLLECTING),
            )
            self.record_of(manifest.hash, f"{ACCEPTED} {manifest.hash}")
            is_known = lost.texts or manifest.hash in unclaimed
            if is_known and not lost.are_submissions_alone:
                self._recover_study(manifest.hash, lost)
        return True

    def studies(self) -> list[StudyRecord]:
        """Return all studies that were accepted, the earliest first.

        Those that an earlier ppaurora has seen to their end are not among them: it is known that there were
        any, so that none begins anew, and no more.
        """
        return self._studies("ORDER BY accepted_at")

    def _study(self, hash_: str) -> StudyRecord:
        """Return a study that was accepted here."""
        (study,) = self._studies("WHERE hash = ?", hash_)
        return study

    def study(self, hash_: str) -> StudyRecord | None:
        """Return the study of this hash; None if it was not accepted here."""
        return next(iter(self._studies("WHERE hash = ?", hash_)), None)

    def _studies(self, which: str, *values: str) -> list[StudyRecord]:
        amendments = (
            "SELECT '[' || COALESCE(GROUP_CONCAT(content), '') || ']' FROM "
            "(SELECT content FROM amendments WHERE study = studies.hash ORDER BY number)"
        )
        rows = self._rows(f"SELECT *, ({amendments}) AS amendments FROM studies {which}", *values)  # noqa: S608
        return [StudyRecord.from_row(row) for row in rows if is_supported(row["manifest"])]

    # How a study was amended before its first attempt, and who has agreed to that.

    def amend(self, amendments: Amendments, *, decides: bool) -> bool:
        """Accept amendments, with their study if that is not on record; return whether any is new here.

        The node that `decides` on the first attempt has the latest in force at once, the others when it says
        so; until then others may take the place of what was accepted here. Raises if an attempt has begun, if
        the study is over, or if another amendment is in force.
        """
        study = amendments.first.hash
        with self._transaction() as db:
            self.accept(amendments.first)
            record = self._study(study)
            if record.amendments is not None and record.amendments.follows(amendments):
                return False
            begins = amendments.number_alike(record.manifests)
            if begins < record.manifest.amendment:
                raise InputError(
                    f"another amendment to '{amendments.first.study}' is in force here; the coordinator has "
                    "to make the next one from the folder with that"
                )
            self._check_amendable(study)
            if begins < record.manifests[-1].amendment:
                db.execute("DELETE FROM amendments WHERE study = ? AND number > ?", (study, begins))
                self.record_of(study, "others take the place of amendments that were not in force")
            for number, step in enumerate(amendments.steps[begins:], start=begins + 1):
                db.execute(
                    "INSERT INTO amendments (study, number, content, accepted_at) VALUES (?, ?, ?, ?)",
                    (study, number, to_json(step).decode(), self.now()),
                )
                self.record_of(study, f"the operator accepted amendment {number}: {step.manifest.hash}")
            dropped = self._put_in_force(study, len(amendments.steps)) if decides else []
        self._unlink(dropped)
        return True

    def put_in_force(self, study: str, number: int) -> None:
        """Let an amendment count, now that the node which leads says so; an earlier one never again."""
        with self._transaction():
            dropped = self._put_in_force(study, number)
        self._unlink(dropped)

    def _put_in_force(self, study: str, number: int) -> list[str]:
        """Let an amendment count, and return the files of owners who take part no longer."""
        with self._transaction() as db:
            if self._study(study).manifest.amendment >= number:
                return []
            self._check_amendable(study)
            db.execute("UPDATE studies SET in_force = ? WHERE hash = ?", (number, study))
            self.record_of(study, f"amendment {number} is in force")
            if self._state(study) is StudyState.RUNNING:
                self.set_state(study, StudyState.COLLECTING, "")
            owners = self._study(study).manifest.owner_names
            rows = self._rows("SELECT owner, file FROM submissions WHERE study = ?", study)
            dropped = [row for row in rows if row["owner"] not in owners]
            for row in dropped:
                db.execute("DELETE FROM submissions WHERE study = ? AND owner = ?", (study, row["owner"]))
                self.record_of(study, f"{row['owner']} takes part no longer: what it submitted was deleted")
        return [row["file"] for row in dropped if row["file"] is not None]

    def _check_amendable(self, study: str) -> None:
        """Raise once an attempt has begun here, also one that the leader says to have forgotten."""
        if self._state(study) in OVER:
            raise ClosedError(f"the study is {self._state(study)}; it cannot be amended any more")
        # What this node has heard of only, and has forgotten itself, has no submissions on record.
        query = "SELECT 1 FROM attempts WHERE study = ? AND (NOT forgotten OR agreed != '[]') LIMIT 1"
        if self._rows(query, study):
            raise BegunError(
                "the computation has begun, and what it is about cannot be amended any more; make a new study"
            )

    def keep_agreement(self, study: str, signed: SignedAgreement) -> bool:
        """Keep an owner's agreement that was verified, and return whether it is news here."""
        said = signed.agreement
        with self._transaction() as db:
            before = self.agreements(study).get(said.owner)
            if before is not None and before.agreement.amendment >= said.amendment:
                return False
            db.execute(
                "INSERT OR REPLACE INTO agreements (study, owner, content) VALUES (?, ?, ?)",
                (study, said.owner, to_json(signed).decode()),
            )
            self.record_of(study, f"{said.owner} agreed to amendment {said.amendment}")
        return True

    def agreements(self, study: str) -> dict[str, SignedAgreement]:
        """Return the latest agreement of every owner who has signed one."""
        rows = self._rows("SELECT owner, content FROM agreements WHERE study = ? ORDER BY owner", study)
        return {row["owner"]: from_json(SignedAgreement, row["content"]) for row in rows}

    def to_agree(self, study: StudyRecord) -> list[str]:
        """Return the owners who have yet to agree to the manifest that counts."""
        if study.amendments is None or not study.manifest.amendment:
            return []
        agreed = {owner: one.agreement.amendment for owner, one in self.agreements(study.hash).items()}
        return study.amendments.to_agree(study.manifest.amendment, agreed)

    def set_state(
        self,
        study: str,
        target: StudyState,
        note: str | None = None,
        *,
        among: Collection[StudyState] | None = None,
    ) -> None:
        """Change a study's state; raises `StateError` for a change that the table of states does not have.

        With `among`, only from these states, of which the target may be one: then the study stays in it.
        Without a note, the one that is there stays.
        """
        with self._transaction() as db:
            state = self._state(study)
            stays = among is not None and state is target
            if (among is not None and state not in among) or not (stays or (state, target) in STUDY_CHANGES):
                raise StateError(f"the study is {state}")
            db.execute(
                "UPDATE studies SET state = ?, note = COALESCE(?, note), ended_at = COALESCE(ended_at, ?) "
                "WHERE hash = ?",
                (target, note, self.now() if target in OVER else None, study),
            )
            if target is StudyState.STOPPED:
                self.record_of(study, STOPPED.format(note or "no reason is known"))

    def record_of(self, study: str, text: str) -> None:
        """Add an entry to the audit log that tells of a study, by its name."""
        rows = self._rows("SELECT name FROM studies WHERE hash = ?", study)
        self.record(f"{rows[0]['name']}: {text}")

    def _state(self, study: str) -> StudyState:
        (row,) = self._rows("SELECT state FROM studies WHERE hash = ?", study)
        return StudyState(row["state"])

    def has_begun(self, study: str) -> bool:
        """Return whether an attempt was ever begun here; one that this node has forgotten does not count.

        What it has forgotten besides, owners send it again; no attempt begins before all nodes have the same.
        """
        return bool(self._rows("SELECT 1 FROM attempts WHERE study = ? AND NOT forgotten LIMIT 1", study))

    def forget_attempts(self, study: str) -> None:
        """Count what has begun here as forgotten, which the leader does not know of.

        It has taken something later of an owner, as it does before its first attempt only.
        """
        with self._transaction() as db:
            runs = self.attempt_state(study, self.last_attempt(study)) is AttemptState.RUNNING
            if runs or self.statements(study) or self._state(study) in OVER:
                raise BegunError("the computation has begun")
            for number in self._open_attempts(study):
                self._set_attempt_state(study, number, AttemptState.FAILED, "the leader has forgotten it")
            db.execute("UPDATE attempts SET forgotten = 1 WHERE study = ?", (study,))
            self.record_of(
                study, "the leader has forgotten what began here; owners may change what they sent"
            )

    def set_note(self, study: str, note: str) -> None:
        """Replace the note that owners and operators see."""
        with self._transaction() as db:
            db.execute("UPDATE studies SET note = ? WHERE hash = ? AND note != ?", (note, study, note))

    def told_peers(self, study: str) -> None:
        """Record that all other nodes know of the release."""
        with self._transaction() as db:
            db.execute("UPDATE studies SET told_peers = 1 WHERE hash = ?", (study,))

    # What owners have submitted, replaced and withdrawn, line by line; lines are only added.

    def history(self, study: str) -> tuple[HistoryEntry, ...]:
        """Return what owners did in this study, the earliest first."""
        return tuple(
            HistoryEntry(
                event=HistoryEvent(row["event"]),
                owner=row["owner"],
                revision=row["revision"],
                commitments=from_json(tuple[str, ...], row["commitments"]),
                at=Time(row["at"]),
            )
            for row in self._rows("SELECT * FROM history WHERE study = ? ORDER BY number", study)
        )

    def check_not_too_often(self, study: str, owner: str) -> None:
        """Raise `TooOftenError` before an owner sends too many revisions; it can withdraw all the same."""
        query = "SELECT COUNT(*) AS lines FROM history WHERE study = ? AND owner = ?"
        (row,) = self._rows(query, study, owner)
        if row["lines"] >= _MOST_LINES:
            raise TooOftenError(f"this owner has submitted and withdrawn {row['lines']} times")

    def _remember(self, study: str, entry: HistoryEntry) -> None:
        """Add a line to the history, as a part of the transaction that it tells of."""
        with self._transaction() as db:
            db.execute(
                "INSERT INTO history (study, event, owner, revision, commitments, at) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (
                    study,
                    entry.event,
                    entry.owner,
                    entry.revision,
                    to_json(entry.commitments).decode(),
                    entry.at,
                ),
            )

    # What owners have submitted, and the files of their shares.

    def submit(self, study: str, submission: SubmissionRecord) -> SubmissionRecord:
        """Keep a submission, and return it; if the owner has sent it before, return what was kept.

        The share's file must be durable before; its description is when this returns. A higher revision takes
        the place of a lower one. Raises if something else or something later was submitted, or if the study
        takes nothing more, or if the computation has begun, or if another study has it, or after too many
        changes. One that is over keeps nothing.
        """
        if submission.file is not None:
            describe(self.shares / submission.file, ShareDescription.of(study, submission))
        with self._transaction():
            state, before = self._state(study), self.latest_revision(study, submission.owner)
            if state in (StudyState.EXPIRED, StudyState.DELETED):
                raise ClosedError(f"the study is {state}")
            self._check_takes_part(study, submission.owner)
            if before is not None and submission.revision <= before.revision:
                return self._sent_before(study, submission, before)
            self._check_open(study, state, before)
            self.check_not_too_often(study, submission.owner)
            if self.is_reused(study, submission.commitments):
                raise ReusedError("this was submitted to another study")
            self._write_submission(study, submission)
            replaces = before is not None and not before.withdrawn
            event = HistoryEvent.REPLACED if replaces else HistoryEvent.SUBMITTED
            self._remember(study, submission.entry(event))
            form = REPLACED if replaces else SUBMITTED
            self.record_of(study, form.format(submission.owner, f"{submission.samples:,}"))
            if state is StudyState.RUNNING:
                self.set_state(study, StudyState.COLLECTING, "")
        self._delete_file(before)
        return submission

    def withdraw(self, study: str, owner: str, revision: int) -> SubmissionRecord:
        """Delete what the owner has submitted, and return the withdrawal; the same again changes nothing.

        Raises if the computation has begun, if the study is over, or if the owner has sent something later;
        and after too many changes, if there is nothing to delete.
        """
        with self._transaction():
            state, before = self._state(study), self.latest_revision(study, owner)
            if before is not None and revision <= before.revision:
                if before.withdrawn and revision == before.revision:
                    self._tell_again(study, owner)
                    return before
                self._check_rows()
                later = f"with revision {before.revision}"
                raise SupersededError(f"this owner has submitted something later, {later}")
            if state in OVER:
                raise ClosedError(f"the study is {state}")
            self._check_takes_part(study, owner)
            self._check_not_begun(study)
            if before is None or before.withdrawn:
                self.check_not_too_often(study, owner)
            what = before or SubmissionRecord(owner, 0, (), 0.0)
            withdrawal = replace(
                what, received_at=self.now(), file=None, damaged=False, revision=revision, withdrawn=True
            )
            self._write_submission(study, withdrawal)
            self._remember(study, withdrawal.entry(HistoryEvent.WITHDRAWN))
            self.record_of(study, f"{owner} withdrew what it had submitted")
            if state is StudyState.RUNNING:
                self.set_state(study, StudyState.COLLECTING, "")
        self._delete_file(before)
        return withdrawal

    def _tell_again(self, study: str, owner: str) -> None:
        """Pass a withdrawal on once more, which another node may have forgotten since."""
        with self._transaction() as db:
            db.execute("UPDATE submissions SET told_peers = 0 WHERE study = ? AND owner = ?", (study, owner))

    def _check_takes_part(self, study: str, owner: str) -> None:
        """Raise for an owner who was dropped while it was sending: nothing of it is kept from then on."""
        manifest = self._study(study).manifest
        if manifest.amendment and owner not in manifest.owner_names:
            raise ClosedError(f"the study was amended, and {owner} takes part no longer")

    def _check_open(self, study: str, state: StudyState, before: SubmissionRecord | None) -> None:
        """Raise unless the study takes something new of an owner."""
        if before is not None:
            self._check_not_begun(study)
        if not self.takes_submissions(study, is_known=before is not None):
            raise ClosedError(f"the study is {state}")

    def takes_submissions(self, study: str, *, is_known: bool) -> bool:
        """Return whether a study takes something of an owner, of whom something `is_known` here or nothing.

        Where this node has forgotten something, owners send it again, also while the study stands still.
        """
        state = self._state(study)
        if self._has_forgotten(study):
            return state in UNDER_WAY
        return state is StudyState.COLLECTING or (state is StudyState.RUNNING and is_known)

    def _has_forgotten(self, study: str) -> bool:
        """Return whether this node was rolled back since the study's last attempt here, or release."""
        (row,) = self._rows(
            "SELECT rolled_back OR COALESCE((SELECT forgotten FROM attempts WHERE study = hash "
            "ORDER BY number DESC LIMIT 1), 0) AS has_forgotten FROM studies WHERE hash = ?",
            study,
        )
        return bool(row["has_forgotten"]) and not self.release_elsewhere(study)

    def _check_not_begun(self, study: str) -> None:
        if self.has_begun(study):
            raise BegunError("the computation has begun")

    def _sent_before(
        self, study: str, submission: SubmissionRecord, before: SubmissionRecord
    ) -> SubmissionRecord:
        """Return what is kept of a revision that was sent before; raise if it is not the same, or older."""
        if before.withdrawn or submission.revision < before.revision:
            self._check_rows()
            what = "has withdrawn this" if before.withdrawn else "has submitted something later"
            raise SupersededError(f"this owner {what}, with revision {before.revision}")
        if self.is_another(submission, before):
            raise ConflictError("the owner has submitted something else before")
        if not self._is_lost(before):
            return before
        # The row survived and its file did not: take the file that is here now.
        self._delete_file(before)
        with self._transaction() as db:
            db.execute(
                "UPDATE submissions SET file = ?, damaged = 0 WHERE study = ? AND owner = ?",
                (submission.file, study, submission.owner),
            )
            self.record_of(study, f"{submission.owner} sent again the share that was lost here")
        return replace(before, file=submission.file, damaged=False)

    def _write_submission(self, study: str, submission: SubmissionRecord) -> None:
        with self._transaction() as db:
            db.execute(
                "INSERT INTO submissions (study, owner, samples, floors, commitments, file, "
                "received_at, revision, withdrawn) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) "
                "ON CONFLICT (study, owner) DO UPDATE SET samples = excluded.samples, "
                "floors = excluded.floors, commitments = excluded.commitments, "
                "file = excluded.file, damaged = 0, received_at = excluded.received_at, "
                "revision = excluded.revision, withdrawn = excluded.withdrawn, told_peers = 0",
                (
                    study,
                    submission.owner,
                    submission.samples,
                    to_json(submission.floors).decode(),
                    to_json(submission.commitments).decode(),
                    submission.file,
                    submission.received_at,
                    submission.revision,
                    submission.withdrawn,
                ),
            )

    def _delete_file(self, submission: SubmissionRecord | None) -> None:
        """Delete a file that no row will name; a crash before leaves a stray, which goes at a start."""
        if submission is not None and submission.file is not None:
            delete_share(self.shares / submission.file)

    def is_another(self, submission: SubmissionRecord, kept: SubmissionRecord) -> bool:
        """Return whether an owner has sent something else before; raise if the disk has changed it."""
        if submission.submitted == kept.submitted:
            return False
        self._check_rows()
        return True

    def submission(self, study: str, owner: str) -> SubmissionRecord | None:
        """Return what an owner has submitted, unless it was withdrawn."""
        latest = self.latest_revision(study, owner)
        return None if latest is None or latest.withdrawn else latest

    def latest_revision(self, study: str, owner: str) -> SubmissionRecord | None:
        """Return what counts of an owner: its latest submission, or that it is withdrawn."""
        rows = self._rows("SELECT * FROM submissions WHERE study = ? AND owner = ?", study, owner)
        return SubmissionRecord.from_row(rows[0]) if rows else None

    def latest_revisions(self, study: StudyRecord) -> list[SubmissionRecord]:
        """Return the latest revision of every owner who has sent any, in the order of the manifest."""
        rows = self._rows("SELECT * FROM submissions WHERE study = ?", study.hash)
        found = {row["owner"]: SubmissionRecord.from_row(row) for row in rows}
        return [found[name] for name in study.manifest.owner_names if name in found]

    def withdrawals_to_tell(self, study: StudyRecord) -> list[SubmissionRecord]:
        """Return withdrawals of which not all others who take submissions have heard."""
        rows = self._rows(
            "SELECT owner FROM submissions WHERE study = ? AND withdrawn AND NOT told_peers", study.hash
        )
        untold = {row["owner"] for row in rows}
        return [one for one in self.latest_revisions(study) if one.withdrawn and one.owner in untold]

    def told_of_withdrawal(self, study: str, owner: str, revision: int) -> None:
        """Record that all others who take submissions have heard of a withdrawal."""
        with self._transaction() as db:
            db.execute(
                "UPDATE submissions SET told_peers = 1 WHERE study = ? AND owner = ? AND revision = ?",
                (study, owner, revision),
            )

    def is_reused(self, study: str, commitments: Sequence[str]) -> bool:
        """Return whether one of these commitments was submitted to another study, replaced since or not.

        An owner draws new shares for every study, so data that it has taken back is not refused in another.
        """
        return any(
            self._rows(
                f"SELECT 1 FROM {table} WHERE study != ? AND instr(commitments, ?) LIMIT 1",  # noqa: S608
                study,
                one,
            )
            for one in commitments
            for table in ("submissions", "history")
        )

    def acknowledged(self, study: StudyRecord) -> list[SubmissionRecord]:
        """Return all that was not withdrawn, in the manifest's order, whatever became of the shares."""
        return [one for one in self.latest_revisions(study) if not one.withdrawn]

    def submissions(self, study: StudyRecord) -> list[SubmissionRecord]:
        """Return submissions in the order of the manifest; one whose share was lost is missing again.

        When a study is over, shares are deleted file by file, and none is missed.
        """
        found = self.acknowledged(study)
        return found if study.state in OVER else [one for one in found if not self._is_lost(one)]

    def lost_shares(self, study: StudyRecord) -> list[str]:
        """Return owners whose shares were stored and are not there any longer as they were."""
        return [one.owner for one in self.acknowledged(study) if self._is_lost(one)]

    def check_shares(self, study: StudyRecord, place: int, owner: str | None = None) -> None:
        """Compare all shares of a study, or one owner's, with their commitments: those at this place.

        What does not fit is on record as lost when this returns.
        """
        for one in self.acknowledged(study):
            if one.file is None or one.damaged or owner not in (None, one.owner):
                continue
            if self._digest(one.file) != one.commitments[place] and self.shares.is_dir():
                with self._transaction() as db:
                    db.execute(
                        "UPDATE submissions SET damaged = 1 WHERE study = ? AND owner = ? AND file = ?",
                        (study.hash, one.owner, one.file),
                    )
                    self.record_of(study.hash, f"the share of {one.owner} was found lost or damaged")

    def _digest(self, file: str) -> str | None:
        """Return the SHA-256 of a share's file; None if the disk does not give it."""
        try:
            with (self.shares / file).open("rb") as opened:
                return hashlib.file_digest(opened, "sha256").hexdigest()
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.EIO):
                return None
            raise

    def _is_lost(self, submission: SubmissionRecord) -> bool:
        """Return whether a share is gone or damaged.

        A folder that is gone as a whole, with its disk, has lost nothing yet: it is waited for.
        """
        if submission.file is None:
            return False
        is_there = (self.shares / submission.file).exists() or not self.shares.is_dir()
        return submission.damaged or not is_there

    def holds_shares(self, study: str) -> bool:
        """Return whether files of shares are kept for this study."""
        return bool(
            self._rows("SELECT 1 FROM submissions WHERE study = ? AND file IS NOT NULL LIMIT 1", study)
        )

    def forget_shares(self, study: str) -> int:
        """Delete a study's shares, and return how many; what was submitted stays on record."""
        rows = self._rows("SELECT file FROM submissions WHERE study = ? AND file IS NOT NULL", study)
        self._unlink([row["file"] for row in rows])
        with self._transaction() as db:
            update = "UPDATE submissions SET file = NULL, damaged = 0 WHERE study = ? AND file = ?"
            # Somebody else may have seen the same files at the same time; only one of both tells of them.
            forgotten = sum(db.execute(update, (study, row["file"])).rowcount for row in rows)
            if forgotten:
                self.record_of(study, f"{forgotten} shares were deleted")
        return forgotten

    def take_back(self, study: StudyRecord, place: int) -> list[str]:
        """Take shares of a study in again whose rows were lost, and return whose.

        A share that is whole, with what its owner said of it, fits the commitment at this `place`. Of several
        of one owner, as after a crash, the latest revision counts. Once an attempt has begun here, and was
        not forgotten, nothing takes the place of what it was begun with.
        """
        unnamed = self._unnamed_shares().items()
        records = [about.record(file) for file, about in unnamed if about.study == study.hash]
        fitting = [
            record
            for record in sorted(records, key=lambda one: one.revision, reverse=True)
            if record.owner in study.manifest.owner_names
            and len(record.commitments) > place
            and self._digest(str(record.file)) == record.commitments[place]
        ]
        return [record.owner for record in fitting if self._take_back(study.hash, record)]

    def _take_back(self, study: str, record: SubmissionRecord) -> bool:
        with self._transaction():
            kept = self.latest_revision(study, record.owner)
            is_news = kept is None or kept.revision < record.revision
            is_over = self._state(study) in OVER or self.has_begun(study)
            if not is_news or is_over or self.is_reused(study, record.commitments):
                return False
            self._write_submission(study, record)
            event = HistoryEvent.SUBMITTED if kept is None or kept.withdrawn else HistoryEvent.REPLACED
            self._remember(study, record.entry(event))
            self.record_of(study, f"the share of {record.owner} was taken back in from its file")
        self._delete_file(kept)
        return True

    def remove_strays(self) -> int:
        """Delete files that no row names, of uploads that were cut off or lost a race; return how many.

        A share of a study that is not known here stays, with its description: the study may have been lost.
        One whose description cannot be read is set aside.
        """
        unclear = unreadable(self.shares, self._files())
        if unclear:
            self._move(unclear, fresh_folder(self._file.parent) / "shares")
        strays = list(self._files_beside(self._unclaimed_shares()))
        for path in strays:
            path.unlink(missing_ok=True)
        return len(strays)

    def move_undescribed_shares(self, folder: Path) -> None:
        """Move shares to a folder that no row names, and of which nothing else says whose they are."""
        self._move(list(self._files_beside(self._unnamed_shares())), folder)

    def _move(self, paths: Iterable[Path], folder: Path) -> None:
        folder.mkdir(mode=0o700, exist_ok=True)
        for path in paths:
            path.rename(folder / path.name)
        sync(folder)
        sync(self.shares)

    def _files_beside(self, shares: Iterable[str]) -> Iterator[Path]:
        """Yield all files that are neither a share that a row names, nor one of these, nor a description."""
        known = self._files().union(shares)
        known |= {description_path(self.shares / file).name for file in known}
        return (path for path in self.shares.iterdir() if path.name not in known)

    def unclaimed_shares(self) -> dict[str, int]:
        """Return how many shares are here of studies that are not on record, by the studies' hashes."""
        return dict(Counter(self._unclaimed_shares().values()))

    def delete_unclaimed_shares(self, study: str) -> int:
        """Delete the shares of a study that is not on record, and return how many."""
        with self._transaction():
            files = [file for file, of in self._unclaimed_shares().items() if of == study]
            self.record(f"the operator deleted {len(files)} shares of a study that is not on record, {study}")
        return self._delete_ended(files)

    def _unclaimed_shares(self) -> dict[str, str]:
        """Return the shares of studies that are not on record, with the studies' hashes."""
        studies = {file: about.study for file, about in self._unnamed_shares().items()}
        return {file: study for file, study in studies.items() if self.study(study) is None}

    def _unnamed_shares(self) -> dict[str, ShareDescription]:
        """Return the shares that no row names, with what is said of them."""
        return dict(described(self.shares, self._files()))

    def describe_shares(self) -> None:
        """Write the descriptions that are missing, as of shares from before there were any."""
        for row in self._rows("SELECT * FROM submissions WHERE file IS NOT NULL"):
            share, record = self.shares / row["file"], SubmissionRecord.from_row(row)
            if share.exists() and not description_path(share).exists():
                describe(share, ShareDescription.of(row["study"], record))

    def _files(self) -> set[str]:
        return {row["file"] for row in self._rows("SELECT file FROM submissions WHERE file IS NOT NULL")}

    # Attempts, their results, and how studies end.

    def last_attempt(self, study: str) -> int:
        """Return the number of the last attempt that was begun here, or 0."""
        (row,) = self._rows("SELECT COALESCE(MAX(number), 0) AS last FROM attempts WHERE study = ?", study)
        return int(row["last"])

    def attempts(self, study: str) -> list[AttemptRecord]:
        """Return all attempts that were begun here, the first one first."""
        rows = self._rows("SELECT * FROM attempts WHERE study = ? ORDER BY number", study)
        return [AttemptRecord.from_row(row) for row in rows]

    def spent_attempts(self, study: str) -> int:
        """Return how many attempts are used up here since the operator last looked.

        Those that failed, and those that have begun: another one begins only if they come to nothing.
        """
        (row,) = self._rows("SELECT failures FROM studies WHERE hash = ?", study)
        return int(row["failures"]) + len(self._open_attempts(study))

    def gather(self, study: StudyRecord) -> None:
        """Let attempts be made, at the leader, now that all owners have submitted what the terms allow."""
        with self._transaction():
            submitted = [one.submitted for one in self.acknowledged(study)]
            if len(submitted) < len(study.manifest.owners):
                raise ChangedError("an owner has withdrawn its submission meanwhile")
            if problem := study.manifest.problem_with_submissions(submitted):
                raise ChangedError(problem)
            self.set_state(study.hash, StudyState.RUNNING, "", among=(StudyState.COLLECTING,))

    def begin_attempt(
        self,
        study: str,
        number: int,
        agreed: Sequence[Submitted] = (),
        *,
        has_shares: bool = True,
        manifest: str | None = None,
    ) -> None:
        """Record an attempt before its first message; a number is never used twice, nor a study that is over.

        Where shares are, only if what was `agreed` is what owners have submitted here in this very moment: an
        owner who withdraws or replaces is either before the first attempt, or is told that it has begun. The
        same holds for amendments: only on the `manifest` that counts now, to which all owners have agreed.
        """
        with self._transaction() as db:
            self.set_state(study, StudyState.RUNNING, "", among=GOING_ON)
            record = self._study(study)
            if manifest not in (None, record.manifest.hash):
                raise ChangedError("the study was amended meanwhile")
            if awaited := self.to_agree(record):
                raise ChangedError(f"{', '.join(awaited)} has not agreed to the amendment")
            if self.statements(study):
                raise StateError(self.release_elsewhere(study) or "its result was released before")
            if agreed and has_shares and not self._has_exactly(study, agreed):
                raise ChangedError("an owner has withdrawn or replaced its submission meanwhile")
            if number <= self.last_attempt(study):
                raise StaleAttemptError(f"attempt {number} or a later one was begun before")
            db.execute(
                "INSERT INTO attempts (study, number, state, agreed, started_at) VALUES (?, ?, ?, ?, ?)",
                (study, number, AttemptState.RUNNING, to_json(agreed).decode(), self.now()),
            )
            self.record_of(study, ATTEMPT_BEGAN.format(number))

    def _has_exactly(self, study: str, agreed: Sequence[Submitted]) -> bool:
        rows = self._rows("SELECT owner FROM submissions WHERE study = ? AND NOT withdrawn", study)
        here = {row["owner"]: self.submission(study, row["owner"]) for row in rows}
        return {one.owner: one for one in agreed} == {
            owner: None if kept is None else kept.submitted for owner, kept in here.items()
        }

    def attempt_state(self, study: str, number: int) -> AttemptState | None:
        """Return the state of an attempt; None if it is not known here."""
        rows = self._rows("SELECT state FROM attempts WHERE study = ? AND number = ?", study, number)
        return AttemptState(rows[0]["state"]) if rows else None

    def fail_attempt(self, study: str, number: int, note: str, *, counts: bool = True) -> None:
        """Record that an attempt failed; it `counts` unless a node was stopped or a disk had no room."""
        with self._transaction() as db:
            try:
                self._set_attempt_state(study, number, AttemptState.FAILED, note)
            except StaleAttemptError:
                return
            db.execute(
                "UPDATE studies SET failures = failures + ?, note = CASE state WHEN ? THEN ? ELSE note END "
                "WHERE hash = ?",
                (int(counts), StudyState.RUNNING, note, study),
            )
            self.record_of(study, f"attempt {number} failed: {note}")

    def fail_interrupted(self) -> None:
        """Record at start-up that attempts failed which a crash has cut off."""
        for row in self._rows("SELECT study, number FROM attempts WHERE state = ?", AttemptState.RUNNING):
            self.fail_attempt(row["study"], row["number"], "the node was restarted", counts=False)

    def computed(self, study: str, number: int, results: Mapping[str, ResultShare]) -> None:
        """Keep the results of the attempt that runs, by owner; they replace those of an earlier one."""
        with self._transaction() as db:
            if self._state(study) is not StudyState.RUNNING or number != self.last_attempt(study):
                raise StaleAttemptError(f"attempt {number} does not run any longer")
            self._set_attempt_state(study, number, AttemptState.COMPUTED)
            db.execute("DELETE FROM results WHERE study = ?", (study,))
            db.executemany(
                "INSERT INTO results (study, owner, attempt, part, salt) VALUES (?, ?, ?, ?, ?)",
                [(study, owner, number, part.to_bytes(), fresh_salt()) for owner, part in results.items()],
            )
            self.record_of(study, f"attempt {number} was computed")

    def release(self, study: str, number: int) -> None:
        """Let owners have their results from now on, of this attempt and no other."""
        with self._transaction() as db:
            self.set_state(study, StudyState.RELEASED, "", among=(StudyState.RUNNING, StudyState.RELEASED))
            kept = db.execute("SELECT 1 FROM results WHERE study = ? AND attempt = ?", (study, number))
            if kept.fetchone() is None:
                raise StaleAttemptError(f"attempt {number} has no results to release")
            released = db.execute(
                "SELECT number FROM attempts WHERE study = ? AND state = ?", (study, AttemptState.RELEASED)
            ).fetchone()
            if released is None:
                self._set_attempt_state(study, number, AttemptState.RELEASED)
                self.record_of(study, RELEASED_WITH.format(number))
            elif released["number"] != number:
                raise StaleAttemptError("another attempt was released before")

    def end_with(self, study: str, number: int) -> None:
        """End a study that is released elsewhere, with an attempt of which this node has no part."""
        with self._transaction():
            self.set_state(study, StudyState.RELEASED, "", among=(StudyState.RUNNING, StudyState.RELEASED))
            if self.attempt_state(study, number) is AttemptState.COMPUTED:
                self._set_attempt_state(study, number, AttemptState.RELEASED)
                self.record_of(study, RELEASED_WITH.format(number))

    def result(self, study: str, owner: str) -> tuple[int, ResultShare] | None:
        """Return the attempt and this node's part of its result; raise `DamagedError` if that is damaged."""
        rows = self._rows("SELECT * FROM results WHERE study = ? AND owner = ?", study, owner)
        if not rows:
            return None
        if self._is_damaged("results", "study = ? AND owner = ?", study, owner):
            raise DamagedError("the disk has changed this part of the result")
        return int(rows[0]["attempt"]), ResultShare.from_bytes(rows[0]["part"])

    def abort(self, study: str, note: str) -> int:
        """End the attempt that runs here, stop the study here, and return the attempt's number."""
        with self._transaction():
            number = self.last_attempt(study)
            if self.attempt_state(study, number) is not AttemptState.RUNNING:
                raise InputError("no attempt at this study is under way here; there is nothing to abort")
            self.set_state(study, StudyState.STOPPED, note)
            self._set_attempt_state(study, number, AttemptState.FAILED, note)
            self.record_of(study, f"the operator aborted attempt {number}")
        return number

    def stop(self, study: str, note: str) -> None:
        """Stop the study here, with the attempt that runs, if one does."""
        with self._transaction():
            try:
                self.set_state(study, StudyState.STOPPED, note, among=GOING_ON)
            except StateError as error:
                raise InputError(f"{error} here; there is nothing to stop") from None
            self.record_of(study, "the operator stopped it")
            self._fail_running(study, note)

    def retry(self, study: str) -> None:
        """Let a stopped study go on here, and count failures anew.

        An attempt that was computed here and released elsewhere is what it goes on with.
        """
        with self._transaction() as db:
            if note := self.release_elsewhere(study):
                raise InputError(note)
            target = StudyState.RUNNING if self.last_attempt(study) else StudyState.COLLECTING
            try:
                self.set_state(study, target, "", among=(StudyState.STOPPED,))
            except StateError:
                raise InputError("this study has not stopped; there is nothing to retry") from None
            released = {signed.statement.attempt for signed in self.statements(study).values()}
            for number in self._open_attempts(study):
                if number not in released:
                    self._set_attempt_state(study, number, AttemptState.FAILED, "the study stopped")
            db.execute("UPDATE studies SET failures = 0, rolled_back = 0 WHERE hash = ?", (study,))
            self.record_of(study, "the operator let it go on")

    def expire(self, study: str) -> int:
        """Delete shares and results of a study whose time is over, and return the number of shares."""
        self._check_rows()
        with self._transaction():
            over = f"its time is over; everything was deleted; {NEW_STUDY}"
            files = self._end(study, StudyState.EXPIRED, over)
            self.record_of(
                study, f"{TIME_IS_OVER}: {len(files)} shares and the parts of its result were deleted"
            )
        return self._delete_ended(files)

    def delete(self, study: str, note: str) -> int:
        """Delete shares and results for the operator, end what runs, and return the number of shares."""
        with self._transaction():
            self._fail_running(study, note)
            files = self._end(study, StudyState.DELETED, note)
            self.record_of(study, f"{OPERATOR_DELETED}, with {len(files)} shares and the parts of its result")
        return self._delete_ended(files)

    def _end(self, study: str, state: StudyState, note: str) -> list[str]:
        """Set the study's last state, and return the files that nothing names any longer."""
        with self._transaction() as db:
            self.set_state(study, state, note)
            rows = db.execute(
                "SELECT file FROM submissions WHERE study = ? AND file IS NOT NULL", (study,)
            ).fetchall()
            db.execute("UPDATE submissions SET file = NULL WHERE study = ?", (study,))
            db.execute("DELETE FROM results WHERE study = ?", (study,))
        return [row["file"] for row in rows]

    def _delete_ended(self, files: Sequence[str]) -> int:
        """Delete files of a study that has ended, and then copies of the database that have it still."""
        count = self._unlink(files)
        try:
            delete_copies(self._file)
            for kept in kept_as_found(self._file.parent):
                shutil.rmtree(kept)
        except OSError as error:
            raise InputError(
                f"{error.filename or self._file.parent}: {reason_of(error)}; the shares are deleted, but not "
                "this copy of earlier data. Delete it yourself"
            ) from None
        return count

    def _unlink(self, files: Sequence[str]) -> int:
        for file in files:
            delete_share(self.shares / file)
        return len(files)

    def _open_attempts(self, study: str) -> list[int]:
        rows = self._rows(
            "SELECT number FROM attempts WHERE study = ? AND state IN (?, ?)",
            study,
            AttemptState.RUNNING,
            AttemptState.COMPUTED,
        )
        return [int(row["number"]) for row in rows]

    def _set_attempt_state(self, study: str, number: int, target: AttemptState, note: str = "") -> None:
        """Change an attempt's state; raises `StaleAttemptError` for a change that the table does not have."""
        with self._transaction() as db:
            state = self.attempt_state(study, number)
            if state is None or (state, target) not in ATTEMPT_CHANGES:
                raise StaleAttemptError(f"attempt {number} is {state or 'not known here'}")
            db.execute(
                "UPDATE attempts SET state = ?, note = ?, ended_at = COALESCE(ended_at, ?) "
                "WHERE study = ? AND number = ?",
                (target, note, self.now(), study, number),
            )

    # What a release rests on, and what nodes have signed of it.

    def released_attempt(self, study: str) -> ReleasedAttempt | None:
        """Return the attempt that a study was released with; None if this node cannot tell."""
        rows = self._rows(
            "SELECT * FROM attempts WHERE study = ? AND state = ?", study, AttemptState.RELEASED
        )
        agreed = from_json(tuple[Submitted, ...], rows[0]["agreed"]) if rows else ()
        if not agreed:
            return None
        if self._is_damaged("results", "study = ?", study):
            raise DamagedError(DAMAGED)
        parts = self._rows("SELECT owner, part, salt FROM results WHERE study = ?", study)
        return ReleasedAttempt(
            rows[0]["number"],
            agreed,
            rows[0]["started_at"],
            rows[0]["ended_at"],
            {row["owner"]: commit(row["salt"], row["part"]) for row in parts},
        )

    def salt(self, study: str, owner: str) -> Salt | None:
        """Return the salt of the commitment to this node's part of the result."""
        rows = self._rows("SELECT salt FROM results WHERE study = ? AND owner = ?", study, owner)
        return Salt(rows[0]["salt"]) if rows else None

    def keep_statement(self, study: str, signed: SignedStatement) -> SignedStatement:
        """Keep what a node has signed; the first statement of a node counts, and is returned."""
        server = signed.statement.server
        with self._transaction() as db:
            db.execute(
                "INSERT OR IGNORE INTO statements (study, server, content) VALUES (?, ?, ?)",
                (study, server, to_json(signed).decode()),
            )
            return self.statements(study)[server]

    def statements(self, study: str) -> dict[str, SignedStatement]:
        """Return the signed statements that are here, by server."""
        rows = self._rows("SELECT server, content FROM statements WHERE study = ?", study)
        return {row["server"]: from_json(SignedStatement, row["content"]) for row in rows}
