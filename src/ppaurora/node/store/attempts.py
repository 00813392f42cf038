"""Attempts, their results, and how studies end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ppaurora.errors import InputError
from ppaurora.io.models import to_json
from ppaurora.messages.owners import StudyState, Submitted
from ppaurora.node.states import (
    ATTEMPT_CHANGES,
    AttemptState,
    ChangedError,
    StaleAttemptError,
    StateError,
)
from ppaurora.node.store.studies import StudyRecord
from ppaurora.node.store.submissions import SubmissionTable
from ppaurora.node.store.trouble import DamagedError
from ppaurora.sharing.commitment import fresh_salt
from ppaurora.sharing.stages import ResultShare

_GOING_ON = (StudyState.COLLECTING, StudyState.RUNNING)


@dataclass(frozen=True)
class AttemptRecord:
    """An attempt as this node had it on record when it looked."""

    number: int
    state: AttemptState
    note: str
    started_at: float
    ended_at: float | None


class AttemptTable(SubmissionTable):
    """Attempts at studies, and what came of them."""

    def last_attempt(self, study: str) -> int:
        (row,) = self._rows("SELECT COALESCE(MAX(number), 0) AS last FROM attempts WHERE study = ?", study)
        return int(row["last"])

    def attempts(self, study: str) -> list[AttemptRecord]:
        """All that were begun here, the first one first."""
        rows = self._rows("SELECT * FROM attempts WHERE study = ? ORDER BY number", study)
        return [
            AttemptRecord(
                row["number"], AttemptState(row["state"]), row["note"], row["started_at"], row["ended_at"]
            )
            for row in rows
        ]

    def spent_attempts(self, study: str) -> int:
        """How many of the attempts that the manifest allows are used up here since the operator last looked.

        Those that failed, and those that have begun: another one begins only if they come to nothing.
        """
        (row,) = self._rows("SELECT failures FROM studies WHERE hash = ?", study)
        return int(row["failures"]) + len(self._open_attempts(study))

    def gather(self, study: StudyRecord) -> None:
        """At the leader: all owners have submitted, so that attempts may be made."""
        with self._transaction():
            if len(self.acknowledged(study)) < len(study.manifest.owners):
                raise ChangedError("an owner has withdrawn its submission meanwhile")
            self.set_state(study.hash, StudyState.RUNNING, "", among=(StudyState.COLLECTING,))

    def begin_attempt(
        self, study: str, number: int, agreed: Sequence[Submitted] = (), *, has_shares: bool = True
    ) -> None:
        """Durable before the first message; a number is never used twice, nor a study that is over.

        Where shares are, only if what was `agreed` is what owners have submitted here in this very moment: an
        owner who withdraws or replaces is either before the first attempt, or is told that it has begun.
        """
        with self._transaction() as db:
            self.set_state(study, StudyState.RUNNING, "", among=_GOING_ON)
            if agreed and has_shares and not self._has_exactly(study, agreed):
                raise ChangedError("an owner has withdrawn or replaced its submission meanwhile")
            if number <= self.last_attempt(study):
                raise StaleAttemptError(f"attempt {number} or a later one was begun before")
            db.execute(
                "INSERT INTO attempts (study, number, state, agreed, started_at) VALUES (?, ?, ?, ?, ?)",
                (study, number, AttemptState.RUNNING, to_json(agreed).decode(), self.now()),
            )
            self.record_of(study, f"attempt {number} began")

    def _has_exactly(self, study: str, agreed: Sequence[Submitted]) -> bool:
        rows = self._rows("SELECT owner FROM submissions WHERE study = ? AND NOT withdrawn", study)
        here = {row["owner"]: self.submission(study, row["owner"]) for row in rows}
        return {one.owner: one for one in agreed} == {
            owner: None if kept is None else kept.submitted for owner, kept in here.items()
        }

    def attempt_state(self, study: str, number: int) -> AttemptState | None:
        rows = self._rows("SELECT state FROM attempts WHERE study = ? AND number = ?", study, number)
        return AttemptState(rows[0]["state"]) if rows else None

    def fail_attempt(self, study: str, number: int, note: str, *, counts: bool = True) -> None:
        """`counts` unless somebody stopped the node, or a disk had no room: then it is nobody's failure."""
        with self._transaction() as db:
            try:
                self._set_attempt_state(study, number, AttemptState.FAILED, note)
            except StaleAttemptError:
                return
            db.execute(
                "UPDATE studies SET failures = failures + ?, note = ? WHERE hash = ?",
                (int(counts), note, study),
            )
            self.record_of(study, f"attempt {number} failed: {note}")

    def fail_interrupted(self) -> None:
        """At start-up: attempts that a crash has cut off."""
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
        """From now on owners get their results, of this attempt and no other."""
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
                self.record_of(study, f"released, with attempt {number}")
            elif released["number"] != number:
                raise StaleAttemptError("another attempt was released before")

    def end_with(self, study: str, number: int) -> None:
        """The study is released elsewhere, with an attempt that this node took part in; it has no part."""
        with self._transaction():
            self.set_state(study, StudyState.RELEASED, "", among=(StudyState.RUNNING, StudyState.RELEASED))
            if self.attempt_state(study, number) is AttemptState.COMPUTED:
                self._set_attempt_state(study, number, AttemptState.RELEASED)
                self.record_of(study, f"released, with attempt {number}")

    def result(self, study: str, owner: str) -> tuple[int, ResultShare] | None:
        """The attempt and this node's part of the result; raises `DamagedError` if it is not as it was."""
        rows = self._rows("SELECT * FROM results WHERE study = ? AND owner = ?", study, owner)
        if not rows:
            return None
        if self._is_damaged("results", "study = ? AND owner = ?", study, owner):
            raise DamagedError("the disk has changed this part of the result")
        return int(rows[0]["attempt"]), ResultShare.from_bytes(rows[0]["part"])

    def abort(self, study: str, note: str) -> int:
        """This node's operator ends the attempt that runs here, and the study stops here. Its number."""
        with self._transaction():
            number = self.last_attempt(study)
            if self.attempt_state(study, number) is not AttemptState.RUNNING:
                raise InputError("no attempt at this study is under way here; there is nothing to abort")
            self.set_state(study, StudyState.STOPPED, note)
            self._set_attempt_state(study, number, AttemptState.FAILED, note)
            self.record_of(study, f"the operator aborted attempt {number}")
        return number

    def stop(self, study: str, note: str) -> None:
        """This node's operator stops the study here, with the attempt that runs, if one does."""
        with self._transaction():
            try:
                self.set_state(study, StudyState.STOPPED, note, among=_GOING_ON)
            except StateError as error:
                raise InputError(f"{error} here; there is nothing to stop") from None
            self.record_of(study, "the operator stopped it")
            number = self.last_attempt(study)
            if self.attempt_state(study, number) is AttemptState.RUNNING:
                self._set_attempt_state(study, number, AttemptState.FAILED, note)

    def retry(self, study: str) -> None:
        """This node's operator has looked: go on here, and count failures anew."""
        with self._transaction() as db:
            target = StudyState.RUNNING if self.last_attempt(study) else StudyState.COLLECTING
            try:
                self.set_state(study, target, "", among=(StudyState.STOPPED,))
            except StateError:
                raise InputError("this study has not stopped; there is nothing to retry") from None
            for number in self._open_attempts(study):
                self._set_attempt_state(study, number, AttemptState.FAILED, "the study stopped")
            db.execute("UPDATE studies SET failures = 0 WHERE hash = ?", (study,))
            self.record_of(study, "the operator let it go on")

    def expire(self, study: str) -> int:
        """Its time is over: forget shares and results, take nothing more. Returns the number of shares."""
        self._check_rows()
        with self._transaction():
            files = self._end(study, StudyState.EXPIRED, "its time is over; everything was deleted")
            self.record_of(
                study, f"its time is over: {len(files)} shares and the parts of its result were deleted"
            )
        return self._unlink(files)

    def delete(self, study: str, note: str) -> int:
        """This node's operator has all of it deleted, with the attempt that runs. The number of shares."""
        with self._transaction():
            number = self.last_attempt(study)
            if self.attempt_state(study, number) is AttemptState.RUNNING:
                self._set_attempt_state(study, number, AttemptState.FAILED, note)
            files = self._end(study, StudyState.DELETED, note)
            self.record_of(
                study, f"the operator deleted it, with {len(files)} shares and the parts of its result"
            )
        return self._unlink(files)

    def _end(self, study: str, state: StudyState, note: str) -> list[str]:
        """The files that nothing names any longer."""
        with self._transaction() as db:
            self.set_state(study, state, note)
            rows = db.execute(
                "SELECT file FROM submissions WHERE study = ? AND file IS NOT NULL", (study,)
            ).fetchall()
            db.execute("UPDATE submissions SET file = NULL WHERE study = ?", (study,))
            db.execute("DELETE FROM results WHERE study = ?", (study,))
        return [row["file"] for row in rows]

    def _unlink(self, files: Sequence[str]) -> int:
        for file in files:
            (self.shares / file).unlink(missing_ok=True)
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
        """The one way to change an attempt's state; raises for what the table does not have."""
        with self._transaction() as db:
            state = self.attempt_state(study, number)
            if state is None or (state, target) not in ATTEMPT_CHANGES:
                raise StaleAttemptError(f"attempt {number} is {state or 'not known here'}")
            db.execute(
                "UPDATE attempts SET state = ?, note = ?, ended_at = COALESCE(ended_at, ?) "
                "WHERE study = ? AND number = ?",
                (target, note, self.now(), study, number),
            )
