"""A study that nobody has accepted, and a certificate that ends, are told before owners suffer from them."""

from __future__ import annotations

import datetime
import json
import logging
import shlex
from datetime import timedelta
from pathlib import Path

import pytest

from ppaurora.credentials.certificates import Authority, public_key_of
from ppaurora.messages.findings import Severity
from ppaurora.node.attention import awaiting_operator
from ppaurora.setup.acceptance import accept
from ppaurora.study.kit import NodeKit
from ppaurora.version import __version__
from tests.support.trials import PAIR, RunCommand, StartKit, Trials, becomes


@pytest.fixture
def unaccepted(tmp_path: Path) -> Trials:
    """Kits as they were handed over; nobody has accepted anything."""
    (tmp_path / "new").mkdir()
    return Trials(tmp_path / "new", PAIR)


def test_a_running_node_tells_of_a_study_that_was_not_accepted(
    unaccepted: Trials, start: StartKit, caplog: pytest.LogCaptureFixture
) -> None:
    kit = unaccepted.kit("proxy-0")
    with caplog.at_level(logging.WARNING):
        health = start(unaccepted, "proxy-0").activity.health
        assert becomes(lambda: bool(health.findings))
    (finding,) = health.findings
    assert finding.severity is Severity.WARN
    assert finding.sentence == (
        "the study trial has not been accepted here: its owners and its other nodes are turned away; "
        f"review it: ppaurora accept {kit} {kit}/studies/trial.json; or delete the file, if this node takes "
        "no part"
    )
    told = [record for record in caplog.records if record.getMessage() == "for the operator"]
    assert [vars(record)["reason"] for record in told] == [finding.detail]  # once, not at every look
    accept(NodeKit.read(kit), unaccepted.manifest)
    assert becomes(lambda: not health.findings)


def test_studies_lists_it_with_the_command_to_copy(unaccepted: Trials, run: RunCommand) -> None:
    kit = unaccepted.kit("helper")
    code, said = run("studies", kit)
    assert code == 0
    assert "the study trial has not been accepted here" in said
    assert "no study was accepted yet" not in said
    command = said.partition("review it: ppaurora ")[2].partition(";")[0]
    assert run(*shlex.split(command), "--yes")[0] == 0
    code, said = run("studies", kit)
    assert said.startswith("trial: collecting")
    assert "not been accepted" not in said


def test_in_json_it_stands_beside_the_list(unaccepted: Trials, run: RunCommand) -> None:
    kit = unaccepted.kit("helper")
    said = json.loads(run("studies", kit, "--format", "json")[1])
    assert said["studies"] == []
    (proposed,) = said["not_accepted"]
    assert proposed == {
        "name": "trial",
        "study": unaccepted.manifest.hash,
        "file": str(kit / "studies/trial.json"),
    }


@pytest.mark.parametrize(
    ("days", "told"), [(29.5, "expires in 29 days"), (31, ""), (-0.002, "expired on 20")]
)
def test_a_certificate_that_ends(unaccepted: Trials, days: float, told: str) -> None:
    kit = NodeKit.read(unaccepted.kit("proxy-1"))
    folder = unaccepted.folder / "kits/authority"
    authority = Authority.load(folder / "certificate.pem", folder / "key.pem")
    key = public_key_of(kit.certificate)
    kit.certificate.write_bytes(authority.certify("proxy-1", key, timedelta(days=days)))
    found = [finding.detail for finding in awaiting_operator(kit, ["trial"])]
    assert [detail.removeprefix(f"{kit.certificate}: ")[: len(told)] for detail in found] == [told] * bool(
        told
    )


def test_files_that_nobody_can_accept_raise_no_alarm(unaccepted: Trials) -> None:
    """Those that are no manifest, and those whose last day for submissions is over."""
    kit = NodeKit.read(unaccepted.kit("proxy-0"))
    (kit.folder / "studies/notes.json").write_text("{}")
    path = kit.folder / "studies/trial.json"
    content = json.loads(path.read_text())
    content["evaluation"]["submissions_until"] = str(datetime.date.today() - timedelta(days=2))
    path.write_text(json.dumps(content, indent=2, sort_keys=True) + "\n")
    assert list(awaiting_operator(kit, [])) == []


def test_preflight_says_that_its_own_node_does_not_run(unaccepted: Trials, run: RunCommand) -> None:
    kit = unaccepted.kit("helper")
    code, said = run("preflight", kit)
    admin = f"127.0.0.1:{unaccepted.admin['helper']}"
    assert code == 2
    assert f"BAD  node: is not running: nothing answers at {admin} as helper" in said
    assert f"     -> start it: ppaurora serve {kit}\n" in said
    assert "BAD  studies to accept: the study trial has not been accepted here" in said


def test_preflight_repeats_what_a_running_node_says_of_itself(nodes: Trials, run: RunCommand) -> None:
    assert f"ok   node: runs ppaurora {__version__}\n" in run("preflight", nodes.kit("helper"))[1]
    kit = NodeKit.read(nodes.kit("helper"))
    (kit.folder / "studies/copied.json").write_text(nodes.manifest.text().replace('"trial"', '"copied"'))
    try:
        assert becomes(lambda: nodes.health("helper")[1] != [])
        said = run("preflight", kit.folder)[1]
        assert f"node: runs ppaurora {__version__}, attention: the study copied has not been accepted" in said
    finally:
        (kit.folder / "studies/copied.json").unlink()
    assert becomes(lambda: nodes.health("helper") == (200, []))


def test_accepting_names_what_comes_next(
    unaccepted: Trials, nodes: Trials, run: RunCommand, tmp_path: Path
) -> None:
    """For a node that does not run, for one that does, and for an owner."""
    kit = unaccepted.kit("proxy-1")
    said = run("accept", kit, kit / "studies/trial.json", "--yes")[1]
    assert f"next: ppaurora serve {kit}; and while it runs: ppaurora preflight {kit}\n" in said
    assert "owners can submit when all nodes (proxy 0, proxy 1, helper) have accepted it and run" in said
    kit = nodes.kit("proxy-1")
    said = run("accept", kit, kit / "studies/trial.json", "--yes")[1]
    assert (
        f"the node runs, and lets its participants in within seconds; next: ppaurora preflight {kit}\n"
        in said
    )
    kit = unaccepted.kit("north")
    said = run("accept", kit, kit / "studies/trial.json", "--yes")[1]
    assert f"next: ppaurora preflight {kit} --study trial\n" in said
    assert f"then: ppaurora check DATA --kit {kit} --study trial, or ppaurora app {kit}\n" in said
