"""What owners' commands say while nodes are up, down, or say strange things."""

from __future__ import annotations

import io
import json
from pathlib import Path

import msgspec
import numpy as np
import pytest

from ppaurora.messages.owners import StudyState, StudyStatus
from ppaurora.owner.study import Study
from ppaurora.version import WIRE_VERSION, Versions
from tests.support.bad_input import PLANTED
from tests.support.deployment import free_ports, samples, write_csv
from tests.support.trials import YES, RunCommand, Trials


def test_a_study_takes_other_data_from_nobody(
    nodes: Trials, tmp_path: Path, run: RunCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bad data, good data, other data; a result only once it is there; what is said tells no score."""
    nodes.study("commands")
    good = write_csv(tmp_path / "good.csv", *samples(30, 1))
    scores = np.where(np.arange(30) == 5, float(PLANTED), np.arange(30.0))
    other = write_csv(tmp_path / "other.csv", np.arange(30) % 2 == 0, scores)
    bad = tmp_path / "bad.csv"
    bad.write_text(f"score,label\n0.5,1\n{PLANTED},2\n{PLANTED}x,0\n")
    north = nodes.kit("north")
    arguments = ("--study", "commands", *YES)
    assert run("submit", north, bad, *arguments)[0] == 2
    monkeypatch.setattr("sys.stdin", io.StringIO())
    code, said = run("submit", north, other, "--study", "commands")
    assert (code, "The question was not answered: without a terminal, add --yes" in said) == (2, True)
    assert "warning: nobody can tell who runs proxy 0, proxy 1 and helper" in said
    code, said = run("submit", north, good, *arguments)
    assert code == 0, said
    assert run("submit", north, good, *arguments)[0] == 0
    code, said = run("submit", north, other, *arguments)
    assert (code, "other data was submitted" in said) == (2, True)
    code, said = run("result", north, "--study", "commands")
    assert (code, "not-released" in said) == (4, True)
    assert PLANTED not in said


def test_a_proxy_that_is_down_is_named(nodes: Trials, tmp_path: Path, run: RunCommand) -> None:
    (nobody,) = free_ports(1)
    owners_port = str(nodes.addresses["proxy-1"][0])
    nodes.study("down", ports={owners_port: nobody})
    good = write_csv(tmp_path / "good.csv", *samples(30, 1))
    code, said = run("submit", nodes.kit("north"), good, "--study", "down", *YES)
    assert (code, f"proxy 1 cannot be reached at 127.0.0.1:{nobody}" in said) == (3, True)
    code, said = run("status", nodes.kit("north"), "--study", "down", "--format", "json")
    state = json.loads(said)
    assert code == 0
    assert state["nodes"]["proxy 0"]["submitted"] == ["north"]
    assert str(nobody) in state["nodes"]["proxy 1"]["note"]
    code, said = run("preflight", nodes.kit("north"), "--study", "down")
    assert (code, "HTTPS_PROXY" in said) == (2, True)


@pytest.mark.parametrize("note", ["a [/closing] tag", "a \x1b[2J bell"])
def test_what_a_proxy_says_is_shown_as_text(
    nodes: Trials, run: RunCommand, monkeypatch: pytest.MonkeyPatch, note: str
) -> None:
    """A note is a server's; it neither breaks the command nor steers the terminal."""
    told = Study(nodes.kit("valley"), "trial").status()["proxy 0"]
    assert isinstance(told, StudyStatus)
    answer = msgspec.structs.replace(told, note=note)
    monkeypatch.setattr(Study, "status", lambda self: {"proxy 0": answer, "proxy 1": answer})
    code, said = run("status", nodes.kit("valley"), "--study", "trial")
    assert code == 0
    assert "\x1b[2J" not in said
    assert "closing" in said or "bell" in said


def test_an_operator_sees_the_studies_of_a_node_that_runs(
    nodes: Trials, node_kit: Path, run: RunCommand
) -> None:
    manifest = nodes.study("seen")
    code, said = run("studies", nodes.kit("proxy-1"))
    assert code == 0
    assert f"seen: collecting, waiting for north, harbour; attempts: 0; wire version {WIRE_VERSION}\n" in said
    assert f"    {manifest.hash}\n" in said
    code, said = run("studies", nodes.kit("helper"), "--format", "json")
    (seen,) = [study for study in json.loads(said)["studies"] if study["name"] == "seen"]
    assert code == 0
    assert (seen["study"], seen["state"], seen["server"]) == (manifest.hash, "collecting", "helper")
    for proposed in (node_kit / "studies").glob("*.json"):
        proposed.unlink()
    assert run("studies", node_kit) == (
        0,
        f"no study was accepted yet: ppaurora accept {node_kit} MANIFEST\n{Versions()}\n",
    )


def test_a_study_that_has_not_stopped_is_not_retried(nodes: Trials, run: RunCommand) -> None:
    nodes.study("unstopped")
    code, said = run("retry", nodes.kit("proxy-1"), "unstopped")
    assert (code, "has not stopped; there is nothing to retry" in said) == (2, True)
    code, said = run("retry", nodes.kit("proxy-1"), "unknown")
    assert (code, "has not accepted a study 'unknown'" in said) == (2, True)
    with nodes.store("proxy-1") as store:
        (study,) = [study for study in store.studies() if study.manifest.study == "unstopped"]
        store.set_state(study.hash, StudyState.STOPPED, "a [/tag] and a \x1b[2J")
    code, said = run("retry", nodes.kit("proxy-1"), "unstopped")
    assert (code, "it had stopped because: a [/tag] and a ?[2J" in said) == (0, True)
    assert "unstopped: collecting" in run("studies", nodes.kit("proxy-1"))[1]
