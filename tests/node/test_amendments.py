"""Studies that are amended before anything is computed: at real nodes, with real owners' kits."""

from __future__ import annotations

import datetime
import shutil
from pathlib import Path

import msgspec
import pytest
from msgspec import UNSET

from ppaurora.errors import RefusedError
from ppaurora.messages.refusals import RefusalCode
from ppaurora.owner.study import Study
from ppaurora.owner.verifying import verify_receipt
from ppaurora.study.amending import amend
from ppaurora.study.amendments import Amendments
from ppaurora.study.kit import amendments_path
from tests.support.deployment import NODES, OWNERS, samples
from tests.support.oracles import exact_auroc
from tests.support.sending import send
from tests.support.trials import PROXY_0, PROXY_1, RunCommand, Trials, becomes

DAY = datetime.date(2199, 6, 30)
POLICY_OF_TWO = 'kind = "exact"'
DATA = {owner: samples(60, place) for place, owner in enumerate(OWNERS)}


@pytest.fixture
def folder(nodes: Trials) -> Path:
    return nodes.folder


class Amended:
    """A study of three owners, and its coordinator."""

    def __init__(self, nodes: Trials, name: str, more: str = "") -> None:
        self.nodes, self.name = nodes, name
        more = f"[evaluation]\nsubmissions_until = {DAY}\n{more}"
        self.manifest = nodes.study(name, owners=OWNERS, more=more)
        self.plan = nodes.folder / f"{name}.toml"
        # `Trials` keeps all participants' kits in one folder; a coordinator has those of one study.
        self.kits = nodes.folder / name
        for participant in (*NODES, *OWNERS):
            kit = self.kits / participant
            kit.mkdir(exist_ok=True)
            for file in ("certificate.pem", "authority.pem"):
                shutil.copy(nodes.kit(participant) / file, kit / file)

    @property
    def file(self) -> Path:
        return amendments_path(self.kits, self.name)

    def amend(self, *changes: tuple[str, str], reason: str = "so it goes") -> Amendments:
        text = self.plan.read_text()
        for before, after in changes:
            assert before in text
            text = text.replace(before, after)
        self.plan.write_text(text)
        return amend(self.plan, self.kits, reason=reason).amendments

    def accept(self, run: RunCommand, *participants: str) -> str:
        said = ""
        for one in participants:
            code, told = run("accept", self.nodes.kit(one), self.file, "--yes")
            assert code == 0, told
            said += told
        return said

    def owner(self, name: str) -> Study:
        return Study(self.nodes.kit(name), self.name)

    def submit(self, *owners: str) -> None:
        for owner in owners:
            send(self.owner(owner), DATA[owner])

    def in_force(self, node: str) -> int:
        with self.nodes.store(node) as store:
            study = store.study(self.manifest.hash)
            assert study is not None
            return study.manifest.amendment

    def is_in_force(self, number: int) -> bool:
        return becomes(lambda: {self.in_force(node) for node in NODES} == {number})


def pooled(*owners: str) -> float:
    pairs = [(score, int(label)) for owner in owners for label, score in zip(*DATA[owner], strict=True)]
    found = exact_auroc(pairs)
    assert found is not None
    return float(found)


def until(day: datetime.date) -> str:
    return f"submissions_until = {day}"


def dropped(owner: str) -> tuple[str, str]:
    return f"[owners.{owner}]\n", ""


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
            "yet to agree to amendment 1: ppaurora accept KIT --study gone"
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
    assert report.receipt.amended is not UNSET
    assert report.receipt.amended.reasons == "1: valley has closed"
    found = verify_receipt(study.owner("north").results)
    assert "was amended before anything was computed" in found.proves[0]
    assert "harbour" in found.proves[0]
    with pytest.raises(RefusedError, match="since amendment 1 your key is not that of an owner") as refused:
        Study(nodes.kit("valley"), "gone")._clients[PROXY_0].status()
    assert refused.value.code == RefusalCode.NOT_AN_OWNER
    # What the owner had submitted who was dropped is nowhere any longer.
    for node in ("proxy-0", "proxy-1"):
        with nodes.store(node) as store:
            assert store.latest_revision(study.manifest.hash, "valley") is None


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
    assert report.receipt.amended is not UNSET
    assert report.receipt.amended.agreements == ()
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
    study.accept(run, *NODES)
    assert study.is_in_force(1)
    into = nodes.folder / "valley-again"
    code, said = run("unpack", made.kits[0], "--into", into)
    assert code == 0, said
    nodes.secrets += (into / "key.pem").read_text().splitlines()[1:-1]
    for kit in (nodes.kit("north"), nodes.kit("harbour"), into):
        code, said = run("accept", kit, "--study", "another-key", "--yes")
        assert code == 0, said
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
