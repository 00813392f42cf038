"""What owners have submitted, and the files of their shares."""

from __future__ import annotations

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
    file: str | None = None
    floors: Floors = field(default_factory=Floors)

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
        study takes nothing more, or if another study has it.
        """
        with self._transaction() as db:
            state = self._state(study)
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
        if kept is None or kept.submitted != submission.submitted:
            raise ConflictError("the owner has submitted something else before")
        if kept.file is None or (self.shares / kept.file).exists():
            return kept
        # The row survived and its file did not: take the file that is here now.
        db.execute(
            "UPDATE submissions SET file = ? WHERE study = ? AND owner = ?",
            (submission.file, study, submission.owner),
        )
        return replace(kept, file=submission.file)

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

    def submissions(self, study: StudyRecord) -> list[SubmissionRecord]:
        """In the order of the manifest. One whose share was lost from the disk is missing again."""
        rows = self._rows("SELECT * FROM submissions WHERE study = ?", study.hash)
        found = {
            row["owner"]: _record(row)
            for row in rows
            if row["file"] is None or (self.shares / row["file"]).exists()
        }
        return [found[name] for name in study.manifest.owner_names if name in found]

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
                "UPDATE submissions SET file = NULL WHERE study = ? AND file = ?",
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
    )
