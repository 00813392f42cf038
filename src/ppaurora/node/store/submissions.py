"""What owners have submitted, and the files of their shares."""

from __future__ import annotations

import errno
import hashlib
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ppaurora.errors import PpauroraError
from ppaurora.io.models import from_json, to_json
from ppaurora.io.times import as_time
from ppaurora.messages.owners import HistoryEntry, HistoryEvent, StudyState, Submitted
from ppaurora.node.store.history import HistoryTable
from ppaurora.node.store.studies import StudyRecord
from ppaurora.policy.rules import Floors


@dataclass(frozen=True)
class SubmissionRecord:
    """What an owner has sent, without the share itself; or that it has withdrawn it."""

    owner: str
    samples: int
    commitments: tuple[str, ...]  # one for every server that takes submissions, in their order
    received_at: float
    file: str | None = None  # salt and share, as they were sent; None if they are needed no longer
    floors: Floors = field(default_factory=Floors)
    damaged: bool = False  # whether the file was found not to fit its commitment
    revision: int = 1
    withdrawn: bool = False

    @property
    def submitted(self) -> Submitted:
        """What all nodes must have alike."""
        return Submitted(
            owner=self.owner,
            samples=self.samples,
            floors=self.floors,
            commitments=self.commitments,
            revision=self.revision,
        )

    def entry(self, event: HistoryEvent) -> HistoryEntry:
        """As a line of the history."""
        return HistoryEntry(
            event=event,
            owner=self.owner,
            revision=self.revision,
            commitments=self.commitments,
            at=as_time(self.received_at),
        )


class ConflictError(PpauroraError):
    """Something else is there already."""


class ReusedError(PpauroraError):
    """It was submitted to another study before."""


class ClosedError(PpauroraError):
    """The study takes no more submissions."""


class BegunError(ClosedError):
    """The computation has begun: what was submitted stays."""


class SupersededError(PpauroraError):
    """The owner has said something later."""


_OVER = (StudyState.RELEASED, StudyState.EXPIRED, StudyState.DELETED)


class SubmissionTable(HistoryTable):
    """The last word of every owner to a study: a submission, or that it has withdrawn what it submitted."""

    def submit(self, study: str, submission: SubmissionRecord) -> SubmissionRecord:
        """Keep it, unless the owner has submitted it already; then what was kept, if it is the same.

        The share's file must be durable before. A higher revision takes the place of a lower one. Raises if
        something else or something later was submitted, or if the study takes nothing more, or if the
        computation has begun, or if another study has it, or after too many changes. One that is over keeps
        nothing.
        """
        with self._transaction():
            state, before = self._state(study), self.word(study, submission.owner)
            if state in (StudyState.EXPIRED, StudyState.DELETED):
                raise ClosedError(f"the study is {state}")
            if before is not None and submission.revision <= before.revision:
                return self._said_before(study, submission, before)
            self._check_open(study, state, before)
            self.check_not_too_often(study, submission.owner)
            if self.is_reused(study, submission.commitments):
                raise ReusedError("this was submitted to another study")
            self._write_word(study, submission)
            replaces = before is not None and not before.withdrawn
            event = HistoryEvent.REPLACED if replaces else HistoryEvent.SUBMITTED
            self._remember(study, submission.entry(event))
            instead = " in place of what it had submitted" if replaces else ""
            self.record_of(study, f"{submission.owner} submitted {submission.samples:,} samples{instead}")
            if state is StudyState.RUNNING:
                self.set_state(study, StudyState.COLLECTING, "")
        self._delete_file(before)
        return submission

    def withdraw(self, study: str, owner: str, revision: int) -> SubmissionRecord:
        """Delete what the owner has submitted. Once on record, it stays so, and is answered alike.

        Raises if the computation has begun, if the study is over, or if the owner has said something later;
        and after too many changes, if there is nothing to delete.
        """
        with self._transaction():
            state, before = self._state(study), self.word(study, owner)
            if before is not None and revision <= before.revision:
                if before.withdrawn and revision == before.revision:
                    return before
                self._check_rows()
                raise SupersededError(
                    f"this owner has submitted something later, with revision {before.revision}"
                )
            if state in _OVER:
                raise ClosedError(f"the study is {state}")
            self._check_not_begun(study)
            if before is None or before.withdrawn:
                self.check_not_too_often(study, owner)
            what = before or SubmissionRecord(owner, 0, (), 0.0)
            word = replace(
                what, received_at=self.now(), file=None, damaged=False, revision=revision, withdrawn=True
            )
            self._write_word(study, word)
            self._remember(study, word.entry(HistoryEvent.WITHDRAWN))
            self.record_of(study, f"{owner} withdrew what it had submitted")
            if state is StudyState.RUNNING:
                self.set_state(study, StudyState.COLLECTING, "")
        self._delete_file(before)
        return word

    def _check_open(self, study: str, state: StudyState, before: SubmissionRecord | None) -> None:
        """Whether the study takes something new of an owner."""
        if before is not None:
            self._check_not_begun(study)
        may_be_mended = state is StudyState.RUNNING and before is not None
        if state is not StudyState.COLLECTING and not may_be_mended:
            raise ClosedError(f"the study is {state}")

    def _check_not_begun(self, study: str) -> None:
        if self.has_begun(study):
            raise BegunError("the computation has begun")

    def _said_before(
        self, study: str, submission: SubmissionRecord, before: SubmissionRecord
    ) -> SubmissionRecord:
        if before.withdrawn or submission.revision < before.revision:
            self._check_rows()
            word = "has withdrawn this" if before.withdrawn else "has submitted something later"
            raise SupersededError(f"this owner {word}, with revision {before.revision}")
        with self._transaction() as db:
            return self._submitted_again(db, study, submission)

    def _write_word(self, study: str, word: SubmissionRecord) -> None:
        with self._transaction() as db:
            db.execute(
                "INSERT OR REPLACE INTO submissions (study, owner, samples, floors, commitments, file, "
                "received_at, revision, withdrawn) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    study,
                    word.owner,
                    word.samples,
                    to_json(word.floors).decode(),
                    to_json(word.commitments).decode(),
                    word.file,
                    word.received_at,
                    word.revision,
                    word.withdrawn,
                ),
            )

    def _delete_file(self, word: SubmissionRecord | None) -> None:
        """When no row names it any longer; a crash before leaves a stray, which goes at the next start."""
        if word is not None and word.file is not None:
            (self.shares / word.file).unlink(missing_ok=True)

    def _submitted_again(
        self, db: sqlite3.Connection, study: str, submission: SubmissionRecord
    ) -> SubmissionRecord:
        kept = self.submission(study, submission.owner)
        if kept is None or self.is_another(submission, kept):
            raise ConflictError("the owner has submitted something else before")
        if not self._is_lost(kept):
            return kept
        # The row survived and its file did not: take the file that is here now.
        if kept.file is not None:
            (self.shares / kept.file).unlink(missing_ok=True)
        db.execute(
            "UPDATE submissions SET file = ?, damaged = 0 WHERE study = ? AND owner = ?",
            (submission.file, study, submission.owner),
        )
        self.record_of(study, f"{submission.owner} sent again the share that was lost here")
        return replace(kept, file=submission.file, damaged=False)

    def is_another(self, submission: SubmissionRecord, kept: SubmissionRecord) -> bool:
        """Whether an owner has sent something else before; not if it is the disk that has changed it."""
        if submission.submitted == kept.submitted:
            return False
        self._check_rows()
        return True

    def submission(self, study: str, owner: str) -> SubmissionRecord | None:
        """Unless it was withdrawn."""
        word = self.word(study, owner)
        return None if word is None or word.withdrawn else word

    def word(self, study: str, owner: str) -> SubmissionRecord | None:
        """The owner's last one: a submission, or that it is withdrawn."""
        rows = self._rows("SELECT * FROM submissions WHERE study = ? AND owner = ?", study, owner)
        return _record(rows[0]) if rows else None

    def words(self, study: StudyRecord) -> list[SubmissionRecord]:
        """The last word of every owner who has said any, in the order of the manifest."""
        rows = self._rows("SELECT * FROM submissions WHERE study = ?", study.hash)
        found = {row["owner"]: _record(row) for row in rows}
        return [found[name] for name in study.manifest.owner_names if name in found]

    def withdrawals_to_tell(self, study: StudyRecord) -> list[SubmissionRecord]:
        """Those of which not all others who take submissions have heard."""
        rows = self._rows(
            "SELECT owner FROM submissions WHERE study = ? AND withdrawn AND NOT told_peers", study.hash
        )
        untold = {row["owner"] for row in rows}
        return [word for word in self.words(study) if word.withdrawn and word.owner in untold]

    def told_of_withdrawal(self, study: str, owner: str, revision: int) -> None:
        """All others have heard of it."""
        with self._transaction() as db:
            db.execute(
                "UPDATE submissions SET told_peers = 1 WHERE study = ? AND owner = ? AND revision = ?",
                (study, owner, revision),
            )

    def is_reused(self, study: str, commitments: Sequence[str]) -> bool:
        """Whether another study has a submission with one of these commitments."""
        return any(
            self._rows(
                "SELECT 1 FROM submissions WHERE study != ? AND instr(commitments, ?) LIMIT 1", study, one
            )
            for one in commitments
        )

    def acknowledged(self, study: StudyRecord) -> list[SubmissionRecord]:
        """All that were not withdrawn, in the order of the manifest, whatever became of their shares."""
        return [word for word in self.words(study) if not word.withdrawn]

    def submissions(self, study: StudyRecord) -> list[SubmissionRecord]:
        """In the order of the manifest. One whose share was lost is missing again."""
        return [one for one in self.acknowledged(study) if not self._is_lost(one)]

    def lost_shares(self, study: StudyRecord) -> list[str]:
        """Owners whose shares were stored and are not there any longer as they were."""
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
        """None if the disk does not give it."""
        try:
            with (self.shares / file).open("rb") as opened:
                return hashlib.file_digest(opened, "sha256").hexdigest()
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.EIO):
                return None
            raise

    def _is_lost(self, submission: SubmissionRecord) -> bool:
        """A folder that is gone as a whole, with its disk, has lost nothing yet: it is waited for."""
        if submission.file is None:
            return False
        is_there = (self.shares / submission.file).exists() or not self.shares.is_dir()
        return submission.damaged or not is_there

    def holds_shares(self, study: str) -> bool:
        return bool(
            self._rows("SELECT 1 FROM submissions WHERE study = ? AND file IS NOT NULL LIMIT 1", study)
        )

    def forget_shares(self, study: str) -> int:
        """Delete the shares; what was submitted, and by whom, stays on record."""
        rows = self._rows("SELECT file FROM submissions WHERE study = ? AND file IS NOT NULL", study)
        for row in rows:
            (self.shares / row["file"]).unlink(missing_ok=True)
        with self._transaction() as db:
            update = "UPDATE submissions SET file = NULL, damaged = 0 WHERE study = ? AND file = ?"
            # Somebody else may have seen the same files at the same time; only one of both tells of them.
            forgotten = sum(db.execute(update, (study, row["file"])).rowcount for row in rows)
            if forgotten:
                self.record_of(study, f"{forgotten} shares were deleted")
        return forgotten

    def remove_strays(self) -> int:
        """Files of uploads that were cut off, or that lost a race: no row names them."""
        known = {row["file"] for row in self._rows("SELECT file FROM submissions WHERE file IS NOT NULL")}
        strays = [path for path in self.shares.iterdir() if path.name not in known]
        for path in strays:
            path.unlink(missing_ok=True)
        return len(strays)


def _record(row: sqlite3.Row) -> SubmissionRecord:
    return SubmissionRecord(
        row["owner"],
        row["samples"],
        from_json(tuple[str, ...], row["commitments"]),
        row["received_at"],
        row["file"],
        from_json(Floors, row["floors"]),
        bool(row["damaged"]),
        row["revision"],
        bool(row["withdrawn"]),
    )
