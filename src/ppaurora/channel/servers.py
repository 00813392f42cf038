"""The servers of a protocol. Each protocol names its own, as a subclass of `Server` with members."""

from __future__ import annotations

from enum import IntEnum
from typing import Self


class Server(IntEnum):
    """One of the servers that compute together, by its number. This class itself has no members."""

    @property
    def title(self) -> str:
        """Return the server's name as people call it."""
        return self.name.lower().replace("_", " ")

    @property
    def kind(self) -> str:
        """Return the common name of servers that differ by a number only."""
        return self.title.rstrip(" 0123456789")

    @property
    def file_name(self) -> str:
        """Return the title as a name of a file, a folder or a section."""
        return self.title.replace(" ", "-")

    @property
    def peers(self) -> tuple[Self, ...]:
        """Return the other servers of the same protocol."""
        return tuple(server for server in type(self) if server is not self)

    @property
    def runs_ahead(self) -> bool:
        """Return whether it sends without waiting for answers, and must be held back when others are slow."""
        return False
