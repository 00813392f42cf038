"""What an owner gets instead of what it asked for: a status of HTTP, a stable code, and words."""

from __future__ import annotations

import errno
import sqlite3
from typing import NoReturn

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class RequestRefusedError(Exception):
    """`code` is explained in docs/deploying.md."""

    def __init__(self, status: int, code: str, message: str) -> None:
        self.status, self.code, self.message = status, code, message
        super().__init__(message)


def refuse(status: int, code: str, message: str) -> NoReturn:
    raise RequestRefusedError(status, code, message)


def node_failed(error: Exception) -> RequestRefusedError:
    """When it is the node's trouble and not the owner's."""
    if _is_full(error):
        message = "the node's disk is full; nothing was stored, try again later"
        return RequestRefusedError(507, "no-room", message)
    return RequestRefusedError(500, "internal", "an unforeseen error at the node; its log says more")


def _is_full(error: Exception) -> bool:
    if isinstance(error, sqlite3.OperationalError):
        return "full" in str(error)
    return isinstance(error, OSError) and error.errno in _FULL
