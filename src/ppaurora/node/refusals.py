"""How a node refuses a request: with a code that owners know, and words."""

from __future__ import annotations

from typing import NoReturn

from ppaurora.messages.refusals import RefusalCode
from ppaurora.node.store.trouble import NO_ROOM, known_trouble


class RequestRefusedError(Exception):
    """A request that is answered with a refusal; without a message of its own, the code's meaning is told."""

    def __init__(self, code: RefusalCode, message: str = "", status: int | None = None) -> None:
        self.code = code
        self.message = message or code.meaning
        self.status = status or code.status
        super().__init__(self.message)


def refuse(code: RefusalCode, message: str = "") -> NoReturn:
    """Raise the error that answers the request with this code."""
    raise RequestRefusedError(code, message)


def node_failed(error: Exception) -> RequestRefusedError:
    """Return the refusal for an error that is the node's trouble and not the owner's."""
    trouble = known_trouble(error)
    if trouble == NO_ROOM:
        return RequestRefusedError(RefusalCode.NO_ROOM)
    if trouble:
        return RequestRefusedError(RefusalCode.NOT_READY, f"{trouble}; nothing was stored, try again later")
    return RequestRefusedError(RefusalCode.INTERNAL)
