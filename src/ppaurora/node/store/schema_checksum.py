"""A checksum of the schema, because SQL in which a disk has flipped a bit may be valid and do something else.

It is the number that SQLite's header has for the application to use.
"""

from __future__ import annotations

import sqlite3
import zlib

from ppaurora.node.store.trouble import DAMAGED, known_trouble

SCHEMA = "sqlite_schema"  # the table that has it, by which its damage is named
_NOT_KEPT = 0  # in a database whose schema was written before there was a checksum of it
_TO_SIGNED = 1 << 31


def keep_schema_checksum(db: sqlite3.Connection) -> None:
    """Keep the checksum of the schema and of its version: last, in every transaction that changes them."""
    db.execute(f"PRAGMA application_id = {_checksum(db)}")


def is_schema_damaged(db: sqlite3.Connection) -> bool:
    """Return whether the schema is not as it was written."""
    try:
        (kept,) = db.execute("PRAGMA application_id").fetchone()
        return kept not in (_NOT_KEPT, _checksum(db))
    except (sqlite3.Error, UnicodeError) as error:  # the latter of what SQLite says, which quotes the schema
        if known_trouble(error) not in ("", DAMAGED):
            raise
        return True


def _checksum(db: sqlite3.Connection) -> int:
    (version,) = db.execute("PRAGMA user_version").fetchone()
    parts = db.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name")
    return zlib.crc32(repr((version, [tuple(part) for part in parts])).encode()) - _TO_SIGNED
