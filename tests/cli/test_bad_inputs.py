"""Whatever goes wrong gets a sentence, word by word: what, where, and what to do. Nothing is half done."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from ppaurora.cli import main
from ppaurora.errors import PpauroraError
from tests.cli.bad_inputs import arguments, files, kits, plans, python, records, reports, studies
from tests.cli.bad_inputs.row import OTHER, Place, Row, data, file, kit, study
from tests.support.deployment import NODES, command
from tests.support.trials import Trials

TABLE = [
    *files.ROWS,
    *arguments.ROWS,
    *plans.ROWS,
    *kits.ROWS,
    *studies.ROWS,
    *records.ROWS,
    *reports.ROWS,
    *python.ROWS,
]
WITH_PREVIEW = ("accept", "provision", "submit")


class Nodes:
    """Started when the first row asks for them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.trials: Trials | None = None
        self.going_on: set[str] = set()  # studies of rows that were left half done: they change later

    def running(self) -> Trials:
        if self.trials is None:
            self.trials = Trials(self.folder)
            self.trials.accept()
            self.trials.start()
        return self.trials


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    nodes = Nodes(tmp_path_factory.mktemp("consortium"))
    yield nodes
    if nodes.trials is not None:
        codes = nodes.trials.stop()
        assert set(codes.values()) == {0}, codes
        nodes.trials.check_secrecy()


@pytest.fixture
def place(nodes: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "PPAURORA_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.StringIO())  # nobody is there
    monkeypatch.setattr(sys, "argv", ["ppaurora"])
    with contextlib.ExitStack() as until_the_end:
        yield Place(tmp_path, monkeypatch, until_the_end, nodes.running)


def files_in(folder: Path) -> dict[str, Any]:
    """What is there, with modes and contents, but for locks, a node's database and an owner's own key."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        name, about = str(path.relative_to(folder)), path.lstat()
        if name.startswith("kit/data") or name == "kit/outbox" or path.suffix == ".lock":
            continue
        content = path.read_bytes() if path.is_file() and about.st_size < 1 << 20 else about.st_size
        found[name] = (about.st_mode, content)
    ledger = folder / "kit/ledger.json"
    found["kit/ledger.json"] = json.loads(ledger.read_bytes())["studies"] if ledger.exists() else {}
    return found


def held(nodes: Nodes) -> dict[str, Any]:
    """What nodes keep of studies and submissions."""
    found: dict[str, Any] = {}
    if nodes.trials is None:
        return found
    for node in NODES:
        found[node] = nodes.trials.shares(node)
        with nodes.trials.store(node) as store:
            for study in store.studies():
                revisions = store.latest_revisions(study)
                if study.manifest.study in nodes.going_on:
                    found[node] -= {one.file for one in revisions}
                else:
                    found[f"{node}: {study.manifest.study}"] = (revisions, store.history(study.hash))
    return found


def studies_of(nodes: Nodes) -> set[str]:
    """Each has a folder of its name."""
    return {path.name for path in nodes.folder.iterdir() if path.is_dir()}


def normal(text: str, folder: Path) -> str:
    text = text.replace(str(folder), "HERE")
    text = re.sub(r"\b127\.0\.0\.1:\d+", "127.0.0.1:PORT", text)
    text = re.sub(r"\b[0-9a-f]{64}\b", "HASH", text)
    return re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME", text)


def tried(row: Row, place: Place, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Exit code, and all that is said on standard error."""
    if callable(row.tried):
        with pytest.raises(PpauroraError) as caught:
            row.tried(place)
        return caught.value.exit_code, str(caught.value)
    line = row.tried
    if "NODE" in line:
        line = line.replace("NODE", str(place.nodes.kit("proxy-0")))
    words = shlex.split(line)
    if row.name.startswith("a port in use"):  # so far a node holds what it lets go when its process ends
        ended = command(*words, cwd=place.folder)
        return ended.returncode, ended.stderr
    capsys.readouterr()
    with pytest.raises(SystemExit) as stopped:
        main(words)
    assert isinstance(stopped.value.code, int)
    return stopped.value.code, capsys.readouterr().err


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_bad_input(row: Row, place: Place, nodes: Nodes, capsys: pytest.CaptureFixture[str]) -> None:
    earlier = studies_of(nodes)
    for step in row.given:
        step(place)
    before = files_in(place.folder), held(nodes)
    if row.goes_on:
        nodes.going_on |= studies_of(nodes) - earlier
    code, said = tried(row, place, capsys)
    said = normal(said, place.folder).replace(str(nodes.folder), "NODES").rstrip("\n")
    if isinstance(row.tried, str) and row.tried.split()[0] in WITH_PREVIEW and "\nppaurora: " in said:
        said = said[said.rindex("\nppaurora: ") + 1 :]
    assert said == row.says
    assert code == row.code
    assert "Traceback" not in said
    assert row.goes_on or (files_in(place.folder), held(nodes)) == before


def test_the_table_is_long_and_no_row_is_there_twice() -> None:
    names = [row.name for row in TABLE]
    assert len(TABLE) >= 150
    assert len(set(names)) == len(names)


def test_a_command_that_leaves_something_behind_would_be_noticed(
    place: Place, nodes: Nodes, capsys: pytest.CaptureFixture[str]
) -> None:
    """The positive control: a submission that is in order changes the kit and what nodes keep."""
    for step in (study("noticed"), kit("north", "noticed"), data):
        step(place)
    before = files_in(place.folder), held(nodes)
    row = Row("in order", (), "submit kit data.csv --yes", "")
    assert tried(row, place, capsys)[0] == 0
    files_before, held_before = before
    assert files_in(place.folder) != files_before
    assert held(nodes) != held_before


def test_two_processes_that_submit_at_once(place: Place, nodes: Nodes) -> None:
    """Other files from the same kit: one of them counts, at both proxies, and the other one is told."""
    for step in (study("at-once"), kit("north", "at-once"), data, file("other.csv", OTHER)):
        step(place)
    with ThreadPoolExecutor(2) as pool:
        ended = list(pool.map(partial(submit_in_a_process, place), ("data.csv", "other.csv")))
    assert sorted(one.returncode for one in ended) == [0, 2], ended
    (refused,) = [one.stderr for one in ended if one.returncode]
    assert re.search("another process is submitting|(other data|something) was submitted", refused)
    submissions = []
    for node in ("proxy-0", "proxy-1"):
        with place.nodes.store(node) as store:
            (found,) = [one for one in store.studies() if one.manifest.study == "at-once"]
            submissions += [
                (one.owner, one.revision, one.commitments) for one in store.latest_revisions(found)
            ]
    assert submissions[0] == submissions[1]
    assert len(submissions) == 2


def submit_in_a_process(place: Place, name: str) -> CompletedProcess[str]:
    return command("submit", "kit", name, "--yes", "--despite-warnings", cwd=place.folder)
