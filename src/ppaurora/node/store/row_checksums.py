"""Every row has a digest of its values, so that a bit which a disk has flipped is noticed and accuses nobody.

Triggers keep it, whoever writes the row; SQLite itself has checksums of its journal only. They also keep the
sum of all digests, in the table `progress`, so that a row is missed which a page of an earlier time lacks.
This is against disks, not against people: whoever can write the file can write the digest.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Sequence

from ppaurora.node.store.schema_checksum import SCHEMA, is_schema_damaged
from ppaurora.node.store.trouble import DAMAGED, known_trouble

_FUNCTION = "seal_of"  # this, and the column `seal`, are names that databases of nodes already have
_SUM = "seal_sum"
_MODULUS = 1 << 256
_SUMMED_IN = "progress"  # the table with the sum, which is not a part of it


def define_checksum(db: sqlite3.Connection) -> None:
    """Define the functions that the triggers call; without them, rows cannot be written."""
    db.create_function(_FUNCTION, -1, _row_checksum, deterministic=True)
    db.create_function(_SUM, 3, _updated_sum, deterministic=True)


def add_row_checksums(db: sqlite3.Connection) -> None:
    """Give every table a column with the digest of each row, and the triggers that keep it and the sum."""
    for table in tables(db):
        db.execute(f"ALTER TABLE {table} ADD COLUMN seal TEXT")
        db.execute(f"UPDATE {table} SET seal = {_checksum_of(db, table)}")  # noqa: S608
        update = f"UPDATE {table} SET seal = {_checksum_of(db, table)} WHERE rowid = NEW.rowid;"  # noqa: S608
        for event in ("INSERT", f"UPDATE OF {', '.join(columns(db, table))}"):
            name = f"seal_{table}_{event.split()[0].lower()}"
            db.execute(f"CREATE TRIGGER {name} AFTER {event} ON {table} BEGIN {update} END")
    add_sums(db)


def add_sums(db: sqlite3.Connection) -> None:
    """Have triggers keep the sum of all rows' digests, as it is from now on."""
    for table in _summed_tables(db):
        for event, new in (("UPDATE OF seal", "NEW.seal"), ("DELETE", "NULL")):
            name = f"sum_{table}_{event.split()[0].lower()}"
            update = f"UPDATE {_SUMMED_IN} SET content = {_SUM}(content, OLD.seal, {new});"  # noqa: S608
            db.execute(f"CREATE TRIGGER {name} AFTER {event} ON {table} BEGIN {update} END")
    db.execute(f"UPDATE {_SUMMED_IN} SET content = ?", (_sum_of_rows(db),))  # noqa: S608


def damaged_tables(db: sqlite3.Connection) -> list[str]:
    """Return the tables with a row that is not as it was written; or the sum's, if a row is missing.

    If it is the schema that is not, nothing that other tables say means anything.
    """
    db.execute("BEGIN")  # rows and their sum are to be of one moment, whoever writes meanwhile
    try:
        if is_schema_damaged(db):
            return [SCHEMA]
        damaged = [table for table in tables(db) if is_damaged(db, table)]
        return damaged or ([] if _has_all_rows(db) else [_SUMMED_IN])
    finally:
        db.execute("ROLLBACK")


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
        if known_trouble(error) not in ("", DAMAGED):
            raise
        return True  # a value that is no text any longer, or a page that is none


def tables(db: sqlite3.Connection) -> Iterator[str]:
    """Yield the names of all tables of ours."""
    query = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
    yield from [name for (name,) in db.execute(query)]


def _summed_tables(db: sqlite3.Connection) -> list[str]:
    return [table for table in tables(db) if table != _SUMMED_IN]


def _has_all_rows(db: sqlite3.Connection) -> bool:
    sums = [content for (content,) in db.execute(f"SELECT content FROM {_SUMMED_IN}")]  # noqa: S608
    return sums == [_sum_of_rows(db)]


def _sum_of_rows(db: sqlite3.Connection) -> str:
    queries = [f"SELECT seal FROM {table}" for table in _summed_tables(db)]  # noqa: S608
    return _hex(sum(int(seal, 16) for query in queries for (seal,) in db.execute(query)))


def _updated_sum(before: str, old: str | None, new: str | None) -> str:
    """Return the sum with one digest in another's place; a row that is new, or goes, has none."""
    return _hex(int(before, 16) - int(old or "0", 16) + int(new or "0", 16))


def _hex(number: int) -> str:
    return f"{number % _MODULUS:064x}"


def _checksum_of(db: sqlite3.Connection, table: str) -> str:
    return f"{_FUNCTION}({', '.join(columns(db, table))})"


def columns(db: sqlite3.Connection, table: str) -> list[str]:
    """Return the columns of a table, without that of the checksum."""
    return [row[1] for row in db.execute(f"PRAGMA table_info({table})") if row[1] != "seal"]


def _row_checksum(*values: int | float | str | bytes | None) -> str:
    """Return a row's digest, the same with every Python: how one quotes a text depends on its letters."""
    digest = hashlib.sha256()
    for value in values:
        content = value if isinstance(value, bytes) else str(value).encode()
        digest.update(f"{type(value).__name__} {len(content)} ".encode() + content)
    return digest.hexdigest()
