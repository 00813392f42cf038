"""Damage to one file of a node's data folder that was killed: what disks do to logs, pages and whole files.

Every sort gets the folder, an earlier state of it (which it may write to), and a source of chance.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import shutil
import sqlite3
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.campaign.damage import flip

_LOG_HEADER, _FRAME_HEADER = 32, 24  # of SQLite's write-ahead log
_SECTOR = 512
_SHOWN_BY_HEADER = slice(16, 18)  # where a database says how large its pages are
KILLED = "killed in it"  # which is done when the process is killed
Damage = Callable[["Wreck"], None] | None


class NothingToDamageError(Exception):
    """As of a log that is empty."""


@dataclass(frozen=True)
class Wreck:
    """The data folder of a killed node, and what it was at an earlier time."""

    folder: Path
    earlier: Path
    chance: random.Random

    @property
    def database(self) -> Path:
        return self.folder / "node.db"

    @property
    def log(self) -> Path:
        return self.folder / "node.db-wal"

    def flip_in_log(self, start: int, end: int) -> None:
        flip(self.log, 8 * start + self.chance.randrange(8 * (end - start)))

    def frame(self) -> tuple[int, int]:
        """Where one of the log's frames begins and ends; those of an earlier round of the log are none."""
        content = self.log.read_bytes() if self.log.exists() else b""
        found = []
        if len(content) > _LOG_HEADER:
            size = _FRAME_HEADER + struct.unpack(">I", content[8:12])[0]
            for start in range(_LOG_HEADER, len(content) - size + 1, size):
                if content[start + 8 : start + 16] != content[16:24]:
                    break
                found.append((start, start + size))
        if not found:
            raise NothingToDamageError
        return self.chance.choice(found)

    def checkpointed(self) -> tuple[bytes, bytes]:
        """The database with all of its log in it, and the earlier one; the log is gone then."""
        return checkpoint(self.folder), checkpoint(self.earlier)


def checkpoint(folder: Path) -> bytes:
    """Write a log back, as SQLite does, and return the database."""
    with contextlib.closing(sqlite3.connect(folder / "node.db")) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return (folder / "node.db").read_bytes()


def _in_frame(start: int, end: int | None) -> Callable[[Wreck], None]:
    """One bit in this part of a frame."""

    def damage(wreck: Wreck) -> None:
        first, last = wreck.frame()
        wreck.flip_in_log(first + start, last if end is None else first + end)

    return damage


def _in_log_header(wreck: Wreck) -> None:
    wreck.frame()
    wreck.flip_in_log(0, _LOG_HEADER)


def _cut_inside_frame(wreck: Wreck) -> None:
    start, end = wreck.frame()
    os.truncate(wreck.log, wreck.chance.randrange(start + 1, end))


def _cut_at_frame(wreck: Wreck) -> None:
    os.truncate(wreck.log, wreck.frame()[0])


def _cut_to_nothing(wreck: Wreck) -> None:
    wreck.frame()
    os.truncate(wreck.log, wreck.chance.choice((0, wreck.chance.randrange(_LOG_HEADER))))


def _delete_log(wreck: Wreck) -> None:
    wreck.frame()
    wreck.log.unlink()


def _older_log(wreck: Wreck) -> None:
    """Beside a database that has more, or has all that came later."""
    earlier = wreck.earlier / wreck.log.name
    if not earlier.exists() or not earlier.stat().st_size:
        raise NothingToDamageError
    if wreck.chance.random() < 0.5:
        checkpoint(wreck.folder)
    shutil.copyfile(earlier, wreck.log)


def _newer_log(wreck: Wreck) -> None:
    """Beside a database from before."""
    wreck.frame()
    if wreck.chance.random() < 0.5:
        checkpoint(wreck.earlier)
    shutil.copyfile(wreck.earlier / "node.db", wreck.database)


def _older_database(wreck: Wreck) -> None:
    _, earlier = wreck.checkpointed()
    wreck.database.write_bytes(earlier)


def _spoil_shared_memory(wreck: Wreck) -> None:
    path = wreck.folder / "node.db-shm"
    if wreck.chance.random() < 0.3:
        path.unlink(missing_ok=True)
    else:
        size = path.stat().st_size if path.exists() else 1 << 15
        path.write_bytes(wreck.chance.randbytes(wreck.chance.choice((size, size // 3))))


def _page(wreck: Wreck) -> tuple[bytes, bytes, int, int]:
    """The database and the earlier one, as long, and where a page is in which they differ."""
    now, before = wreck.checkpointed()
    size = struct.unpack(">H", now[_SHOWN_BY_HEADER])[0]
    before = before.ljust(len(now), b"\0")
    starts = [at for at in range(0, len(now), size) if now[at : at + size] != before[at : at + size]]
    if not starts:
        raise NothingToDamageError
    start = wreck.chance.choice(starts)
    return now, before, start, start + size


def _forget_page(wreck: Wreck) -> None:
    """A write that the disk had said was done."""
    now, before, start, end = _page(wreck)
    wreck.database.write_bytes(now[:start] + before[start:end] + now[end:])


def _tear_page(wreck: Wreck) -> None:
    """Some of its sectors are those from before."""
    now, before, start, end = _page(wreck)
    content = bytearray(now)
    sectors = [at for at in range(start, end, _SECTOR) if now[at : at + _SECTOR] != before[at : at + _SECTOR]]
    for at in wreck.chance.sample(sectors, wreck.chance.randint(1, len(sectors))):
        content[at : at + _SECTOR] = before[at : at + _SECTOR]
    wreck.database.write_bytes(content)


def _clear_page(wreck: Wreck) -> None:
    now, _ = wreck.checkpointed()
    size = struct.unpack(">H", now[_SHOWN_BY_HEADER])[0]
    start = wreck.chance.randrange(0, len(now), size)
    wreck.database.write_bytes(now[:start] + bytes(size) + now[start + size :])


def _empty_database(wreck: Wreck) -> None:
    if wreck.chance.random() < 0.5:
        checkpoint(wreck.folder)
    wreck.database.write_bytes(b"")


def _delete_database(wreck: Wreck) -> None:
    if wreck.chance.random() < 0.5:
        checkpoint(wreck.folder)
    wreck.database.unlink()


def _spoil_mark(wreck: Wreck) -> None:
    mark, earlier = wreck.folder / "node.mark", wreck.earlier / "node.mark"
    if not mark.exists():
        raise NothingToDamageError
    content = mark.read_bytes()
    match wreck.chance.choice(("torn", "bit", "deleted", "older", "empty")):
        case "torn":
            place = wreck.chance.randrange(len(content))
            mark.write_bytes(content[:place] + wreck.chance.randbytes(min(100, len(content) - place)))
        case "bit":
            flip(mark, wreck.chance.randrange(8 * len(content)))
        case "older" if earlier.exists():
            shutil.copyfile(earlier, mark)
        case "empty":
            mark.write_bytes(b"")
        case _:
            mark.unlink()


def _spoil_audit_log(wreck: Wreck) -> None:
    log, earlier = wreck.folder / "audit.log", wreck.earlier / "audit.log"
    match wreck.chance.choice(("cut", "bit", "deleted", "older")):
        case "cut":
            os.truncate(log, wreck.chance.randrange(log.stat().st_size))
        case "bit":
            flip(log, wreck.chance.randrange(8 * log.stat().st_size))
        case "older" if earlier.exists():
            shutil.copyfile(earlier, log)
        case _:
            log.unlink()


def _cut_off_checkpoint(wreck: Wreck) -> None:
    """Some sectors of some pages are written back already, and the log is still whole."""
    wreck.frame()
    log, before = wreck.log.read_bytes(), wreck.database.read_bytes()
    after = checkpoint(wreck.folder)
    length = wreck.chance.choice((len(before), len(after), wreck.chance.randint(len(before), len(after))))
    content = bytearray(before.ljust(len(after), b"\0"))
    share = wreck.chance.random()
    for at in range(0, len(after), _SECTOR):
        if wreck.chance.random() < share:
            content[at : at + _SECTOR] = after[at : at + _SECTOR]
    wreck.database.write_bytes(content[:length])
    wreck.log.write_bytes(log)


# By what a table of results says of them together, and each by itself.
SORTS: dict[str, dict[str, Damage]] = {
    "write-ahead log: a flipped bit": {
        "header of a frame": _in_frame(0, 8),
        "salt of a frame": _in_frame(8, 16),
        "checksum of a frame": _in_frame(16, 24),
        "page in a frame": _in_frame(_FRAME_HEADER, None),
        "its own header": _in_log_header,
    },
    "write-ahead log: cut off": {
        "inside a frame": _cut_inside_frame,
        "at the end of a frame": _cut_at_frame,
        "at its beginning": _cut_to_nothing,
    },
    "write-ahead log: deleted": {"deleted": _delete_log},
    "write-ahead log and database of different times": {
        "older log": _older_log,
        "older database": _newer_log,
    },
    "shared memory: garbled or deleted": {"shared memory": _spoil_shared_memory},
    "page: with its earlier content": {"earlier content": _forget_page},
    "page: half of it written": {"torn": _tear_page},
    "page: zeros": {"zeros": _clear_page},
    "database: an older one": {"older": _older_database},
    "database: empty or missing": {"empty": _empty_database, "missing": _delete_database},
    "mark: torn, flipped, older, empty or deleted": {"mark": _spoil_mark},
    "audit log: cut off, flipped, older or deleted": {"audit log": _spoil_audit_log},
    "checkpoint: cut off": {"some sectors written": _cut_off_checkpoint, KILLED: None},
}
HARMLESS = {name for name in SORTS if name.startswith(("shared memory", "mark", "audit log", "checkpoint"))}


def in_turn(sorts: Sequence[str] = tuple(SORTS)) -> Iterator[tuple[str, str]]:
    """All sorts by turns, with their variants by turns; without an end."""
    variants = {sort: itertools.cycle(SORTS[sort]) for sort in sorts}
    for sort in itertools.cycle(sorts):
        yield sort, next(variants[sort])


def wreck(sort: str, variant: str, folder: Path, earlier: Path, chance: random.Random) -> None:
    damage = SORTS[sort][variant]
    if damage is not None:
        damage(Wreck(folder, earlier, chance))
