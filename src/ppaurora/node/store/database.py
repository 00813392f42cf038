"""The connection to a node's database, its schema, and transactions."""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

from ppaurora.errors import InputError
from ppaurora.io.system import check_posix
from ppaurora.node.store.holding import hold
from ppaurora.node.store.mark import Mark, Reached
from ppaurora.node.store.migration import damaged_before, keep_copy, problem_with_studies, write_anew
from ppaurora.node.store.rollback import (
    AUDIT_LOG,
    DATABASE,
    DamagedDatabaseError,
    RolledBackError,
    find_rollback,
)
from ppaurora.node.store.row_checksums import (
    add_row_checksums,
    damaged_tables,
    define_checksum,
    is_damaged,
    structure_problem,
)
from ppaurora.node.store.schema_checksum import keep_schema_checksum
from ppaurora.node.store.trouble import DAMAGED, STORAGE_ERRORS, DamagedError, known_trouble, trouble_of
from ppaurora.version import SCHEMA_VERSION as SCHEMA_VERSION

_SCHEMA = """
CREATE TABLE studies (
    hash TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    manifest TEXT NOT NULL,
    accepted_at REAL NOT NULL,
    state TEXT NOT NULL,
    note TEXT NOT NULL DEFAULT '',
    failures INTEGER NOT NULL DEFAULT 0,
    ended_at REAL,
    told_peers INTEGER NOT NULL DEFAULT 0,
    rolled_back INTEGER NOT NULL DEFAULT 0, -- whether something of it was lost since the operator last looked
    in_force INTEGER NOT NULL DEFAULT 0 -- the amendment that counts; 0 as long as the manifest does
);
CREATE TABLE amendments (
    study TEXT NOT NULL REFERENCES studies(hash),
    number INTEGER NOT NULL,
    content TEXT NOT NULL, -- an amendment that the operator has accepted, in JSON
    accepted_at REAL NOT NULL,
    PRIMARY KEY (study, number)
);
CREATE TABLE agreements (
    study TEXT NOT NULL REFERENCES studies(hash),
    owner TEXT NOT NULL,
    content TEXT NOT NULL, -- the latest that this owner has signed, in JSON
    PRIMARY KEY (study, owner)
);
CREATE TABLE submissions (
    study TEXT NOT NULL REFERENCES studies(hash),
    owner TEXT NOT NULL,
    samples INTEGER NOT NULL,
    floors TEXT NOT NULL, -- what the owner demands, in JSON
    commitments TEXT NOT NULL, -- a list in JSON, one for every server that takes submissions
    file TEXT, -- salt and share, as they were sent
    damaged INTEGER NOT NULL DEFAULT 0, -- whether the file was found not to fit its commitment
    received_at REAL NOT NULL,
    revision INTEGER NOT NULL DEFAULT 1, -- the owner's latest, which this is
    withdrawn INTEGER NOT NULL DEFAULT 0, -- whether that is a withdrawal; then the rest is what it was of
    told_peers INTEGER NOT NULL DEFAULT 0, -- whether all others who take submissions know of the withdrawal
    PRIMARY KEY (study, owner)
);
CREATE TABLE history (
    number INTEGER PRIMARY KEY,
    study TEXT NOT NULL REFERENCES studies(hash),
    event TEXT NOT NULL,
    owner TEXT NOT NULL,
    revision INTEGER NOT NULL,
    commitments TEXT NOT NULL, -- a list in JSON
    at TEXT NOT NULL
);
CREATE TABLE attempts (
    study TEXT NOT NULL REFERENCES studies(hash),
    number INTEGER NOT NULL,
    state TEXT NOT NULL,
    note TEXT NOT NULL DEFAULT '',
    agreed TEXT NOT NULL DEFAULT '[]', -- the submissions that it was begun with, a list in JSON
    started_at REAL NOT NULL,
    ended_at REAL,
    forgotten INTEGER NOT NULL DEFAULT 0, -- whether it began before this node was rolled back
    PRIMARY KEY (study, number)
);
CREATE TABLE results (
    study TEXT NOT NULL REFERENCES studies(hash),
    owner TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    part BLOB NOT NULL, -- as ResultShare.to_bytes writes it
    salt BLOB NOT NULL, -- of the commitment to the part
    PRIMARY KEY (study, owner)
);
CREATE TABLE statements (
    study TEXT NOT NULL REFERENCES studies(hash),
    server TEXT NOT NULL,
    content TEXT NOT NULL, -- a signed statement of the release, in JSON
    PRIMARY KEY (study, server)
);
CREATE TABLE audit (
    entry INTEGER PRIMARY KEY,
    line TEXT NOT NULL, -- the last of the audit log's file, and those that wait to be written to it
    written INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE clock (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    seen_at REAL NOT NULL, -- the node's time when it last wrote it down
    ahead REAL NOT NULL DEFAULT 0, -- seconds by which the machine's clock was ahead of it, if not believed
    confirmations INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE progress (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    changes INTEGER NOT NULL, -- transactions that have changed something; the mark beside it says how many
    content TEXT NOT NULL -- the sum of the checksums of all other rows
);
INSERT INTO progress (id, changes, content) VALUES (1, 0, '0');
"""
_NEW = 0  # what SQLite says of a database that nobody has written to

_SECONDS_FOR_A_LOCK = 2.0  # somebody else's; whoever holds it longer is waited for outside
_ROOM_FOR_AN_ATTEMPT = 4 << 20  # bytes: parts of the result, rows, and the database's journal of them

Value = str | int | float | bytes | None


class Database:
    """The database of one node, in a folder of its own. Methods may be called from any thread."""

    def __init__(self, folder: Path, *, recovering: bool = False) -> None:
        """Open a database, or make one; with `recovering`, by who holds the folder, also one that lacks
        what its node had done.
        """
        check_posix("a node")
        self.now: Callable[[], float] = time.time  # by which everything is stamped
        try:
            self._open(folder, recovering)
        except DamagedError as error:
            raise DamagedDatabaseError(folder, str(error)) from None
        except (OSError, sqlite3.Error) as error:
            if known_trouble(error) == DAMAGED:
                raise DamagedDatabaseError(folder, str(error)) from None
            raise InputError(f"cannot keep anything in {folder}: {error}") from None

    def _open(self, folder: Path, recovering: bool) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.shares = folder / "shares"
        self.shares.mkdir(exist_ok=True, mode=0o700)
        self._file = folder / DATABASE
        self._mark = Mark(folder)
        if not recovering:
            self._check_not_rolled_back()
        self._lock, self._reading = threading.RLock(), threading.Lock()
        self._writer: int | None = None  # the thread that has begun a transaction
        self._marked = Reached(-1)  # what this process has raised the mark to
        with contextlib.ExitStack() as opened:
            self._db = opened.enter_context(contextlib.closing(_connect(self._file)))
            self._place = _place(self._file)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = FULL")
            self._reader = opened.enter_context(contextlib.closing(_connect(self._file)))
            self._reader.execute("PRAGMA query_only = ON")
            self._make_current(folder, recovering)
            self._db.execute("PRAGMA foreign_keys = ON")
            self._opened = opened.pop_all()

    def _make_current(self, folder: Path, is_held: bool) -> None:
        """Give a new database its tables, and have one of an earlier ppaurora be one of today."""
        version = _version(self._db)
        if version > SCHEMA_VERSION:
            raise InputError(
                f"{folder}: was written by a newer ppaurora (schema {version}; this one reads up to "
                f"{SCHEMA_VERSION}). Upgrade this one; or go back to the copy that the newer one has made, "
                f"node.db.schema-{SCHEMA_VERSION}: docs/operating.md, 'Upgrading'"
            )
        if version == _NEW:
            os.chmod(self._file, 0o600)
            self._write_schema()
            return
        _check_whole(self._db)
        problem = problem_with_studies(self._db, folder)
        if problem:
            raise InputError(problem)
        if version < SCHEMA_VERSION:
            with contextlib.nullcontext() if is_held else hold(folder):
                self._migrate()

    def _write_schema(self) -> None:
        with self._transaction(counts=False) as db:
            if _version(self._db) == _NEW:  # and nobody else has been faster
                _create_tables(db)
                add_row_checksums(db)
                db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
                keep_schema_checksum(db)

    def _migrate(self) -> None:
        """Write everything anew as it is today; a copy of what was there stays beside it."""
        version = _version(self._db)
        if version == SCHEMA_VERSION:  # somebody else has done it meanwhile
            return
        keep_copy(self._db, self._file, version)
        with self._transaction(counts=False) as db:
            write_anew(db, _create_tables)
            db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            keep_schema_checksum(db)

    @property
    def audit_file(self) -> Path:
        return self._file.with_name(AUDIT_LOG)

    def _check_not_rolled_back(self) -> None:
        """Raise if the database lacks what its node had made durable; nothing is opened for writing then."""
        found = find_rollback(self._file, self._mark, self.audit_file)
        if found is None:
            return
        if self._file.exists() and self._file.stat().st_size:
            with contextlib.closing(_connect(self._file, "ro")) as db:
                if _NEW < _version(db) <= SCHEMA_VERSION:
                    _check_whole(db)  # else there is nothing to go on from
        raise RolledBackError(self._file.parent, found)

    def close(self) -> None:
        with self._lock, self._reading:
            self._opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextlib.contextmanager
    def _transaction(self, *, counts: bool = True) -> Iterator[sqlite3.Connection]:
        """Yield a transaction, durable when it is left; inside another one it is a part of that.

        One that changes something `counts`, so that a database without it is known to be older.
        """
        with self._lock:
            inside_another = self._db.in_transaction
            if inside_another:
                yield self._db
                return
            self._db.execute("BEGIN IMMEDIATE")
            self._writer = threading.get_ident()
            before = self._db.total_changes
            try:
                yield self._db
                if counts and self._db.total_changes != before:
                    self._db.execute("UPDATE progress SET changes = changes + 1")
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:  # a full disk may have ended it already
                    self._db.execute("ROLLBACK")
                raise
            finally:
                self._writer = None
            self._committed()

    def _committed(self) -> None:
        """Have the mark follow what is durable; if it cannot now, it does with the next transaction."""
        with contextlib.suppress(*STORAGE_ERRORS):
            self._raise_mark()

    def _raise_mark(self) -> None:
        (row,) = self._rows("SELECT changes, (SELECT MAX(entry) FROM audit) AS entries FROM progress")
        reached = Reached(row["changes"], row["entries"] or 0)
        if reached > self._marked:
            self._mark.raise_to(reached)
            self._marked = reached

    def _rows(self, query: str, *values: Value) -> list[sqlite3.Row]:
        """Return rows as they are durable, whoever writes; inside a transaction, as that has left them."""
        if self._writer == threading.get_ident():
            return self._db.execute(query, values).fetchall()
        with self._reading:
            return self._reader.execute(query, values).fetchall()

    def writing_problem(self) -> str:
        """Return why not all that an attempt has to write could be written now; nothing if it could."""
        try:
            if _place(self._file) != self._place:
                raise FileNotFoundError(errno.ENOENT, "another database is in its place")
            with tempfile.TemporaryFile(dir=self.shares) as file:
                file.write(bytes(_ROOM_FOR_AN_ATTEMPT))
                file.flush()
            with self._transaction():
                pass
            self._raise_mark()
            self._check_rows()
        except STORAGE_ERRORS as error:
            return trouble_of(error)
        return ""

    def _check_rows(self) -> None:
        """Raise unless every row is as it was written: before anything is deleted or anybody accused."""
        with self._reading:
            if damaged_tables(self._reader):
                raise DamagedError(DAMAGED)

    def _is_damaged(self, table: str, where: str, *values: str) -> bool:
        with self._reading:
            return is_damaged(self._reader, table, where, values)


def _create_tables(db: sqlite3.Connection) -> None:
    for statement in _SCHEMA.split(";\n"):
        db.execute(statement)


def _version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def _check_whole(db: sqlite3.Connection) -> None:
    version = _version(db)
    damaged = damaged_tables(db) if version == SCHEMA_VERSION else damaged_before(db, version)
    problem = ", ".join(damaged) or structure_problem(db)
    if problem:
        raise DamagedError(problem)


def _connect(file: Path, mode: str = "rwc") -> sqlite3.Connection:
    db = sqlite3.connect(
        f"{file.absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=_SECONDS_FOR_A_LOCK,
        check_same_thread=False,
        isolation_level=None,
    )
    db.row_factory = sqlite3.Row
    define_checksum(db)
    return db


def _place(file: Path) -> tuple[int, int]:
    """Return which file of which disk it is: the open one may have been moved away."""
    found = file.stat()
    return found.st_dev, found.st_ino
