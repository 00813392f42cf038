"""A database of an earlier ppaurora becomes one of today, in one transaction, once there is a copy of it.

Every table is written anew as new databases have it, with the rows that the old one had. So no two databases
of one version differ in their structure, whatever they have been through.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Collection
from pathlib import Path

from ppaurora.errors import InputError
from ppaurora.io.files import sync
from ppaurora.messages.owners import GONE
from ppaurora.node.store.row_checksums import add_row_checksums, columns, is_damaged, tables
from ppaurora.study.manifest import is_supported, version_of

_COPY = ".schema-"  # and the version, ends the name of a copy
_BEFORE = "before_"  # begins the name of a table that is being replaced
_WITH_CHECKSUMS = 6  # the first schema whose rows have checksums that are computed as today's are
# What a column is made of that an older table lacks and that has no default.
_MADE_OF = {
    ("submissions", "commitments"): "json_array(commitment_0, commitment_1)",  # before schema 2
    ("submissions", "floors"): "'{}'",  # before schema 4
}


def keep_copy(db: sqlite3.Connection, database: Path, version: int) -> None:
    """Write a copy of a database beside it, durably: the way back to what wrote it."""
    path = database.with_name(f"{database.name}{_COPY}{version}")
    building = path.with_name(f"{path.name}.part")
    building.unlink(missing_ok=True)
    with contextlib.closing(sqlite3.connect(building)) as copy:
        building.chmod(0o600)
        db.backup(copy)
    sync(building)
    building.replace(path)
    sync(path.parent)


def delete_copies(database: Path) -> None:
    """Delete all copies, which hold what is not to be kept any longer."""
    for path in database.parent.glob(f"{database.name}{_COPY}*"):
        path.unlink(missing_ok=True)


def write_anew(db: sqlite3.Connection, create: Callable[[sqlite3.Connection], None]) -> None:
    """Replace all tables by those that `create` makes, with the rows that they had.

    A part of a transaction of a connection that does not enforce references between tables.
    """
    for (trigger,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
        db.execute(f"DROP TRIGGER {trigger}")
    before = _tables(db)
    for table in before:
        db.execute(f"ALTER TABLE {table} RENAME TO {_BEFORE}{table}")
    create(db)
    now = _tables(db)
    for table in before:
        if table in now:
            _copy_rows(db, table)
        db.execute(f"DROP TABLE {_BEFORE}{table}")
    add_row_checksums(db)
    if db.execute("PRAGMA foreign_key_check").fetchone() is not None:
        raise InputError("the database names a study that it does not have; restore a backup")


def _copy_rows(db: sqlite3.Connection, table: str) -> None:
    old = columns(db, f"{_BEFORE}{table}")
    made_of = {
        column: column if column in old else _MADE_OF.get((table, column)) for column in columns(db, table)
    }
    given = {column: value for column, value in made_of.items() if value is not None}
    db.execute(
        f"INSERT OR REPLACE INTO {table} ({', '.join(given)}) "  # noqa: S608
        f"SELECT {', '.join(given.values())} FROM {_BEFORE}{table}"
    )


def damaged_before(db: sqlite3.Connection, version: int) -> list[str]:
    """Return the tables of an older database with a row that is not as it was written."""
    return [table for table in _tables(db) if is_damaged(db, table)] if version >= _WITH_CHECKSUMS else []


def problem_with_studies(db: sqlite3.Connection, folder: Path) -> str:
    """Return which studies keep this ppaurora from working with a database; nothing if there are none.

    Those whose manifest it cannot read, and of which something may still be computed or fetched.
    """
    if "studies" not in _tables(db):
        return ""
    found = [
        f"'{name}' ({state}, version {version_of(manifest)})"
        for name, state, manifest in db.execute("SELECT name, state, manifest FROM studies ORDER BY name")
        if state not in GONE and not is_supported(manifest)
    ]
    if not found:
        return ""
    return (
        f"{folder}: this ppaurora cannot go on with {', '.join(found)}, which an earlier one has accepted. "
        "Nothing was changed. Go back to that one; wait until they have expired, or 'ppaurora delete' them. "
        "Then upgrade: docs/operating.md, 'Upgrading'"
    )


def _tables(db: sqlite3.Connection) -> Collection[str]:
    return [name for name in tables(db) if not name.startswith(_BEFORE)]
