"""The app without anything of POSIX: its link, a file that is looked at and sent, its end."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ppaurora.study.manifest import Manifest
from tests.support.app_owner import Person, copied_kit, table
from tests.support.local_app import PATIENCE, AppProcess
from tests.support.on_windows import needs_linux, on_windows, windows_environment
from tests.support.trials import Trials

pytestmark = needs_linux
BREAK = 21  # the number that the stand-in gives to SIGBREAK


@pytest.fixture(scope="module")
def manifest(nodes: Trials) -> Manifest:
    return nodes.study("app-on-windows")


@pytest.fixture
def kit(nodes: Trials, manifest: Manifest, tmp_path: Path) -> Path:
    return copied_kit(nodes, tmp_path / "north kit")


def test_an_owner_submits_and_withdraws(kit: Path, manifest: Manifest) -> None:
    with AppProcess(kit, **windows_environment()) as app:
        browser = app.enter()
        assert "Studies of north" in browser.get("/").text
        person = Person(browser, manifest.study)
        person.choose(table())
        person.submitted()
        person.page("harbour")
        said = on_windows("status", kit, "--study", manifest.study)
        assert "60 samples" in said.stdout, said.stdout + said.stderr
        answer = browser.post(f"{person.path}/withdraw", {"agree": "on"}, csrf_token=person.csrf_token())
        assert answer.status == 303, answer.said
        person.page("was withdrawn", "withdrew", "Withdrawn", "withdrawn")
        code, said_by_app = app.end()
    assert code == 0, said_by_app
    assert not (kit / "app").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, BREAK])
def test_a_request_to_end_is_heard(kit: Path, number: int) -> None:
    with AppProcess(kit, **windows_environment()) as app:
        app.enter()
        assert app.end(number)[0] == 0
    assert not (kit / "app").exists()


def test_a_killed_app_leaves_nothing_for_long(kit: Path) -> None:
    with (
        AppProcess(kit, **windows_environment()) as killed,
        AppProcess(kit, **windows_environment()) as other,
    ):
        killed.enter()
        other.enter()
        assert len(list((kit / "app").iterdir())) == 2
        assert killed.end(signal.SIGKILL)[0] == -signal.SIGKILL
        assert other.end()[0] == 0
        assert len(list((kit / "app").iterdir())) == 1
    with AppProcess(kit, **windows_environment()) as app:
        assert len(list((kit / "app").iterdir())) == 1
        app.end()
    assert not (kit / "app").exists()


def test_enter_prints_another_link(kit: Path) -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "ppaurora", "app", str(kit), "--no-browser"],
        stdin=theirs,
        stderr=subprocess.PIPE,
        text=True,
        env=windows_environment(),
    ) as process:
        assert process.stderr is not None
        links = [process.stderr.readline()]
        process.stderr.readline()
        os.write(ours, b"\n")
        links.append(process.stderr.readline())
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0, process.stderr.read()
    found = [re.findall(r"token=([\w-]{43})", link) for link in links]
    assert all(found)
    assert found[0] != found[1]
    os.close(ours)
    os.close(theirs)


def test_an_example_or_a_nodes_kit_is_told_where_it_runs(nodes: Trials) -> None:
    for words, what in ((), "the example, which runs three nodes,"), ((nodes.kit("helper"),), "a node"):
        finished = on_windows("app", "--no-browser", *words)
        assert (finished.returncode, finished.stdout) == (2, "")
        assert f"ppaurora: {what} needs Linux or macOS" in finished.stderr
