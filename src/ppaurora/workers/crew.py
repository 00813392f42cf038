"""The inside of a server process that has several workers: it places them, and sees their work through."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

from ppaurora.channel.intra_party import LostWorkerError
from ppaurora.errors import PartyFailedError, PeerError, PeerMisbehavedError, PpauroraError
from ppaurora.messages.process import Failed, Finished, Opened, Order, Placed, Progressed, Task
from ppaurora.messages.workers import Crew, Endpoint, PeerEndpoints
from ppaurora.party.driver import failure_of
from ppaurora.party.process import Starter, finished, outcome_of, run_server
from ppaurora.party.run import RunOutcome
from ppaurora.workers.engine import Ended, Engine
from ppaurora.workers.inputs import cut
from ppaurora.workers.listener import WorkerListener
from ppaurora.workers.local import LocalEngine
from ppaurora.workers.part import crew_of

_SECONDS_FOR_LAST_WORDS = 2.0
_SECONDS_TO_PLACE = 180.0
_SECONDS_TO_MEET = 300.0  # the others may take as long, and must be told
_NO_MEETING = f"nobody said within {_SECONDS_TO_MEET:g} seconds where the other servers' workers are"
_LATE = f"its workers could not be placed within {_SECONDS_TO_PLACE:g} seconds"


def main() -> int:
    """Compute one server's part of one job, by several workers."""
    return run_server(_serve)


def engine_for(crew: Crew, title: str) -> Engine:
    """Return the engine that runs the workers of the server of this title."""
    if crew.ray is None:
        return LocalEngine(title, crew.workers)
    from ppaurora.workers.ray import RayEngine  # only where Ray is installed

    return RayEngine(title, crew.workers, crew.ray)


def _serve(starter: Starter) -> None:
    listener, task = starter.listener(), starter.hear(Task)
    if listener is None or task is None:
        return
    server = task.job.terms.protocol.server_named(task.server)
    raw = _shares_behind(task, starter)
    with engine_for(crew_of(task), server.title) as engine:
        with starter.giving_signs(task.links.timeout / 4, _SECONDS_TO_PLACE, _LATE):
            endpoints = tuple(engine.place())
        starter.tell(Placed(endpoints=endpoints))
        with starter.giving_signs(task.links.timeout / 4, _SECONDS_TO_MEET, _NO_MEETING):
            peer_endpoints = starter.hear(PeerEndpoints)
        if peer_endpoints is None:
            return
        starter.stay_in_touch(task.links.timeout / 4)
        orders = _orders(task, peer_endpoints)
        worker_listener = WorkerListener(listener, len(orders), engine.admit, passed=task.links.passed)
        try:
            for order, inputs in cut(orders, raw):
                engine.begin(order, inputs)
            outcomes = [outcome_of(event) for event in _watched(engine, task, starter)]
        finally:
            worker_listener.close()
    starter.tell(finished(RunOutcome.of_workers(outcomes)))


def _shares_behind(task: Task, starter: Starter) -> list[bytes | Path]:
    """Return the owners' shares as they came behind the task, or the files that they are in."""
    protocol, shape = task.job.terms.protocol, task.job.terms.shape
    server = protocol.server_named(task.server)
    if server not in protocol.input_servers:
        return []
    if task.share_files is not None:
        return [Path(path) for path in task.share_files]
    return [starter.read(protocol.share_bytes(server, size, shape)) for size in task.job.sizes]


def _orders(task: Task, peer_endpoints: PeerEndpoints) -> list[Order]:
    """Return an order for every worker, with its peers' endpoints."""
    workers = crew_of(task).workers
    peers = task.job.terms.protocol.server_named(task.server).peers
    for peer in peers:
        endpoints = peer_endpoints.endpoints.get(peer.file_name, ())
        if len(endpoints) != workers:
            raise PeerMisbehavedError(
                peer.title, f"has {len(endpoints)} workers, where this server has {workers}"
            )

    def endpoints_of(worker: int) -> dict[str, Endpoint]:
        return {peer.file_name: peer_endpoints.endpoints[peer.file_name][worker] for peer in peers}

    return [Order(task=task, worker=worker, endpoints=endpoints_of(worker)) for worker in range(workers)]


def _watched(engine: Engine, task: Task, starter: Starter) -> list[Finished]:
    """Return what every worker says in the end; what they tell meanwhile is passed on."""
    workers = crew_of(task).workers
    patience = task.links.timeout
    last_heard = [time.monotonic()] * workers
    done: dict[int, Finished] = {}
    while len(done) < workers:
        quietest = min(
            (number for number in range(workers) if number not in done),
            key=last_heard.__getitem__,
        )
        heard = engine.next_event(max(last_heard[quietest] + patience - time.monotonic(), 0))
        if heard is None:
            raise PartyFailedError(f"worker {quietest} gave no sign of life for {patience:g} seconds")
        number, event = heard
        last_heard[number] = time.monotonic()
        match event:
            case Finished():
                done[number] = event
            case Opened():
                starter.tell(event)
            case Progressed() if number == 0:
                starter.tell(event)
            case Failed() | Ended() if number not in done:
                raise _root_cause(engine, number, event, done)
    return [done[number] for number in range(workers)]


def _root_cause(
    engine: Engine, number: int, event: Failed | Ended, done: Iterable[int] = ()
) -> PpauroraError:
    """Return the cause of a failure: who lost a peer only echoes what happened there, so hear the others."""
    failures = {number: _failure(number, event)}
    over = set(done)
    deadline = time.monotonic() + _SECONDS_FOR_LAST_WORDS
    while _echo(_likeliest(failures)) and (left := deadline - time.monotonic()) > 0:
        heard = engine.next_event(left)
        match heard:
            case other, Finished():
                over.add(other)
            case other, Failed() | Ended() as told if other not in over:
                # That a worker ends after its last words says nothing.
                failures.setdefault(other, _failure(other, told))
    return _likeliest(failures)


def _likeliest(failures: dict[int, PpauroraError]) -> PpauroraError:
    """Return the failure that explains the others: not what is said of a worker that tells itself."""
    telling = [
        failure
        for failure in failures.values()
        if not (isinstance(failure, _EchoError) and failure.worker in failures)
    ]
    return min(telling or failures.values(), key=_echo)


class _EchoError(PartyFailedError):
    """A worker that tells of another one of its server, which may tell itself."""

    def __init__(self, worker: int, message: str) -> None:
        self.worker = worker
        super().__init__(message)


def _failure(number: int, event: Failed | Ended) -> PpauroraError:
    if isinstance(event, Ended):
        return PartyFailedError(f"worker {number} {event.how}")
    if event.kind == LostWorkerError.__name__ and event.peer:
        return _EchoError(int(event.peer), event.message)
    failure = failure_of(event, f"worker {number}")
    if isinstance(failure, PeerError):  # it speaks with the peer's worker of its own number only
        return type(failure)(failure.peer, f"(worker {number}) {failure.problem}")
    return failure


def _echo(failure: PpauroraError) -> int:
    return 2 if isinstance(failure, PeerError) else int(isinstance(failure, _EchoError))
