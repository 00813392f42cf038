"""Whether a database is older than what its node has done: what must agree at a start, compared.

The mark says how many changes there were, the audit log which. Both are written after the database, so one
that is behind either was rolled back: by a disk that has spoilt its write-ahead log, which SQLite then drops
without a word, by a file that was lost, or by a person who restored an earlier one.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from ppaurora.errors import InputError
from ppaurora.io.files import sync
from ppaurora.node.audit import ACCEPTED, Entry, StudyEntries, read_entry
from ppaurora.node.store.mark import MARK, Mark, Reached
from ppaurora.node.store.schema_checksum import SCHEMA, is_schema_damaged
from ppaurora.node.store.trouble import DAMAGED, DamagedError

DATABASE, AUDIT_LOG = "node.db", "audit.log"
_DATABASE_FILES = [f"{DATABASE}{ending}" for ending in ("-journal", "-wal", "-shm", "")]
AS_FOUND = "before-recovery-"  # and a number: a folder of what was there
TO_GO_ON = "owners who have withdrawn or replaced something since then run that command again; then"
_LAST_LINES = 1 << 14  # bytes; a line has at most some thousand
_MOST_SHOWN = 20


@dataclass(frozen=True)
class Rollback:
    """What a database lacks."""

    reached: Reached  # how far it is
    mark: Reached  # how far it was
    lost: tuple[Entry, ...]  # what came between, as far as the audit log tells
    is_damaged: bool = False  # whether nothing that it says can be relied on

    @property
    def changes(self) -> int:
        """Return how many changes it lacks, by the mark."""
        return max(self.mark.changes - self.reached.changes, 0)

    @property
    def is_told(self) -> bool:
        """Return whether the audit log tells of all entries that the database lacks."""
        numbers = {entry.entry for entry in self.lost}
        last = max(self.mark.entries, *numbers, 0)
        return numbers >= set(range(self.reached.entries + 1, last + 1))

    def entries_of(self, study: str) -> StudyEntries:
        """Return what was lost of one study."""
        return StudyEntries.of(study, self.lost, are_all=self.is_told)

    @property
    def accepted(self) -> list[str]:
        """Return the names of studies whose acceptance was lost."""
        texts = [entry.text.partition(": ") for entry in self.lost]
        return list(dict.fromkeys(name for name, _, text in texts if text.startswith(ACCEPTED)))

    def told(self) -> list[str]:
        """Return what was lost, for people, a line each: the last of it, and how much came before."""
        lines = [f"{entry.time} {entry.text}" for entry in self.lost[-_MOST_SHOWN:]]
        earlier = len(self.lost) - len(lines)
        return [f"{earlier} earlier entries, see audit.log", *lines] if earlier else lines


class NeedsRecoveryError(InputError):
    """The database cannot be worked with, until a backup is restored, or the node goes on without it."""

    rollback: Rollback


class RolledBackError(NeedsRecoveryError):
    """The database is older than what its node has done; nothing was opened for writing."""

    def __init__(self, folder: Path, rollback: Rollback) -> None:
        self.rollback = rollback
        told = rollback.told()
        lost = "; lost, by the audit log: " + "; ".join(told) if told else ""
        super().__init__(
            f"{folder}: this node was rolled back: its database lacks "
            f"{rollback.changes or len(rollback.lost)} changes that it had made durable{lost}. Nothing was "
            "deleted. If there is a newer backup of the kit, restore it. If there is none, 'ppaurora "
            f"recover {folder.parent}' goes on from what is here, and says who has to do what: "
            "docs/recovery.md, 'A node that was rolled back'"
        )


class DamagedDatabaseError(NeedsRecoveryError):
    """What the database says cannot be relied on."""

    def __init__(self, folder: Path, problem: str) -> None:
        self.rollback = _rollback_without_database(folder)
        super().__init__(
            f"{folder / DATABASE}: {DAMAGED} ({problem}); what it says cannot be relied on. Restore "
            "the last backup: docs/recovery.md, 'Backup and restore'. If there is none, 'ppaurora recover "
            f"{folder.parent}' sets the database aside, goes on without it, and says who has to do what"
        )


def _rollback_without_database(folder: Path) -> Rollback:
    """Return what a node has done, all of which it lacks once its database is set aside."""
    mark = Mark(folder).read()
    return Rollback(Reached(), mark, _entries_after(folder / AUDIT_LOG, 0), is_damaged=True)


def keep_as_found(folder: Path, *, is_damaged: bool) -> Path:
    """Keep what is there of a database, durably, in a folder of its own; a damaged one is moved there.

    SQLite deletes a write-ahead log from which much could be had, if it finds no database beside it.
    """
    kept = fresh_folder(folder)
    for name in (*_DATABASE_FILES, MARK, AUDIT_LOG):
        found, moves = folder / name, is_damaged and name in _DATABASE_FILES
        if found.exists():
            shutil.copyfile(found, kept / name)
            (kept / name).chmod(0o600)
            sync(kept / name)
        if moves:
            found.unlink(missing_ok=True)
    sync(kept)
    sync(folder)
    return kept


def fresh_folder(folder: Path) -> Path:
    """Make another folder for what was there before a recovery."""
    names = (f"{AS_FOUND}{number}" for number in itertools.count(1))
    fresh = next(folder / name for name in names if not (folder / name).exists())
    fresh.mkdir(mode=0o700)
    return fresh


def kept_as_found(folder: Path) -> list[Path]:
    """Return the folders of what was there before recoveries."""
    return sorted(folder.glob(f"{AS_FOUND}*"))


def find_rollback(database: Path, mark: Mark, log: Path) -> Rollback | None:
    """Compare a database with its mark and its audit log; None if it is at least as far as both.

    It is looked at last: a node that runs meanwhile writes there first.
    """
    marked, logged = mark.read(), _last_entry(log)
    reached = _reached(database)
    if reached.changes >= marked.changes and reached.entries >= logged:
        return None
    return Rollback(reached, marked, _entries_after(log, reached.entries))


def last_line(log: Path) -> str | None:
    """Return the last whole line of an audit log, if it is one that a node wrote."""
    with contextlib.suppress(FileNotFoundError, ValueError), log.open("rb") as file:
        file.seek(max(os.fstat(file.fileno()).st_size - _LAST_LINES, 0))
        line = file.read().rpartition(b"\n")[0].rpartition(b"\n")[2].decode()
        read_entry(line)
        return line
    return None


def _last_entry(log: Path) -> int:
    line = last_line(log)
    return 0 if line is None else read_entry(line).entry


def entries_of(log: Path, study: str) -> StudyEntries:
    """Return what a whole log tells of one study, as far as its entries can be read."""
    entries = _entries_after(log, 0)
    numbers = [one.entry for one in entries]
    return StudyEntries.of(study, entries, are_all=numbers == [*range(1, len(numbers) + 1)])


def _entries_after(log: Path, number: int) -> tuple[Entry, ...]:
    """Return the entries behind this one that can be read."""
    found = []
    with contextlib.suppress(FileNotFoundError):
        for line in log.read_bytes().split(b"\n"):
            with contextlib.suppress(ValueError):
                found.append(read_entry(line.decode()))
    return tuple(entry for entry in found if entry.entry > number)


def _reached(database: Path) -> Reached:
    """Return how many changes and entries of the audit log a database has; none if it is empty or gone.

    It is opened for reading only, so that SQLite leaves a write-ahead log as it is. What a crash has left of
    the first transaction of all, before there is such a log, SQLite has to undo. If the schema is damaged,
    what the database says is no sign of an earlier time.
    """
    if not database.exists() or not database.stat().st_size:
        return Reached()
    mode = "rw" if database.with_name(f"{database.name}-journal").exists() else "ro"
    with contextlib.closing(sqlite3.connect(f"{database.absolute().as_uri()}?mode={mode}", uri=True)) as db:
        if is_schema_damaged(db):
            raise DamagedError(SCHEMA)
        tables = {name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        changes = _highest(db, "CAST(changes AS INTEGER)", "progress") if "progress" in tables else 0
        entries = _highest(db, "entry", "audit") if "audit" in tables else 0
        return Reached(changes, entries)


def _highest(db: sqlite3.Connection, column: str, table: str) -> int:
    return db.execute(f"SELECT MAX({column}) FROM {table}").fetchone()[0] or 0  # noqa: S608
