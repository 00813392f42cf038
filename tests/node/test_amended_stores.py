"""Amendments at a single node: uploads under way, agreements out of turn, keys, forgotten releases."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import cast

import msgspec
import numpy as np
import pytest

from ppaurora.agreement.terms import Limits
from ppaurora.channel.servers import Server
from ppaurora.errors import InputError, PeerError
from ppaurora.io.times import Time
from ppaurora.messages.nodes import Amend, Answer, AnyQuestion, Verdict, Withdrawn
from ppaurora.messages.owners import Statement, StudyState
from ppaurora.node import peers
from ppaurora.node.activity import Activity
from ppaurora.node.amending import StudyAmendments
from ppaurora.node.leading import Leader
from ppaurora.node.metrics import Metrics
from ppaurora.node.peer_records import PeerRecords
from ppaurora.node.refusals import RequestRefusedError
from ppaurora.node.runner import AttemptRunner
from ppaurora.node.sni_router import SniRouter
from ppaurora.node.store import BegunError, ClosedError, Store, StudyRecord
from ppaurora.node.withdrawing import Withdrawals
from ppaurora.study.amendments import Amendments, amended, sign_agreement, sign_amendment
from ppaurora.study.kit import NodeKit
from ppaurora.study.manifest import Manifest
from ppaurora.study.provision import authority_key
from ppaurora.study.receipt import sign_statement
from tests.support.rolled_back import submitted
from tests.support.trials import OWNERS, PROXY_0, Trials, owners_service, part


def amend(consortium: Trials, *changes: dict[str, object]) -> Amendments:
    """The first study, amended by each of these in turn."""
    manifest, steps = consortium.manifest, []
    for change in changes:
        manifest = amended(manifest, msgspec.structs.replace(manifest, **change))
        steps.append(sign_amendment(manifest, "", authority_key(consortium.folder / "kits")))
    return Amendments(first=consortium.manifest, steps=tuple(steps))


def without(manifest: Manifest, owner: str) -> dict[str, object]:
    return {"owners": tuple(one for one in manifest.owners if one.name != owner)}


def with_attempts(manifest: Manifest, attempts: int) -> dict[str, object]:
    return {"terms": msgspec.structs.replace(manifest.terms, limits=Limits(attempts=attempts))}


def with_key(manifest: Manifest, owner: str, pin: str) -> dict[str, object]:
    return {
        "owners": tuple(
            msgspec.structs.replace(one, pin=pin) if one.name == owner else one for one in manifest.owners
        )
    }


def record(store: Store) -> StudyRecord:
    (study,) = store.studies()
    return study


def test_an_upload_that_ends_after_its_owner_was_dropped_is_not_kept(
    store: Store, consortium: Trials
) -> None:
    """Its row would be one that no node agrees to: the study would never begin."""
    manifest = consortium.manifest
    sent = {owner: submitted(store, manifest, owner) for owner in OWNERS}
    store.amend(amend(consortium, without(manifest, "valley")), decides=True)
    for late in (sent["valley"], replace(sent["valley"], revision=2)):
        (store.shares / str(late.file)).write_bytes(b"valley" * 40)
        with pytest.raises(ClosedError, match="amended, and valley takes part no longer"):
            store.submit(manifest.hash, late)
    with pytest.raises(ClosedError, match="amended, and valley takes part no longer"):
        store.withdraw(manifest.hash, "valley", 3)
    assert [entry.owner for entry in store.history(manifest.hash)] == list(OWNERS)
    for owner in ("north", "harbour"):
        key = consortium.kit(owner) / "key.pem"
        agreed = sign_agreement(amend(consortium, without(manifest, "valley")), owner, 0.0, key)
        store.keep_agreement(manifest.hash, agreed)
    store.begin_attempt(manifest.hash, 1, tuple(one.submitted for one in store.submissions(record(store))))
    assert store.has_begun(manifest.hash)


def test_what_is_not_in_force_gives_way_to_what_the_coordinator_sends_next(
    store: Store, consortium: Trials
) -> None:
    """Two amendments 1, sent to different nodes, are no reason for a new study."""
    manifest = consortium.manifest
    one, two = (amend(consortium, with_attempts(manifest, attempts)) for attempts in (7, 8))
    assert store.amend(one, decides=False)
    assert store.amend(two, decides=False)
    assert record(store).manifests == two.manifests
    store.put_in_force(manifest.hash, 1)
    with pytest.raises(InputError, match="another amendment to 'trial' is in force here"):
        store.amend(one, decides=False)
    longer = amend(consortium, with_attempts(manifest, 8), without(manifest, "valley"))
    assert store.amend(longer, decides=False)
    assert not store.amend(two, decides=False)
    assert record(store).manifests == longer.manifests


def test_an_upload_with_a_key_that_was_replaced_meanwhile_is_not_kept(
    store: Store, consortium: Trials
) -> None:
    """Whoever has stolen it may have begun in time, and go on for as long as an upload may take."""
    manifest = consortium.manifest
    service = owners_service(NodeKit.read(consortium.kit("proxy-0")), store)
    before, (*_, old) = record(store), (one.pin for one in manifest.owners)
    sent = submitted(store, manifest, "valley")
    store.amend(amend(consortium, with_key(manifest, "valley", "0" * 64)), decides=True)
    for pin, is_kept in ((old, False), ("0" * 64, True)):
        path = store.shares / f"of-{pin[:8]}"
        path.write_bytes(b"valley" * 40)
        later = replace(sent, revision=2, file=None)
        with contextlib.nullcontext() if is_kept else pytest.raises(RequestRefusedError, match="amendment 1"):
            service._keep(before, later, path, 0, pin)
        assert path.exists() == is_kept
        latest = store.latest_revision(manifest.hash, "valley")
        assert latest is not None
        assert latest.revision == 1 + is_kept


def test_an_agreement_to_a_later_amendment_lets_no_earlier_one_count(
    store: Store, consortium: Trials
) -> None:
    """An owner that agrees to what two amendments come to has not seen the first of them alone."""
    manifest = consortium.manifest
    attempts = manifest.terms.limits.attempts
    both = amend(consortium, with_attempts(manifest, attempts + 50), with_attempts(manifest, attempts + 1))
    store.amend(both, decides=False)
    store.put_in_force(manifest.hash, 1)
    amendments = StudyAmendments(NodeKit.read(consortium.kit("proxy-1")), store, Activity())
    signed = [sign_agreement(both, owner, 0.0, consortium.kit(owner) / "key.pem") for owner in OWNERS]
    assert amendments.keep(record(store), signed) == "amendment 2 is not in force here yet"
    assert store.to_agree(record(store)) == list(OWNERS)
    question = Amend(study=manifest.hash, manifest=both.latest.hash, agreements=tuple(signed))
    pin = manifest.node(PROXY_0).pin
    assert amendments.answer(record(store), pin, question).answer is Verdict.AMENDED
    assert store.to_agree(record(store)) == []


def test_a_key_of_an_amendment_that_never_counted_opens_nothing_of_the_result(
    store: Store, consortium: Trials
) -> None:
    manifest = consortium.manifest
    store.amend(amend(consortium, with_key(manifest, "valley", "0" * 64)), decides=False)
    assert record(store).owner_of("0" * 64) == "valley"  # it may say that it agrees
    store.begin_attempt(manifest.hash, 1)
    store.computed(manifest.hash, 1, {owner: part(np.arange(4)) for owner in OWNERS})
    store.release(manifest.hash, 1)
    assert record(store).owner_of("0" * 64) is None
    assert record(store).owner_of(manifest.owners[2].pin) == "valley"


def test_what_a_leader_says_that_it_has_forgotten_opens_no_way_to_amend(
    store: Store, consortium: Trials
) -> None:
    manifest = consortium.manifest
    agreed = (submitted(store, manifest, "north").submitted,)
    store.begin_attempt(manifest.hash, 1, agreed)
    store.fail_attempt(manifest.hash, 1, "the leader was lost")
    store.forget_attempts(manifest.hash)
    assert not store.has_begun(manifest.hash)  # owners may send again what the leader has lost
    with pytest.raises(BegunError, match="cannot be amended any more"):
        store.amend(amend(consortium, without(manifest, "valley")), decides=False)


def test_a_node_that_was_rolled_back_accepts_again_what_was_amended(store: Store, consortium: Trials) -> None:
    """It has learned from others of an attempt, and goes on where they are."""
    manifest = consortium.manifest
    store.learn_of_attempt(manifest.hash, 1)
    assert store.amend(amend(consortium, without(manifest, "valley")), decides=True)
    assert record(store).manifest.amendment == 1


def test_a_leader_that_has_forgotten_an_amendment_is_told_how_to_get_it_back(
    store: Store, consortium: Trials
) -> None:
    manifest = consortium.manifest
    store.amend(amend(consortium, with_attempts(manifest, 7)), decides=False)
    store.put_in_force(manifest.hash, 1)
    amendments = StudyAmendments(NodeKit.read(consortium.kit("proxy-1")), store, Activity())
    behind = (
        "amendment 1 counts there; the operator of proxy 0 runs 'ppaurora accept KIT trial.amendments.json'"
    )
    for earlier in (msgspec.UNSET, manifest.hash):
        assert amendments.problem(record(store), earlier) == behind
    assert amendments.problem(record(store), "0" * 64).startswith("another manifest counts there")


@pytest.fixture
def activity() -> Activity:
    return Activity()


@pytest.fixture
def parts(store: Store, consortium: Trials, activity: Activity) -> AttemptRunner:
    kit = NodeKit.read(consortium.kit("proxy-0"))
    return AttemptRunner(kit, store, cast(SniRouter, None), activity, Metrics())


@pytest.fixture
def leader(parts: AttemptRunner, store: Store, activity: Activity) -> Iterator[Leader]:
    withdrawals = Withdrawals(parts.kit, store, activity)
    amendments = StudyAmendments(parts.kit, store, activity)
    leader = Leader(parts.kit, store, activity, parts, withdrawals, amendments)
    yield leader
    leader.close()


def test_a_withdrawal_that_is_not_taken_holds_up_no_amendment(
    leader: Leader, store: Store, consortium: Trials, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From a leader with another key nodes take a withdrawal only once they have heard of the amendment."""
    manifest = consortium.manifest
    submitted(store, manifest, "north")
    attempts = manifest.terms.limits.attempts
    store.amend(amend(consortium, with_attempts(manifest, attempts + 1)), decides=True)
    store.withdraw(manifest.hash, "north", 2)
    heard: set[Server] = set()

    def answer(_: object, __: object, peer: Server, question: AnyQuestion, ___: object) -> Answer:
        if isinstance(question, Amend):
            heard.add(peer)
            return Answer(answer=Verdict.AMENDED)
        assert isinstance(question, Withdrawn)
        return Answer(answer=Verdict.WITHDRAWN if peer in heard else Verdict.REFUSED)

    monkeypatch.setattr(peers, "ask", answer)
    with pytest.raises(PeerError, match="has not taken it"):
        leader._take_next_step(record(store))
    assert heard == set(PROXY_0.peers)
    leader._take_next_step(record(store))
    assert store.withdrawals_to_tell(record(store)) == []


def test_what_is_computed_is_released_before_others_hear_of_its_amendment_again(
    leader: Leader, store: Store, consortium: Trials
) -> None:
    """After a restart, with a helper that has lost its disk: it gets no part, and is not waited for."""
    manifest = consortium.manifest
    sooner = {"agreed_changes": msgspec.UNSET, **with_attempts(manifest, 7)}
    amendments = amend(consortium, sooner)
    store.amend(amendments, decides=True)
    for owner in OWNERS:
        key = consortium.kit(owner) / "key.pem"
        store.keep_agreement(manifest.hash, sign_agreement(amendments, owner, 0.0, key))
    step = leader._next(record(store))
    assert step is not None
    assert step.take == leader._amendments.tell
    store.begin_attempt(manifest.hash, 1)
    store.computed(manifest.hash, 1, {owner: part(np.arange(4)) for owner in OWNERS})
    step = leader._next(record(store))
    assert step is not None
    assert step.take == leader._settle_last


@pytest.mark.parametrize("in_force", [0, 1])
def test_a_release_is_learned_of_by_every_manifest_that_was_accepted(
    store: Store, consortium: Trials, activity: Activity, tmp_path: Path, in_force: int
) -> None:
    """A node that was rolled back may have an earlier one in force than the result was released with."""
    manifest = consortium.manifest
    amendments = amend(consortium, with_attempts(manifest, 7))
    store.amend(amendments, decides=False)
    store.put_in_force(manifest.hash, in_force)
    kit = NodeKit.read(consortium.kit("proxy-1"))
    runner = AttemptRunner(kit, store, cast(SniRouter, None), activity, Metrics())
    records = PeerRecords(kit, store, activity, runner)
    sent = tuple(submitted(store, manifest, owner) for owner in OWNERS)
    agreed = tuple(one.submitted for one in sent)
    now = Time("2026-01-01T00:00:00Z")
    said = Statement(
        server="proxy-0",
        manifest=amendments.latest.hash,
        attempt=1,
        policy=amendments.latest.job(agreed).terms.policy,
        submissions=agreed,
        history=store.history(manifest.hash),
        parts=dict.fromkeys(OWNERS, "0" * 64),
        accepted_at=now,
        begun_at=now,
        computed_at=now,
        released_at=now,
        ppaurora="1.0.0",
        protocol_version=manifest.version,
        audit=store.audit_head(),
    )
    strange = msgspec.structs.replace(said, manifest="0" * 64)
    key = consortium.kit("proxy-0") / "key.pem"
    assert "signed another manifest" in records.learn(record(store), sign_statement(strange, key))
    assert record(store).state is StudyState.COLLECTING
    assert records.learn(record(store), sign_statement(said, key)) == ""
    assert record(store).state is StudyState.STOPPED
    assert "released with attempt 1" in record(store).note
