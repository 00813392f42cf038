"""Who works with a node's data: one process at a time serves it, or migrates it."""

from __future__ import annotations

from pathlib import Path
from typing import IO

from ppaurora.errors import InputError
from ppaurora.io.locks import lock


def hold(folder: Path) -> IO[bytes]:
    """Hold a node's data until the file is closed: two nodes on one folder would undo each other's work."""
    file = (folder / "serving").open("ab")
    try:
        lock(file)
    except BlockingIOError:
        file.close()
        raise InputError(
            f"{folder}: another process serves this kit; if that is an earlier ppaurora, stop it first"
        ) from None
    return file
