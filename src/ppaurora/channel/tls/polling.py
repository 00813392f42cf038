"""Waiting for sockets with `poll`, or with `select` on Windows, which has no `poll`."""

from __future__ import annotations

import select
import sys
from typing import Protocol

if sys.platform == "win32":
    READABLE, WRITABLE = 1, 4
else:
    READABLE, WRITABLE = select.POLLIN, select.POLLOUT


class Poll(Protocol):
    """Which of the descriptors that are registered are ready, and for what."""

    def register(self, descriptor: int, events: int, /) -> None: ...

    def unregister(self, descriptor: int, /) -> None: ...

    def poll(self, milliseconds: float, /) -> list[tuple[int, int]]: ...


class SelectPoll:
    """`select` with the methods of `poll`: for sockets, of which at least one is registered."""

    def __init__(self) -> None:
        self._events: dict[int, int] = {}

    def register(self, descriptor: int, events: int, /) -> None:
        self._events[descriptor] = events

    def unregister(self, descriptor: int, /) -> None:
        del self._events[descriptor]

    def poll(self, milliseconds: float, /) -> list[tuple[int, int]]:
        readers = [descriptor for descriptor, events in self._events.items() if events & READABLE]
        writers = [descriptor for descriptor, events in self._events.items() if events & WRITABLE]
        # On Windows, a connection that failed is exceptional rather than writable.
        readable, writable, failed = select.select(readers, writers, writers, max(milliseconds, 0) / 1000)
        ready = dict.fromkeys((*readable, *failed), READABLE)
        for descriptor in (*writable, *failed):
            ready[descriptor] = ready.get(descriptor, 0) | WRITABLE
        return list(ready.items())


def new_poll() -> Poll:
    """Return a `poll`, or what stands in for it."""
    if sys.platform == "win32":
        return SelectPoll()
    else:  # noqa: RET505 (mypy reads both, each for its system)
        return select.poll()
