"""Nodes that do not answer: what waits for them, what does not, and who is told."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from ppaurora.channel.servers import Server
from ppaurora.channel.tls import HungUpError
from ppaurora.errors import PeerLostError
from ppaurora.messages.nodes import Answer, Hello, Verdict
from ppaurora.messages.owners import StudyState
from ppaurora.node import activity, health, leading, peer_records, peers, runner, withdrawing
from ppaurora.node.attempt import AttemptPlan, BlamelessError
from ppaurora.node.health import Health
from ppaurora.node.leading import Leader
from ppaurora.node.node import Node
from ppaurora.node.peer_records import PeerRecords
from ppaurora.node.peers import NotAskedError, Peers, Silence
from ppaurora.node.status import study_status
from ppaurora.node.store import Store, StudyRecord
from ppaurora.node.turns import MOST, NoSlotError, Step, Turns
from ppaurora.sharing.stages import ResultShare
from ppaurora.study.kit import NodeKit
from ppaurora.study.manifest import Manifest
from tests.support.deployment import free_ports
from tests.support.quick_attempts import QuickAttempt, state, submitted
from tests.support.silent import SilentAddresses
from tests.support.trials import HELPER, PAIR, PROXY_1, StartKit, Trials, becomes

StartNodes = Callable[..., list[Node]]

FOR_EVER = 3600.0  # longer than any test
HUNG = 12


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is asked has for ever to answer, so no test depends on when a question is given up."""
    for module in (leading, peer_records, withdrawing):
        monkeypatch.setattr(module, "_SECONDS_TO_ANSWER", FOR_EVER)
    monkeypatch.setattr(runner, "Attempt", QuickAttempt)


@pytest.fixture
def trials(tmp_path: Path) -> Trials:
    return Trials(tmp_path, PAIR)


@pytest.fixture
def silent(start: StartKit) -> Iterator[SilentAddresses]:
    """Closed before the nodes are, which wait for their questions to end."""
    with SilentAddresses(HUNG) as silent:
        yield silent


@pytest.fixture
def started(trials: Trials, start: StartKit, monkeypatch: pytest.MonkeyPatch) -> StartNodes:
    """Starts the leader after others, which greet nobody: connections that are counted are the leader's."""

    def start_all(*others: str) -> list[Node]:
        with monkeypatch.context() as quiet:
            quiet.setattr(PeerRecords, "start", lambda _: None)
            nodes = [start(trials, name) for name in others]
        return [*nodes, start(trials, "proxy-0")]

    return start_all


def holds_slots_while_asking(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a study took a slot before it asks, and nobody kept in mind who is silent."""
    begin = Turns.begin

    def take_slot(self: Turns, step: Step, *, answered: bool) -> bool:
        return len(self._turns) < self._slots and begin(self, step, answered=answered)

    monkeypatch.setattr(Turns, "begin", take_slot)
    monkeypatch.setattr(Peers, "_may_be_asked", lambda *_: True)


@pytest.mark.parametrize("addresses", [1, HUNG], ids=["one address", "an address each"])
def test_a_study_does_not_wait_for_the_nodes_of_others(
    trials: Trials, started: StartNodes, silent: SilentAddresses, addresses: int
) -> None:
    """It is released while none of the others was answered; of those, one at a time asks at an address."""
    ports = silent.ports[:addresses] * (HUNG // addresses)
    hung = [submitted(trials, f"hung-{place}", port=port) for place, port in enumerate(ports)]
    healthy = submitted(trials, "healthy")
    _, _, leader = started("helper", "proxy-1")
    assert becomes(lambda: silent.connections == addresses)
    assert becomes(lambda: state(leader, healthy) is StudyState.RELEASED)
    assert {state(leader, study) for study in hung} <= {StudyState.COLLECTING, StudyState.RUNNING}
    assert (silent.connections, silent.most_at_once) == (addresses, 1)
    # Later ones go through as well, and nobody asks a second time.
    later = [submitted(trials, f"later-{number}") for number in range(3)]
    assert becomes(lambda: {state(leader, study) for study in later} == {StudyState.RELEASED})
    assert silent.connections == addresses


def test_slots_held_while_asking_would_be_noticed(
    trials: Trials, started: StartNodes, silent: SilentAddresses, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: both slots are with studies that wait, and the healthy one gets none."""
    holds_slots_while_asking(monkeypatch)
    for place in range(HUNG):
        submitted(trials, f"hung-{place}", port=silent.ports[0])
    healthy = submitted(trials, "healthy")
    _, _, leader = started("helper", "proxy-1")
    assert becomes(lambda: silent.most_at_once >= leader.kit.settings.jobs)
    assert not becomes(lambda: state(leader, healthy) is StudyState.RELEASED, seconds=5)


def test_a_study_that_is_deleted_waits_for_nobody_any_longer(trials: Trials, started: StartNodes) -> None:
    study = submitted(trials, "deleted")
    _, leader = started("proxy-1")
    known = leader.activity.peers.silences
    assert becomes(lambda: [len(silence.studies) for silence in known()] == [1])
    with trials.store("proxy-0") as store:
        store.delete(study.hash, "over")
    assert becomes(lambda: not known())


def test_a_node_that_was_not_even_asked_to_begin_costs_no_attempt(
    trials: Trials, started: StartNodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is found silent by another study after it has said that it is ready."""
    study, try_it = submitted(trials, "not-asked"), Leader._try
    aborted: list[tuple[str, bool]] = []

    def fall_silent(self: Leader, record: StudyRecord, plan: AttemptPlan) -> None:
        if not aborted:
            known = self._activity.peers
            known._miss(known._node(record, HELPER), "another", time.monotonic(), "cannot be reached")
        try_it(self, record, plan)

    def abort(self: QuickAttempt, reason: str, *, blameless: bool = False) -> None:
        aborted.append((reason, blameless))
        monkeypatch.setattr(self, "results", lambda: raise_(BlamelessError(reason)))

    monkeypatch.setattr(Leader, "_try", fall_silent)
    monkeypatch.setattr(QuickAttempt, "abort", abort)
    _, _, leader = started("helper", "proxy-1")
    assert becomes(lambda: state(leader, study) is StudyState.RELEASED)
    assert aborted[0] == ("helper cannot be reached", True)
    record = leader.store.study(study.hash)
    assert record is not None
    assert record.failures == 0


def raise_(error: Exception) -> tuple[ResultShare, ...]:
    raise error


def test_all_studies_go_on_when_a_silent_node_is_heard_from(
    trials: Trials, start: StartKit, started: StartNodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was down, and would be asked again much later; its own greeting when it starts ends that for all."""
    for module in (peers, activity):
        monkeypatch.setattr(module, "next_pause", lambda before: FOR_EVER)
    studies = [submitted(trials, f"study-{number}") for number in range(4)]
    _, leader = started("proxy-1")
    known = leader.activity.peers.silences
    assert becomes(lambda: [len(silence.studies) for silence in known()] == [4])
    start(trials, "helper")
    assert becomes(lambda: {state(leader, study) for study in studies} == {StudyState.RELEASED})
    assert becomes(lambda: not known())


def test_operators_and_owners_are_told_of_a_silent_node(
    trials: Trials, started: StartNodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One study has asked in vain; all that wait are counted, and say why."""
    monkeypatch.setattr(health, "_LONGEST_SILENCE", -1.0)  # at once
    (nobody,) = free_ports(1)
    studies = [submitted(trials, f"study-{number}", port=nobody) for number in range(3)]
    _, leader = started("proxy-1")
    assert becomes(lambda: b'ppaurora_waiting_studies{reason="node-silent"} 3.0\n' in leader.metrics.text())
    assert b"ppaurora_silent_peers 1.0\n" in leader.metrics.text()
    found = [one for one in leader.activity.health.findings if one.name == "other nodes"]
    assert [one.ok for one in found] == [True]
    assert found[0].detail.startswith(f"helper at 127.0.0.1:{nobody} has not answered for ")
    assert found[0].detail.endswith("; 3 studies wait for it")
    for study in leader.store.studies():
        if study.manifest.study != "trial":
            silence = leader.activity.peers.reason(study.hash)
            note = study_status(leader.kit, leader.store, study, silence=silence).note
            assert note.startswith(f"helper cannot be reached at 127.0.0.1:{nobody}: ")
    for manifest in studies:
        leader.store.stop(manifest.hash, "this node's operator stopped the study")
    assert becomes(lambda: b'ppaurora_waiting_studies{reason="node-silent"} 0.0\n' in leader.metrics.text())


def test_a_withdrawal_does_not_wait_for_the_nodes_of_other_studies(
    trials: Trials, started: StartNodes, silent: SilentAddresses
) -> None:
    """Proxy 1 of one study is silent; that of the other hears of its withdrawal."""
    manifests = [submitted(trials, "hung", "proxy-1", silent.ports[0]), submitted(trials, "well")]
    for manifest in manifests:
        with trials.store("proxy-0") as store:
            store.withdraw(manifest.hash, "north", 2)
    proxy_1, leader = started("proxy-1")
    hung, well = [_study(leader, manifest) for manifest in manifests]
    assert becomes(lambda: silent.connections == 1)
    assert becomes(lambda: not leader.store.withdrawals_to_tell(well))
    heard = proxy_1.store.latest_revision(well.hash, "north")
    assert heard is not None
    assert heard.withdrawn
    assert leader.store.withdrawals_to_tell(hung)
    assert silent.connections == 1


def test_greetings_do_not_wait_for_the_nodes_of_other_studies(
    trials: Trials, started: StartNodes, silent: SilentAddresses
) -> None:
    manifests = [trials.study("hung", ports={str(trials.addresses["helper"][1]): silent.ports[0]})]
    manifests.append(trials.study("well"))
    _, _, proxy_0 = started("helper", "proxy-1")
    greeted = proxy_0.peer_records._due
    assert becomes(lambda: {(manifests[1].hash, PROXY_1), (manifests[1].hash, HELPER)} <= greeted.keys())
    assert (manifests[0].hash, HELPER) not in greeted
    assert becomes(lambda: silent.connections == 1)


def _study(node: Node, manifest: Manifest) -> StudyRecord:
    found = node.store.study(manifest.hash)
    assert found is not None
    return found


class Clock:
    """Time that passes when a test says so."""

    now = 1000.0

    def monotonic(self) -> float:
        return self.now


class Asked:
    """Other nodes as one study or another asks them, on a clock of its own."""

    def __init__(self, study: StudyRecord, monkeypatch: pytest.MonkeyPatch) -> None:
        self.clock = Clock()
        self.went_on: list[set[str]] = []
        self.peers = Peers(lambda studies: self.went_on.append(set(studies)))
        self._study = study
        self.asked: list[str] = []
        self.outcome: Callable[[], Answer] = lambda: Answer(answer=Verdict.READY)
        monkeypatch.setattr(peers, "time", self.clock)
        monkeypatch.setattr(peers, "ask", lambda *_: self.outcome())

    def study(self, name: str) -> StudyRecord:
        return replace(self._study, hash=name)

    def ask(self, name: str, peer: Server = HELPER) -> Answer:
        self.asked.append(name)
        study = self.study(name)
        return self.peers.ask(cast(NodeKit, None), study, peer, Hello(study=name), 1.0)

    def claims(self, name: str, *asked: Server) -> bool:
        return self.peers.claim(self.study(name), asked or (HELPER,))

    def lose(self) -> Answer:
        raise PeerLostError("helper", "cannot be reached")

    def break_off(self) -> Answer:
        raise HungUpError("helper", "broke off the connection")


@pytest.fixture
def asked(store: Store, monkeypatch: pytest.MonkeyPatch) -> Asked:
    (study,) = store.studies()
    return Asked(study, monkeypatch)


def test_a_silent_node_is_asked_by_one_study_at_a_time_and_more_and_more_rarely(asked: Asked) -> None:
    asked.outcome = asked.lose
    pauses = []
    for number in range(10):
        assert asked.claims(f"probe-{number}")
        assert not asked.claims("another")  # it is asked for the first just now
        with pytest.raises(PeerLostError):
            asked.ask(f"probe-{number}")
        asked.peers.give_up_claims(f"probe-{number}")
        start = asked.clock.now
        while not asked.claims("looks"):
            asked.clock.now += 0.25
        asked.peers.give_up_claims("looks")
        pauses.append(asked.clock.now - start)
    assert pauses == [0.5, 1, 2, 4, 8, 16, 32, 60, 60, 60]
    (silence,) = asked.peers.silences()
    assert silence.studies == {*(f"probe-{number}" for number in range(10)), "another", "looks"}
    assert silence.seconds == sum(pauses)
    with pytest.raises(PeerLostError):
        asked.ask("probe-0")
    with pytest.raises(NotAskedError, match="helper cannot be reached"):
        asked.ask("probe-1")
    assert asked.went_on == []


def test_an_answer_ends_the_silence_for_all(asked: Asked) -> None:
    asked.outcome = asked.lose
    with pytest.raises(PeerLostError):
        asked.ask("one")
    assert not asked.claims("two")
    assert not asked.claims("two", PROXY_1, HELPER)
    assert asked.claims("three", PROXY_1)  # another node
    asked.clock.now += 1
    asked.outcome = lambda: Answer(answer=Verdict.READY)
    asked.ask("two")
    assert asked.went_on == [{"one", "two"}]
    assert asked.claims("one")
    assert asked.claims("two")
    assert asked.peers.silences() == []


def test_a_question_from_a_silent_node_ends_the_pause_for_one_of_them(asked: Asked) -> None:
    """What it asks does not show that it can be reached: one study finds out for all."""
    asked.outcome = asked.lose
    with pytest.raises(PeerLostError):
        asked.ask("one")
    assert not asked.claims("two")
    asked.peers.heard_from(asked.study("one"), HELPER)
    assert asked.went_on == [{"one", "two"}]
    assert asked.claims("two")
    assert not asked.claims("one")


def test_a_broken_connection_is_no_silence(asked: Asked) -> None:
    """The node's operator may not have accepted that study; others are answered."""
    asked.outcome = asked.break_off
    with pytest.raises(HungUpError):
        asked.ask("not accepted there")
    assert asked.claims("another")
    assert asked.peers.silences() == []


def test_a_question_that_was_asked_before_the_last_answer_tells_nothing(asked: Asked) -> None:
    def lose_after_an_answer() -> Answer:
        asked.clock.now += 1
        asked.outcome = lambda: Answer(answer=Verdict.READY)
        asked.ask("two")
        raise PeerLostError("helper", "cannot be reached")

    asked.ask("one")
    asked.outcome = lose_after_an_answer
    with pytest.raises(PeerLostError):
        asked.ask("one")
    assert asked.peers.silences() == []
    assert asked.claims("one")


def test_whoever_is_late_with_an_answer_is_asked_by_no_other_study_meanwhile(asked: Asked) -> None:
    seen = []

    def look() -> Answer:
        seen.append((asked.peers.is_late("one"), asked.claims("two")))
        asked.clock.now += 5
        seen.append((asked.peers.is_late("one"), asked.claims("two")))
        return Answer(answer=Verdict.READY)

    asked.ask("one")
    asked.outcome = look
    asked.ask("one")
    assert seen == [(False, True), (True, False)]
    assert asked.claims("two")
    assert asked.went_on == [{"two"}]


class TestTurns:
    """Who goes first."""

    @pytest.fixture
    def late(self) -> set[str]:
        return set()

    @pytest.fixture
    def turns(self, late: set[str]) -> Turns:
        return Turns(2, late.__contains__)

    @pytest.fixture
    def steps(self, store: Store) -> list[Step]:
        (study,) = store.studies()
        return [Step(replace(study, hash=name), print, (), computes=True) for name in "abcdef"]

    def line(self, turns: Turns) -> str:
        return "".join(step.study.hash for step in turns.line())

    def begun(self, turns: Turns) -> str:
        return "".join(step.study.hash for step in turns.line() if turns.begin(step, answered=True))

    def test_the_one_that_has_waited_longest_goes_first(self, turns: Turns, steps: list[Step]) -> None:
        order = ""
        for _ in range(9):
            for step in steps:
                turns.wait(step)
            begun = self.begun(turns)
            order += begun
            for name in begun:
                turns.end(name)
        assert order == "abcdef" * 3

    def test_as_many_ask_for_a_slot_as_are_free(
        self, turns: Turns, steps: list[Step], late: set[str]
    ) -> None:
        for step in steps:
            turns.wait(step)
        with turns.slot("another"):
            assert self.begun(turns) == "a"
            late.add("a")  # it is not answered: the next one asks as well
            assert self.begun(turns) == "b"
            with turns.slot("b"), pytest.raises(NoSlotError), turns.slot("a"):
                pass
            turns.end("a", keeps_place=True)
            turns.end("b")
        assert self.line(turns) == "acdef"

    def test_what_needs_no_slot_waits_for_none(self, turns: Turns, steps: list[Step]) -> None:
        with turns.slot("one"), turns.slot("two"):
            assert not turns.begin(steps[0], answered=True)
            assert turns.begin(replace(steps[0], computes=False), answered=True)

    def test_room_is_kept_for_those_who_are_answered(self, late: set[str], steps: list[Step]) -> None:
        turns, number = Turns(2, late.__contains__), 0
        step = replace(steps[0], computes=False)
        while turns.begin(replace(step, study=replace(step.study, hash=str(number))), answered=False):
            number += 1
        assert 200 < number < MOST
        assert turns.begin(step, answered=True)


def test_few_nodes_are_named_and_those_that_are_silent_only_for_a_moment_not_at_all() -> None:
    health = Health()
    studies = frozenset({"one"})
    health.silences = [Silence("helper", f"h-{number}:8445", 600 - number, studies) for number in range(12)]
    health.silences.append(Silence("helper", "h:8445", 5.0, studies))
    said = [finding.detail for finding in health.findings]
    assert said[0] == "helper at h-0:8445 has not answered for 10 minutes; 1 study waits for it"
    assert said[-1] == "2 more nodes do not answer"
    assert len(said) == 11
