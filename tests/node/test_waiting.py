"""Why a study waits, as alerts have it: the reason that needs somebody most."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from ppaurora.messages.owners import StudyState
from ppaurora.node import watching
from ppaurora.node.store import Store, StudyRecord
from ppaurora.node.waiting import Circumstances, WaitReason, wait_reason
from ppaurora.study.kit import NodeKit
from ppaurora.study.manifest import Manifest
from tests.support.trials import OWNERS, PAIR, StartKit, Trials, becomes, kept_share

NOTHING = Circumstances(trouble="", silenced=(), computed=(), paused={})
Change = Callable[[Store, Manifest], object]


def submit_all(store: Store, manifest: Manifest) -> None:
    for owner in OWNERS:
        kept_share(store, manifest, owner)


def lose_a_share(store: Store, manifest: Manifest) -> None:
    submit_all(store, manifest)
    (store.shares / "north-share").unlink()


def run_all(store: Store, manifest: Manifest) -> None:
    submit_all(store, manifest)
    store.gather(found(store))


def stop(store: Store, manifest: Manifest) -> None:
    store.stop(manifest.hash, "this node's operator stopped the study")


def release(store: Store, manifest: Manifest) -> None:
    store._db.execute("UPDATE studies SET state = ?", (StudyState.RELEASED,))


def found(store: Store) -> StudyRecord:
    return store.studies()[0]


def nothing(store: Store, manifest: Manifest) -> None:
    pass


CASES: dict[str, tuple[str, Change, dict[str, object], str | None]] = {
    "nobody has submitted": ("proxy-0", nothing, {}, "owner-missing"),
    "nor to the other proxy": ("proxy-1", nothing, {}, "owner-missing"),
    "the helper hears of nobody": ("helper", nothing, {}, "leader"),
    "all have submitted, and the leader is about to begin": ("proxy-0", submit_all, {}, None),
    "it is for the leader to begin": ("proxy-1", submit_all, {}, "leader"),
    "an attempt is under way": ("proxy-0", run_all, {"computed": True}, None),
    "also at a node that follows": ("proxy-1", run_all, {"computed": True}, None),
    "the next attempt": ("proxy-0", run_all, {"paused": WaitReason.ATTEMPT_FAILED}, "attempt-failed"),
    "another node": ("proxy-0", submit_all, {"paused": WaitReason.NOT_ACCEPTED}, "not-accepted"),
    "a silent node counts more than an owner": ("proxy-0", nothing, {"silenced": True}, "node-silent"),
    "a lost share counts more than silence": (
        "proxy-0",
        lose_a_share,
        {"silenced": True},
        "shares-lost",
    ),
    "the disk counts more than a lost share": ("proxy-0", lose_a_share, {"trouble": "no disk space"}, "disk"),
    "an operator counts more than the disk": ("proxy-0", stop, {"trouble": "no disk space"}, "operator"),
    "released, and not everybody has heard of it": ("proxy-0", release, {"silenced": True}, "node-silent"),
    "released": ("proxy-0", release, {}, None),
}


@pytest.mark.parametrize("case", CASES)
def test_a_study_waits_for(case: str, consortium: Trials, store: Store, manifest: Manifest) -> None:
    node, change, facts, reason = CASES[case]
    change(store, manifest)
    more = {name: value if name == "trouble" else [manifest.hash] for name, value in facts.items()}
    if "paused" in facts:
        more["paused"] = {manifest.hash: facts["paused"]}
    circumstances = dataclasses.replace(NOTHING, **more)  # type: ignore[arg-type]
    assert wait_reason(NodeKit.read(consortium.kit(node)), store, found(store), circumstances) == reason


def test_for_nobody_after_the_last_day(
    consortium: Trials, store: Store, manifest: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    kit = NodeKit.read(consortium.kit("proxy-0"))
    monkeypatch.setattr(type(manifest.evaluation), "takes_submissions", lambda *_: False)
    assert wait_reason(kit, store, found(store), NOTHING) is WaitReason.DEADLINE


def test_for_owners_who_have_yet_to_agree_to_an_amendment(
    consortium: Trials, store: Store, manifest: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    kit = NodeKit.read(consortium.kit("proxy-0"))
    monkeypatch.setattr(Store, "to_agree", lambda *_: ["valley"])
    assert wait_reason(kit, store, found(store), NOTHING) is WaitReason.OWNER_MISSING
    submit_all(store, manifest)
    assert wait_reason(kit, store, found(store), NOTHING) is WaitReason.AGREEMENT


@pytest.mark.parametrize("state", [StudyState.COLLECTING, StudyState.STOPPED])
def test_a_rule_that_owners_break_together(
    consortium: Trials, store: Store, manifest: Manifest, monkeypatch: pytest.MonkeyPatch, state: StudyState
) -> None:
    """Whether it has stopped for it or not: to resume it would not help."""
    kit = NodeKit.read(consortium.kit("proxy-0"))
    submit_all(store, manifest)
    store._db.execute("UPDATE studies SET state = ?", (state,))
    usually = WaitReason.OPERATOR if state is StudyState.STOPPED else None
    assert wait_reason(kit, store, found(store), NOTHING) is usually
    broken = "one owner has more than 0.5 of all samples"
    monkeypatch.setattr(Manifest, "problem_with_submissions", lambda *_: broken)
    assert wait_reason(kit, store, found(store), NOTHING) is WaitReason.RULE


@pytest.mark.parametrize("other", [True, False], ids=["another study", "no study"])
def test_a_leader_knows_whose_operator_has_not_accepted(
    tmp_path: Path, start: StartKit, monkeypatch: pytest.MonkeyPatch, other: bool
) -> None:
    """A node that has accepted nothing takes no certificate of the study's; another one answers."""
    monkeypatch.setattr(watching, "_SECONDS_BETWEEN_TRIALS", 0.1)
    trials = Trials(tmp_path, PAIR)
    if other:
        another = trials.provision("another", tmp_path / "another", tmp_path / "kits")
        trials.accept(another, ("proxy-1", "helper"))
    with trials.store("proxy-0") as store:
        store.accept(trials.manifest)
        for owner in PAIR:
            kept_share(store, trials.manifest, owner)
    for node in ("proxy-1", "helper"):
        start(trials, node)
    leader = start(trials, "proxy-0")
    waits = b'ppaurora_waiting_studies{reason="not-accepted"} 1.0\n'
    assert becomes(lambda: waits in leader.metrics.text())
    trials.accept(names=("proxy-1", "helper"))
    waits = b'ppaurora_waiting_studies{reason="not-accepted"} 0.0\n'
    assert becomes(lambda: waits in leader.metrics.text())
