"""What an owner gets instead of what it asked for: a status of HTTP, a stable code, and words."""

from __future__ import annotations

from typing import NoReturn

from ppaurora.node.store.trouble import NO_ROOM, known_trouble


class RequestRefusedError(Exception):
    """`code` is explained in docs/deploying.md."""

    def __init__(self, status: int, code: str, message: str) -> None:
        self.status, self.code, self.message = status, code, message
        super().__init__(message)


def refuse(status: int, code: str, message: str) -> NoReturn:
    raise RequestRefusedError(status, code, message)


def node_failed(error: Exception) -> RequestRefusedError:
    """When it is the node's trouble and not the owner's."""
    trouble = known_trouble(error)
    if trouble == NO_ROOM:
        message = "the node's disk is full; nothing was stored, try again later"
        return RequestRefusedError(507, "no-room", message)
    if trouble:
        return RequestRefusedError(503, "not-ready", f"{trouble}; nothing was stored, try again later")
    return RequestRefusedError(500, "internal", "an unforeseen error at the node; its log says more")
