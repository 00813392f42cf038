"""How a server process gets the socket at which others find it on Windows, which passes no descriptors."""

from __future__ import annotations

import socket
import sys
from typing import IO

_LENGTH_BYTES = 4


def write_shared(commands: IO[bytes], listener: int, process_id: int) -> None:
    """Share a socket with this process alone, and tell it how to find it."""
    if sys.platform == "win32":
        borrowed = socket.socket(fileno=listener)
        try:
            found_by = borrowed.share(process_id)
        finally:
            borrowed.detach()
        commands.write(len(found_by).to_bytes(_LENGTH_BYTES, "big") + found_by)
        commands.flush()


def read_shared(commands: IO[bytes]) -> socket.socket | None:
    """Return the socket that was shared with this process; None if it never comes."""
    if sys.platform == "win32":
        found_by = commands.read(int.from_bytes(commands.read(_LENGTH_BYTES), "big"))
        return socket.fromshare(found_by) if found_by else None
    return None
