"""A mark outside the database that says how far it was, so that one which went back in time is noticed.

SQLite drops whatever follows the first damaged frame of its write-ahead log, and says nothing. The mark is
written after every transaction that counts, before anybody is told of it: so a database that has counted
fewer has lost something, and one that has counted more was cut off between the two.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from pathlib import Path

from ppaurora.io.files import sync

_SLOT = 512  # bytes, of which a disk writes all or none
_SLOTS = 2  # written in turns: what tears one leaves the other


class Mark:
    """The file `node.mark`, written in place, which takes no further room on a full disk."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "node.mark"

    def read(self) -> int:
        """Return the highest number that was ever set; 0 if there is none that can be read."""
        try:
            return _highest(self._path.read_bytes())
        except FileNotFoundError:
            return 0

    def raise_to(self, number: int) -> None:
        """Set the mark, durably, unless another process has set a higher one."""
        is_new = not self._path.exists()
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if is_new:
                sync(self._path.parent)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if _highest(os.pread(descriptor, _SLOTS * _SLOT, 0)) < number:
                os.pwrite(descriptor, _slot(number), number % _SLOTS * _SLOT)
                os.fdatasync(descriptor)
        finally:
            os.close(descriptor)


def _highest(content: bytes) -> int:
    slots = [content[start : start + _SLOT] for start in range(0, len(content), _SLOT)]
    return max((number for slot in slots if (number := _number(slot)) is not None), default=0)


def _slot(number: int) -> bytes:
    text = b"%d " % number
    return (text + hashlib.sha256(text).hexdigest().encode() + b"\n").ljust(_SLOT)


def _number(slot: bytes) -> int | None:
    """Return what a slot says; None if it was torn, or never written."""
    digits = slot.partition(b" ")[0]
    if not digits.isdigit() or slot != _slot(int(digits)):
        return None
    return int(digits)
