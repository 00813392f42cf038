"""What `ppaurora poc` does not take: a sentence for each, and nothing is left behind."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from ppaurora.cli.main import cli
from ppaurora.data import Columns
from ppaurora.errors import InputError
from ppaurora.poc.consortium import make_poc, owners_of
from ppaurora.policy.rules import Policy
from ppaurora.protocols import Fast, GridProtocol, Protocol

GOOD = "score,label\n0.5,1\n0.25,0\n"


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(GOOD)
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "other.csv").write_text("risk,label\n0.5,1\n")
    (tmp_path / "full").mkdir()
    (tmp_path / "full/letter.txt").write_text("mine")
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged/poc.json").write_text("{}")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["start", "a.csv"], "a.csv: is one owner's file; a study needs at least two, with a file each"),
        (
            ["start", "a.csv", "b.csv", "--protocol", "grid", "--high", "0.25", "--decimals", "2"],
            "a.csv, row 2, column 'score': the score is outside of the study's grid, from 0 to 0.25 (agree "
            "on a grid that holds all scores, with another low or high, or use 'fast' without a grid)",
        ),
        (
            ["start", "a.csv", "b.csv", "--score", "new=score", "--score", "old=score"],
            "--score: give the name of one column; 'ppaurora poc start' rehearses a study of one model and "
            "one outcome; for several, use 'ppaurora evaluate', or write a plan",
        ),
        (
            ["start", "a.csv", "b.csv", "--label", "death=label"],
            "--label: give the name of one column; 'ppaurora poc start' rehearses a study of one model and "
            "one outcome; for several, use 'ppaurora evaluate', or write a plan",
        ),
        (["start", "--delta", "3"], "delta applies to the protocol 'paper' only; leave it out"),
        (["start", "a.csv", "./a.csv"], "a.csv: is named twice; every owner has a file of its own"),
        (["start", "a.csv", "no.csv"], "no.csv: cannot be read: No such file or directory"),
        (
            ["start", "a.csv", "empty.csv"],
            "empty.csv: is empty (the first row must name the columns)",
        ),
        (
            ["start", "--folder", "full"],
            "full: exists, and is not a proof of concept; name another one with --folder",
        ),
        (["start", "--folder", "a.csv/poc"], "a.csv/poc: cannot be made: File exists"),
        (
            ["start", "--folder", "damaged"],
            "damaged/poc.json: is damaged, or of another version; delete the folder, and begin anew",
        ),
        (["status"], "ppaurora-poc: there is no proof of concept; begin one with: ppaurora poc start"),
        (["stop"], "ppaurora-poc: there is no proof of concept; begin one with: ppaurora poc start"),
        (
            ["clean", "--yes"],
            "ppaurora-poc: there is no proof of concept; begin one with: ppaurora poc start",
        ),
        (
            ["clean", "--yes", "--folder", "full"],
            "full: there is no proof of concept; begin one with: ppaurora poc start",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_it_is_refused_in_a_sentence(files: Path, arguments: list[str], message: str) -> None:
    before = sorted(files.rglob("*"))
    result = CliRunner().invoke(cli, ["poc", *arguments])
    assert isinstance(result.exception, InputError), result.output
    assert str(result.exception) == message
    assert sorted(files.rglob("*")) == before


@pytest.mark.parametrize(
    ("arguments", "begins"),
    [
        (["start", "a.csv", "other.csv"], "other.csv, row 1, column 'score': there is no such column"),
        (["start", "--metrics", "auroc,nonsense"], "unknown metric 'nonsense'; there are: auroc, "),
    ],
)
def test_it_names_what_there_is_instead(files: Path, arguments: list[str], begins: str) -> None:
    before = sorted(files.rglob("*"))
    result = CliRunner().invoke(cli, ["poc", *arguments])
    assert isinstance(result.exception, InputError), result.output
    assert str(result.exception).startswith(begins)
    assert sorted(files.rglob("*")) == before


def test_owners_are_called_like_their_files(files: Path) -> None:
    names = {
        "a.csv": "a",
        "A.csv": "a-2",
        "St. Mary's Ward 3.csv": "st",
        "Übung_1.csv": "bung-1",
        "proxy-0.csv": "proxy-0-2",
        "authority.csv": "authority-2",
        "---.csv": "owner",
        f"{'long' * 40}.csv": ("long" * 40)[:50],
    }
    for name in names:
        (files / name).write_text(GOOD)
    owners = owners_of([Path(name) for name in names], Columns())
    assert [owner.name for owner in owners] == list(names.values())
    assert {owner.samples for owner in owners} == {2}


@pytest.mark.parametrize(
    "protocol", [GridProtocol(decimals=2), Fast(grid={"low": -1.5, "high": 2.0, "decimals": 1})]
)
def test_the_plan_has_all_parameters_of_the_protocol(protocol: Protocol, tmp_path: Path) -> None:
    poc = make_poc(tmp_path / "poc", (), Columns(), ("auroc",), Policy(), protocol)
    assert poc.manifest.protocol == protocol
