"""Amendments as a node has them on record: what may begin on which terms, and whose word counts."""

from __future__ import annotations

import msgspec
import pytest
from msgspec import UNSET

from ppaurora.agreement.terms import Limits
from ppaurora.errors import InputError
from ppaurora.messages.nodes import Amend, Verdict
from ppaurora.messages.owners import SignedAgreement
from ppaurora.node.activity import Activity
from ppaurora.node.amending import StudyAmendments
from ppaurora.node.states import ChangedError
from ppaurora.node.store import BegunError, ClosedError, Store, StudyRecord
from ppaurora.study.amendments import Amendments, amended, sign_agreement, sign_amendment
from ppaurora.study.kit import NodeKit
from ppaurora.study.manifest import Manifest
from ppaurora.study.provision import authority_key
from tests.support.deployment import OWNERS
from tests.support.rolled_back import submitted
from tests.support.trials import Trials, kept_share


@pytest.fixture
def amendments(consortium: Trials) -> Amendments:
    """One that drops an owner, and then one that changes limits; nobody has agreed beforehand."""
    first = consortium.manifest
    without_valley = tuple(owner for owner in first.owners if owner.name != "valley")
    dropped = amended(first, msgspec.structs.replace(first, owners=without_valley))
    terms = msgspec.structs.replace(dropped.terms, limits=Limits(attempts=7))
    limited = amended(dropped, msgspec.structs.replace(dropped, terms=terms))
    key = authority_key(consortium.folder / "kits")
    steps = tuple(sign_amendment(one, "", key) for one in (dropped, limited))
    return Amendments(first=first, steps=steps)


@pytest.fixture
def dropping(amendments: Amendments) -> Amendments:
    """The first of them alone."""
    return msgspec.structs.replace(amendments, steps=amendments.steps[:1])


@pytest.fixture
def follower(consortium: Trials, store: Store) -> StudyAmendments:
    """What proxy 1 does, on the store of this test."""
    return StudyAmendments(NodeKit.read(consortium.kit("proxy-1")), store, Activity())


@pytest.fixture
def leaders_pin(consortium: Trials) -> str:
    return NodeKit.read(consortium.kit("proxy-0")).pin


def agreement(consortium: Trials, amendments: Amendments, owner: str) -> SignedAgreement:
    return sign_agreement(amendments, owner, 0.0, consortium.kit(owner) / "key.pem")


def record(store: Store, manifest: Manifest) -> StudyRecord:
    found = store.study(manifest.hash)
    assert found is not None
    return found


def in_force(store: Store, manifest: Manifest) -> int:
    return record(store, manifest).manifest.amendment


def test_no_attempt_begins_before_all_have_agreed(
    consortium: Trials, store: Store, manifest: Manifest, dropping: Amendments
) -> None:
    """Whatever the leader or anything else above the records believes."""
    store.amend(dropping, decides=True)
    for owner, awaited in (("north", "north, harbour"), ("harbour", "harbour")):
        with pytest.raises(ChangedError, match=rf"\A{awaited} has not agreed"):
            store.begin_attempt(manifest.hash, 1, has_shares=False)
        store.keep_agreement(manifest.hash, agreement(consortium, dropping, owner))
    store.begin_attempt(manifest.hash, 1, has_shares=False)


def test_an_agreement_to_an_earlier_amendment_is_none_to_the_next(
    consortium: Trials, store: Store, manifest: Manifest, amendments: Amendments, dropping: Amendments
) -> None:
    store.amend(dropping, decides=True)
    for owner in ("north", "harbour"):
        store.keep_agreement(manifest.hash, agreement(consortium, dropping, owner))
    store.amend(amendments, decides=True)
    store.keep_agreement(manifest.hash, agreement(consortium, amendments, "north"))
    with pytest.raises(ChangedError, match=r"\Aharbour has not agreed"):
        store.begin_attempt(manifest.hash, 1, has_shares=False)
    assert not store.keep_agreement(manifest.hash, agreement(consortium, dropping, "north"))  # no news


def test_an_agreement_that_takes_the_place_of_an_earlier_one_damages_nothing(
    consortium: Trials, store: Store, manifest: Manifest, amendments: Amendments, dropping: Amendments
) -> None:
    """The sum of all rows, by which a node notices at its start that one is missing, is right."""
    store.amend(amendments, decides=True)
    store.keep_agreement(manifest.hash, agreement(consortium, dropping, "north"))
    store.keep_agreement(manifest.hash, agreement(consortium, amendments, "north"))
    store._check_rows()


def test_no_attempt_begins_on_a_manifest_that_does_not_count_any_longer(
    consortium: Trials, store: Store, manifest: Manifest, dropping: Amendments
) -> None:
    """As if it had been planned a moment before the amendment."""
    store.amend(dropping, decides=True)
    for owner in ("north", "harbour"):
        store.keep_agreement(manifest.hash, agreement(consortium, dropping, owner))
    with pytest.raises(ChangedError, match="amended meanwhile"):
        store.begin_attempt(manifest.hash, 1, has_shares=False, manifest=manifest.hash)
    store.begin_attempt(manifest.hash, 1, has_shares=False, manifest=dropping.latest.hash)


def test_after_an_attempt_has_begun_nothing_comes_into_force(
    store: Store, manifest: Manifest, amendments: Amendments, dropping: Amendments
) -> None:
    """Neither what this operator accepts now, nor what it had accepted before and the leader tells late."""
    store.amend(dropping, decides=False)
    store.begin_attempt(manifest.hash, 1, has_shares=False)
    with pytest.raises(BegunError):
        store.put_in_force(manifest.hash, 1)
    for decides in (True, False):
        with pytest.raises(BegunError):
            store.amend(amendments, decides=decides)
    assert in_force(store, manifest) == 0
    assert record(store, manifest).amendments == dropping


def test_an_earlier_amendment_never_comes_back(
    store: Store, manifest: Manifest, amendments: Amendments, dropping: Amendments
) -> None:
    store.amend(amendments, decides=False)
    store.put_in_force(manifest.hash, 2)
    store.put_in_force(manifest.hash, 1)
    assert in_force(store, manifest) == 2
    assert not store.amend(dropping, decides=True)
    assert in_force(store, manifest) == 2


def test_nothing_is_taken_of_an_owner_who_was_dropped(
    store: Store, manifest: Manifest, dropping: Amendments
) -> None:
    """Its request may have begun before that."""
    kept_share(store, manifest, "valley")
    store.amend(dropping, decides=False)
    submitted(store, manifest)  # others go on
    store.put_in_force(manifest.hash, 1)
    assert not (store.shares / "valley-share").exists()
    with pytest.raises(ClosedError, match="valley takes part no longer"):
        kept_share(store, manifest, "valley")
    with pytest.raises(ClosedError):
        store.withdraw(manifest.hash, "valley", 2)
    assert store.latest_revision(manifest.hash, "valley") is None
    assert store.submission(manifest.hash, "harbour") is not None


def test_an_agreement_is_kept_only_once_it_is_verified(
    consortium: Trials, store: Store, manifest: Manifest, dropping: Amendments, follower: StudyAmendments
) -> None:
    store.amend(dropping, decides=True)
    study, said = record(store, manifest), agreement(consortium, dropping, "north")
    as_harbour = msgspec.structs.replace(said.agreement, owner="harbour")
    forged = msgspec.structs.replace(said, agreement=as_harbour)
    assert "not signed with the key of harbour" in follower.keep(study, [forged])
    assert store.agreements(manifest.hash) == {}
    assert follower.keep(study, [said]) == ""
    assert list(store.agreements(manifest.hash)) == ["north"]


def test_a_node_that_follows_lets_nothing_count_but_what_its_operator_has_accepted(
    store: Store,
    manifest: Manifest,
    amendments: Amendments,
    dropping: Amendments,
    follower: StudyAmendments,
    leaders_pin: str,
) -> None:
    def told(manifest_hash: str, pin: str = leaders_pin) -> Verdict:
        question = Amend(study=manifest.hash, manifest=manifest_hash, agreements=())
        return follower.answer(record(store, manifest), pin, question).answer

    assert told(dropping.latest.hash) is Verdict.NOT_YET
    store.amend(dropping, decides=False)
    assert told(amendments.latest.hash) is Verdict.NOT_YET
    assert told(dropping.latest.hash, manifest.nodes["helper"].pin) is Verdict.REFUSED
    assert in_force(store, manifest) == 0
    assert told(dropping.latest.hash) is Verdict.AMENDED
    assert in_force(store, manifest) == 1
    assert told(manifest.hash) is Verdict.MISMATCH


def test_a_node_that_follows_is_ready_on_the_manifest_that_counts_and_on_no_other(
    consortium: Trials, store: Store, manifest: Manifest, amendments: Amendments, follower: StudyAmendments
) -> None:
    assert follower.problem(record(store, manifest), UNSET) == ""
    store.amend(amendments, decides=False)
    assert "another manifest counts there" in follower.problem(
        record(store, manifest), amendments.latest.hash
    )
    store.put_in_force(manifest.hash, 2)
    study = record(store, manifest)
    for another in (UNSET, manifest.hash, amendments.manifests[1].hash):
        assert follower.problem(study, another).startswith("amendment 2 counts there")
    assert "yet to agree to amendment 2" in follower.problem(study, amendments.latest.hash)
    for owner in ("north", "harbour"):
        assert follower.keep(study, [agreement(consortium, amendments, owner)]) == ""
    assert follower.problem(study, amendments.latest.hash) == ""


def test_another_amendment_of_the_same_number_is_refused(
    consortium: Trials, store: Store, manifest: Manifest, dropping: Amendments
) -> None:
    terms = msgspec.structs.replace(manifest.terms, limits=Limits(attempts=3))
    key = authority_key(consortium.folder / "kits")
    step = sign_amendment(amended(manifest, msgspec.structs.replace(manifest, terms=terms)), "", key)
    store.amend(dropping, decides=True)
    with pytest.raises(InputError, match="another amendment"):
        store.amend(Amendments(first=manifest, steps=(step,)), decides=True)
    assert record(store, manifest).manifest.owner_names == [one for one in OWNERS if one != "valley"]
