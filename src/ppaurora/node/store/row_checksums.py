"""Every row has a digest of its values, so that a bit which a disk has flipped is noticed and accuses nobody.

Triggers keep it, whoever writes the row; SQLite itself has checksums of its journal only. This is against
disks, not against people: whoever can write the file can write the digest.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Sequence

from ppaurora.node.store.trouble import known_trouble

_FUNCTION = "seal_of"  # this, and the column `seal`, are names that databases of nodes already have


def define_checksum(db: sqlite3.Connection) -> None:
    """Define the function that the triggers call; without it, rows cannot be written."""
    db.create_function(_FUNCTION, -1, _row_checksum, deterministic=True)


def add_row_checksums(db: sqlite3.Connection) -> None:
    """Give every table a column with the digest of each row, and the triggers that keep it."""
    for table in _tables(db):
        db.execute(f"ALTER TABLE {table} ADD COLUMN seal TEXT")
        update = f"UPDATE {table} SET seal = {_checksum_of(db, table)} WHERE rowid = NEW.rowid;"  # noqa: S608
        for event in ("INSERT", f"UPDATE OF {', '.join(_columns(db, table))}"):
            name = f"seal_{table}_{event.split()[0].lower()}"
            db.execute(f"CREATE TRIGGER {name} AFTER {event} ON {table} BEGIN {update} END")


def damaged_tables(db: sqlite3.Connection) -> list[str]:
    """Return the tables with a row that is not as it was written."""
    return [table for table in _tables(db) if is_damaged(db, table)]


def structure_problem(db: sqlite3.Connection) -> str:
    """Return what is wrong with pages or indexes, in SQLite's own words; empty if nothing is."""
    (found,) = db.execute("PRAGMA integrity_check(1)").fetchone()
    return "" if found == "ok" else str(found)


def is_damaged(db: sqlite3.Connection, table: str, where: str = "1", values: Sequence[str] = ()) -> bool:
    """Return whether one of these rows is not as it was written."""
    query = f"SELECT 1 FROM {table} WHERE {where} AND seal IS NOT {_checksum_of(db, table)} LIMIT 1"  # noqa: S608
    try:
        return db.execute(query, values).fetchone() is not None
    except sqlite3.Error as error:
        if known_trouble(error):
            raise
        return True  # a value that is no text any longer, or a page that is none


def _tables(db: sqlite3.Connection) -> Iterator[str]:
    query = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
    yield from [name for (name,) in db.execute(query)]


def _checksum_of(db: sqlite3.Connection, table: str) -> str:
    return f"{_FUNCTION}({', '.join(_columns(db, table))})"


def _columns(db: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in db.execute(f"PRAGMA table_info({table})") if row[1] != "seal"]


def _row_checksum(*values: int | float | str | bytes | None) -> str:
    """Return a row's digest, the same with every Python: how one quotes a text depends on its letters."""
    digest = hashlib.sha256()
    for value in values:
        content = value if isinstance(value, bytes) else str(value).encode()
        digest.update(f"{type(value).__name__} {len(content)} ".encode() + content)
    return digest.hexdigest()
