"""The audit log's file, and what the database keeps of its end.

An entry is written down in the same transaction as what it tells of, and then, in order, to the file. The
database keeps the last entry that is in the file, and those that are not there yet. So what a crash has torn
is completed from the database, and a file that was cut or edited does not fit it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from ppaurora.io.files import sync
from ppaurora.io.locks import wait_for_lock
from ppaurora.io.text import printable
from ppaurora.io.times import as_time
from ppaurora.messages.owners import AuditHead
from ppaurora.node.audit import BEGINNING, KeptLine, make_entry, read_entry
from ppaurora.node.store.database import Database
from ppaurora.node.store.trouble import STORAGE_ERRORS

_SECONDS_FOR_A_LOCK = 2.0  # of somebody who reads the file, or writes to it
_TWO_LINES = 1 << 14  # bytes; a text has at most 500 letters

COMPLETED = "writing this log had been interrupted, as by a crash or a full disk; it was completed"
CHANGED = "the file of this log was found changed, not by this node: see 'ppaurora audit'"


class AuditedDatabase(Database):
    """A database whose changes are recorded in an audit log, each in the same transaction."""

    _has_locked_file = False  # read and written by who holds the database's own lock

    def record(self, text: str) -> None:
        """Add an entry, durable with the transaction that it is a part of, or not at all."""
        with self._transaction() as db:
            head = self.audit_head()
            line = make_entry(head, as_time(self.now()), printable(text))
            db.execute("INSERT INTO audit (entry, line) VALUES (?, ?)", (head.entries + 1, line))

    def audit_head(self) -> AuditHead:
        rows = self._rows("SELECT line FROM audit ORDER BY entry DESC LIMIT 1")
        return read_entry(rows[0]["line"]).head if rows else BEGINNING

    def audit_log(self) -> tuple[bytes, list[KeptLine]]:
        """Return the file, and what the database has of its end, with nobody writing meanwhile."""
        with _locked(self.audit_file):
            return self.audit_file.read_bytes(), self._kept_lines()

    def _kept_lines(self) -> list[KeptLine]:
        rows = self._rows("SELECT line, written FROM audit ORDER BY entry")
        return [KeptLine(row["line"], bool(row["written"])) for row in rows]

    def _committed(self) -> None:
        """Write to the file what waits; what cannot be written now waits for the next transaction."""
        super()._committed()
        if self._has_locked_file:  # whoever has recorded something meanwhile waits for that, and writes it
            return
        with contextlib.suppress(*STORAGE_ERRORS):
            if all(kept.written for kept in self._kept_lines()):
                return
            with _locked(self.audit_file) as descriptor:
                self._has_locked_file = True
                try:
                    found = self._write_waiting(descriptor)
                finally:
                    self._has_locked_file = False
            if found:
                self.record(found)

    def _write_waiting(self, descriptor: int) -> str:
        """Write to the file what waits, and return what the log should say of how the file was found."""
        kept = self._kept_lines()
        found = _append(descriptor, kept)
        last = read_entry(kept[-1].line).entry
        with self._transaction(counts=False) as db:
            db.execute("UPDATE audit SET written = 1 WHERE entry <= ?", (last,))
            db.execute("DELETE FROM audit WHERE entry < ?", (last,))
        return found


def _append(descriptor: int, kept: Sequence[KeptLine]) -> str:
    """Add the lines that wait, unless a crash came after they were written; the first may be torn."""
    size = os.fstat(descriptor).st_size
    tail = os.pread(descriptor, _TWO_LINES, max(size - _TWO_LINES, 0))
    before, newline, torn = tail.rpartition(b"\n")
    last = before.rpartition(b"\n")[2] + newline
    lines = [kept_line.line.encode() + b"\n" for kept_line in kept]
    is_there = [kept_line.written for kept_line in kept].count(True)
    found = ""
    if last in lines[is_there:]:
        is_there = lines.index(last) + 1
        found = COMPLETED
    elif last != b"".join(lines[:is_there][-1:]):
        found = CHANGED
    if torn and b"".join(lines[is_there : is_there + 1]).startswith(torn):
        os.ftruncate(descriptor, size - len(torn))
        found = found or COMPLETED
    elif torn:
        found = CHANGED
        lines.insert(is_there, b"\n")  # what somebody has left there stays as it is
    _write_all(descriptor, b"".join(lines[is_there:]))
    return found


def _write_all(descriptor: int, content: bytes) -> None:
    while content:
        content = content[os.write(descriptor, content) :]
    os.fsync(descriptor)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[int]:
    """Against other processes: commands record what they do beside a node that runs."""
    is_new = not path.exists()
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        if is_new:
            sync(path.parent)
        wait_for_lock(descriptor, _SECONDS_FOR_A_LOCK)
        yield descriptor
    finally:
        os.close(descriptor)
