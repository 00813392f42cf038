"""Who works with a node's data: one process at a time serves it, or migrates it."""

from __future__ import annotations

import fcntl
import time
from pathlib import Path
from typing import IO

from ppaurora.errors import InputError


def hold(folder: Path) -> IO[bytes]:
    """Hold a node's data until the file is closed: two nodes on one folder would undo each other's work."""
    file = (folder / "serving").open("ab")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise InputError(
            f"{folder}: another process serves this kit; if that is an earlier ppaurora, stop it first"
        ) from None
    return file


def lock(descriptor: int, seconds: float) -> None:
    """Lock a file against other processes until it is closed; raise `BlockingIOError` if it stays locked."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)
