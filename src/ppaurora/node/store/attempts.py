"""Attempts, their results, and how studies end."""

from __future__ import annotations

from collections.abc import Mapping

from ppaurora.errors import InputError
from ppaurora.messages.owners import StudyState
from ppaurora.node.states import ATTEMPT_CHANGES, AttemptState, StaleAttemptError, StateError
from ppaurora.node.store.submissions import SubmissionTable
from ppaurora.node.store.trouble import DamagedError
from ppaurora.sharing.stages import ResultShare

_GOING_ON = (StudyState.COLLECTING, StudyState.RUNNING)


class Store(SubmissionTable):
    """All that a node keeps. Methods are atomic, durable on return, and may be called from any thread."""

    def last_attempt(self, study: str) -> int:
        (row,) = self._rows("SELECT COALESCE(MAX(number), 0) AS last FROM attempts WHERE study = ?", study)
        return int(row["last"])

    def spent_attempts(self, study: str) -> int:
        """How many of the attempts that the manifest allows are used up here since the operator last looked.

        Those that failed, and those that have begun: another one begins only if they come to nothing.
        """
        (row,) = self._rows("SELECT failures FROM studies WHERE hash = ?", study)
        return int(row["failures"]) + len(self._open_attempts(study))

    def begin_attempt(self, study: str, number: int) -> None:
        """Durable before the first message; a number is never used twice, nor a study that is over."""
        with self._transaction() as db:
            self.set_state(study, StudyState.RUNNING, "", among=_GOING_ON)
            if number <= self.last_attempt(study):
                raise StaleAttemptError(f"attempt {number} or a later one was begun before")
            db.execute(
                "INSERT INTO attempts (study, number, state, started_at) VALUES (?, ?, ?, ?)",
                (study, number, AttemptState.RUNNING, self.now()),
            )

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
                "INSERT INTO results (study, owner, attempt, part) VALUES (?, ?, ?, ?)",
                [(study, owner, number, part.to_bytes()) for owner, part in results.items()],
            )

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
            elif released["number"] != number:
                raise StaleAttemptError("another attempt was released before")

    def end_with(self, study: str, number: int) -> None:
        """The study is released elsewhere, with an attempt that this node took part in; it has no part."""
        with self._transaction():
            self.set_state(study, StudyState.RELEASED, "", among=(StudyState.RUNNING, StudyState.RELEASED))
            if self.attempt_state(study, number) is AttemptState.COMPUTED:
                self._set_attempt_state(study, number, AttemptState.RELEASED)

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
        return number

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

    def expire(self, study: str) -> int:
        """Its time is over: forget shares and results, take nothing more. Returns the number of shares."""
        self._check_rows()
        with self._transaction() as db:
            self.set_state(study, StudyState.EXPIRED, "its time is over; everything was deleted")
            rows = db.execute(
                "SELECT file FROM submissions WHERE study = ? AND file IS NOT NULL", (study,)
            ).fetchall()
            db.execute("UPDATE submissions SET file = NULL WHERE study = ?", (study,))
            db.execute("DELETE FROM results WHERE study = ?", (study,))
        for row in rows:
            (self.shares / row["file"]).unlink(missing_ok=True)
        return len(rows)

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
