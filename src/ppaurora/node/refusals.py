"""What an owner gets instead of what it asked for: a status of HTTP, a stable code, and words."""

from __future__ import annotations

import errno
from typing import NoReturn

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class RequestRefusedError(Exception):
    """`code` is explained in docs/deploying.md."""

    def __init__(self, status: int, code: str, message: str) -> None:
        self.status, self.code, self.message = status, code, message
        super().__init__(message)


def refuse(status: int, code: str, message: str) -> NoReturn:
    raise RequestRefusedError(status, code, message)


def not_stored(*, full: bool) -> RequestRefusedError:
    if full:
        message = "the node's disk is full; nothing was stored, try again later"
        return RequestRefusedError(507, "no-room", message)
    return RequestRefusedError(500, "internal", "the node could not store this")


def is_full(error: OSError) -> bool:
    return error.errno in _FULL
