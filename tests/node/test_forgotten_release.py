"""A node whose whole folder was restored agrees with itself; owners and other nodes tell it of a release."""

from __future__ import annotations

import itertools
import json

import msgspec
import pytest

from ppaurora.data.samples import check_samples
from ppaurora.errors import InputError, on_a_page
from ppaurora.messages.owners import StudyState, StudyStatus
from ppaurora.node.states import AttemptState
from ppaurora.node.store import Store
from ppaurora.owner.study import Study
from ppaurora.study.manifest import Manifest
from ppaurora.study.receipt import sign_statement
from tests.support.deployment import samples
from tests.support.trials import PAIR, PROXY_0, PROXY_1, Trials, becomes, nothing_submitted

_SEEDS = itertools.count(7400)  # other data for every study


def released(nodes: Trials, name: str) -> Study:
    """A study whose result the first owner has."""
    nodes.study(name)
    studies = [Study(nodes.kit(owner), name) for owner in PAIR]
    for study in studies:
        study.submit(check_samples(study.kit.name, *samples(40, next(_SEEDS))))
    studies[0].wait(timeout=300)
    return studies[0]


def forget(store: Store, manifest: Manifest) -> None:
    """As if the folder were from before the computation."""
    with store._transaction() as db:
        for table in ("results", "statements", "attempts"):
            db.execute(f"DELETE FROM {table} WHERE study = ?", (manifest.hash,))  # noqa: S608
        db.execute(
            "UPDATE studies SET state = 'collecting', note = '', ended_at = NULL WHERE hash = ?",
            (manifest.hash,),
        )


def test_an_owner_with_the_result_stops_a_node_that_has_forgotten_it(nodes: Trials) -> None:
    owner = released(nodes, "forgotten")
    manifest = owner.manifest
    assert becomes(lambda: all(one.state == "released" for one in owner.status().values()))
    with nodes.store("proxy-1") as store:
        forget(store, manifest)
    try:
        stranger = Study(nodes.kit("harbour"), manifest.study)  # it has no result: it can tell nothing
        told = stranger.status()[PROXY_1.title]
        assert told.state == StudyState.COLLECTING
        told = owner.status()[PROXY_1.title]
        assert isinstance(told, StudyStatus)
        assert told.state == StudyState.STOPPED
        assert "released with attempt 1" in told.note
        assert becomes(lambda: json.loads(nodes.get("proxy-1", "/healthz"))["status"] == "attention")
        with nodes.store("proxy-1") as store:
            with pytest.raises(InputError, match="was released with attempt 1"):
                store.retry(manifest.hash)
            assert store.last_attempt(manifest.hash) == 1  # no number is used twice
    finally:
        with nodes.store("proxy-1") as store:
            store.delete(manifest.hash, "the trial is over")
    assert becomes(lambda: json.loads(nodes.get("proxy-1", "/healthz"))["status"] == "ok")


def test_other_nodes_stop_one_that_has_forgotten_it(nodes: Trials) -> None:
    """The leader, asked to begin by nobody but itself, hears of it before anything begins."""
    owner = released(nodes, "forgotten-by-the-leader")
    manifest = owner.manifest
    with nodes.store("proxy-0") as store:
        forget(store, manifest)
    try:
        assert becomes(lambda: nodes.client("harbour", manifest, PROXY_0).status().state == "stopped")
        note = nodes.client("harbour", manifest, PROXY_0).status().note
        assert "released with attempt 1" in note
    finally:
        with nodes.store("proxy-0") as store:
            store.delete(manifest.hash, "the trial is over")
    assert becomes(lambda: json.loads(nodes.get("proxy-0", "/healthz"))["status"] == "ok")


def test_what_no_node_has_signed_stops_nothing(nodes: Trials) -> None:
    owner = released(nodes, "made-up-release")
    other = nodes.study("not-released")
    signed = owner._signed_release()
    assert signed is not None
    client = nodes.client("north", other, PROXY_1)
    assert nodes.refusal(lambda: client.tell(signed)) == "not-signed"  # of another study
    made_up = sign_statement(signed.statement, nodes.kit("north") / "key.pem")
    assert nodes.refusal(lambda: client.tell(made_up)) == "not-signed"
    assert client.status().state == "collecting"


def test_a_stopped_study_goes_on_with_the_attempt_that_was_released_elsewhere(nodes: Trials) -> None:
    """It was computed here, too, so that nothing was forgotten: `retry` leads to the same release."""
    owner = released(nodes, "stopped-meanwhile")
    manifest = owner.manifest
    with nodes.store("proxy-1") as store:
        with store._transaction() as db:
            db.execute("UPDATE attempts SET state = 'computed' WHERE study = ?", (manifest.hash,))
            db.execute("UPDATE studies SET state = 'stopped' WHERE hash = ?", (manifest.hash,))
        assert store.statements(manifest.hash)
        store.retry(manifest.hash)
        assert store.attempt_state(manifest.hash, 1) is AttemptState.COMPUTED
        store.release(manifest.hash, 1)  # as when the leader's statement is seen next
    assert Study(nodes.kit("harbour"), manifest.study).result().auroc == owner.result().auroc


def test_nobody_is_told_to_submit_again_what_the_study_does_not_take(nodes: Trials) -> None:
    """A node has lost its disk after the release, and its operator has accepted the study anew."""
    owner = released(nodes, "nothing-to-send")
    stranger = Study(nodes.kit("harbour"), "nothing-to-send")
    answers = owner.status()
    lost = msgspec.structs.replace(nothing_submitted(owner.manifest), server=PROXY_1.title)
    assert becomes(lambda: stranger.status()[PROXY_0.title].state == StudyState.RELEASED)
    seen = {**stranger.status(), PROXY_1.title: lost}
    assert owner.sent({**answers, PROXY_1.title: lost}) == (
        "40 samples: proxy 0 acknowledged it, proxy 1 no longer has it; this kit has the result: nothing is "
        "to be sent again"
    )
    assert stranger.sent(seen) == (
        "40 samples: proxy 0 acknowledged it, proxy 1 has lost it since. The result was released, so nothing "
        "can be sent again: ask the operator of proxy 1 for a backup; without one, a new study is needed"
    )
    expired = msgspec.structs.replace(lost, state=StudyState.EXPIRED, server=PROXY_0.title)
    said = stranger.sent({PROXY_0.title: expired})
    assert said == "40 samples: proxy 1 acknowledged it, proxy 0 no longer has it; the study is over"
    going_on = stranger.sent({PROXY_0.title: msgspec.structs.replace(lost, server=PROXY_0.title)})
    assert "run 'ppaurora submit" in going_on  # while it collects, it is to be sent again
    assert "submit the same file again" in str(on_a_page(going_on))
