"""A replacement or withdrawal that is cut off leaves an owner with what the study is computed with."""

from __future__ import annotations

import itertools

import msgspec
import pytest

from ppaurora.data.samples import Samples, check_samples
from ppaurora.errors import InputError, PeerLostError, PeerMisbehavedError, RefusedError
from ppaurora.messages.owners import Acknowledgement, StudyStatus
from ppaurora.owner import outbox as outboxes
from ppaurora.owner.client import NodeClient
from ppaurora.owner.outbox import Outbox
from ppaurora.owner.study import Study
from ppaurora.sharing.commitment import SALT_BYTES, commit
from tests.support.deployment import samples
from tests.support.trials import PAIR, PROXY_0, PROXY_1, Trials

_SEEDS = itertools.count(9000)


def some(owner: str, count: int = 30) -> Samples:
    return check_samples(owner, *samples(count, next(_SEEDS)))


def cut_off(client: NodeClient, *sent: object) -> Acknowledgement:
    """What has left does not arrive."""
    raise PeerLostError(client.server.title, "the connection broke")


def test_a_result_of_what_a_lost_replacement_was_to_replace(
    nodes: Trials, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes.study("lost-replacement")
    north, harbour = (Study(nodes.kit(owner), "lost-replacement") for owner in PAIR)
    north.submit(some("north"))
    with monkeypatch.context() as broken:
        broken.setattr(NodeClient, "submit", cut_off)
        with pytest.raises(PeerLostError):
            north.submit(some("north"), replace=True)
    harbour.submit(some("harbour"))
    expected = harbour.wait(timeout=300).auroc
    assert north.wait(timeout=300).auroc == expected
    assert Study(nodes.kit("north"), "lost-replacement").result().auroc == expected


def test_other_data_that_is_cut_off_does_not_spoil_what_was_prepared(
    nodes: Trials, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed between the shares of other data and their record, with nothing sent yet."""
    manifest = nodes.study("cut-preparation")
    outbox = Outbox(nodes.owner("north"), manifest)
    first = some("north")
    outbox.prepare(first)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(outboxes, "keep_record", killed)
        with pytest.raises(KeyboardInterrupt):
            outbox.prepare(some("north"))
    prepared = outbox.prepare(first)
    bodies = [outbox.body(server, prepared) for server in (PROXY_0, PROXY_1)]
    assert [commit(body[:SALT_BYTES], body[SALT_BYTES:]) for body in bodies] == list(
        prepared.offer.commitments
    )


def test_a_leader_that_went_back_to_a_withdrawal(nodes: Trials) -> None:
    """Restored from before the owner submitted again: a withdrawal is above all that anybody knows."""
    manifest = nodes.study("back-to-withdrawn")
    north = Study(nodes.kit("north"), manifest.study)
    north.submit(some("north"))
    north.withdraw()
    north.submit(some("north"))
    with nodes.store("proxy-0") as store, store._transaction() as db:
        db.execute(
            "UPDATE submissions SET revision = 2, withdrawn = 1, file = NULL WHERE study = ?",
            (manifest.hash,),
        )
    withdrawn = north.withdraw()
    assert withdrawn is not None
    assert withdrawn.withdrawn == ("proxy-0", "proxy-1")
    for proxy in ("proxy-0", "proxy-1"):
        with nodes.store(proxy) as store:
            assert store.submission(manifest.hash, "north") is None
    north.submit(some("north"))
    assert north.is_submitted


def test_an_owner_cannot_make_receipts_longer_than_others_can_read(nodes: Trials) -> None:
    """A statement of 16,000 lines would not be taken by another node, so there would be no release."""
    manifest = nodes.study("many-words")
    client = nodes.client("north", manifest)
    for revision in range(1, 101):
        client.withdraw(revision)
    assert nodes.refusal(lambda: client.withdraw(101)) == "too-often"
    assert client.withdraw(100).revision == 100  # the same is answered alike
    north = Study(nodes.kit("north"), manifest.study)
    with pytest.raises(RefusedError, match="has submitted and withdrawn 100 times; nothing was stored"):
        north.submit(some("north"), replace=True)
    assert client.status().revision == 100
    with nodes.store("proxy-0") as store:
        assert len(store.history(manifest.hash)) == 100


def test_a_made_up_revision_does_not_use_up_all(nodes: Trials, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a dishonest proxy; above it there would be none left that a node takes."""
    north = Study(nodes.kit("north"), nodes.study("made-up-revision").study)
    north.submit(some("north"))
    status = NodeClient.status

    def made_up(client: NodeClient) -> StudyStatus:
        answer = status(client)
        return msgspec.structs.replace(answer, revision=1 << 53) if client.server is liar else answer

    liar = PROXY_1
    monkeypatch.setattr(NodeClient, "status", made_up)
    assert north.submit(some("north"), replace=True).revision == 2
    withdrawn = north.withdraw()
    assert withdrawn is not None
    assert withdrawn.revision == 3
    liar = PROXY_0
    assert north.submit(some("north"), replace=True).revision == 4
    with pytest.raises(
        PeerMisbehavedError, match="proxy 0 says that there was a revision 9,007,199,254,740,992"
    ):
        north.withdraw()


def test_a_proxy_that_has_deleted_the_study_will_not_hear_of_a_withdrawal(nodes: Trials) -> None:
    """And says so, rather than that it waits for proxy 0."""
    manifest = nodes.study("deleted-at-one")
    north = Study(nodes.kit("north"), manifest.study)
    north.submit(some("north"))
    with nodes.store("proxy-1") as store:
        store.delete(manifest.hash, "its operator deleted it")
    with pytest.raises(RefusedError, match="has deleted the study; nothing is kept here") as caught:
        north.withdraw()
    assert caught.value.code == "deleted"
    assert caught.value.__notes__[-1:] == [
        "proxy 0 has recorded the withdrawal: nothing will be computed with what was submitted"
    ]


def test_a_leader_that_went_back_before_the_computation(nodes: Trials) -> None:
    """It would take a replacement that proxy 1 refuses; then no attempt could ever begin."""
    manifest = nodes.study("back-before-begin")
    north, data = Study(nodes.kit("north"), manifest.study), some("north")
    north.submit(data)
    with nodes.store("proxy-1") as store:
        store.begin_attempt(manifest.hash, 1)
        store.fail_attempt(manifest.hash, 1, "as if proxy 0 had been restored", counts=False)
    for change in (lambda: north.submit(some("north"), replace=True), north.withdraw):
        with pytest.raises(InputError, match="proxy 1 has begun the computation, and proxy 0 does not know"):
            change()
    assert north.submit(data).revision == 1
