"""Three parties as three threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from ppaurora.channel.base import Transport
from ppaurora.errors import PeerError
from ppaurora.role import Role

T = TypeVar("T")


def run_in_threads(party: Callable[[Role], T], transports: Sequence[Transport]) -> list[T]:
    """Run `party` for every role. If one fails, its peers are told, and the cause is raised."""
    results: dict[Role, T] = {}
    failures: dict[Role, BaseException] = {}

    def run(role: Role) -> None:
        try:
            results[role] = party(role)
            transports[role].finish()
        except BaseException as error:
            failures[role] = error
        finally:
            transports[role].close()

    threads = [threading.Thread(target=run, args=(role,), name=role.title, daemon=True) for role in Role]
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
    return [results[role] for role in Role]


def root_cause(failures: Mapping[Role, BaseException]) -> BaseException:
    """A party that lost its peer only echoes what happened there.

    So an error of another kind comes first, then one that blames a party of which nothing was heard.
    """
    heard = {role.title for role in failures}

    def echo(failure: BaseException) -> tuple[bool, bool]:
        return isinstance(failure, PeerError), isinstance(failure, PeerError) and failure.peer in heard

    return min(failures.values(), key=echo)
