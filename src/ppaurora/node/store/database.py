"""The connection to a node's database, its schema, and transactions."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from ppaurora.errors import InputError

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
    floors TEXT NOT NULL, -- what the owner demands, in JSON
    commitments TEXT NOT NULL, -- a list in JSON, one for every server that takes submissions
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
    part BLOB NOT NULL, -- as ResultShare.to_bytes writes it
    PRIMARY KEY (study, owner)
);
"""
SCHEMA_VERSION = 4
_NEW = 0  # what SQLite says of a database that nobody has written to

Value = str | int | float | bytes | None


class Database:
    """One node's, in a folder of its own. Methods may be called from any thread."""

    def __init__(self, folder: Path) -> None:
        try:
            self._open(folder)
        except (OSError, sqlite3.Error) as error:
            raise InputError(f"cannot keep anything in {folder}: {error}") from None

    def _open(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.shares = folder / "shares"
        self.shares.mkdir(exist_ok=True, mode=0o700)
        self._lock = threading.RLock()
        self._db = sqlite3.connect(
            folder / "node.db", timeout=30.0, check_same_thread=False, isolation_level=None
        )
        try:
            os.chmod(folder / "node.db", 0o600)
            self._db.row_factory = sqlite3.Row
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = FULL")
            self._db.execute("PRAGMA foreign_keys = ON")
            self._write_schema(folder)
        except BaseException:
            self._db.close()
            raise

    def _write_schema(self, folder: Path) -> None:
        with self._transaction() as db:
            (version,) = db.execute("PRAGMA user_version").fetchone()
            if version > SCHEMA_VERSION:
                raise InputError(f"{folder}: was written by a newer ppaurora; upgrade this one")
            if _NEW < version < SCHEMA_VERSION:
                raise InputError(
                    f"{folder}: was written by a ppaurora from before the first release, and cannot be read; "
                    "move it away, then accept the studies again"
                )
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
        """Durable when it is left. Inside another one it is a part of that."""
        with self._lock:
            inside_another = self._db.in_transaction
            if inside_another:
                yield self._db
                return
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:  # a full disk may have ended it already
                    self._db.execute("ROLLBACK")
                raise

    def _rows(self, query: str, *values: Value) -> list[sqlite3.Row]:
        with self._lock:
            return self._db.execute(query, values).fetchall()
