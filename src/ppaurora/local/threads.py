"""All servers as threads of this process, talking through memory; each of them may have several workers."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from ppaurora.agreement.terms import Job
from ppaurora.channel.base import Transport
from ppaurora.channel.intra_party import memory_intra_party_channels
from ppaurora.channel.memory import memory_transports
from ppaurora.channel.servers import Server
from ppaurora.channel.shaped import Network, ShapedTransport
from ppaurora.errors import PeerError, PeerLostError
from ppaurora.party.run import RunOutcome, peak_memory, take_part
from ppaurora.session import Context, Progress, Worker, no_progress, open_session, throttled
from ppaurora.sharing.stages import OwnerShare, ResultShare

K = TypeVar("K", Server, Worker)
T = TypeVar("T")


def run_in_threads(
    job: Job,
    inputs: Mapping[Server, Sequence[OwnerShare]],
    progress: Progress,
    timeout: float,
    network: Network | None = None,
    workers: int = 1,
) -> dict[Server, RunOutcome]:
    """Return every server's outcome, or raise the error that stopped the run."""
    protocol = job.terms.protocol
    lanes = [
        dict(zip(protocol.servers, memory_transports(protocol.servers, timeout), strict=True))
        for _ in range(workers)
    ]

    def party(server: Server) -> RunOutcome:
        watched = progress if server is protocol.leader else no_progress
        own = [lane[server] for lane in lanes]
        shares = list(inputs.get(server, ()))
        if workers == 1:
            return take_part(own[0], job, shares, watched, network)
        return _by_workers(job, own, shares, watched, timeout, network)

    outcomes = run_parties(party, list(lanes[0].values()))
    return dict(zip(protocol.servers, outcomes, strict=True))


def _by_workers(
    job: Job,
    lanes: Sequence[Transport],
    shares: Sequence[OwnerShare],
    progress: Progress,
    timeout: float,
    network: Network | None,
) -> RunOutcome:
    """Return one server's outcome: the first worker's session is opened, and forks for the others."""
    protocol, count = job.terms.protocol, len(lanes)
    intra_party_channels = memory_intra_party_channels(lanes[0].role.title, count)
    shaped = [lane if network is None else ShapedTransport(lane, network) for lane in lanes]

    def leave() -> None:
        for lane, intra_party in zip(lanes, intra_party_channels, strict=True):
            lane.close()
            intra_party.close()

    def work(context: Context) -> tuple[ResultShare, ...]:
        given = [
            protocol.worker_share(share, context.worker, size)
            for share, size in zip(shares, job.sizes, strict=False)  # or there are none
        ]
        parts = protocol.run(context, job.query, given, 1)
        context.channel.finish()
        return parts

    try:
        first = open_session(
            shaped[0],
            job.hash(),
            1,
            throttled(progress),
            worker=Worker(0, count),
            intra_party=intra_party_channels[0],
        )
        contexts = [
            first,
            *(first.fork(index, shaped[index], intra_party_channels[index]) for index in range(1, count)),
        ]
        start = time.perf_counter()
        tasks = {one.worker: partial(work, one) for one in contexts}
        parts, failures = _side_by_side(tasks, leave, on_failure=leave)
        seconds = time.perf_counter() - start
    finally:
        leave()
    if failures:
        raise next(iter(failures.values()))  # the others only lost their peer
    openings = sum((context.openings for context in contexts), Counter[str]())
    return RunOutcome(parts[first.worker], seconds, first.meter.reading(), dict(openings), peak_memory())


def run_parties(party: Callable[[Server], T], transports: Sequence[Transport]) -> list[T]:
    """Run `party` at every end. If one fails, its peers are told, and the cause is raised."""

    def run(transport: Transport) -> T:
        try:
            result = party(transport.role)
            transport.finish()
        finally:
            transport.close()
        return result

    def close() -> None:
        for transport in transports:
            transport.close()

    results, failures = _side_by_side({one.role: partial(run, one) for one in transports}, close)
    if failures:
        raise root_cause(failures)
    return [results[transport.role] for transport in transports]


def _side_by_side(
    tasks: Mapping[K, Callable[[], T]],
    stop: Callable[[], None],
    on_failure: Callable[[], None] = lambda: None,
) -> tuple[dict[K, T], dict[K, BaseException]]:
    """Run each in a thread; return what they returned, and what they failed with, in the order of time."""
    results: dict[K, T] = {}
    failures: dict[K, BaseException] = {}

    def run(name: K) -> None:
        try:
            results[name] = tasks[name]()
        except BaseException as error:
            failures[name] = error
            on_failure()

    threads = [
        threading.Thread(
            target=run, args=(name,), name=name.title if isinstance(name, Server) else str(name), daemon=True
        )
        for name in tasks
    ]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    except BaseException:
        # Ctrl-C: whoever waits for somebody is woken, fails and finishes.
        stop()
        for thread in threads:
            thread.join()
        raise
    return results, failures


def root_cause(failures: Mapping[Server, BaseException]) -> BaseException:
    """Return the cause of failures: a party that lost its peer only echoes what happened there.

    So an error of another kind comes first, then one that blames a party of which nothing was heard, then one
    that says more than that a peer is gone: whoever complains leaves, and that may be told of before it.
    """
    heard = {server.title for server in failures}

    def echo(failure: BaseException) -> tuple[bool, bool, bool]:
        return (
            isinstance(failure, PeerError),
            isinstance(failure, PeerError) and failure.peer in heard,
            isinstance(failure, PeerLostError),
        )

    return min(failures.values(), key=echo)
