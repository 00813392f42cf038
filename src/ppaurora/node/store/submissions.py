"""What owners have submitted, and the files of their shares."""

from __future__ import annotations

import errno
import hashlib
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ppaurora.errors import PpauroraError
from ppaurora.messages.owners import StudyState, Submitted
from ppaurora.models import from_json, to_json
from ppaurora.node.store.studies import StudyRecord, StudyTable
from ppaurora.policy import Floors


@dataclass(frozen=True)
class SubmissionRecord:
    """What an owner has sent, without the share itself."""

    owner: str
    samples: int
    commitments: tuple[str, ...]  # one for every server that takes submissions, in their order
    received_at: float
    file: str | None = None  # salt and share, as they were sent; None if they are needed no longer
    floors: Floors = field(default_factory=Floors)
    damaged: bool = False  # whether the file was found not to fit its commitment

    @property
    def submitted(self) -> Submitted:
        """What all nodes must have alike."""
        return Submitted(
            owner=self.owner, samples=self.samples, floors=self.floors, commitments=self.commitments
        )


class ConflictError(PpauroraError):
    """Something else is there already."""


class ReusedError(PpauroraError):
    """It was submitted to another study before."""


class ClosedError(PpauroraError):
    """The study takes no more submissions."""


class SubmissionTable(StudyTable):
    """One submission of every owner to a study."""

    def submit(self, study: str, submission: SubmissionRecord) -> SubmissionRecord:
        """Keep it, unless the owner has submitted; then what was kept, if it is the same.

        The share's file must be durable before. Raises if something else was submitted, or if the
        study takes nothing more, or if another study has it. One that is over keeps nothing.
        """
        with self._transaction() as db:
            state = self._state(study)
            if state is StudyState.EXPIRED:
                raise ClosedError(f"the study is {state}")
            try:
                db.execute(
                    "INSERT INTO submissions (study, owner, samples, floors, commitments, file, received_at) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?)",
                    (
                        study,
                        submission.owner,
                        submission.samples,
                        to_json(submission.floors).decode(),
                        to_json(submission.commitments).decode(),
                        submission.file,
                        submission.received_at,
                    ),
                )
            except sqlite3.IntegrityError:
                return self._submitted_again(db, study, submission)
            if state is not StudyState.COLLECTING:
                raise ClosedError(f"the study is {state}")
            if self.is_reused(study, submission.commitments):
                raise ReusedError("this was submitted to another study")
        return submission

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
        return replace(kept, file=submission.file, damaged=False)

    def is_another(self, submission: SubmissionRecord, kept: SubmissionRecord) -> bool:
        """Whether an owner has sent something else before; not if it is the disk that has changed it."""
        if submission.submitted == kept.submitted:
            return False
        self._check_rows()
        return True

    def submission(self, study: str, owner: str) -> SubmissionRecord | None:
        rows = self._rows("SELECT * FROM submissions WHERE study = ? AND owner = ?", study, owner)
        return _record(rows[0]) if rows else None

    def is_reused(self, study: str, commitments: Sequence[str]) -> bool:
        """Whether another study has a submission with one of these commitments."""
        return any(
            self._rows(
                "SELECT 1 FROM submissions WHERE study != ? AND instr(commitments, ?) LIMIT 1", study, one
            )
            for one in commitments
        )

    def acknowledged(self, study: StudyRecord) -> list[SubmissionRecord]:
        """All that were ever stored, in the order of the manifest, whatever became of their shares."""
        rows = self._rows("SELECT * FROM submissions WHERE study = ?", study.hash)
        found = {row["owner"]: _record(row) for row in rows}
        return [found[name] for name in study.manifest.owner_names if name in found]

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
            db.executemany(
                "UPDATE submissions SET file = NULL, damaged = 0 WHERE study = ? AND file = ?",
                [(study, row["file"]) for row in rows],
            )
        return len(rows)

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
    )
