"""Whose program is at the other end of a connection on this machine.

Browsers send a cookie to every port of a host, so another account's program that listens on 127.0.0.1 can be
sent the session's. It does not help there: a session is good for the account whose browser opened the link.
Linux alone tells whose a connection is. Elsewhere, macOS and Windows among them, there is no such check.
"""

from __future__ import annotations

import contextlib
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aiohttp import web

# All connections of this machine, as Linux tells them; a socket of IPv6 can speak IPv4, too.
_TABLES = {Path("/proc/net/tcp"): "", Path("/proc/net/tcp6"): "0000000000000000FFFF0000"}
_LOOKS = 3  # a table that changes while it is read may miss a line
_LOCAL, _REMOTE, _ACCOUNT = 1, 2, 7  # columns


def account_of(request: web.Request) -> int | None:
    """Return the number of the user; None where the system does not tell, and of whoever has hung up."""
    transport = request.transport
    ends = [] if transport is None else [transport.get_extra_info(end) for end in ("peername", "sockname")]
    if not ends or None in ends:
        return None
    for _ in range(_LOOKS):
        for table, prefix in _TABLES.items():
            with contextlib.suppress(OSError):
                account = _find(table, [f"{prefix}{_as_the_table_has_it(*end[:2])}" for end in ends])
                if account is not None:
                    return account
    return None


def _find(table: Path, ends: list[str]) -> int | None:
    for line in table.read_text("ascii").splitlines()[1:]:
        columns = line.split()
        if [columns[_LOCAL], columns[_REMOTE]] == ends:
            return int(columns[_ACCOUNT])
    return None


def _as_the_table_has_it(host: str, port: int) -> str:
    """Return an address as a number of 32 bits in this machine's order, and the port."""
    return f"{int.from_bytes(socket.inet_aton(host), sys.byteorder):08X}:{port:04X}"
