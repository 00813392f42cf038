"""What a disk does to a database."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

from ppaurora.node.store.row_checksums import define_checksum


def change_on_disk(
    database: Path, table: str, column: str, value: object, study: str, owner: str = ""
) -> None:
    """In the study's rows, or the owner's; the rows' digests stay as they were."""
    where, names = ("study = ? AND owner = ?", (study, owner)) if owner else ("study = ?", (study,))
    if table == "studies":
        where = "hash = ?"
    with contextlib.closing(sqlite3.connect(database, timeout=30)) as db, db:
        define_checksum(db)
        checksums = db.execute(f"SELECT seal, rowid FROM {table} WHERE {where}", names).fetchall()  # noqa: S608
        db.execute(f"UPDATE {table} SET {column} = ? WHERE {where}", (value, *names))  # noqa: S608
        db.executemany(f"UPDATE {table} SET seal = ? WHERE rowid = ?", checksums)  # noqa: S608
