"""A mark outside the database that says how far it was, so that a rollback is noticed.

SQLite drops whatever follows the first damaged frame of its write-ahead log, and says nothing. The mark is
written after every transaction that counts, before anybody is told of it: so a database that has counted
fewer has lost something, and one that has counted more was cut off between the two.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import NamedTuple

from ppaurora.io.files import sync
from ppaurora.io.locks import wait_for_lock

MARK = "node.mark"
_SLOT = 1 << 12  # bytes, of which a disk writes all or none
_SLOTS = 2  # the one that is behind is written: what tears it leaves the other
_SECONDS_FOR_A_LOCK = 2.0  # of another process that sets the mark


class Reached(NamedTuple):
    """How far a database is."""

    changes: int = 0  # transactions that have changed something
    entries: int = 0  # of the audit log


class Mark:
    """The file of the mark, written in place, which takes no further room on a full disk."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / MARK

    def read(self) -> Reached:
        """Return the furthest that was ever set; the beginning if there is none that can be read."""
        try:
            return max(_parsed(self._path.read_bytes()))
        except FileNotFoundError:
            return Reached()

    def raise_to(self, reached: Reached) -> None:
        """Set the mark, durably, unless another process has set it further; it raises if that holds it."""
        is_new = not self._path.exists()
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if is_new:
                sync(self._path.parent)
            wait_for_lock(descriptor, _SECONDS_FOR_A_LOCK)
            slots = _parsed(os.pread(descriptor, _SLOTS * _SLOT, 0))
            if max(slots) < reached:
                os.pwrite(descriptor, _slot(reached), slots.index(min(slots)) * _SLOT)
                os.fdatasync(descriptor)
        finally:
            os.close(descriptor)


def _parsed(content: bytes) -> list[Reached]:
    return [_parse_slot(content[slot * _SLOT : (slot + 1) * _SLOT]) for slot in range(_SLOTS)]


def _slot(reached: Reached) -> bytes:
    text = b"%d %d " % reached
    return (text + hashlib.sha256(text).hexdigest().encode() + b"\n").ljust(_SLOT)


def _parse_slot(slot: bytes) -> Reached:
    """Return what a slot says; the beginning if it was torn, or never written."""
    numbers = slot.split(b" ")[:2]
    if len(numbers) < 2 or not all(number.isdigit() for number in numbers):
        return Reached()
    reached = Reached(*map(int, numbers))
    return reached if slot == _slot(reached) else Reached()
