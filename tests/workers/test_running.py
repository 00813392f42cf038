"""`evaluate(..., workers=)`, what it refuses, and what happens when a worker fails."""

from __future__ import annotations

import threading
import time
from functools import partial
from typing import Any

import numpy as np
import pytest

import ppaurora
from ppaurora import InputError, Policy
from ppaurora.agreement.terms import Job, Terms
from ppaurora.channel.intra_party import memory_intra_party_channels
from ppaurora.channel.memory import memory_transports
from ppaurora.channel.meter import Cost, MeterReading
from ppaurora.channel.shaped import Network
from ppaurora.data import Samples
from ppaurora.data.grid import Grid
from ppaurora.metrics import Query, metrics_named
from ppaurora.party.run import RunOutcome, take_part
from ppaurora.protocols import Fast
from ppaurora.session import Worker
from ppaurora.sharing.stages import ResultShare
from ppaurora.suites.bitsliced import BitslicedSuite
from ppaurora.suites.role import Role
from tests.support.channels import side_by_side
from tests.support.evaluations import check_values, random_owners

OWNERS = random_owners(3, [400, 171, 300], 60)


def test_several_workers_compute_what_one_does() -> None:
    by_one = ppaurora.evaluate(OWNERS, metrics=["auroc", "aupr", "ap"])
    seen: list[tuple[str, int, int]] = []
    report = ppaurora.evaluate(
        OWNERS, metrics=["auroc", "aupr", "ap"], workers=4, progress=lambda *told: seen.append(told)
    )
    check_values(report, OWNERS)
    assert report.metrics == by_one.metrics
    assert report.openings == {}
    assert report.cost.inside_bytes > 0 == by_one.cost.inside_bytes
    assert report.cost.rounds == by_one.cost.rounds
    assert sum(report.cost.bytes_by_step.values()) == report.cost.bytes
    assert sum(report.cost.rounds_by_step.values()) == report.cost.rounds
    done = [number for _, number, _ in seen]
    assert done == sorted(done)
    assert seen[-1][1] == seen[-1][2]


def test_over_a_slower_network() -> None:
    network = Network(round_trip_seconds=0.002)
    report = ppaurora.evaluate(OWNERS, metrics=["auroc"], workers=2, network=network)
    check_values(report, OWNERS)


@pytest.mark.parametrize("workers", [0, 3, 128, -2, 2.0, "4", True, None], ids=repr)
def test_a_number_of_workers_that_cannot_be(workers: Any) -> None:
    with pytest.raises(InputError, match="workers must be a power of two, from 1 to 64, not"):
        ppaurora.evaluate(OWNERS, workers=workers)


def test_more_workers_than_work() -> None:
    with pytest.raises(InputError, match=r"16 workers are too many for 871 samples.*use workers=8"):
        ppaurora.evaluate(OWNERS, workers=16)
    with pytest.raises(InputError, match="use workers=1"):
        ppaurora.evaluate(random_owners(1, [30, 40], 5), workers=2)


def test_the_papers_protocol_has_one_worker() -> None:
    with pytest.raises(InputError, match="protocol 'paper' has one worker; leave workers out"):
        ppaurora.evaluate(OWNERS, protocol="paper", workers=2)


def test_processes_compute_what_threads_do() -> None:
    """Workers as processes, with the servers' transport over TLS: the same numbers, bytes and rounds."""
    threads = ppaurora.evaluate(OWNERS, metrics=["auroc", "ap"], workers=2)
    processes = ppaurora.evaluate(OWNERS, metrics=["auroc", "ap"], transport="tls", workers=2)
    assert (processes.auroc, processes.ap) == (threads.auroc, threads.ap)
    assert (processes.cost.bytes, processes.cost.rounds) == (threads.cost.bytes, threads.cost.rounds)
    assert processes.cost.inside_bytes == threads.cost.inside_bytes > 0


def test_auto_has_no_more_workers_than_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ppaurora.evaluation.evaluate.workers_here", lambda servers: 32)
    report = ppaurora.evaluate(OWNERS, metrics=["auroc"], workers="auto")
    expected = ppaurora.evaluate(OWNERS, metrics=["auroc"], workers=8)
    assert (report.auroc, report.cost.bytes) == (expected.auroc, expected.cost.bytes)


@pytest.mark.parametrize("where", ["inputs", "exchange_layer", "to_ring", "carry"])
def test_a_worker_that_fails_stops_all(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """At whatever step: its own error is raised, at once, and no thread is left."""
    work = getattr(BitslicedSuite, where)

    def fails(suite: BitslicedSuite, *arguments: Any, **options: Any) -> Any:
        if suite._context.role is Role.PROXY_1 and suite.team.index == 2:
            raise ZeroDivisionError("worker 2 of proxy 1")
        return work(suite, *arguments, **options)

    monkeypatch.setattr(BitslicedSuite, where, fails)
    before, start = threading.active_count(), time.monotonic()
    with pytest.raises(ZeroDivisionError, match="worker 2 of proxy 1"):
        ppaurora.evaluate(OWNERS, metrics=["auroc"], workers=4, timeout=600)
    assert time.monotonic() - start < 300  # nobody was waited for
    deadline = time.monotonic() + 120
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert threading.active_count() <= before


def test_outcomes_of_workers_in_one() -> None:
    part = ResultShare(np.zeros((2, 1), dtype=np.uint64))
    reading = MeterReading(5, 1, 100, {"merge": Cost(1, 100, 5)})
    deeper = MeterReading(7, 1, 10, {"merge": Cost(1, 10, 6), "ties": Cost(0, 0, 1)}, 3, 33)
    whole = RunOutcome.of_workers(
        [
            RunOutcome((part,), 1.0, reading, {"a": 1}, 50),
            RunOutcome((), 2.0, deeper, {"a": 2, "b": 1}, 70),
        ]
    )
    assert whole.parts == (part,)
    assert (whole.seconds, whole.openings, whole.peak_bytes) == (2.0, {"a": 3, "b": 1}, 70)
    steps = {"merge": Cost(2, 110, 5), "ties": Cost()}
    assert whole.meter == MeterReading(7, 2, 110, steps, inside_messages=3, inside_bytes=33)


@pytest.mark.parametrize("protocol", [Fast(), Fast(grid=Grid(decimals=1))], ids=str)
def test_a_workers_share_is_its_block(protocol: Fast) -> None:
    samples = Samples("owner", np.arange(300) / 300, (np.arange(300) % 2).astype(np.uint8))
    sums = Query(metrics_named("brier"), (300,), Policy.exact()).sums
    for server, share in zip(protocol.input_servers, protocol.share(samples, sums), strict=True):
        parts = [protocol.worker_share(share, Worker(index, 4), 300) for index in range(4)]
        lists = [part.samples for part in parts if part.samples is not None]
        assert sum(map(len, lists)) == 300
        assert [len(part.sums) for part in parts] == [len(sums), 0, 0, 0]
        for part, samples_of_worker in zip(parts, lists, strict=True):
            leads = part is parts[0]
            again = protocol.read_share(
                part.to_bytes(), server, len(samples_of_worker), protocol.shape(len(sums)), leads=leads
            )
            assert again.to_bytes() == part.to_bytes()
            assert (again.table is None) == (part.table is None) == (protocol.grid is None or not leads)


def test_what_an_engine_does() -> None:
    """Every worker by itself, as in processes: transport, intra-party channel, its share; then all in one."""
    samples = [
        Samples("owner", np.asarray(scores), np.asarray(labels, np.uint8)) for labels, scores in OWNERS
    ]
    terms = Terms(metrics=metrics_named("auroc", "ap"), policy=Policy.exact())
    job = Job(terms=terms, sizes=tuple(map(len, samples)))
    workers = job.check_workers(4)
    shares = [terms.share(one) for one in samples]
    given = dict(zip(terms.protocol.input_servers, zip(*shares, strict=True), strict=True))
    lanes = [memory_transports(Role) for _ in range(workers)]
    intra_party_channels = {role: memory_intra_party_channels(role.title, workers) for role in Role}
    sessions: list[bytes] = []

    def process(role: Role, worker: Worker) -> RunOutcome:
        shared = zip(given.get(role, ()), job.sizes, strict=False)  # the helper has none
        own = [terms.protocol.worker_share(share, worker, size) for share, size in shared]
        return take_part(
            lanes[worker.index][role],
            job,
            own,
            study=b"a study",
            attempt=3,
            announce=sessions.append,
            worker=worker,
            intra_party=intra_party_channels[role][worker.index],
        )

    tasks = [partial(process, role, Worker(index, workers)) for role in Role for index in range(workers)]
    outcomes = side_by_side(*tasks, patience=600)
    by_server = {role: outcomes[workers * role :][:workers] for role in Role}
    assert [len(outcome.parts) for outcome in by_server[Role.PROXY_1]] == [1, 0, 0, 0]
    assert len(set(sessions)) == workers, "a session per number of workers"
    whole = {role: RunOutcome.of_workers(of_workers) for role, of_workers in by_server.items()}
    parts = [whole[Role(server)].parts[0] for server in terms.protocol.result_servers]
    found = terms.protocol.combine(parts, job.query, ["owner"] * len(samples))
    report = ppaurora.evaluate(OWNERS, metrics=["auroc", "ap"], workers=workers)
    assert found.metrics == report.metrics
    assert max(outcome.meter.rounds for outcome in whole.values()) == report.cost.rounds
    assert sum(outcome.meter.bytes for outcome in whole.values()) == report.cost.bytes
    assert sum(outcome.meter.inside_bytes for outcome in whole.values()) == report.cost.inside_bytes
