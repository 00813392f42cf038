"""A node that follows trusts no leader with its own limits."""

from __future__ import annotations

import secrets
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ppaurora.channel.servers import Server
from ppaurora.messages.nodes import Answer, Begin, Hello, Outcome, Ready, Release, Stop, Verdict
from ppaurora.messages.owners import StudyState, Submitted
from ppaurora.node import following
from ppaurora.node.attempt import Attempt
from ppaurora.node.node import Node
from ppaurora.node.questions import ask
from ppaurora.node.states import AttemptState
from ppaurora.node.store import Store, SubmissionRecord
from ppaurora.sharing.commitment import SALT_BYTES, commit
from ppaurora.sharing.stages import ResultShare
from ppaurora.study.kit import NodeKit
from ppaurora.testing.consortium import PROTOCOL, Consortium
from tests.support.trials import PAIR, RunCommand, StartKit, becomes, part

LEADER = PROTOCOL.leader
FOLLOWERS = LEADER.peers
SHARE = bytes(PROTOCOL.share_bytes(LEADER, 5, PROTOCOL.shape(0)))
SALT = bytes(SALT_BYTES)
COMMITMENT = commit(SALT, SHARE)
AGREED = tuple(Submitted(owner=name, samples=5, commitments=(COMMITMENT, COMMITMENT)) for name in PAIR)


class Led:
    """A node of this process, questioned with the leader's key; the leader itself does not run."""

    def __init__(self, folder: Path, start: StartKit, server: Server, attempts: int = 2) -> None:
        self.consortium = Consortium(folder / "nodes", PAIR, silence=0.3)
        kits = folder / "nodes" / "kits"
        self.manifest = self.consortium.provision("led", folder / "nodes" / "led", kits, attempts)
        self.server = server
        self.number = 0
        self._start = start
        with self.store() as store:
            store.accept(self.manifest)
            if server in self.manifest.protocol.input_servers:
                for submitted in AGREED:
                    (store.shares / submitted.owner).write_bytes(SALT + SHARE)
                    kept = SubmissionRecord(
                        submitted.owner,
                        submitted.samples,
                        submitted.commitments,
                        time.time(),
                        submitted.owner,
                    )
                    store.submit(self.manifest.hash, kept)
        self.node = self.start()

    def start(self) -> Node:
        self.node = self._start(self.consortium, self.server.file_name)
        assert becomes(lambda: self.manifest.hash in self.node.watcher.accepted)
        return self.node

    def store(self) -> Store:
        return Store(NodeKit.read(self.consortium.kit(self.server.file_name)).data)

    def ask(self, question: Ready | Begin | Outcome | Stop | Release | Hello) -> Answer:
        leader = NodeKit.read(self.consortium.kit(LEADER.file_name))
        return ask(leader, self.manifest, self.server, question, 60)

    def ready(self) -> Answer:
        return self.ask(Ready(study=self.manifest.hash, agreed=AGREED))

    def begin(self, workers: int = 1) -> Answer:
        """The next attempt."""
        self.number += 1
        token = secrets.token_hex(16)
        return self.ask(
            Begin(study=self.manifest.hash, attempt=self.number, token=token, agreed=AGREED, workers=workers)
        )

    def outcome(self) -> Verdict:
        return self.ask(Outcome(study=self.manifest.hash, attempt=self.number)).answer

    def begin_and_fail(self) -> None:
        assert self.begin().answer is Verdict.BEGUN
        assert becomes(lambda: self.outcome() is Verdict.FAILED)
        # It is on record a moment before it has ended.
        assert becomes(lambda: self.node.activity.attempt(self.manifest.hash) is None)

    def state(self) -> StudyState:
        study = self.node.store.study(self.manifest.hash)
        assert study is not None
        return study.state


@pytest.fixture(params=FOLLOWERS, ids=lambda server: server.file_name)
def led(request: pytest.FixtureRequest, tmp_path: Path, start: StartKit) -> Led:
    (tmp_path / "nodes").mkdir()
    return Led(tmp_path, start, request.param)


def test_no_more_attempts_than_the_manifest_allows(led: Led) -> None:
    """The third of two is refused, whatever the leader says; only this node's operator lets it go on."""
    led.begin_and_fail()
    led.begin_and_fail()
    refused = led.begin()
    assert refused.answer is Verdict.STOPPED
    assert "2 attempts failed" in refused.note
    assert refused.last == 2
    assert led.state() is StudyState.STOPPED
    for answer in (led.ready(), led.begin(), led.begin()):
        assert answer.answer is Verdict.STOPPED
    assert led.node.store.last_attempt(led.manifest.hash) == 2
    led.node.store.retry(led.manifest.hash)
    led.number = 2
    led.begin_and_fail()
    assert led.state() is StudyState.RUNNING
    led.begin_and_fail()
    assert led.ready().answer is Verdict.STOPPED


def test_attempts_that_only_supersede_each_other_are_spent_too(led: Led) -> None:
    """A leader that begins the next attempt before the last one has ended gets no more of them."""
    verdicts = [led.begin().answer for _ in range(3)]
    assert verdicts[:2] == [Verdict.BEGUN] * 2
    assert verdicts[2] in (Verdict.BUSY, Verdict.STOPPED)
    assert becomes(lambda: led.ready().answer is Verdict.STOPPED)
    assert led.node.store.last_attempt(led.manifest.hash) == 2


def test_more_workers_than_there_is_room_for_spend_no_attempt(led: Led) -> None:
    """There may have been room when the leader asked; a number that nobody can have is another matter."""
    answer = led.begin(workers=2)
    assert (answer.answer, answer.note) == (Verdict.IN_TROUBLE, "no room for 2 workers now, but for 1")
    answer = led.begin(workers=3)
    assert answer.answer is Verdict.MISMATCH
    assert "3 workers were asked for, which nobody can have" in answer.note
    assert led.node.store.last_attempt(led.manifest.hash) == 0
    assert led.ready().answer is Verdict.READY


def test_a_restart_of_this_node_spends_no_attempt(led: Led, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a stop in the middle of one nor a crash."""
    with monkeypatch.context() as patch:
        patch.setattr(type(PROTOCOL), "process", "tests.support.mute")  # which does not fail before the stop
        assert led.begin().answer is Verdict.BEGUN
    led.node.close()
    with led.store() as store:
        assert store.attempt_state(led.manifest.hash, 1) is AttemptState.FAILED
        assert store.spent_attempts(led.manifest.hash) == 0
        store.begin_attempt(led.manifest.hash, 2)  # and then the power is cut
    led.start()
    led.number = 2
    led.begin_and_fail()
    led.begin_and_fail()
    assert led.ready().answer is Verdict.STOPPED


def test_a_study_that_the_leader_stopped_waits_for_this_nodes_operator(led: Led) -> None:
    assert led.ask(Stop(study=led.manifest.hash, note="they differ \x1b[2J")).answer is Verdict.STOPPED
    assert led.ready() == Answer(answer=Verdict.STOPPED, note="they differ ?[2J")
    assert led.begin().answer is Verdict.STOPPED
    led.node.store.retry(led.manifest.hash)
    assert led.state() is StudyState.COLLECTING  # no attempt was made: who has not submitted may do so
    assert led.ready().answer is Verdict.READY
    assert led.begin().answer is Verdict.BEGUN


def test_only_the_studys_leader_is_answered(led: Led) -> None:
    """Another node may say hello, and nothing else."""
    other = next(server for server in FOLLOWERS if server is not led.server)
    kit = NodeKit.read(led.consortium.kit(other.file_name))
    study = led.manifest.hash
    hello = ask(kit, led.manifest, led.server, Hello(study=study), 60)
    assert (hello.answer, hello.protocol_version) == (Verdict.HELLO, led.manifest.version)
    for question in (
        Ready(study=study, agreed=AGREED),
        Begin(study=study, attempt=1, token="0" * 32, agreed=AGREED, workers=1),
        Outcome(study=study, attempt=1),
        Release(study=study, attempt=1, statements=()),
        Stop(study=study, note="x"),
    ):
        refused = ask(kit, led.manifest, led.server, question, 60)
        assert refused.answer is Verdict.REFUSED
        assert LEADER.title in refused.note
    assert led.state() is StudyState.COLLECTING
    assert led.ask(Hello(study="0" * 64)).answer is Verdict.UNKNOWN_STUDY


def test_a_release_without_a_result_is_refused_where_one_is_kept(led: Led) -> None:
    led.begin_and_fail()
    answer = led.ask(Release(study=led.manifest.hash, attempt=1, statements=())).answer
    if led.server in led.manifest.protocol.result_servers:
        assert (answer, led.state()) == (Verdict.STALE, StudyState.RUNNING)
    else:  # it has nothing to give out, and takes the leader's word that the study is over
        assert (answer, led.state()) == (Verdict.RELEASED, StudyState.RELEASED)
    assert led.ask(Outcome(study=led.manifest.hash, attempt=7)).answer is Verdict.UNKNOWN_ATTEMPT


def test_no_process_and_no_thread_is_left_of_an_attempt(led: Led) -> None:
    before = threading.active_count()
    led.begin_and_fail()
    assert becomes(lambda: led.node.activity.attempt(led.manifest.hash) is None)
    assert becomes(lambda: threading.active_count() <= before)
    assert led.node.router._jobs == {}


def test_submissions_that_differ_are_told(tmp_path: Path, start: StartKit) -> None:
    (tmp_path / "nodes").mkdir()
    server = next(server for server in FOLLOWERS if server in PROTOCOL.input_servers)
    led = Led(tmp_path, start, server)
    study = led.manifest.hash
    other = Submitted(owner=PAIR[1], samples=5, commitments=("0" * 64, "2" * 64))
    answer = led.ask(Ready(study=study, agreed=(AGREED[0], other)))
    assert answer.answer is Verdict.MISMATCH
    assert answer.note.startswith(f"what {PAIR[1]} sent; these owners run 'ppaurora withdraw', then")
    assert led.ask(Ready(study=study, agreed=AGREED[:1])).answer is Verdict.MISMATCH
    few = Submitted(owner=PAIR[1], samples=3_000_000, commitments=other.commitments)
    assert led.ask(Ready(study=study, agreed=(AGREED[0], few))).answer is Verdict.MISMATCH
    (led.node.store.shares / PAIR[0]).unlink()
    assert led.ready().answer is Verdict.NOT_YET
    assert led.node.store.last_attempt(study) == 0


@pytest.mark.parametrize("over", [StudyState.RELEASED, StudyState.EXPIRED])
def test_a_study_that_is_over_stays_so(tmp_path: Path, start: StartKit, over: StudyState) -> None:
    """The leader can neither stop nor begin it again, nor release another attempt than was released."""
    (tmp_path / "nodes").mkdir()
    led = Led(tmp_path, start, next(server for server in FOLLOWERS if server in PROTOCOL.result_servers))
    study, store = led.manifest.hash, led.node.store
    store.begin_attempt(study, 1)
    store.computed(study, 1, {owner: part([0, 1, 2, 3]) for owner in PAIR})
    if over is StudyState.RELEASED:
        assert led.ask(Release(study=study, attempt=1, statements=())).answer is Verdict.RELEASED
    else:
        store.expire(study)
    before, kept = store.study(study), store.result(study, PAIR[0])
    led.number = 1
    for question in (
        Stop(study=study, note="look"),
        Ready(study=study, agreed=AGREED),
        Begin(study=study, attempt=2, token="0" * 32, agreed=AGREED, workers=1),
        Release(study=study, attempt=2, statements=()),
    ):
        led.ask(question)
        assert store.study(study) == before
        assert store.last_attempt(study) == 1
        now = store.result(study, PAIR[0])
        assert (now is None) == (kept is None) == (over is StudyState.EXPIRED)
        assert now is None or now[0] == 1
    assert led.ready().answer is Verdict.CLOSED
    assert led.begin().answer is Verdict.CLOSED


def test_numbers_of_attempts_only_grow(led: Led) -> None:
    """A leader that repeats a number, or goes back, begins nothing, and spends nothing."""
    led.number = 6
    led.begin_and_fail()
    spent = led.node.store.spent_attempts(led.manifest.hash)
    for before in (6, 0):
        led.number = before
        assert led.begin().answer is Verdict.STALE
    assert led.node.store.last_attempt(led.manifest.hash) == led.ready().last == 7
    assert led.node.store.spent_attempts(led.manifest.hash) == spent


def test_an_attempt_that_was_never_begun_here_is_not_called_released(led: Led) -> None:
    """Neither before nor after a release, whatever the leader says."""
    study = led.manifest.hash
    parts: tuple[str, ...] = PAIR
    unknown = Verdict.STALE
    if led.server not in led.manifest.protocol.result_servers:
        parts, unknown = (), Verdict.UNKNOWN_ATTEMPT
    assert led.ask(Release(study=study, attempt=1, statements=())).answer is unknown
    assert led.state() is StudyState.COLLECTING
    led.begin_and_fail()
    assert led.ask(Release(study=study, attempt=7, statements=())).answer is unknown
    assert led.state() is StudyState.RUNNING
    led.node.store.begin_attempt(study, 2)
    led.node.store.computed(study, 2, {owner: part([0, 1, 2, 3]) for owner in parts})
    assert led.ask(Release(study=study, attempt=2, statements=())).answer is Verdict.RELEASED
    assert led.node.store.attempt_state(study, 2) is AttemptState.RELEASED
    assert led.ask(Release(study=study, attempt=2, statements=())).answer is Verdict.RELEASED
    assert led.ask(Release(study=study, attempt=7, statements=())).answer is unknown


@pytest.mark.parametrize("patience", [60.0, 0.0], ids=["waits", "control: does not"])
def test_a_release_that_comes_before_this_nodes_part_has_ended_is_no_failure(
    tmp_path: Path, start: StartKit, run: RunCommand, monkeypatch: pytest.MonkeyPatch, patience: float
) -> None:
    """Nobody asks a server without parts of the result whether it has finished."""
    may_end = threading.Event()

    def results(attempt: Attempt) -> list[ResultShare]:
        may_end.wait(60)
        return []

    monkeypatch.setattr(following, "_SECONDS_TO_END", patience)
    monkeypatch.setattr(Attempt, "results", results)
    monkeypatch.setattr(type(PROTOCOL), "process", "tests.support.mute")
    (tmp_path / "nodes").mkdir()
    (helper,) = set(FOLLOWERS) - set(PROTOCOL.result_servers)
    led = Led(tmp_path, start, helper)
    assert led.begin().answer is Verdict.BEGUN
    release = Release(study=led.manifest.hash, attempt=1, statements=())
    with ThreadPoolExecutor() as aside:
        answer = aside.submit(led.ask, release)
        if patience:
            time.sleep(0.5)
            assert led.state() is StudyState.RUNNING
        else:
            answer.result()
        may_end.set()
        assert answer.result().answer is Verdict.RELEASED
    assert becomes(lambda: led.node.activity.attempt(led.manifest.hash) is None)
    told = run("audit", led.consortium.kit(helper.file_name))[1]
    assert ("attempt 1 failed" in told) == (not patience), told


def test_an_operator_aborts_the_attempt_that_is_under_way(
    tmp_path: Path, start: StartKit, run: RunCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its process ends, the study stops here, and goes on when the operator says so."""
    monkeypatch.setattr(type(PROTOCOL), "process", "tests.support.mute")
    (tmp_path / "nodes").mkdir()
    led = Led(tmp_path, start, FOLLOWERS[0])
    kit = led.consortium.kit(led.server.file_name)
    code, said = run("abort", kit, "led")
    assert (code, "there is nothing to abort" in said) == (2, True)
    assert run("abort", kit, "unknown")[0] == 2
    assert led.begin().answer is Verdict.BEGUN
    assert run("abort", kit, "led")[0] == 0
    assert becomes(lambda: led.node.activity.attempt(led.manifest.hash) is None)
    assert (led.outcome(), led.state()) == (Verdict.FAILED, StudyState.STOPPED)
    refused = led.begin()
    aborted = "this node's operator aborted the attempt; they let it go on with 'ppaurora retry'"
    assert (refused.answer, refused.note) == (Verdict.STOPPED, aborted)
    assert run("abort", kit, "led")[0] == 2
    assert run("retry", kit, "led")[0] == 0
    assert led.begin().answer is Verdict.BEGUN
