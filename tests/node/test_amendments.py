"""Studies that are amended before anything is computed: at real nodes, with real owners' kits."""

from __future__ import annotations

import datetime
from pathlib import Path

import msgspec
import pytest
from msgspec import UNSET

from ppaurora.errors import RefusedError
from ppaurora.messages.refusals import RefusalCode
from ppaurora.node.store import Store
from ppaurora.owner.study import Study
from ppaurora.owner.verifying import verify_receipt
from ppaurora.pages.report.facts import AmendmentFacts, study_facts
from ppaurora.study.amending import amend
from ppaurora.study.amendments import Amendments, amended, sign_amendment
from ppaurora.study.kit import amendments_path
from ppaurora.study.provision import authority_key
from ppaurora.study.receipt import AgreedAmendments
from tests.support.amended import DATA, DAY, Amended, dropped, until
from tests.support.deployment import NODES, OWNERS
from tests.support.oracles import exact_auroc
from tests.support.trials import PROXY_0, PROXY_1, RunCommand, Trials, becomes, half_sent


@pytest.fixture
def folder(nodes: Trials) -> Path:
    return nodes.folder


def pooled(*owners: str) -> float:
    pairs = [(score, int(label)) for owner in owners for label, score in zip(*DATA[owner], strict=True)]
    found = exact_auroc(pairs)
    assert found is not None
    return float(found)


def test_an_owner_who_is_gone_is_dropped_and_the_others_agree(nodes: Trials, run: RunCommand) -> None:
    study = Amended(nodes, "gone")
    study.submit("north", "valley")
    study.amend(dropped("valley"), reason="valley has closed")
    study.accept(run, *NODES)
    assert study.is_in_force(1)
    code, said = run("status", nodes.kit("north"), "--study", "gone")
    assert code == 0
    assert f"'ppaurora accept {nodes.kit('north')} --study gone' shows how" in " ".join(said.split())
    study.submit("harbour")  # all have submitted, and not all have agreed
    assert becomes(
        lambda: (
            "yet to agree to amendment 1, with 'ppaurora accept KIT --study gone'"
            in study.owner("north").status()["proxy 0"].note
        )
    )
    code, said = run("accept", nodes.kit("north"), "--study", "gone", "--yes")
    assert code == 0, said
    assert "owner valley" in said
    assert "valley has closed" in said
    with nodes.store("proxy-0") as store:
        assert not store.has_begun(study.manifest.hash)
    code, said = run("accept", nodes.kit("harbour"), study.file, "--yes")
    assert code == 0, said
    report = study.owner("north").wait(timeout=120)
    assert report.auroc == pooled("north", "harbour")
    assert list(report.receipt.samples) == ["north", "harbour"]
    assert isinstance(report.receipt.amended, AgreedAmendments)
    assert report.receipt.amended.reasons == "1: valley has closed"
    found = verify_receipt(study.owner("north").results)
    assert "was amended before anything was computed" in found.proves[0]
    assert "harbour" in found.proves[0]
    facts = study_facts(found, None)
    assert "the study was amended once (valley has closed); all owners agreed, with their" in facts.methods
    assert [(one.reason, one.signed_by) for one in facts.amendments] == [
        ("valley has closed", ("north", "harbour"))
    ]
    with pytest.raises(RefusedError, match="since amendment 1 your key is not that of an owner") as refused:
        Study(nodes.kit("valley"), "gone")._clients[PROXY_0].status()
    assert refused.value.code == RefusalCode.NOT_AN_OWNER
    # What the owner had submitted who was dropped is nowhere any longer.
    for node in ("proxy-0", "proxy-1"):
        with nodes.store(node) as store:
            assert store.latest_revision(study.manifest.hash, "valley") is None


def test_the_command_says_who_does_what_next(nodes: Trials, run: RunCommand) -> None:
    study = Amended(nodes, "next-steps")
    text = study.plan.read_text().replace(*dropped("valley"))
    study.plan.write_text(text)
    code, said = run("amend", study.plan, study.kits, "--reason", "valley has closed")
    assert code == 0, said
    assert "reason: valley has closed\nowner valley\n  - key " in said
    assert f"amendment 1: {study.file}, hash " in said
    assert "all operators: each runs 'ppaurora accept KIT next-steps.amendments.json'\n" in said
    assert "and to north, harbour, who have to agree: each runs 'ppaurora accept KIT --study next-" in said
    assert "tell valley that it takes part no longer; what it submitted is deleted\n" in said
    code, said = run("amend", study.plan, study.kits)
    assert code == 2
    assert "nothing differs from what was agreed on" in said


def test_what_all_agreed_to_beforehand_asks_nobody_again(nodes: Trials, run: RunCommand) -> None:
    more = "[agreed_changes]\nminimum_owners = 2\ndeadline_days = 30\n"
    study = Amended(nodes, "beforehand", more)
    study.submit("north")
    later = DAY + datetime.timedelta(days=30)
    study.amend((until(DAY), until(later)))
    study.amend(dropped("valley"))
    study.accept(run, "helper", "proxy-1", "proxy-0")
    study.submit("harbour")
    assert study.owner("north").manifest.amendment == 0
    report = study.owner("north").wait(timeout=120)
    assert report.auroc == pooled("north", "harbour")
    assert report.receipt.manifest.evaluation.submissions_until == later.isoformat()
    assert isinstance(report.receipt.amended, AgreedAmendments)
    assert report.receipt.amended.agreements == ()
    told = AmendmentFacts.all_of(report.receipt)
    assert [(one.number, one.reason, one.signed_by) for one in told] == [
        (n, "so it goes", ()) for n in (1, 2)
    ]
    assert [change.what for change in told[1].changes] == ["owner valley"]
    assert study.owner("north").manifest.amendment == 2  # what counted is in the kit now
    verify_receipt(study.owner("north").results)


def test_an_amendment_beyond_what_was_agreed_asks_everybody(nodes: Trials, run: RunCommand) -> None:
    study = Amended(nodes, "beyond", "[agreed_changes]\ndeadline_days = 30\n")
    amendments = study.amend((until(DAY), until(DAY + datetime.timedelta(days=31))))
    assert amendments.to_agree(1, {}) == list(OWNERS)
    assert amendments.to_agree(1, {"north": 1, "valley": 1}) == ["harbour"]


def test_nothing_is_amended_after_an_attempt_has_begun(nodes: Trials, run: RunCommand) -> None:
    study = Amended(nodes, "too-late-now")
    study.submit(*OWNERS)
    report = study.owner("north").wait(timeout=120)
    study.amend(dropped("valley"))
    for node in NODES:
        code, said = run("accept", nodes.kit(node), study.file, "--yes")
        assert code == 2
        assert "cannot be amended any more" in said
    with nodes.store("proxy-0") as store:
        found = store.study(study.manifest.hash)
        assert found is not None
        assert found.amendments is None
    assert report.auroc == pooled(*OWNERS)
    assert report.receipt.manifest == study.manifest
    # An owner may have agreed before anybody knew that it is too late: the terms before are its terms, too.
    code, said = run("accept", nodes.kit("harbour"), study.file, "--yes")
    assert code != 0
    assert "no amendment to this study was accepted" in said
    assert study.owner("harbour").manifest.amendment == 1
    assert study.owner("harbour").result().auroc == pooled(*OWNERS)
    verify_receipt(study.owner("harbour").results, manifest_hash=study.manifest.hash)


def test_an_owner_may_know_of_more_amendments_than_the_nodes(nodes: Trials, run: RunCommand) -> None:
    """The coordinator's file has come to the owner first; no node is accused, and its result is taken."""
    study = Amended(nodes, "ahead", "[agreed_changes]\ndeadline_days = 30\n")
    days = [DAY + datetime.timedelta(days=number) for number in range(3)]
    study.amend((until(days[0]), until(days[1])))
    study.accept(run, *NODES)
    study.amend((until(days[1]), until(days[2])))
    study.accept(run, "helper")  # which does not lead: this one is not in force
    code, said = run("accept", nodes.kit("north"), study.file, "--yes")
    assert code == 0, said
    north = study.owner("north")
    assert north.manifest.amendment == 2
    assert north.proposal() is None
    study.submit(*OWNERS)
    report = north.wait(timeout=120)
    assert report.auroc == pooled(*OWNERS)
    assert report.receipt.manifest.amendment == 1
    verify_receipt(study.owner("north").results)


def test_what_a_dropped_owner_was_sending_is_refused(nodes: Trials, run: RunCommand) -> None:
    """It was an owner when it began. What it sends is not kept, and keeps nobody waiting."""
    study = Amended(nodes, "dropped-meanwhile")
    upload, before = nodes.upload(study.manifest, 50_000), nodes.shares()
    with half_sent(nodes, study.manifest, upload) as finish:
        assert becomes(lambda: nodes.shares() != before)
        study.amend(dropped("north"))
        study.accept(run, *NODES)
        assert study.is_in_force(1)
        answer = finish()
    assert b" 403 " in answer
    assert b"since amendment 1 your key is not that of an owner" in answer
    assert becomes(lambda: nodes.shares() == before)
    study.submit("harbour", "valley")
    for owner in ("harbour", "valley"):
        code, said = run("accept", nodes.kit(owner), study.file, "--yes")
        assert code == 0, said
    assert study.owner("valley").wait(timeout=120).auroc == pooled("harbour", "valley")


def test_a_share_that_a_cut_off_acceptance_has_left_is_deleted(
    nodes: Trials, run: RunCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the leader it is the operator's command that deletes, and the node runs on when that is cut off."""
    study = Amended(nodes, "killed-in-between")
    before = nodes.shares()
    study.submit("valley")
    study.amend(dropped("valley"))
    with monkeypatch.context() as cut:
        cut.setattr(Store, "_unlink", lambda self, files: 1 / 0)
        run("accept", nodes.kit("proxy-0"), study.file, "--yes")
    assert study.in_force("proxy-0") == 1
    assert becomes(lambda: nodes.shares() == before)


def test_no_attempt_begins_while_one_operator_has_not_accepted(nodes: Trials, run: RunCommand) -> None:
    study = Amended(nodes, "not-all")
    study.amend((until(DAY), until(DAY + datetime.timedelta(days=1))))
    study.accept(run, "proxy-0", "proxy-1")
    study.submit(*OWNERS)
    for owner in OWNERS:
        code, said = run("accept", nodes.kit(owner), study.file, "--yes")
        assert code == 0, said
    note = "helper has yet to accept amendment 1: its operator runs 'ppaurora accept KIT"
    assert becomes(lambda: note in study.owner("north").status()["proxy 0"].note)
    with nodes.store("proxy-0") as store:
        assert not store.has_begun(study.manifest.hash)
    study.accept(run, "helper")
    assert study.owner("harbour").wait(timeout=180).auroc == pooled(*OWNERS)


def test_one_that_the_leader_has_not_accepted_counts_nowhere(nodes: Trials, run: RunCommand) -> None:
    study = Amended(nodes, "not-the-leader")
    study.amend(dropped("valley"))
    study.accept(run, "proxy-1", "helper")
    study.submit(*OWNERS)
    report = study.owner("north").wait(timeout=120)
    assert report.auroc == pooled(*OWNERS)
    assert report.receipt.amended is UNSET
    assert report.receipt.manifest == study.manifest
    verify_receipt(study.owner("north").results)


def test_an_owner_with_another_key_goes_on_where_it_was(nodes: Trials, run: RunCommand) -> None:
    study = Amended(nodes, "another-key")
    study.submit("north", "valley")
    made = amend(study.plan, study.kits, reason="the key was lost", new_keys=["valley"])
    assert "warning: valley: another key" in study.accept(run, *NODES)
    assert study.is_in_force(1)
    code, said = run("accept", nodes.kit("valley"), study.file, "--yes")
    assert code == 2
    assert "names another key for valley than this kit has" in said
    assert study.owner("valley").manifest.amendment == 0  # the kit before is as it was
    into = nodes.folder / "valley-again"
    code, said = run("unpack", made.kits[0], "--into", into)
    assert code == 0, said
    assert f"next: ppaurora accept {into}\n" in said
    nodes.secrets += (into / "key.pem").read_text().splitlines()[1:-1]
    for kit in (nodes.kit("north"), nodes.kit("harbour"), into):
        code, said = run("accept", kit, "--study", "another-key", "--yes")
        assert code == 0, said
        assert ("warning: valley: another key" in said) == (kit != into)
    study.submit("harbour")  # what valley had submitted with its old key stands
    report = Study(into).wait(timeout=120)
    assert report.auroc == pooled(*OWNERS)
    with pytest.raises(RefusedError, match="since amendment 1"):
        Study(nodes.kit("valley"), "another-key")._clients[PROXY_1].status()


def test_a_node_is_reached_at_another_address(nodes: Trials, run: RunCommand) -> None:
    """By another name of the same machine; what was submitted before stands."""
    study = Amended(nodes, "another-address")
    study.submit("north")
    address = study.manifest.node(PROXY_1).owners_address
    assert address is not None
    moved = address.replace("127.0.0.1", "localhost")
    study.amend((f'owners_address = "{address}"', f'owners_address = "{moved}"'))
    study.accept(run, *NODES)
    for owner in OWNERS:
        code, said = run("accept", nodes.kit(owner), study.file, "--yes")
        assert code == 0, said
        assert study.owner(owner)._clients[PROXY_1].where == moved
    study.submit("harbour", "valley")
    assert study.owner("north").wait(timeout=120).auroc == pooled(*OWNERS)


def test_an_agreement_counts_only_with_the_owners_own_signature(nodes: Trials, run: RunCommand) -> None:
    """Nobody agrees in another's name: not an owner, and not a leader."""
    study = Amended(nodes, "forged")
    study.amend(dropped("valley"))
    study.accept(run, *NODES)
    north, harbour = study.owner("north"), study.owner("harbour")
    proposal = north.proposal(study.file)
    assert proposal is not None
    signed = north._agreements.agree(proposal)
    assert signed is not None
    with pytest.raises(RefusedError, match="it is another owner's"):
        harbour._clients[PROXY_0].agree(signed)
    said = msgspec.structs.replace(signed.agreement, owner="harbour")
    forged = msgspec.structs.replace(signed, agreement=said)
    with pytest.raises(RefusedError, match="not signed with the key of harbour"):
        harbour._clients[PROXY_0].agree(forged)
    with nodes.store("helper") as store:
        assert store.agreements(study.manifest.hash) == {}


def test_a_node_with_another_key_takes_the_place_of_a_lost_one(nodes: Trials, run: RunCommand) -> None:
    """Its kit holds the amended manifest, which is no study of its own: that would bar the amendments."""
    study = Amended(nodes, "lost-node")
    made = amend(study.plan, study.kits, reason="the disk was lost", new_keys=["proxy-1"])
    into = nodes.folder / "proxy-1-again"
    code, said = run("unpack", made.kits[0], "--into", into)
    assert code == 0, said
    nodes.secrets += (into / "key.pem").read_text().splitlines()[1:-1]
    assert f"next: ppaurora accept {into} lost-node.amendments.json" in said
    code, said = run("accept", into, into / "studies/lost-node.json", "--yes")
    assert code == 2
    assert "take the file lost-node.amendments.json from the coordinator" in said
    code, said = run("accept", into, made.file, "--yes")
    assert code == 0, said
    code, said = run("studies", into)
    assert "amendment 1 was accepted here, and waits for proxy 0" in said
    code, said = run("preflight", into)
    assert "names another key" not in said


def test_operators_are_told_to_let_go_on_what_an_amendment_mends(nodes: Trials, run: RunCommand) -> None:
    study = Amended(nodes, "mended")
    with nodes.store("helper") as store:
        store.stop(study.manifest.hash, "an owner has too many samples")
    study.amend((until(DAY), until(DAY + datetime.timedelta(days=1))))
    said = study.accept(run, "helper")
    assert "the study has stopped here: an owner has too many samples" in said
    assert f"next: ppaurora retry {nodes.kit('helper')} mended" in said


def test_amendments_that_differ_from_node_to_node_are_agreed_to_by_nobody(
    nodes: Trials, run: RunCommand
) -> None:
    """A coordinator that has signed two, or that has made one from an old folder."""
    study = Amended(nodes, "two-of-them")
    study.amend(dropped("valley"))
    study.accept(run, "proxy-0")
    study.file.unlink()
    other = until(DAY + datetime.timedelta(days=1))
    study.amend((until(DAY), other))
    study.accept(run, "proxy-1")
    code, said = run("accept", nodes.kit("north"), "--study", "two-of-them", "--yes")
    assert code == 2
    assert "its servers have different amendments" in said
    assert study.owner("north").manifest == study.manifest
    nodes.owner("north").amend(Amendments.read(study.file))  # as if it had agreed to that from a file
    one = amendments_path(nodes.kit("north") / "studies", "two-of-them")
    code, said = run("accept", nodes.kit("north"), "--study", "two-of-them", "--yes")
    assert f"If these do, delete {one} and accept them" in said


def test_owners_have_to_force_what_puts_two_nodes_into_one_organisation(
    nodes: Trials, run: RunCommand
) -> None:
    study = Amended(nodes, "one-organisation")
    manifest = study.manifest
    merged = {
        name: msgspec.structs.replace(node, organisation=type(node.organisation)("One"))
        for name, node in manifest.nodes.items()
    }
    after = amended(manifest, msgspec.structs.replace(manifest, nodes=merged))
    step = sign_amendment(after, "merged", authority_key(nodes.folder / "kits"))
    study.file.write_text(Amendments(first=manifest, steps=(step,)).text())
    code, said = run("accept", nodes.kit("north"), study.file, "--yes")
    assert code == 2
    assert "One" in said
    assert "--force" in said
    assert study.owner("north").manifest == manifest


def test_an_owner_who_agreed_before_any_operator_accepted_has_its_result(
    nodes: Trials, run: RunCommand
) -> None:
    """The computation began meanwhile, on the terms that it had agreed to first."""
    study = Amended(nodes, "agreed-early")
    study.amend(dropped("valley"))
    code, said = run("accept", nodes.kit("north"), study.file, "--yes")
    assert code != 0
    assert "the agreement is in the kit, and was not delivered" in said
    study.submit(*OWNERS)
    report = study.owner("north").wait(timeout=120)
    assert report.auroc == pooled(*OWNERS)
    assert report.receipt.manifest == study.manifest
    assert study.owner("north").result().receipt == report.receipt
    verify_receipt(study.owner("north").results)
