"""Algorithms and whole runs in the clear by a party of several workers; and runs by three such servers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar, cast

import numpy as np

from ppaurora.agreement.terms import Job, Terms
from ppaurora.channel.intra_party import memory_intra_party_channels
from ppaurora.channel.meter import Meter
from ppaurora.channel.servers import Server
from ppaurora.data import Samples
from ppaurora.local.threads import run_in_threads
from ppaurora.metrics import Query
from ppaurora.metrics.reading import ReleasedResult
from ppaurora.metrics.sums import sums_of
from ppaurora.party.run import RunOutcome
from ppaurora.protocols import Fast
from ppaurora.session import Progress, Worker, no_progress
from ppaurora.sharing.blocks import blocks
from ppaurora.sharing.stages import OwnerShare, ResultShare
from ppaurora.suites.arrays import AdditiveShare, ArrayRecords
from ppaurora.suites.cleartext import CleartextSuite
from ppaurora.suites.team import Team

T = TypeVar("T")
Algorithm = Callable[[CleartextSuite, list[ArrayRecords]], Any]  # given a worker's blocks of all lists


def by_workers(
    workers: int,
    algorithm: Algorithm,
    lists: Sequence[ArrayRecords],
    suite: type[CleartextSuite] = CleartextSuite,
) -> list[Any]:
    """What each worker returns."""

    def work(team: Team, worker: Worker) -> Any:
        own = [blocks(len(records), workers)[worker.index] for records in lists]
        parts = [records[one.start : one.stop] for records, one in zip(lists, own, strict=True)]
        return algorithm(suite(team), parts)

    return by_threads(workers, work)


def by_threads(workers: int, work: Callable[[Team, Worker], T]) -> list[T]:
    """What each worker of one party returns."""
    results: dict[int, T] = {}
    failures: list[BaseException] = []
    intra_party_channels = memory_intra_party_channels("all", workers, timeout=300)

    def run(worker: Worker) -> None:
        intra_party = intra_party_channels[worker.index]
        try:
            results[worker.index] = work(Team(worker, intra_party, Meter()), worker)
        except BaseException as error:
            failures.append(error)
        finally:
            intra_party.close()

    threads = [
        threading.Thread(target=run, args=(Worker(index, workers),), daemon=True) for index in range(workers)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return [results[index] for index in range(workers)]


class InTheClear(Fast):
    """The protocol's run on plain numbers: one party, of several workers."""

    def suite(self, context: Any) -> Any:
        return CleartextSuite(context.team)


class ClearContext:
    """What a run needs of a session."""

    def __init__(self, team: Team) -> None:
        self.team = team
        self.progress: Progress = no_progress

    def step(self, name: str) -> AbstractContextManager[None]:
        return nullcontext()


def released_in_the_clear(owners: Sequence[Samples], query: Query, workers: int) -> ResultShare:
    """All that a run lets out, by so many workers; scores are not negative."""
    protocol = InTheClear()
    shares = []
    for samples in owners:
        prepared = protocol.prepare(samples)
        sums = sums_of(samples, query.sums)
        shares.append(OwnerShare(AdditiveShare(prepared.keys, prepared.labels), sums))

    def work(team: Team, worker: Worker) -> tuple[ResultShare, ...]:
        given = [
            protocol.worker_share(share, worker, size)
            for share, size in zip(shares, query.sizes, strict=True)
        ]
        return protocol.run(cast(Any, ClearContext(team)), query, given, 1)

    (parts, *others) = by_threads(workers, work)
    assert others == [()] * (workers - 1), "only the first worker has the result"
    return parts[0]


def as_read(released: ResultShare, query: Query, owners: Sequence[Samples]) -> ReleasedResult:
    """By owners, who add two servers' parts."""
    nothing = ResultShare(np.zeros_like(released.words))
    return Fast().combine([released, nothing], query, [samples.source for samples in owners])


def run_of_workers(
    terms: Terms, owners: Sequence[Samples], workers: int
) -> tuple[ReleasedResult, dict[Server, RunOutcome]]:
    """By three servers of so many workers each, all threads."""
    job = Job(terms=terms, sizes=tuple(map(len, owners)))
    shares = [terms.share(samples) for samples in owners]
    inputs = dict(zip(terms.protocol.input_servers, zip(*shares, strict=True), strict=True))
    outcomes = run_in_threads(job, inputs, no_progress, 600.0, workers=workers)
    parts = [outcomes[server].parts[0] for server in terms.protocol.result_servers]
    return terms.protocol.combine(parts, job.query, [samples.source for samples in owners]), outcomes
