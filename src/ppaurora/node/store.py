"""What a node must not forget: studies, submissions, attempts, results.

SQLite in WAL mode with synchronous=FULL: what a method has returned from has survived a crash. The
shares themselves are files, written and synced before the row that names them.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

import numpy as np

from ppaurora.errors import InputError, PpauroraError
from ppaurora.sharing.shares import Words
from ppaurora.study.manifest import Manifest

_SCHEMA = """
CREATE TABLE IF NOT EXISTS studies (
    hash TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    manifest TEXT NOT NULL,
    accepted_at REAL NOT NULL,
    state TEXT NOT NULL,
    note TEXT NOT NULL DEFAULT '',
    failures INTEGER NOT NULL DEFAULT 0,
    ended_at REAL,
    told_peers INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS submissions (
    study TEXT NOT NULL REFERENCES studies(hash),
    owner TEXT NOT NULL,
    samples INTEGER NOT NULL,
    commitment_0 TEXT NOT NULL,
    commitment_1 TEXT NOT NULL,
    file TEXT,
    received_at REAL NOT NULL,
    PRIMARY KEY (study, owner)
);
CREATE TABLE IF NOT EXISTS attempts (
    study TEXT NOT NULL REFERENCES studies(hash),
    number INTEGER NOT NULL,
    state TEXT NOT NULL,
    note TEXT NOT NULL DEFAULT '',
    started_at REAL NOT NULL,
    ended_at REAL,
    PRIMARY KEY (study, number)
);
CREATE TABLE IF NOT EXISTS results (
    study TEXT NOT NULL REFERENCES studies(hash),
    owner TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    words BLOB NOT NULL,
    PRIMARY KEY (study, owner)
);
"""
SCHEMA_VERSION = 1


class StudyState(StrEnum):
    COLLECTING = "collecting"  # submissions are missing
    RUNNING = "running"  # all are here; attempts are made
    STOPPED = "stopped"  # too many attempts failed, or the proxies do not agree: a person has to look
    RELEASED = "released"
    EXPIRED = "expired"  # nothing is kept any longer


class AttemptState(StrEnum):
    RUNNING = "running"
    FAILED = "failed"
    COMPUTED = "computed"
    RELEASED = "released"


@dataclass(frozen=True)
class Study:
    hash: str
    manifest: Manifest
    state: StudyState
    note: str
    failures: int
    accepted_at: float
    ended_at: float | None
    told_peers: bool


@dataclass(frozen=True)
class Submission:
    """What an owner has sent, without the share itself."""

    owner: str
    samples: int
    commitments: tuple[str, str]
    received_at: float
    file: str | None = None

    def agreed(self) -> dict[str, Any]:
        """What both proxies must have alike."""
        return {"owner": self.owner, "samples": self.samples, "commitments": list(self.commitments)}


class ConflictError(PpauroraError):
    """Something else is there already."""


class ClosedError(PpauroraError):
    """The study takes no more submissions."""


class StaleAttemptError(PpauroraError):
    """The attempt is not, or no longer, the one that counts."""


class Store:
    """One node's. Methods are atomic, durable on return, and may be called from any thread."""

    def __init__(self, folder: Path) -> None:
        try:
            self._open(folder)
        except (OSError, sqlite3.Error) as error:
            raise InputError(f"cannot keep anything in {folder}: {error}") from None

    def _open(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._folder = folder
        self.shares = folder / "shares"
        self.shares.mkdir(exist_ok=True, mode=0o700)
        self._lock = threading.RLock()
        self._db = sqlite3.connect(
            folder / "node.db", timeout=30.0, check_same_thread=False, isolation_level=None
        )
        os.chmod(folder / "node.db", 0o600)
        self._db.row_factory = sqlite3.Row
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute("PRAGMA foreign_keys = ON")
        with self._transaction() as db:
            (version,) = db.execute("PRAGMA user_version").fetchone()
            if version > SCHEMA_VERSION:
                raise InputError(f"{folder}: was written by a newer ppaurora; upgrade this one")
            for statement in _SCHEMA.split(";\n"):
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:  # a full disk may have ended it already
                    self._db.execute("ROLLBACK")
                raise

    def _rows(self, query: str, *values: Any) -> list[sqlite3.Row]:
        with self._lock:
            return self._db.execute(query, values).fetchall()

    def _state(self, study: str) -> StudyState:
        (row,) = self._rows("SELECT state FROM studies WHERE hash = ?", study)
        return StudyState(row["state"])

    # Studies

    def accept(self, manifest: Manifest) -> bool:
        """True if it is new here."""
        with self._transaction() as db:
            rows = db.execute("SELECT hash, state FROM studies WHERE name = ?", (manifest.study,)).fetchall()
            if rows:
                if rows[0]["hash"] != manifest.hash:
                    raise InputError(
                        f"another manifest was accepted under the name '{manifest.study}'; "
                        "give the new study its own name"
                    )
                if rows[0]["state"] == StudyState.EXPIRED:
                    raise InputError(f"the study '{manifest.study}' is over here; it takes a new one")
                return False
            db.execute(
                "INSERT INTO studies (hash, name, manifest, accepted_at, state) VALUES (?, ?, ?, ?, ?)",
                (manifest.hash, manifest.study, manifest.text(), time.time(), StudyState.COLLECTING),
            )
        return True

    def studies(self) -> list[Study]:
        return [_study(row) for row in self._rows("SELECT * FROM studies ORDER BY accepted_at")]

    def study(self, hash_: str) -> Study | None:
        rows = self._rows("SELECT * FROM studies WHERE hash = ?", hash_)
        return _study(rows[0]) if rows else None

    def set_state(self, study: str, state: StudyState, note: str = "") -> None:
        ended = time.time() if state in (StudyState.RELEASED, StudyState.EXPIRED) else None
        with self._transaction() as db:
            db.execute(
                "UPDATE studies SET state = ?, note = ?, ended_at = COALESCE(?, ended_at) WHERE hash = ?",
                (state, note, ended, study),
            )

    def set_note(self, study: str, note: str) -> None:
        with self._transaction() as db:
            db.execute("UPDATE studies SET note = ? WHERE hash = ?", (note, study))

    def retry(self, study: str) -> None:
        """A person has looked: start to count failures anew."""
        with self._transaction() as db:
            changed = db.execute(
                "UPDATE studies SET state = ?, note = '', failures = 0 WHERE hash = ? AND state = ?",
                (StudyState.RUNNING, study, StudyState.STOPPED),
            ).rowcount
        if not changed:
            raise InputError("this study has not stopped; there is nothing to retry")

    def told_peers(self, study: str) -> None:
        with self._transaction() as db:
            db.execute("UPDATE studies SET told_peers = 1 WHERE hash = ?", (study,))

    # Submissions

    def submit(self, study: str, submission: Submission) -> Submission:
        """Keep it, unless the owner has submitted; then what was kept, if it is the same.

        The share's file must be durable before. Raises if something else was submitted, or if the
        study takes nothing more.
        """
        with self._transaction() as db:
            state = self._state(study)
            try:
                db.execute(
                    "INSERT INTO submissions VALUES (?, ?, ?, ?, ?, ?, ?)",
                    (
                        study,
                        submission.owner,
                        submission.samples,
                        *submission.commitments,
                        submission.file,
                        submission.received_at,
                    ),
                )
            except sqlite3.IntegrityError:
                kept = self.submission(study, submission.owner)
                if kept is None or kept.agreed() != submission.agreed():
                    raise ConflictError("the owner has submitted something else before") from None
                if kept.file is None or (self.shares / kept.file).exists():
                    return kept
                # The row survived and its file did not: take the file that is here now.
                db.execute(
                    "UPDATE submissions SET file = ? WHERE study = ? AND owner = ?",
                    (submission.file, study, submission.owner),
                )
                return replace(kept, file=submission.file)
            if state != StudyState.COLLECTING:
                raise ClosedError(f"the study is {state}")
        return submission

    def submission(self, study: str, owner: str) -> Submission | None:
        rows = self._rows("SELECT * FROM submissions WHERE study = ? AND owner = ?", study, owner)
        return _submission(rows[0]) if rows else None

    def submissions(self, study: Study) -> list[Submission]:
        """In the order of the manifest. One whose share was lost from the disk is missing again."""
        rows = self._rows("SELECT * FROM submissions WHERE study = ?", study.hash)
        found = {
            row["owner"]: _submission(row)
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

    # Attempts and results

    def last_attempt(self, study: str) -> int:
        (row,) = self._rows("SELECT COALESCE(MAX(number), 0) AS last FROM attempts WHERE study = ?", study)
        return int(row["last"])

    def begin_attempt(self, study: str, number: int) -> None:
        """Durable before the first message; a number is never used twice, nor a study that is over."""
        with self._transaction() as db:
            state = self._state(study)
            if state in (StudyState.RELEASED, StudyState.EXPIRED):
                raise StaleAttemptError(f"the study is {state}")
            if number <= self.last_attempt(study):
                raise StaleAttemptError(f"attempt {number} or a later one was begun before")
            db.execute("UPDATE studies SET state = ? WHERE hash = ?", (StudyState.RUNNING, study))
            db.execute(
                "INSERT INTO attempts (study, number, state, started_at) VALUES (?, ?, ?, ?)",
                (study, number, AttemptState.RUNNING, time.time()),
            )

    def attempt_state(self, study: str, number: int) -> AttemptState | None:
        rows = self._rows("SELECT state FROM attempts WHERE study = ? AND number = ?", study, number)
        return AttemptState(rows[0]["state"]) if rows else None

    def fail_attempt(self, study: str, number: int, note: str, *, counts: bool = True) -> None:
        """`counts` unless somebody stopped the node: then it is nobody's failure."""
        with self._transaction() as db:
            changed = db.execute(
                "UPDATE attempts SET state = ?, note = ?, ended_at = ? "
                "WHERE study = ? AND number = ? AND state IN (?, ?)",
                (
                    AttemptState.FAILED,
                    note,
                    time.time(),
                    study,
                    number,
                    AttemptState.RUNNING,
                    AttemptState.COMPUTED,
                ),
            ).rowcount
            if changed:
                db.execute(
                    "UPDATE studies SET failures = failures + ?, note = ? WHERE hash = ?",
                    (int(counts), note, study),
                )

    def fail_interrupted(self) -> None:
        """At start-up: attempts that a crash has cut off."""
        for row in self._rows("SELECT study, number FROM attempts WHERE state = ?", AttemptState.RUNNING):
            self.fail_attempt(row["study"], row["number"], "the node was restarted", counts=False)

    def computed(self, study: str, number: int, results: dict[str, Words]) -> None:
        """Keep the results of the attempt that runs; they replace those of an earlier one."""
        with self._transaction() as db:
            state = self._state(study)
            runs = self.attempt_state(study, number) is AttemptState.RUNNING
            if state != StudyState.RUNNING or not runs or number != self.last_attempt(study):
                raise StaleAttemptError(f"attempt {number} does not run any longer")
            db.execute("DELETE FROM results WHERE study = ?", (study,))
            db.executemany(
                "INSERT INTO results VALUES (?, ?, ?, ?)",
                [(study, owner, number, words.astype("<u8").tobytes()) for owner, words in results.items()],
            )
            db.execute(
                "UPDATE attempts SET state = ?, ended_at = ? WHERE study = ? AND number = ? AND state = ?",
                (AttemptState.COMPUTED, time.time(), study, number, AttemptState.RUNNING),
            )

    def release(self, study: str, number: int) -> None:
        """From now on owners get their results, of this attempt and no other."""
        with self._transaction() as db:
            state = self._state(study)
            kept = db.execute("SELECT 1 FROM results WHERE study = ? AND attempt = ?", (study, number))
            if state not in (StudyState.RUNNING, StudyState.RELEASED) or kept.fetchone() is None:
                raise StaleAttemptError(f"attempt {number} has no results to release")
            released = db.execute(
                "SELECT 1 FROM attempts WHERE study = ? AND number != ? AND state = ?",
                (study, number, AttemptState.RELEASED),
            ).fetchone()
            if released:
                raise StaleAttemptError("another attempt was released before")
            changed = db.execute(
                "UPDATE attempts SET state = ? WHERE study = ? AND number = ? AND state IN (?, ?)",
                (AttemptState.RELEASED, study, number, AttemptState.COMPUTED, AttemptState.RELEASED),
            ).rowcount
            if not changed:
                raise StaleAttemptError(f"attempt {number} has no results to release")
            db.execute(
                "UPDATE studies SET state = ?, note = '', ended_at = COALESCE(ended_at, ?) WHERE hash = ?",
                (StudyState.RELEASED, time.time(), study),
            )

    def result(self, study: str, owner: str) -> tuple[int, Words] | None:
        """The attempt and this proxy's part of the result."""
        found = self._rows("SELECT * FROM results WHERE study = ? AND owner = ?", study, owner)
        if not found:
            return None
        words = np.frombuffer(found[0]["words"], dtype="<u8").astype(np.uint64)
        return int(found[0]["attempt"]), words.reshape(2, -1)

    def expire(self, study: str) -> int:
        """Its time is over: forget shares and results, take nothing more. Returns the number of shares."""
        with self._transaction() as db:
            rows = db.execute(
                "SELECT file FROM submissions WHERE study = ? AND file IS NOT NULL", (study,)
            ).fetchall()
            db.execute("UPDATE submissions SET file = NULL WHERE study = ?", (study,))
            db.execute("DELETE FROM results WHERE study = ?", (study,))
            db.execute(
                "UPDATE studies SET state = ?, note = ?, ended_at = COALESCE(ended_at, ?) WHERE hash = ?",
                (StudyState.EXPIRED, "its time is over; everything was deleted", time.time(), study),
            )
        for row in rows:
            (self.shares / row["file"]).unlink(missing_ok=True)
        return len(rows)


def _study(row: sqlite3.Row) -> Study:
    return Study(
        row["hash"],
        _parsed(row["manifest"]),
        StudyState(row["state"]),
        row["note"],
        row["failures"],
        row["accepted_at"],
        row["ended_at"],
        bool(row["told_peers"]),
    )


@functools.lru_cache(maxsize=1024)
def _parsed(manifest: str) -> Manifest:
    return Manifest.parse(manifest, "the node's database")


def _submission(row: sqlite3.Row) -> Submission:
    return Submission(
        row["owner"],
        row["samples"],
        (row["commitment_0"], row["commitment_1"]),
        row["received_at"],
        row["file"],
    )


def describe_progress(study: Study, submissions: Sequence[Submission]) -> dict[str, Any]:
    """What participants may know about a study's course."""
    submitted = [submission.owner for submission in submissions]
    missing = [name for name in study.manifest.owner_names if name not in submitted]
    collecting = study.state is StudyState.COLLECTING
    return {
        "study": study.hash,
        "name": study.manifest.study,
        "state": study.state.value,
        "note": study.note or ("" if missing or not collecting else "all have submitted; proxy 0 leads on"),
        "submitted": submitted,
        "missing": missing,
    }
