"""The life of a study at the nodes, whatever happens to one of them."""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import msgspec
import numpy as np
import pytest

from ppaurora.channel.servers import Server
from ppaurora.data.samples import check_samples
from ppaurora.errors import NotReleasedError, PeerMisbehavedError
from ppaurora.messages.nodes import Answer, Outcome, Verdict
from ppaurora.messages.owners import StudyState
from ppaurora.node import peers
from ppaurora.node.activity import Activity
from ppaurora.node.amending import StudyAmendments
from ppaurora.node.leading import Leader, MustStopError, NotReadyError
from ppaurora.node.metrics import Metrics
from ppaurora.node.runner import AttemptFailedError, AttemptRunner
from ppaurora.node.sni_router import SniRouter
from ppaurora.node.states import AttemptState, ChangedError
from ppaurora.node.store import Store, StudyRecord, SubmissionRecord
from ppaurora.node.store.schema_checksum import keep_schema_checksum
from ppaurora.node.watching import Watcher
from ppaurora.node.withdrawing import Withdrawals
from ppaurora.owner.study import Study
from ppaurora.study.kit import NodeKit
from ppaurora.study.manifest import Manifest
from tests.support.deployment import NODES, samples, write_csv
from tests.support.oracles import exact_auroc
from tests.support.trials import (
    OWNERS,
    PAIR,
    PROXY_0,
    PROXY_1,
    YES,
    RunCommand,
    StartNode,
    Trials,
    becomes,
    kept_share,
    part,
)


def test_after_the_release(nodes: Trials, run: RunCommand) -> None:
    """In spite of all refusals before, a study ends well; then nothing more is taken, and shares are gone."""
    manifest = nodes.study("well")
    before = {node: nodes.shares(node) for node in ("proxy-0", "proxy-1")}
    studies = {owner: Study(nodes.kit(owner), "well") for owner in PAIR}
    data = {owner: samples(40, seed) for seed, owner in enumerate(PAIR, start=60)}
    sent = {owner: studies[owner].submit(check_samples(owner, *data[owner])) for owner in PAIR}
    body = studies["north"]._outbox.body(PROXY_0)
    report = studies["north"].wait(timeout=300)
    pooled = [
        (score, int(label))
        for labels, scores in data.values()
        for label, score in zip(labels, scores, strict=True)
    ]
    expected = exact_auroc(pooled)
    assert expected is not None
    assert report.auroc == float(expected)
    assert becomes(lambda: {node: nodes.shares(node) for node in before} == before)
    client = nodes.client("north", manifest)
    again = client.submit(sent["north"].offer, body)
    assert again == sent["north"].acknowledged["proxy-0"]
    assert nodes.refusal(lambda: nodes.upload(manifest).send(client)) == "conflict"
    assert nodes.shares() == before["proxy-0"]
    code, said = run("result", nodes.kit("harbour"), "--study", "well")
    assert (code, f"{report.auroc:.12f}" in said) == (0, True)


def test_submitting_again_after_the_result_is_no_failure_of_the_study(
    nodes: Trials, run: RunCommand, tmp_path: Path
) -> None:
    """Before it is fetched the same data is fine; later the owner is told what to do instead."""
    nodes.study("again")
    files = {
        owner: write_csv(tmp_path / f"{owner}.csv", *samples(40, seed)) for seed, owner in enumerate(PAIR)
    }
    for owner in PAIR:
        assert run("submit", nodes.kit(owner), files[owner], "--study", "again", *YES)[0] == 0
    north = ("submit", nodes.kit("north"), files["north"], "--study", "again")
    study = Study(nodes.kit("north"), "again")
    assert becomes(lambda: {answer.state for answer in study.status().values()} == {"released"})
    code, said = run(*north, "--wait")
    assert (code, "proxy 0 and proxy 1 have acknowledged" in said) == (0, True)
    outbox = nodes.kit("north") / "outbox/again"
    assert [path.name for path in outbox.iterdir()] == ["submission.json"]
    for arguments in (north, (*north, "--wait")):
        code, said = run(*arguments)
        assert code == 2
        assert "the study 'again' has its result, with what was submitted from this kit before" in said
        assert "nothing was sent now. 'ppaurora result' shows it again" in said
    assert run("result", nodes.kit("north"), "--study", "again")[0] == 0
    (outbox / "submission.json").write_text("no JSON")
    code, said = run("status", nodes.kit("north"), "--study", "again")
    assert (code, "submission.json: is damaged" in said) == (2, True)


def test_proxies_that_were_told_different_things_stop(nodes: Trials, run: RunCommand) -> None:
    """No attempt is made, and a person reads whose submissions differ."""
    manifest = nodes.study("mismatch")
    fine, one, two = (nodes.upload(manifest) for _ in range(3))
    for server in (PROXY_1, PROXY_0):
        fine.send(nodes.client("north", manifest, server))
    two.send(nodes.client("harbour", manifest, PROXY_1))
    one.send(nodes.client("harbour", manifest, PROXY_0))
    client = nodes.client("north", manifest)
    assert becomes(lambda: client.status().state == "stopped")
    status = client.status()
    assert "harbour" in status.note
    assert "north" not in status.note
    for node in NODES:
        with nodes.store(node) as store:
            assert store.last_attempt(manifest.hash) == 0
    code, said = run("status", nodes.kit("north"), "--study", "mismatch")
    assert code == 0
    assert "harbour" in said
    with pytest.raises(NotReleasedError, match="harbour"):
        Study(nodes.kit("north"), "mismatch").wait(timeout=5)
    code, said = run("result", nodes.kit("north"), "--study", "mismatch")
    assert (code, "stopped" in said) == (4, True)


@pytest.mark.parametrize("proxy", ["proxy-0", "proxy-1"])
def test_shares_are_deleted_although_the_node_died_at_the_release(alone: StartNode, proxy: str) -> None:
    """The manifest says: shares are kept until the release. Also if the node is killed just then."""
    paths: list[Path] = []

    def prepare(store: Store, manifest: Manifest) -> None:
        paths.extend(kept_share(store, manifest, owner) for owner in PAIR)
        store.begin_attempt(manifest.hash, 1)
        store.computed(manifest.hash, 1, {owner: part(np.zeros(4)) for owner in PAIR})
        store.release(manifest.hash, 1)

    alone(proxy, prepare)
    assert len(paths) == 2
    assert becomes(lambda: not any(path.exists() for path in paths))


def test_one_study_in_trouble_does_not_hold_up_the_others(
    alone: StartNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever fails for one study, a later one is let in."""
    hashes: list[str] = []

    def prepare(store: Store, manifest: Manifest) -> None:
        later = msgspec.structs.replace(manifest, study="later")
        store.accept(later)
        hashes.extend([manifest.hash, later.hash])

    real = Watcher._retain

    def fail(self: Watcher, study: StudyRecord, now: float) -> bool:
        if study.hash == hashes[0]:
            raise PermissionError(13, "a share cannot be deleted")
        return real(self, study, now)

    monkeypatch.setattr(Watcher, "_retain", fail)
    node = alone("helper", prepare)
    assert becomes(lambda: hashes[1] in node.watcher.accepted)


def test_the_helper_keeps_a_study_as_long_as_the_proxies(alone: StartNode) -> None:
    """It holds nothing, so nothing of it expires while owners still submit elsewhere."""

    def prepare(store: Store, manifest: Manifest) -> None:
        days = manifest.terms.limits.retention_days + 1
        store._db.execute("UPDATE studies SET accepted_at = accepted_at - ?", (days * 86_400,))

    node = alone("helper", prepare)
    assert becomes(lambda: bool(node.watcher.accepted))
    time.sleep(0.2)
    assert [study.state for study in node.store.studies()] == [StudyState.COLLECTING]


def test_a_proxy_that_cannot_write_for_a_while_is_no_reason_to_wait_for_ever(nodes: Trials) -> None:
    """Proxy 1 can note neither its result nor its failure; when it can write again, the study goes on."""
    manifest = nodes.study("unwritten")
    before = len(nodes.log("proxy-1"))
    database = sqlite3.connect(nodes.database("proxy-1"), timeout=60, isolation_level=None)
    with contextlib.closing(database):
        for number, event in enumerate(("INSERT ON results", "UPDATE OF state ON attempts")):
            database.execute(
                f"CREATE TRIGGER full_{number} BEFORE {event} WHEN NEW.study = '{manifest.hash}' "
                "BEGIN SELECT RAISE(ABORT, 'disk is full'); END"
            )
        keep_schema_checksum(database)
        try:
            for seed, owner in enumerate(PAIR):
                labels, scores = samples(30, 50 + seed)
                Study(nodes.kit(owner), "unwritten").submit(check_samples(owner, labels, scores))
            with nodes.store("proxy-0") as store:
                assert becomes(lambda: store.attempt_state(manifest.hash, 1) is not None)
                assert becomes(lambda: store.attempt_state(manifest.hash, 1) is not AttemptState.RUNNING)
            assert becomes(lambda: "a thread ended with an error" in nodes.log("proxy-1")[before:])
        finally:
            for number in range(2):
                database.execute(f"DROP TRIGGER full_{number}")
            keep_schema_checksum(database)
    report = Study(nodes.kit("north"), "unwritten").wait(timeout=300)
    assert 0 <= report.auroc <= 1
    assert report.receipt.attempt > 1


@pytest.fixture
def leader(store: Store, consortium: Trials) -> Iterator[Leader]:
    """Of a study of which all shares are here; the other nodes are what a test says that they answer."""
    kit = NodeKit.read(consortium.kit("proxy-0"))
    for owner in OWNERS:
        content = f"salt and share of {owner}".encode()
        (store.shares / owner).write_bytes(content)
        commitments = (hashlib.sha256(content).hexdigest(), "1" * 64)
        store.submit(consortium.manifest.hash, SubmissionRecord(owner, 20, commitments, time.time(), owner))
    activity = Activity()
    runner = AttemptRunner(kit, store, cast(SniRouter, None), activity, Metrics())
    withdrawals, amendments = Withdrawals(kit, store, activity), StudyAmendments(kit, store, activity)
    leader = Leader(kit, store, activity, runner, withdrawals, amendments)
    yield leader
    leader.close()


def test_submissions_that_break_a_rule_after_all_are_collected_again(leader: Leader, store: Store) -> None:
    """Until an attempt has begun. After that nobody can change them, and the study stops."""
    (study,) = store.studies()
    leader._gather(study)
    with store._transaction() as db:
        db.execute("UPDATE submissions SET samples = 3000000 WHERE owner = 'north'")
    broken = "north has more than 2,000,000 samples; north can replace its submission by a smaller one with"
    with pytest.raises(NotReadyError, match=broken):
        leader._plan(study, 0)
    (study,) = store.studies()
    assert (study.state, leader._next(study)) == (StudyState.COLLECTING, None)
    with pytest.raises(ChangedError, match=broken):  # whatever was looked at before
        store.gather(study)
    store.begin_attempt(study.hash, 1)
    with pytest.raises(MustStopError, match="2,000,000 samples; owners without a result need a new study"):
        leader._plan(study, 1)


def test_an_attempt_that_only_another_node_knows_of_stops_the_study(
    leader: Leader, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It began here first, so this node was rolled back. The study goes on when its operator says so."""
    monkeypatch.setattr(peers, "ask", lambda *_: Answer(answer=Verdict.READY, last=1_000_000))
    (study,) = store.studies()
    with pytest.raises(MustStopError, match="proxy 1 knows of attempt 1000000, and this node did not"):
        leader._plan(study, 0)
    assert leader._plan(study, store.last_attempt(study.hash)).number == 1_000_001


def test_a_number_of_attempts_that_is_made_up_uses_up_none(
    leader: Leader, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numbers are never used twice, so who could name any would soon have used up all."""
    monkeypatch.setattr(peers, "ask", lambda *_: Answer(answer=Verdict.READY, last=1_000_001))
    (study,) = store.studies()
    with pytest.raises(PeerMisbehavedError, match="says that there was an attempt 1,000,001"):
        leader._plan(study, 0)
    assert not store.has_begun(study.hash)


@pytest.mark.parametrize("verdict", [Verdict.COMPUTED, Verdict.FAILED, Verdict.UNKNOWN_ATTEMPT])
def test_a_result_is_released_when_all_who_get_a_part_have_it(
    leader: Leader, store: Store, monkeypatch: pytest.MonkeyPatch, verdict: Verdict
) -> None:
    """The helper gets none, and is not asked for one."""
    (study,) = store.studies()
    agreed = tuple(one.submitted for one in store.submissions(study))
    store.begin_attempt(study.hash, 1, agreed)
    store.computed(study.hash, 1, {owner: part(np.arange(4)) for owner in OWNERS})
    asked: list[str] = []

    def answer(_: object, __: object, peer: Server, question: object, ___: object) -> Answer:
        asked.append(f"{peer.title}: {type(question).__name__}")
        return Answer(answer=verdict if isinstance(question, Outcome) else Verdict.RELEASED)

    monkeypatch.setattr(peers, "ask", answer)
    if verdict is Verdict.COMPUTED:
        leader._settle(study, 1)
        assert asked == ["proxy 1: Outcome", "helper: Release", "proxy 1: Release"]
    else:
        with pytest.raises(AttemptFailedError, match="proxy 1 did not finish its part"):
            leader._settle(study, 1)
        assert asked == ["proxy 1: Outcome"]
    (found,) = store.studies()
    assert (found.state is StudyState.RELEASED) == (verdict is Verdict.COMPUTED)
