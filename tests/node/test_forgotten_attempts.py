"""A leader that was rolled back to before the computation: owners may change what they sent once more."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ppaurora.errors import InputError
from ppaurora.io.times import Time
from ppaurora.messages.owners import SignedStatement, Statement, StudyState, Submitted
from ppaurora.node import runner
from ppaurora.node.node import Node
from ppaurora.node.states import AttemptState
from ppaurora.node.store import BegunError, Store, SubmissionRecord
from ppaurora.study.manifest import Manifest
from ppaurora.study.receipt import sign_statement
from ppaurora.testing.consortium import NODES
from tests.support.quick_attempts import QuickAttempt, state, submitted
from tests.support.trials import PAIR, StartKit, Trials, becomes

OWNER = PAIR[0]


@pytest.fixture
def trials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trials:
    monkeypatch.setattr(runner, "Attempt", QuickAttempt)
    return Trials(tmp_path, PAIR)


def submissions(store: Store, manifest: Manifest) -> tuple[Submitted, ...]:
    study = store.study(manifest.hash)
    assert study is not None
    return tuple(one.submitted for one in store.submissions(study))


def begun_elsewhere(trials: Trials, name: str) -> Manifest:
    """A study of which the leader has forgotten an attempt that failed."""
    manifest = submitted(trials, name)
    with trials.store("proxy-1") as store:
        agreed = submissions(store, manifest)
    for node in ("proxy-1", "helper"):
        with trials.store(node) as store:
            store.begin_attempt(manifest.hash, 1, agreed, has_shares=node == "proxy-1")
            store.fail_attempt(manifest.hash, 1, "the leader was lost")
    return manifest


def started(trials: Trials, start: StartKit, manifest: Manifest) -> list[Node]:
    """The nodes, once the leader has heard of the attempt and their operators have let the study go on."""
    nodes = [start(trials, node) for node in reversed(NODES)]
    assert becomes(lambda: state(nodes[-1], manifest) is StudyState.STOPPED)
    assert becomes(lambda: {state(node, manifest) for node in nodes} == {StudyState.STOPPED})
    return nodes


def retry(trials: Trials, manifest: Manifest) -> None:
    for node in NODES:
        with trials.store(node) as store:
            store.retry(manifest.hash)


def share(store: Store, manifest: Manifest) -> bytes:
    return (store.shares / f"{manifest.study}-{OWNER}").read_bytes()


def changed(store: Store, manifest: Manifest, revision: int, content: bytes = b"") -> SubmissionRecord:
    """What the owner sends again, with a later revision."""
    kept = store.latest_revision(manifest.hash, OWNER)
    assert kept is not None
    file = f"{manifest.study}-{OWNER}-{revision}"
    (store.shares / file).write_bytes(content or share(store, manifest))
    return replace(kept, revision=revision, file=file, withdrawn=False)


def test_a_withdrawal_is_taken_everywhere_and_the_owner_may_submit_again(
    trials: Trials, start: StartKit
) -> None:
    manifest = begun_elsewhere(trials, "withdrawn")
    sent = {}
    for node in ("proxy-0", "proxy-1"):
        with trials.store(node) as store:
            sent[node] = share(store, manifest)
    nodes = started(trials, start, manifest)
    leader = nodes[-1]
    assert leader.store.withdraw(manifest.hash, OWNER, 2).withdrawn
    retry(trials, manifest)
    assert becomes(lambda: nodes[1].store.latest_revision(manifest.hash, OWNER).withdrawn)  # type: ignore[union-attr]
    for node, content in sent.items():
        with trials.store(node) as store:
            store.submit(manifest.hash, changed(store, manifest, 3, content))
    assert becomes(lambda: {state(node, manifest) for node in nodes} == {StudyState.RELEASED})
    assert leader.store.attempt_state(manifest.hash, 2) is AttemptState.RELEASED


def test_a_replacement_is_taken_everywhere(trials: Trials, start: StartKit) -> None:
    manifest = begun_elsewhere(trials, "replaced")
    nodes = started(trials, start, manifest)
    for node in ("proxy-0", "proxy-1"):
        if node == "proxy-1":  # the leader asks, and is told to wait for what has not come here
            retry(trials, manifest)
            assert becomes(lambda: not nodes[1].store.has_begun(manifest.hash))
        with trials.store(node) as store:
            store.submit(manifest.hash, changed(store, manifest, 2))
    assert becomes(lambda: {state(node, manifest) for node in nodes} == {StudyState.RELEASED})


def test_a_repeated_withdrawal_forgets_nothing(trials: Trials, start: StartKit) -> None:
    """It is older than what its owner has sent since, with which an attempt has begun."""
    manifest = submitted(trials, "repeated")
    for node in ("proxy-0", "proxy-1"):
        with trials.store(node) as store:
            again = changed(store, manifest, 3)
            store.withdraw(manifest.hash, OWNER, 2)
            store.submit(manifest.hash, again)
    nodes = [start(trials, node) for node in reversed(NODES)]
    assert becomes(lambda: {state(node, manifest) for node in nodes} == {StudyState.RELEASED})
    assert all(node.store.has_begun(manifest.hash) for node in nodes)


def statement_of(
    trials: Trials, store: Store, manifest: Manifest, server: str, attempt: int
) -> SignedStatement:
    """What this server signs of a release that there was not."""
    agreed = submissions(store, manifest)
    time_of_all = Time("2026-03-02T09:41:07Z")
    said = Statement(
        server=server,
        manifest=manifest.hash,
        attempt=attempt,
        policy=manifest.job(agreed).terms.policy,
        submissions=agreed,
        history=() if server == "helper" else store.history(manifest.hash),
        parts={} if server == "helper" else dict.fromkeys(manifest.owner_names, "0" * 64),
        accepted_at=time_of_all,
        begun_at=time_of_all,
        computed_at=time_of_all,
        released_at=time_of_all,
        ppaurora="0.1.0",
        protocol_version=manifest.version,
        audit=store.audit_head(),
    )
    return sign_statement(said, trials.kit(server) / "key.pem")


def test_a_release_with_another_attempt_ends_the_one_that_runs(trials: Trials) -> None:
    manifest = submitted(trials, "runs")
    with trials.store("proxy-0") as store:
        store.begin_attempt(manifest.hash, 2)
        store.learn_of_release(manifest.hash, statement_of(trials, store, manifest, "proxy-1", 1))
        assert store.attempt_state(manifest.hash, 2) is AttemptState.FAILED
        store.fail_attempt(manifest.hash, 2, "it was cut off")
        (study,) = store.studies()
        assert study.state is StudyState.STOPPED
        assert study.note.startswith("its result was released with attempt 1, as proxy-1 has signed")


def test_a_study_that_had_stopped_says_that_it_was_released(trials: Trials) -> None:
    """What it says then is what the command says that would let it go on."""
    manifest = submitted(trials, "stopped")
    with trials.store("proxy-0") as store:
        store.stop(manifest.hash, "for a while")
        store.learn_of_release(manifest.hash, statement_of(trials, store, manifest, "proxy-1", 1))
        (study,) = store.studies()
        assert (study.state, study.note) == (StudyState.STOPPED, store.release_elsewhere(manifest.hash))
        with pytest.raises(InputError, match="released with attempt 1"):
            store.retry(manifest.hash)


def test_a_false_statement_does_not_outweigh_an_attempt_that_was_computed_here(trials: Trials) -> None:
    manifest = submitted(trials, "false")
    with trials.store("proxy-1") as store:
        store.begin_attempt(manifest.hash, 1, submissions(store, manifest))
        store.computed(manifest.hash, 1, {})
        store.learn_of_release(manifest.hash, statement_of(trials, store, manifest, "helper", 999))
        assert "released with attempt 999" in store.release_elsewhere(manifest.hash)
        store.learn_of_release(manifest.hash, statement_of(trials, store, manifest, "proxy-0", 1))
        assert store.release_elsewhere(manifest.hash) == ""
        store.retry(manifest.hash)
        assert store.attempt_state(manifest.hash, 1) is AttemptState.COMPUTED


def test_what_was_released_is_not_forgotten(trials: Trials) -> None:
    manifest = submitted(trials, "stays")
    with trials.store("proxy-1") as store:
        store.begin_attempt(manifest.hash, 1, submissions(store, manifest))
        store.computed(manifest.hash, 1, {})
        store.learn_of_release(manifest.hash, statement_of(trials, store, manifest, "helper", 1))
        with pytest.raises(BegunError):
            store.forget_attempts(manifest.hash)
        assert store.attempt_state(manifest.hash, 1) is AttemptState.COMPUTED


def test_a_lost_share_keeps_nobody_from_replacing_it(trials: Trials, start: StartKit) -> None:
    """The one that the follower has lost is the earlier one, of which the leader asks no more."""
    manifest = begun_elsewhere(trials, "lost")
    with trials.store("proxy-1") as store:
        sent = share(store, manifest)
    nodes = started(trials, start, manifest)
    with trials.store("proxy-0") as store:
        store.submit(manifest.hash, changed(store, manifest, 2))
    (nodes[1].store.shares / f"lost-{OWNER}").unlink()
    retry(trials, manifest)
    assert becomes(lambda: not nodes[1].store.has_begun(manifest.hash))
    with trials.store("proxy-1") as store:
        store.submit(manifest.hash, changed(store, manifest, 2, sent))
    assert becomes(lambda: {state(node, manifest) for node in nodes} == {StudyState.RELEASED})


def test_a_release_that_is_shown_again_changes_nothing(trials: Trials, start: StartKit) -> None:
    manifest = submitted(trials, "shown")
    nodes = [start(trials, node) for node in reversed(NODES)]
    leader = nodes[-1]
    assert becomes(lambda: {state(node, manifest) for node in nodes} == {StudyState.RELEASED})
    assert becomes(lambda: "proxy-0" in leader.store.statements(manifest.hash))
    (study,) = (one for one in leader.store.studies() if one.hash == manifest.hash)
    assert becomes(lambda: study.told_peers or leader.store.study(study.hash).told_peers)  # type: ignore[union-attr]
    before = leader.metrics.text()
    for _ in range(3):
        assert leader.peer_records.learn(study, leader.store.statements(manifest.hash)["proxy-0"]) == ""
    releases = [line for line in leader.metrics.text().splitlines() if b"ppaurora_releases_total" in line]
    assert releases == [line for line in before.splitlines() if b"ppaurora_releases_total" in line]
