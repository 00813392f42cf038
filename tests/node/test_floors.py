"""What single owners demand, at nodes that run: the strictest rule wins, or nothing is computed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ppaurora.data import check_samples
from ppaurora.errors import InputError, ProtocolError
from ppaurora.messages.owners import Offer, StudyState
from ppaurora.node import operating
from ppaurora.owner.outbox import Outbox
from ppaurora.owner.study import Study
from ppaurora.policy.rules import Floors, Policy
from ppaurora.study.kit import NodeKit, OwnerKit
from ppaurora.study.manifest import Manifest
from tests.support.deployment import NODES
from tests.support.policies import (
    DEFAULT_POLICY,
    HEAD,
    Data,
    at_nodes,
    check_rounded,
    events_of,
    made_up,
    stops_everywhere,
    submit_all,
    with_floors,
)
from tests.support.trials import OWNERS, PROXY_0, PROXY_1, RunCommand, Trials, rewritten

HISTOGRAM = 'metrics = ["auroc", { name = "histogram", bins = [-1.0, 0.0, 1.0] }]\n'


TO_MEND = (
    "these owners run 'ppaurora withdraw', then the operator of every node at which it has stopped runs "
    "'ppaurora retry', and then they submit again"
)


def planned(nodes: Trials, name: str, *, policy: str = DEFAULT_POLICY, head: str = HEAD) -> Manifest:
    """Of all three owners."""
    return nodes.study(name, owners=OWNERS, head=head, policy=policy)


def evaluated(nodes: Trials, name: str, data: Data, kits: dict[str, Path]) -> list[Study]:
    """By all owners, some from kits with floors; every owner's study, once there is a result."""
    studies = list(submit_all(nodes, name, data, kits).values())
    for study in studies:
        study.wait(timeout=300)
    return studies


def test_who_demands_more_positives_gets_a_suppressed_result_for_all(nodes: Trials, tmp_path: Path) -> None:
    """The same data is released where nobody demands them."""
    data = made_up("undemanding", (210, 210, 210))
    planned(nodes, "undemanding")
    check_rounded(submit_all(nodes, "undemanding", data)["north"].wait(timeout=300), data, Policy())
    planned(nodes, "demanding")
    kits = {"harbour": with_floors(nodes, "harbour", tmp_path, "minimum_positives = 421")}
    with pytest.warns(UserWarning, match="part of study undemanding"):
        studies = evaluated(nodes, "demanding", data, kits)
    for study in studies:
        report = study.result()
        assert report.suppressed
        assert report.policy == report.receipt.policy == Policy(minimum_positives=421)


def test_what_is_just_enough_is_released(nodes: Trials, tmp_path: Path) -> None:
    planned(nodes, "enough")
    data = made_up("enough", (210, 210, 210))
    kits = {"harbour": with_floors(nodes, "harbour", tmp_path, "minimum_positives = 420")}
    report = evaluated(nodes, "enough", data, kits)[2].result()
    check_rounded(report, data, Policy(minimum_positives=420))


@pytest.mark.parametrize(("floor", "digits"), [("1", 1), ("3", 3), ("4", 3), ('"exact"', 3)])
def test_fewer_digits_win(nodes: Trials, tmp_path: Path, floor: str, digits: int) -> None:
    """The policy says 3, and what an owner demands is the most that it gives."""
    name = f"digits-{floor.strip(chr(34))}"
    planned(nodes, name)
    data = made_up(name)
    kits = {"valley": with_floors(nodes, "valley", tmp_path, f"digits = {floor}")}
    for study in evaluated(nodes, name, data, kits):
        report = study.result()
        assert report.policy == report.receipt.policy == Policy(digits=digits)
        check_rounded(report, data, report.policy)


def test_every_rule_is_that_of_whoever_is_strictest(nodes: Trials, tmp_path: Path) -> None:
    """Of three owners who each demand something else, and of a policy that tells counts."""
    planned(nodes, "all-demand", policy='[policy]\nkind = "exact"\n')
    demands = {
        "north": "digits = 3\nminimum_positives = 20",
        "harbour": 'counts = "rounded"\nminimum_positives = 5\nlargest_owner_fraction = 0.45',
        "valley": "minimum_negatives = 30\nminimum_per_cell = 25\nminimum_samples = 1330",
    }
    kits = {owner: with_floors(nodes, owner, tmp_path, floors) for owner, floors in demands.items()}
    data = made_up("all-demand")
    strictest = Policy.exact(
        largest_owner_fraction=0.45,
        minimum_samples=1330,
        minimum_positives=20,
        minimum_negatives=30,
        minimum_per_cell=25,
        whole_tables=True,
        digits=3,
        counts="rounded",
    )
    for study in evaluated(nodes, "all-demand", data, kits):
        report = study.result()
        assert report.policy == strictest
        assert report.positives == 665
        assert report["auroc"].digits == 3  # type: ignore[union-attr]
        assert {one.owner: one.floors for one in study._inbox.find().answers[0].submissions} == {  # type: ignore[union-attr]
            owner: OwnerKit.read(kit).settings.floors for owner, kit in kits.items()
        }


def test_a_floor_that_contradicts_what_was_asked_for_is_refused(
    nodes: Trials, tmp_path: Path, run: RunCommand
) -> None:
    """By the owner's own side before anything is kept; and by every node that it is sent to all the same."""
    manifest = planned(nodes, "contradicted", head=HISTOGRAM, policy='[policy]\ncounts = "rounded"\n')
    kit = with_floors(nodes, "north", tmp_path, 'counts = "hidden"')
    labels, scores = made_up("contradicted")["north"]
    with pytest.raises(InputError, match="with owners' floors: the metric 'histogram' tells numbers"):
        Study(kit, "contradicted").submit(check_samples("north", labels, scores))
    assert not (kit / "outbox/contradicted").exists()
    upload = nodes.upload(manifest)
    for server in (PROXY_0, PROXY_1):
        client = nodes.client("north", manifest, server)
        before = nodes.shares(server.file_name)

        def offer(floors: Floors) -> Offer:
            return Offer(samples=upload.samples, floors=floors, commitments=upload.commitments)

        assert nodes.refusal(lambda c=client: c.submit(offer(Floors(counts="hidden")), upload.bodies[0])) == (  # type: ignore[misc]
            "samples"
        )
        assert nodes.shares(server.file_name) == before
        assert client.status().submitted == ()
        client.submit(offer(Floors(counts="rounded")), upload.bodies[server])  # the control
        assert client.status().submitted == ("north",)


def test_nodes_that_were_told_different_floors_do_not_compute(nodes: Trials) -> None:
    """An owner that demands one thing of one node and another of the other."""
    manifest = planned(nodes, "two-tongues")
    data = made_up("two-tongues")
    submit_all(nodes, manifest.study, {owner: data[owner] for owner in OWNERS[1:]})
    outbox = Outbox(nodes.owner("north"), manifest)
    submission = outbox.prepare(check_samples("north", *data["north"]))
    demanded = {PROXY_1: Floors(minimum_positives=11), PROXY_0: Floors()}
    for server, floors in demanded.items():
        offer = Offer(samples=submission.samples, floors=floors, commitments=submission.offer.commitments)
        nodes.client("north", manifest, server).submit(offer, outbox.body(server))
    for node, stopped in stops_everywhere(nodes, manifest.hash).items():
        assert stopped.note == f"proxy 1 does not agree: what north sent; {TO_MEND}", node
        assert stopped.attempts == 0
        assert "session opened" not in [event["event"] for event in events_of(nodes, node, manifest.study)]
    study = Study(nodes.kit("north"), manifest.study)  # and what the note says mends it
    study.withdraw()
    for node in NODES:
        operating.retry(NodeKit.read(nodes.kit(node)), manifest.study)
    study.submit(check_samples("north", *data["north"]))
    check_rounded(study.wait(timeout=300), data, Policy())


def test_a_result_under_other_floors_than_this_owner_sent_is_not_taken(nodes: Trials, tmp_path: Path) -> None:
    """Both proxies say that this owner demanded less."""
    manifest = planned(nodes, "belittled", head='metrics = ["auroc"]\n')
    kits = {"north": with_floors(nodes, "north", tmp_path, "minimum_positives = 12")}
    study = submit_all(nodes, "belittled", made_up("belittled"), kits)["north"]
    assert study.wait(timeout=300).policy.minimum_positives == 12
    assert {one.state for one in at_nodes(nodes, manifest.hash).values()} == {StudyState.RELEASED}
    inbox = kits["north"] / "inbox/belittled.json"
    good = inbox.read_text()
    content = json.loads(good)
    for answer in content["answers"]:
        for one in answer["submissions"]:
            one["floors"]["minimum_positives"] = 0
    inbox.write_bytes(rewritten(content))
    with pytest.raises(ProtocolError, match="something else than this owner submitted"):
        Study(kits["north"], "belittled").result()
    inbox.write_text(good)
    assert Study(kits["north"], "belittled").result().policy.minimum_positives == 12
