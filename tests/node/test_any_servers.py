"""Nodes of a scheme of four servers, of which the third leads, two take submissions and three get results.

All four nodes are in this process, without ports: questions are handed over, and what a server process
would compute is made up. Everything between is the real thing.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from ppaurora.channel.servers import Server
from ppaurora.errors import PeerLostError
from ppaurora.io.models import from_json, to_json
from ppaurora.messages.nodes import Answer, AnyQuestion, Outcome, Release, Verdict
from ppaurora.messages.owners import StudyState
from ppaurora.node import peers, runner
from ppaurora.node.activity import Activity
from ppaurora.node.amending import StudyAmendments
from ppaurora.node.attempt import AttemptPlan
from ppaurora.node.following import Follower
from ppaurora.node.leading import Leader
from ppaurora.node.metrics import Metrics
from ppaurora.node.runner import AttemptRunner
from ppaurora.node.states import AttemptState
from ppaurora.node.store import Store, StudyRecord, SubmissionRecord
from ppaurora.node.withdrawing import Withdrawals
from ppaurora.protocols import registry
from ppaurora.sharing.commitment import commit
from ppaurora.sharing.stages import ResultShare
from ppaurora.study.kit import NodeKit
from ppaurora.study.manifest import Manifest
from ppaurora.study.provision import provision
from ppaurora.testing.consortium import POLICY
from tests.support.four_servers import FourServers
from tests.support.trials import becomes

OWNERS = ("north", "harbour")
PART = ResultShare(np.zeros((2, 2), dtype=np.uint64))


class Four(Server):
    FIRST = 0
    SECOND = 1
    THIRD = 2
    FOURTH = 3


class MadeUp(FourServers):
    """The scheme of the tests, with other servers for every task."""

    name = "made-up"
    servers = Four  # type: ignore[assignment]
    leader = Four.THIRD  # type: ignore[assignment]
    input_servers = (Four.FIRST, Four.THIRD)  # type: ignore[assignment]
    result_servers = (Four.FIRST, Four.THIRD, Four.FOURTH)  # type: ignore[assignment]


class FakeAttempt:
    """Ends as it is told to."""

    ends: Callable[[Server, int], bool]  # of a server and an attempt's number: does it compute its part?

    def __init__(self, kit: NodeKit, router: object, plan: AttemptPlan, warm_pool: object) -> None:
        self.number = plan.number
        self.progress = ""
        self.cost: dict[str, object] = {}
        self._server = kit.server(plan.manifest)
        self.shares = plan.shares
        assert len(plan.shares) == (len(OWNERS) if self._server in MadeUp.input_servers else 0)

    def results(self) -> tuple[ResultShare, ...]:
        if not type(self).ends(self._server, self.number):
            raise PeerLostError("somebody", "is gone")
        return (PART,) * len(OWNERS) if self._server in MadeUp.result_servers else ()

    def abort(self, reason: str) -> None:
        pass


class FourNodes:
    def __init__(self, folder: Path) -> None:
        (folder / "study.toml").write_text(_plan())
        self.manifest: Manifest = provision(folder / "study.toml", folder / "kits")
        self.stores: dict[Server, Store] = {}
        self.followers: dict[Server, Follower] = {}
        self.down: set[Server] = set()
        self.query: list[tuple[Server, AnyQuestion]] = []
        for server in Four:
            kit = NodeKit.read(folder / "kits" / server.file_name)
            kit.check_own(self.manifest)
            store = self.stores[server] = Store(kit.data)
            store.accept(self.manifest)
            activity = Activity()
            parts = AttemptRunner(kit, store, None, activity, Metrics())  # type: ignore[arg-type]
            amendments = StudyAmendments(kit, store, activity)
            self.followers[server] = Follower(kit, store, activity, parts, amendments)
            if server is MadeUp.leader:
                withdrawals = Withdrawals(kit, store, activity)
                self.leader = Leader(kit, store, activity, parts, withdrawals, amendments)

    def ask(
        self, kit: NodeKit, manifest: Manifest, peer: Server, question: AnyQuestion, seconds: float
    ) -> Answer:
        """As over the wire, but without one."""
        if peer in self.down:
            raise PeerLostError(peer.title, "cannot be reached")
        self.query.append((peer, question))
        read: AnyQuestion = from_json(AnyQuestion, to_json(question))
        return from_json(Answer, to_json(self.followers[peer].answer(kit.pin, read)))

    def submit(self) -> None:
        for server in MadeUp.input_servers:
            store = self.stores[server]
            for owner in OWNERS:
                (store.shares / owner).write_bytes(b"share")
                commitments = (commit(b"", b"share"),) * len(MadeUp.input_servers)
                kept = SubmissionRecord(owner, 5, commitments, time.time(), owner)
                store.submit(self.manifest.hash, kept)

    def study(self, server: Server) -> StudyRecord:
        found = self.stores[server].study(self.manifest.hash)
        assert found is not None
        return found

    def states(self) -> list[StudyState]:
        return [self.study(server).state for server in Four]

    def watch(self, until: Callable[[], bool]) -> bool:
        """As the watcher does."""

        def look() -> bool:
            self.leader.consider(self.study(MadeUp.leader))
            self.leader.give_turns()
            return until()

        return becomes(look)

    def close(self) -> None:
        self.leader.close()
        for store in self.stores.values():
            store.close()


def _plan() -> str:
    lines = ['name = "four"', 'metrics = ["auroc"]', "[protocol]", 'name = "made-up"']
    for server in Four:
        lines += [f"[nodes.{server.file_name}]", f'nodes_address = "127.0.0.1:{4000 + server}"']
        if server in {*MadeUp.input_servers, *MadeUp.result_servers}:
            lines.append(f'owners_address = "127.0.0.1:{5000 + server}"')
    lines += [f"[owners.{owner}]" for owner in OWNERS]
    return "\n".join([*lines, "[limits]", "attempts = 2"]) + "\n" + POLICY


@pytest.fixture
def nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FourNodes]:
    monkeypatch.setitem(registry._PROTOCOLS, MadeUp.name, MadeUp)
    monkeypatch.setattr(runner, "Attempt", FakeAttempt)
    monkeypatch.setattr(FakeAttempt, "ends", staticmethod(lambda server, number: True), raising=False)
    nodes = FourNodes(tmp_path)
    monkeypatch.setattr(peers, "ask", nodes.ask)
    yield nodes
    nodes.close()


def test_the_protocols_leader_leads_and_all_release(nodes: FourNodes) -> None:
    """It asks every server that gets a part, and nobody else, what came of the attempt."""
    nodes.leader.consider(nodes.study(MadeUp.leader))  # too early
    nodes.submit()
    assert nodes.watch(lambda: nodes.states() == [StudyState.RELEASED] * 4)
    assert nodes.watch(lambda: nodes.study(MadeUp.leader).told_peers)
    assert {peer for peer, _ in nodes.query} == {Four.FIRST, Four.SECOND, Four.FOURTH}
    asked_for_outcome = {peer for peer, question in nodes.query if isinstance(question, Outcome)}
    assert asked_for_outcome == {Four.FIRST, Four.FOURTH}
    for server in Four:
        store = nodes.stores[server]
        parts = [store.result(nodes.manifest.hash, owner) for owner in OWNERS]
        assert all(part is not None for part in parts) == (server in MadeUp.result_servers)
        assert list(store.shares.iterdir()) == []


def test_a_leader_that_gets_no_part_releases_nevertheless(
    nodes: FourNodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MadeUp, "result_servers", (Four.FIRST, Four.FOURTH))
    nodes.submit()
    assert nodes.watch(lambda: nodes.states() == [StudyState.RELEASED] * 4)
    assert nodes.stores[MadeUp.leader].result(nodes.manifest.hash, OWNERS[0]) is None


def test_nothing_is_released_while_one_part_is_missing(
    nodes: FourNodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fourth server fails its first attempt, although all others have computed theirs."""
    monkeypatch.setattr(
        FakeAttempt, "ends", staticmethod(lambda server, number: (server, number) != (Four.FOURTH, 1))
    )
    nodes.submit()
    assert nodes.watch(lambda: nodes.states() == [StudyState.RELEASED] * 4)
    leader = nodes.stores[MadeUp.leader]
    assert leader.attempt_state(nodes.manifest.hash, 1) is AttemptState.FAILED
    assert leader.attempt_state(nodes.manifest.hash, 2) is AttemptState.RELEASED


def test_the_leader_waits_without_attempts_for_one_that_has_stopped(
    nodes: FourNodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each node counts for itself. When all have stopped, each needs its own operator's retry."""
    study = nodes.manifest.hash
    monkeypatch.setattr(FakeAttempt, "ends", staticmethod(lambda server, number: server is not Four.FIRST))
    nodes.submit()
    assert nodes.watch(lambda: nodes.states() == [StudyState.STOPPED] * 4)
    assert nodes.study(MadeUp.leader).note == (
        "2 attempts failed; the last one: first did not finish its part; once the cause is fixed, the "
        "operator of every node at which it has stopped runs 'ppaurora retry'"
    )
    monkeypatch.setattr(FakeAttempt, "ends", staticmethod(lambda server, number: True))
    for server in (MadeUp.leader, Four.FIRST, Four.SECOND):
        nodes.stores[server].retry(study)
    waits = "fourth has stopped this study; its operator must run 'ppaurora retry'"
    assert nodes.watch(lambda: nodes.study(MadeUp.leader).note.startswith(waits))
    assert nodes.stores[MadeUp.leader].last_attempt(study) == 2
    nodes.stores[Four.FOURTH].retry(study)
    assert nodes.watch(lambda: nodes.states() == [StudyState.RELEASED] * 4)


def test_a_server_that_is_down_holds_up_the_release_at_itself_only(nodes: FourNodes) -> None:
    """It is told when it is back."""
    nodes.submit()
    real = nodes.followers[Four.SECOND].answer

    def gone_after_begin(pin: str, question: AnyQuestion) -> Answer:
        answer = real(pin, question)
        if answer.answer == "begun":
            nodes.down.add(Four.SECOND)
        return answer

    nodes.followers[Four.SECOND].answer = gone_after_begin  # type: ignore[method-assign]
    states = [StudyState.RELEASED, StudyState.RUNNING, StudyState.RELEASED, StudyState.RELEASED]
    assert nodes.watch(lambda: nodes.states() == states)
    assert not nodes.study(MadeUp.leader).told_peers
    nodes.down.clear()
    assert nodes.watch(lambda: nodes.states() == [StudyState.RELEASED] * 4)


def answering(nodes: FourNodes, server: Server, said: Answer) -> None:
    """From now on this server says the same to every question."""
    nodes.followers[server].answer = lambda pin, question: said  # type: ignore[method-assign]


def test_a_number_of_attempts_that_is_made_up_is_not_believed(nodes: FourNodes) -> None:
    """Else one lie would use up the numbers, and no later attempt of this study could begin."""
    real = nodes.followers[Four.FIRST].answer
    answering(nodes, Four.FIRST, Answer(answer=Verdict.READY, last=999_999_999))
    nodes.submit()
    assert nodes.watch(lambda: "attempt 999,999,999" in nodes.study(MadeUp.leader).note)
    assert nodes.stores[MadeUp.leader].last_attempt(nodes.manifest.hash) == 0
    nodes.followers[Four.FIRST].answer = real  # type: ignore[method-assign]
    assert nodes.watch(lambda: nodes.states() == [StudyState.RELEASED] * 4)


@pytest.mark.parametrize("verdict", sorted(set(Verdict) - {Verdict.READY}), ids=lambda verdict: verdict.value)
def test_nothing_begins_before_every_server_is_ready(nodes: FourNodes, verdict: Verdict) -> None:
    """Whatever else one of them says: the study waits, or stops for people to look if it does not agree."""
    answering(nodes, Four.FOURTH, Answer(answer=verdict, note="a note"))
    nodes.submit()
    assert nodes.watch(lambda: "fourth" in nodes.study(MadeUp.leader).note)
    assert "a note" in nodes.study(MadeUp.leader).note
    stops = verdict in (Verdict.MISMATCH, Verdict.CLOSED)
    assert nodes.study(MadeUp.leader).state is (StudyState.STOPPED if stops else StudyState.RUNNING)
    for server in Four:
        assert nodes.stores[server].last_attempt(nodes.manifest.hash) == 0


@pytest.mark.parametrize("stopped", [False, True], ids=["collecting", "stopped"])
def test_a_server_without_a_part_gives_up_no_shares_before_the_release(
    nodes: FourNodes, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, stopped: bool
) -> None:
    """A release of what it took no part in ends nothing there, whatever the leader says."""
    monkeypatch.setattr(MadeUp, "result_servers", (Four.THIRD, Four.FOURTH))
    nodes.submit()
    store, pin = nodes.stores[Four.FIRST], nodes.manifest.node(Four.THIRD).pin
    if stopped:
        store.set_state(nodes.manifest.hash, StudyState.STOPPED, "a person must look")
    before = nodes.study(Four.FIRST)
    with caplog.at_level(logging.INFO):
        nodes.followers[Four.FIRST].answer(pin, Release(study=nodes.manifest.hash, attempt=1, statements=()))
    assert nodes.study(Four.FIRST) == before
    assert sorted(path.stem for path in store.shares.iterdir()) == sorted(2 * OWNERS)  # with descriptions
    assert "result released" not in caplog.text
