"""One attempt is one process; however it ends, nothing is left of it."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ppaurora.agreement.terms import Job
from ppaurora.channel.meter import MeterReading
from ppaurora.errors import PartyFailedError
from ppaurora.io.models import StrictModel
from ppaurora.messages.owners import Submitted
from ppaurora.messages.process import Alive, Finished
from ppaurora.messages.workers import Endpoint, PeerEndpoints
from ppaurora.node import attempt as attempt_module
from ppaurora.node.activity import Activity
from ppaurora.node.attempt import Attempt, AttemptPlan, _cost, budget_seconds, fresh_token
from ppaurora.node.authorities import Authorities
from ppaurora.node.sni_router import SniRouter
from ppaurora.party import driver
from ppaurora.party.driver import ServerProcess
from ppaurora.protocols import Fast
from ppaurora.study.kit import NodeKit
from ppaurora.study.manifest import Manifest
from tests.support.deployment import NODES
from tests.support.trials import PAIR, Trials, part

AGREED = tuple(Submitted(owner=name, samples=5, commitments=("0" * 64, "1" * 64)) for name in PAIR)


@pytest.fixture
def kit(consortium: Trials) -> NodeKit:
    return NodeKit.read(consortium.kit(NODES[-1]))


@pytest.fixture
def router(kit: NodeKit) -> Iterator[SniRouter]:
    router = SniRouter(("127.0.0.1", 0), Authorities(kit).server_context())
    yield router
    router.close()


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """The processes that are started; each is one that says nothing."""
    monkeypatch.setattr(Fast, "process", "tests.support.mute")
    found: list[subprocess.Popen[bytes]] = []
    real = driver.start_process

    def start(*arguments: str, **options: Any) -> subprocess.Popen[bytes]:
        found.append(real(*arguments, **options))
        return found[-1]

    monkeypatch.setattr(driver, "start_process", start)
    return found


def plan(manifest: Manifest, number: int = 1) -> AttemptPlan:
    return AttemptPlan(manifest, number, fresh_token(), AGREED)


def check_nothing_left(router: SniRouter, started: list[subprocess.Popen[bytes]]) -> None:
    assert router._jobs == {}
    for process in started:
        assert process.returncode is not None
        with pytest.raises(ProcessLookupError):
            os.kill(process.pid, 0)


def test_a_silent_process_is_given_up(
    kit: NodeKit,
    router: SniRouter,
    manifest: Manifest,
    started: list[subprocess.Popen[bytes]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(attempt_module, "_SECONDS_TO_START", 0.5 - kit.settings.silence_seconds)
    attempt = Attempt(kit, router, plan(manifest))
    with pytest.raises(PartyFailedError, match="no sign of life"):
        attempt.results()
    check_nothing_left(router, started)


def test_an_attempt_is_aborted_from_another_thread(
    kit: NodeKit, router: SniRouter, manifest: Manifest, started: list[subprocess.Popen[bytes]]
) -> None:
    """Who waits for it hears why; also if it was aborted before anybody waited, or twice."""
    for delay in (0.3, 0.0):
        attempt = Attempt(kit, router, plan(manifest))
        timer = threading.Timer(delay, attempt.abort, ["a later attempt began"])
        timer.start()
        start = time.monotonic()
        with pytest.raises(PartyFailedError, match=r"^a later attempt began$"):
            attempt.results()
        assert time.monotonic() - start < kit.settings.silence_seconds  # it was not waited for
        timer.join()
        attempt.abort("again")
    check_nothing_left(router, started)


def test_workers_are_told_once_where_the_others_are(
    kit: NodeKit,
    router: SniRouter,
    manifest: Manifest,
    started: list[subprocess.Popen[bytes]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However often a leader says it: the process expects nothing more."""
    sent: list[StrictModel] = []
    monkeypatch.setattr(ServerProcess, "send", lambda _, message, *raw: sent.append(message))
    attempt = Attempt(kit, router, plan(manifest))
    first: dict[str, tuple[Endpoint, ...]] = {"helper": (Endpoint(certificate="of its worker"),)}
    for endpoints in (first, first, {}):
        attempt.rendezvous(endpoints)
    assert [message for message in sent if isinstance(message, PeerEndpoints)] == [
        PeerEndpoints(endpoints=first)
    ]
    attempt.abort("enough")
    with pytest.raises(PartyFailedError, match="enough"):
        attempt.results()
    check_nothing_left(router, started)


def test_a_process_that_is_killed_is_told_of(
    kit: NodeKit,
    router: SniRouter,
    manifest: Manifest,
    started: list[subprocess.Popen[bytes]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(driver, "_SECONDS_TO_END", 60.0)  # in which a busy machine buries it
    attempt = Attempt(kit, router, plan(manifest))
    started[0].kill()
    with pytest.raises(PartyFailedError, match=r"^the computation was killed by signal 9$"):
        attempt.results()
    check_nothing_left(router, started)


def test_a_node_that_stops_aborts_what_runs_and_what_is_added(
    kit: NodeKit, router: SniRouter, manifest: Manifest, started: list[subprocess.Popen[bytes]]
) -> None:
    activity = Activity()
    early, late = Attempt(kit, router, plan(manifest)), Attempt(kit, router, plan(manifest, 2))
    activity.add(manifest.hash, early)
    activity.stop()
    activity.add("another", late)
    for study, attempt in ((manifest.hash, early), ("another", late)):
        with pytest.raises(PartyFailedError, match="the node was stopped"):
            attempt.results()
        activity.remove(study, attempt)
    activity.wait_until_idle()
    check_nothing_left(router, started)


@pytest.mark.parametrize("nth", [1, 2])
def test_without_threads_no_process_is_left(
    kit: NodeKit,
    router: SniRouter,
    manifest: Manifest,
    started: list[subprocess.Popen[bytes]],
    monkeypatch: pytest.MonkeyPatch,
    nth: int,
) -> None:
    """Whether the one that listens cannot be started, or the one that writes the task."""
    real = threading.Thread.start
    calls = iter(range(1, 100))

    def fail(thread: threading.Thread) -> None:
        if next(calls) == nth:
            raise RuntimeError("can't start new thread")
        real(thread)

    monkeypatch.setattr(threading.Thread, "start", fail)
    with pytest.raises(RuntimeError, match="new thread"):
        Attempt(kit, router, plan(manifest))
    assert len(started) == 1
    check_nothing_left(router, started)


def test_the_session_is_bound_to_manifest_and_submissions(manifest: Manifest) -> None:
    """The number and the token of an attempt are bound, or irrelevant, elsewhere."""
    other = (AGREED[0], Submitted(owner=PAIR[1], samples=6, commitments=("0" * 64, "1" * 64)))
    bindings = [
        plan(manifest).binding(),
        plan(manifest, 2).binding(),
        AttemptPlan(manifest, 1, fresh_token(), other).binding(),
    ]
    assert bindings[0] == bindings[1] != bindings[2]
    assert manifest.hash.encode() in bindings[0]


def test_a_server_process_ends_with_its_driver(tmp_path: Path) -> None:
    """Closed, it is gone, whatever it does."""
    with contextlib.closing(socket.socket()) as listener:
        process = ServerProcess("tests.support.mute", "mute", lambda event: None, listener.fileno())
        process.close()
        assert process.end() == "was killed by signal 9"


def test_a_process_that_only_gives_signs_of_life_is_given_up(
    kit: NodeKit,
    router: SniRouter,
    manifest: Manifest,
    started: list[subprocess.Popen[bytes]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its budget of time is over although it is not silent."""
    patience = kit.settings.silence_seconds
    monkeypatch.setattr(attempt_module, "_SECONDS_TO_START", 0.0)
    monkeypatch.setattr(attempt_module, "budget_seconds", lambda job, factor: 0.5 - patience)
    attempt = Attempt(kit, router, plan(manifest))
    alive = threading.Timer(0.2, attempt._events.put, [Alive()])
    alive.start()
    start = time.monotonic()
    with pytest.raises(PartyFailedError, match="did not end in the"):
        attempt.results()
    assert time.monotonic() - start < patience
    alive.join()
    check_nothing_left(router, started)


def test_the_budget_of_an_attempt_grows_with_its_work(manifest: Manifest) -> None:
    """Ten minutes at least, by the settings that a kit comes with; and public."""
    sizes = (5, 50_000, 1_000_000)
    jobs = [Job(terms=manifest.terms, sizes=(size, size)) for size in sizes]
    small, middle, large = (budget_seconds(job, 10.0) for job in jobs)
    assert 600 <= small < 800 < middle < large
    assert budget_seconds(jobs[0], 5.0) == small / 2


def test_what_is_logged_of_an_attempt_are_numbers_of_its_cost() -> None:
    """And nothing of the result, of which a server process tells its node at the same time."""
    done = Finished(
        parts=(part(range(4)),),
        seconds=1.5,
        meter=MeterReading(rounds=2, messages=3, bytes=4, steps={}),
        openings={"merge": 5},
        peak_bytes=6,
    )
    assert _cost(done) == {"seconds": 1.5, "rounds": 2, "messages": 3, "bytes": 4, "openings": 5}
