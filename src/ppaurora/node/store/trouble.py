"""Reasons why a node cannot write, in a few words that people can act on."""

from __future__ import annotations

import errno
import sqlite3

from ppaurora.errors import PpauroraError

NO_ROOM = "no disk space"
LOCKED = "the database is locked"
READ_ONLY = "the data folder cannot be written to"
GONE = "the data folder is gone"
BROKEN = "the disk or the database has an error"
DAMAGED = "the database is damaged"

_OF_SYSTEM = {
    errno.EAGAIN: LOCKED,  # the mark, or the audit log
    errno.ENOSPC: NO_ROOM,
    errno.EDQUOT: NO_ROOM,
    errno.EFBIG: NO_ROOM,
    errno.EROFS: READ_ONLY,
    errno.EACCES: READ_ONLY,
    errno.EPERM: READ_ONLY,
    errno.ENOENT: GONE,
    errno.ENOTDIR: GONE,
    errno.ESTALE: GONE,
}
_OF_SQLITE = {
    sqlite3.SQLITE_FULL: NO_ROOM,
    sqlite3.SQLITE_BUSY: LOCKED,
    sqlite3.SQLITE_LOCKED: LOCKED,
    sqlite3.SQLITE_READONLY: READ_ONLY,
    sqlite3.SQLITE_CANTOPEN: GONE,
    sqlite3.SQLITE_IOERR: BROKEN,
    sqlite3.SQLITE_CORRUPT: DAMAGED,
    sqlite3.SQLITE_NOTADB: DAMAGED,
    # Queries are constants that tests run: one that fails has met a schema that is not as it was written.
    sqlite3.SQLITE_ERROR: DAMAGED,
}
_PRIMARY = 0xFF  # of SQLite's codes; the rest are details


class DamagedError(PpauroraError):
    """The disk has not kept it as it was."""


STORAGE_ERRORS = (OSError, sqlite3.Error, DamagedError)


def known_trouble(error: BaseException) -> str:
    """Return the trouble that an operator can end (make room, unlock, mount, restore), else nothing."""
    if isinstance(error, sqlite3.Error):
        code = getattr(error, "sqlite_errorcode", None)
        if code is None:
            return NO_ROOM if "full" in str(error) else ""
        return _OF_SQLITE.get(code & _PRIMARY, "")
    if isinstance(error, OSError):
        return _OF_SYSTEM.get(error.errno or 0, "")
    return DAMAGED if isinstance(error, DamagedError) else ""


def trouble_of(error: BaseException) -> str:
    """Return the trouble behind any error of reading or writing."""
    return known_trouble(error) or BROKEN
