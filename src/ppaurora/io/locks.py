"""Locks between processes, on open files: each lasts until it is released, or its process is gone.

On Windows they are `msvcrt`'s, of a byte that no file here has; elsewhere those of `flock`. A library for
this would bring what is not needed, such as locks over networks, and be one package more to trust.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

_POLL = 0.01

if sys.platform == "win32":
    import msvcrt

    _LOCKED_BYTE = 1 << 30  # others could not read a byte that is locked

    def lock(file: IO[bytes] | int, *, shared: bool = False) -> None:
        """Take the lock of a file; raise `BlockingIOError` if somebody else has it. None is shared."""
        try:
            _at_locked_byte(file, msvcrt.LK_NBLCK)
        except PermissionError as error:
            raise BlockingIOError(error.errno, "is locked") from None

    def unlock(file: IO[bytes] | int) -> None:
        """Release the lock of a file before it is closed."""
        _at_locked_byte(file, msvcrt.LK_UNLCK)

    def _at_locked_byte(file: IO[bytes] | int, mode: int) -> None:
        descriptor = file if isinstance(file, int) else file.fileno()
        before = os.lseek(descriptor, 0, os.SEEK_CUR)
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, mode, 1)
        finally:
            os.lseek(descriptor, before, os.SEEK_SET)

    @contextlib.contextmanager
    def folder_locked(folder: Path) -> Iterator[None]:
        """Wait for the lock of a folder, and hold it: that of a file in it, for Windows opens no folder."""
        with (folder / ".lock").open("ab") as file:
            wait_for_lock(file)
            try:
                yield
            finally:
                unlock(file)

else:
    import fcntl

    def lock(file: IO[bytes] | int, *, shared: bool = False) -> None:
        """Take the lock of a file; raise `BlockingIOError` if somebody else has it.

        A shared lock is for who only looks whether there is another.
        """
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)

    def unlock(file: IO[bytes] | int) -> None:
        """Release the lock of a file, also where another process has a copy of it."""
        fcntl.flock(file, fcntl.LOCK_UN)

    @contextlib.contextmanager
    def folder_locked(folder: Path) -> Iterator[None]:
        """Wait for the lock of a folder, and hold it."""
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def wait_for_lock(file: IO[bytes] | int, seconds: float = float("inf")) -> None:
    """Take the lock of a file once it is free; raise `BlockingIOError` if it stays locked for so long."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return lock(file)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise
            time.sleep(_POLL)
