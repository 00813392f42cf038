"""Nodes as processes, from kits to a released result."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import ppaurora
from ppaurora.node.states import AttemptState
from ppaurora.node.store import Store
from ppaurora.study.kit import NodeKit
from ppaurora.testing.consortium import NODES, PROTOCOL, Consortium
from tests.node_new.owners import Owner, Refused, becomes, samples

OWNERS = ("north", "harbour", "valley")
DATA = {owner: samples(owner, 60 + 40 * place, place) for place, owner in enumerate(OWNERS)}
LEADER = PROTOCOL.leader
FOLLOWER = next(server for server in PROTOCOL.result_servers if server is not LEADER)


@pytest.fixture
def consortium(tmp_path: Path) -> Iterator[Consortium]:
    consortium = Consortium(tmp_path, OWNERS, silence=2.0)
    consortium.accept()
    consortium.start()
    yield consortium
    consortium.stop()


def owners_of(consortium: Consortium, study: str | None = None, attempts: int = 100) -> dict[str, Owner]:
    """Of the first study, or of a new one."""
    manifest = consortium.manifest
    if study is not None:
        folder = consortium.folder
        manifest = consortium.provision(study, folder / study, folder / "kits", attempts)
        consortium.accept(manifest)
    return {name: Owner(consortium, name, manifest) for name in OWNERS}


def pooled() -> dict[str, float]:
    """By `evaluate`, which has its own tests against exact fractions."""
    pairs = [(data.labels, data.scores) for data in DATA.values()]
    return ppaurora.evaluate(pairs, metrics=["auroc", "aupr", "ap"]).metrics


def children(pid: int) -> list[int]:
    found: list[int] = []
    for listing in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += [int(child) for child in listing.read_text().split()]
    return found


@contextlib.contextmanager
def broken_processes(consortium: Consortium, name: str) -> Iterator[None]:
    """Whatever process the node starts meanwhile is killed at once; the node itself lives."""
    mended = threading.Event()

    def break_them() -> None:
        while not mended.wait(0.02):
            for child in children(consortium.processes[name].pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, 9)

    thread = threading.Thread(target=break_them, daemon=True)
    thread.start()
    try:
        yield
    finally:
        mended.set()
        thread.join()


@contextlib.contextmanager
def store_of(consortium: Consortium, name: str) -> Iterator[Store]:
    with Store(NodeKit.read(consortium.kit(name)).data) as store:
        yield store


def test_a_study_from_uploads_to_its_release(consortium: Consortium) -> None:
    """Every owner gets the pooled result; no share and no process is left, sessions are logged."""
    owners = owners_of(consortium)
    with pytest.raises(Refused, match="404 not-released"):
        owners["north"].release(LEADER)
    for name, owner in owners.items():
        acknowledged = owner.submit(DATA[name])
        assert [one.server for one in acknowledged] == [server.title for server in PROTOCOL.input_servers]
    for owner in owners.values():
        assert owner.result() == pytest.approx(pooled(), abs=1e-12)
    part = owners["north"].release(LEADER)
    assert [(one.owner, one.samples) for one in part.submissions] == [
        (name, len(data)) for name, data in DATA.items()
    ]
    for server in PROTOCOL.input_servers:
        assert list((consortium.kit(server.file_name) / "data/shares").iterdir()) == []
    for name in NODES:
        opened = [event for event in consortium.events(name) if event["event"] == "session opened"]
        assert [(event["study"], event["attempt"]) for event in opened] == [("trial", 1)]
        assert becomes(lambda name=name: children(consortium.processes[name].pid) == [])  # type: ignore[misc]
        assert 'ppaurora_studies{state="released"} 1.0' in consortium.get(name, "/metrics")
        assert "ppaurora_attempts_running 0.0" in consortium.get(name, "/metrics")
    assert consortium.stop() == dict.fromkeys(NODES, 0)


def test_a_study_that_keeps_failing_goes_on_when_every_operator_has_looked(consortium: Consortium) -> None:
    """The leader stops and tells the others. Its retry alone begins nothing, and uses up no attempt."""
    owners = owners_of(consortium, "few", attempts=2)
    study = owners["north"].manifest.hash
    with broken_processes(consortium, NODES[-1]):
        for name, owner in owners.items():
            owner.submit(DATA[name])
        assert becomes(
            lambda: all(owners["north"].status(server).state == "stopped" for server in (LEADER, FOLLOWER)),
            60,
        )
    assert "2 attempts failed" in owners["north"].status(LEADER).note
    with store_of(consortium, LEADER.file_name) as store:
        store.retry(study)
        attempts = store.last_attempt(study)
    waits = f"{FOLLOWER.title} has stopped this study; its operator must run 'ppaurora retry'"
    assert becomes(lambda: owners["north"].status(LEADER).note.startswith(waits))
    time.sleep(1.5)
    status = owners["north"].status(LEADER)
    assert (status.state, status.attempt) == ("running", attempts)
    for name in NODES:
        if name != LEADER.file_name:
            with store_of(consortium, name) as store:
                store.retry(study)
    assert owners["north"].result() == pytest.approx(pooled(), abs=1e-12)


def test_a_follower_that_was_down_and_a_leader_that_was_killed_cost_no_result(consortium: Consortium) -> None:
    owners = owners_of(consortium)
    consortium.kill(NODES[-1])
    for name, owner in owners.items():
        owner.submit(DATA[name])
    assert becomes(lambda: "cannot be reached" in owners["north"].status(LEADER).note)
    consortium.kill(LEADER.file_name)
    consortium.start(NODES[-1])
    consortium.start(LEADER.file_name)
    assert owners["valley"].result() == pytest.approx(pooled(), abs=1e-12)


def test_a_node_that_cannot_write_for_a_while_is_no_reason_to_wait_for_ever(consortium: Consortium) -> None:
    """It can note neither its result nor its failure; when it can write again, the study goes on."""
    owners = owners_of(consortium)
    study = consortium.manifest.hash
    database = sqlite3.connect(consortium.database(FOLLOWER.file_name), timeout=10, isolation_level=None)
    with contextlib.closing(database):
        for number, event in enumerate(("INSERT ON results", "UPDATE ON attempts")):
            database.execute(
                f"CREATE TRIGGER full_{number} BEFORE {event} BEGIN SELECT RAISE(ABORT, 'disk is full'); END"
            )
        for name, owner in owners.items():
            owner.submit(DATA[name])
        with store_of(consortium, LEADER.file_name) as store:
            assert becomes(lambda: store.attempt_state(study, 1) is AttemptState.COMPUTED)
        for number in range(2):
            database.execute(f"DROP TRIGGER full_{number}")
    assert owners["north"].result() == pytest.approx(pooled(), abs=1e-12)
    assert owners["north"].release(LEADER).attempt > 1
