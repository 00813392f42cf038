"""A warm process waits for its order: at most one, for one order, and nothing is left of it."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from ppaurora.data import check_samples
from ppaurora.errors import PartyFailedError
from ppaurora.evaluation.evaluate import evaluate_samples
from ppaurora.messages.owners import Submitted
from ppaurora.node.attempt import Attempt, AttemptPlan, fresh_token
from ppaurora.node.authorities import Authorities
from ppaurora.node.metrics import Metrics
from ppaurora.node.node import Node
from ppaurora.node.sni_router import SniRouter
from ppaurora.party import starting
from ppaurora.party.starting import WarmPool, discard, pass_listener, start_process
from ppaurora.protocols import Fast, Protocol
from ppaurora.session import no_progress
from ppaurora.study.kit import NodeKit
from ppaurora.suites.role import Role
from ppaurora.testing.consortium import NODES, Consortium
from tests.support.server_processes import (
    A_FEW_SECONDS,
    children_of,
    record_started,
    servers_of,
    wait_until,
)

pytestmark = pytest.mark.usefixtures("ordinary_starts")

PAIR = ("north", "harbour")
MUTE = "tests.support.mute"
AGREED = tuple(Submitted(owner=name, samples=5, commitments=("0" * 64, "1" * 64)) for name in PAIR)


@pytest.fixture(autouse=True)
def leaves_no_process() -> Iterator[None]:
    before = children_of(os.getpid())
    yield
    assert children_of(os.getpid()) <= before


@pytest.fixture
def warm_pool() -> Iterator[WarmPool]:
    with contextlib.closing(WarmPool()) as warm_pool:
        yield warm_pool


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    return record_started(monkeypatch)


@pytest.fixture(scope="module")
def consortium(tmp_path_factory: pytest.TempPathFactory) -> Consortium:
    """Its nodes do not run."""
    return Consortium(tmp_path_factory.mktemp("warm"), PAIR)


@pytest.fixture
def kit(consortium: Consortium) -> NodeKit:
    return NodeKit.read(consortium.kit(NODES[-1]))


@pytest.fixture
def router(kit: NodeKit) -> Iterator[SniRouter]:
    router = SniRouter(("127.0.0.1", 0), Authorities(kit).server_context())
    yield router
    router.close()


def test_one_of_a_kind_waits_and_is_taken_once(
    warm_pool: WarmPool, started: list[subprocess.Popen[bytes]]
) -> None:
    assert warm_pool.take(MUTE, "first") is None
    for title in ("first", "first", "second"):
        warm_pool.keep(MUTE, title)
    assert len(started) == 2
    assert warm_pool.take(MUTE, "third") is None
    taken = warm_pool.take(MUTE, "first")
    assert taken is started[0]
    assert warm_pool.take(MUTE, "first") is None
    discard(taken)


def test_one_that_has_ended_is_replaced_and_never_taken(
    warm_pool: WarmPool, started: list[subprocess.Popen[bytes]]
) -> None:
    warm_pool.keep(MUTE, "first")
    started[0].kill()
    started[0].wait()
    warm_pool.keep(MUTE, "first")
    assert len(started) == 2
    started[1].kill()
    started[1].wait()
    assert warm_pool.take(MUTE, "first") is None


def test_whoever_is_closed_starts_nothing_more(
    warm_pool: WarmPool, started: list[subprocess.Popen[bytes]]
) -> None:
    warm_pool.keep(MUTE, "first")
    warm_pool.close()
    assert started[0].returncode == -9
    warm_pool.keep(MUTE, "first")
    assert warm_pool.take(MUTE, "first") is None
    assert len(started) == 1


def test_a_machine_that_cannot_start_one_goes_on_without(
    warm_pool: WarmPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(module: str, title: str) -> subprocess.Popen[bytes]:
        raise BlockingIOError(11, "no more processes")

    monkeypatch.setattr(starting, "start_process", fail)
    warm_pool.keep(MUTE, "first")
    assert warm_pool.take(MUTE, "first") is None


def test_a_warm_process_serves_one_order_only() -> None:
    """It ends with the first, here one that it cannot understand; what comes behind it is not heard."""
    process = start_process(Protocol.process, "proxy 0")
    try:
        with contextlib.closing(socket.socket()) as listener:
            pass_listener(process, listener.fileno())
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"{}\n{}\n")
        process.stdin.flush()
        alive, failed, *more = process.stdout.readlines()
        assert alive == b'{"event":"alive"}\n'
        assert failed.startswith(b'{"event":"failed"')
        assert more == []
        assert process.wait(A_FEW_SECONDS) == 70
    finally:
        discard(process)


def test_a_warm_process_that_is_never_wanted_leaves_when_its_starter_does() -> None:
    process = start_process(Protocol.process, "proxy 0")
    try:
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(A_FEW_SECONDS) == 0
    finally:
        discard(process)


def test_a_run_takes_warm_processes_and_every_run_has_its_own(
    warm_pool: WarmPool, started: list[subprocess.Popen[bytes]]
) -> None:
    owners = [check_samples("owner", np.arange(8) % 2, np.arange(8) / 8) for _ in range(2)]
    for role in Role:
        warm_pool.keep(Fast.process, role.title)
    for starts in (3, 6):  # the second run finds none
        report = evaluate_samples(
            owners,
            metrics=["auroc"],
            protocol="fast",
            parameters={},
            transport="tls",
            progress=no_progress,
            timeout=300.0,
            warm_pool=warm_pool,
        )
        assert report.auroc == 0.625
        assert len(started) == starts
        assert all(process.returncode is not None for process in started)


def test_an_attempt_takes_the_warm_process_and_leaves_another(
    consortium: Consortium,
    kit: NodeKit,
    router: SniRouter,
    warm_pool: WarmPool,
    started: list[subprocess.Popen[bytes]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One is not enough for two at once: the second has a process started for it."""
    monkeypatch.setattr(Fast, "process", MUTE)
    warm_pool.keep(MUTE, kit.title)
    attempts = []
    for number in (1, 2):
        plan = AttemptPlan(consortium.manifest, number, fresh_token(), AGREED)
        attempts.append(Attempt(kit, router, plan, warm_pool))
        assert len(started) == number
    for attempt in attempts:
        attempt.abort("enough")
        with pytest.raises(PartyFailedError, match=r"^enough$"):
            attempt.results()
    assert [process.returncode for process in started] == [-9, -9, None]
    assert warm_pool.take(MUTE, kit.title) is started[2]
    discard(started[2])


def test_an_attempt_whose_warm_process_has_died_starts_its_own(
    consortium: Consortium,
    kit: NodeKit,
    router: SniRouter,
    warm_pool: WarmPool,
    started: list[subprocess.Popen[bytes]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Fast, "process", MUTE)
    warm_pool.keep(MUTE, kit.title)
    started[0].kill()
    started[0].wait()
    attempt = Attempt(kit, router, AttemptPlan(consortium.manifest, 1, fresh_token(), AGREED), warm_pool)
    assert len(started) == 2
    attempt.abort("enough")
    with pytest.raises(PartyFailedError, match=r"^enough$"):
        attempt.results()


def test_a_node_has_one_warm_process_from_its_start_to_its_end(kit: NodeKit) -> None:
    before = children_of(os.getpid())
    node = Node(kit, Metrics())
    try:
        assert len(children_of(os.getpid()) - before) == 1
        assert wait_until(lambda: list(servers_of(os.getpid())) == [kit.title])  # once it has its words
        assert node.activity.attempts_of_others("") == 0
        warm = servers_of(os.getpid())[kit.title]
    finally:
        node.close()
    assert not Path(f"/proc/{warm}").exists()
