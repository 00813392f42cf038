"""Parties as threads of this process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from ppaurora.channel.base import Transport
from ppaurora.errors import PeerError
from ppaurora.servers import Server

T = TypeVar("T")


def run_in_threads(party: Callable[[Server], T], transports: Sequence[Transport]) -> list[T]:
    """Run `party` at every end. If one fails, its peers are told, and the cause is raised."""
    results: dict[Server, T] = {}
    failures: dict[Server, BaseException] = {}

    def run(transport: Transport) -> None:
        server = transport.role
        try:
            results[server] = party(server)
            transport.finish()
        except BaseException as error:
            failures[server] = error
        finally:
            transport.close()

    threads = [
        threading.Thread(target=run, args=(transport,), name=transport.role.title, daemon=True)
        for transport in transports
    ]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    except BaseException:
        # Ctrl-C: closing every end wakes the parties, which then fail and finish.
        for transport in transports:
            transport.close()
        for thread in threads:
            thread.join()
        raise
    if failures:
        raise root_cause(failures)
    return [results[transport.role] for transport in transports]


def root_cause(failures: Mapping[Server, BaseException]) -> BaseException:
    """A party that lost its peer only echoes what happened there.

    So an error of another kind comes first, then one that blames a party of which nothing was heard.
    """
    heard = {server.title for server in failures}

    def echo(failure: BaseException) -> tuple[bool, bool]:
        return isinstance(failure, PeerError), isinstance(failure, PeerError) and failure.peer in heard

    return min(failures.values(), key=echo)
