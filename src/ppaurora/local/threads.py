"""All servers as threads of this process, talking through memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from ppaurora.channel.base import Transport
from ppaurora.channel.memory import memory_transports
from ppaurora.channel.shaped import Network
from ppaurora.errors import PeerError
from ppaurora.party.run import RunOutcome, take_part
from ppaurora.servers import Server
from ppaurora.session import Progress, no_progress
from ppaurora.sharing.stages import OwnerShare
from ppaurora.terms import Job

T = TypeVar("T")


def run_in_threads(
    job: Job,
    inputs: Mapping[Server, Sequence[OwnerShare]],
    progress: Progress,
    timeout: float,
    network: Network | None = None,
) -> dict[Server, RunOutcome]:
    """Every server's outcome, or the error that stopped the run."""
    protocol = job.terms.protocol
    transports = dict(zip(protocol.servers, memory_transports(protocol.servers, timeout), strict=True))

    def party(server: Server) -> RunOutcome:
        watched = progress if server is protocol.leader else no_progress
        return take_part(transports[server], job, list(inputs.get(server, ())), watched, network)

    outcomes = run_parties(party, list(transports.values()))
    return dict(zip(transports, outcomes, strict=True))


def run_parties(party: Callable[[Server], T], transports: Sequence[Transport]) -> list[T]:
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
