"""The command: starts, opens a browser, ends; killed in the middle, it goes on at the next start."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ppaurora.app.private_folder import PrivateFolder
from ppaurora.cli.main import main
from ppaurora.owner.study import Study
from tests.support.app_owner import Person, copied_kit, submit_other, table
from tests.support.local_app import PATIENCE, AppProcess
from tests.support.trials import Trials, becomes

LINK = r"http://127\.0\.0\.1:\d+/enter\?token=[\w-]{43}"


@pytest.fixture
def kit(nodes: Trials, tmp_path: Path) -> Path:
    return copied_kit(nodes, tmp_path / "north")


@pytest.fixture
def silent_proxy(nodes: Trials) -> Iterator[subprocess.Popen[bytes]]:
    """A node that neither answers nor hangs up."""
    process = nodes.processes["proxy-1"]
    yield process
    process.send_signal(signal.SIGCONT)


def rooms(kit: Path) -> list[Path]:
    return list((kit / "app").iterdir()) if (kit / "app").exists() else []


@pytest.mark.usefixtures("ordinary_starts")
def test_it_starts_and_ends_without_a_trace(kit: Path) -> None:
    before = sorted(os.listdir(kit))
    with AppProcess(kit) as app:
        browser = app.enter()
        assert "Studies of north" in browser.get("/").text
        [room] = rooms(kit)
        assert room.stat().st_mode & 0o777 == 0o700
        Person(browser, "trial").choose(table())
        code, said = app.end()
    assert code == 0
    assert sorted(os.listdir(kit)) == before
    lines = said.splitlines()
    assert re.fullmatch(f"open this link in a browser on this machine: {LINK}", lines[0])
    assert lines[1:] == [
        "it is good for one use, by one browser. Enter prints another one; Ctrl-C ends the app"
    ]
    assert browser.cookie.split("=")[1] not in said


def test_a_request_that_is_no_http_leaves_nothing_in_the_terminal(kit: Path) -> None:
    """The library would quote all cookies, the session's too; those of other local apps make it long."""
    with AppProcess(kit) as app:
        browser = app.enter()
        too_long = {"Cookie": f"{browser.cookie}; other={'x' * 9000}"}
        assert browser.send("GET", "/", headers=too_long).status == 400
        assert browser.get("/").status == 200
        code, said = app.end()
    assert code == 0
    assert browser.cookie.split("=")[1] not in said
    assert len(said.splitlines()) == 2, said


def test_two_apps_on_one_kit_work_side_by_side(kit: Path) -> None:
    with AppProcess(kit) as first, AppProcess(kit) as second:
        assert len(rooms(kit)) == 2
        other = second.enter()
        assert other.get("/").status == 200
        assert first.end()[0] == 0
        assert len(rooms(kit)) == 1
        assert "What the file contains" in Person(other, "trial").choose(table()).text


def test_a_killed_app_leaves_nothing_for_long(kit: Path) -> None:
    with AppProcess(kit) as app:
        Person(app.enter(), "trial").choose(table())
        app.end(signal.SIGKILL)
    [room] = rooms(kit)
    assert any(path.stat().st_size > 500 for path in room.iterdir())  # the private copy is still there
    with PrivateFolder(kit) as next_start:
        assert rooms(kit) == [next_start.path]
    assert rooms(kit) == []


def test_a_killed_app_without_an_owners_kit_leaves_nothing_for_long(nodes: Trials, tmp_path: Path) -> None:
    """Its folder is among temporary files, with the link that was for the browser."""
    (tmp_path / "ppaurora-app-of-somebody").write_text("no folder")
    with AppProcess(nodes.kit("proxy-0"), TMPDIR=str(tmp_path)) as app:
        app.enter()
        [room] = tmp_path.glob("ppaurora-app-*/")
        with AppProcess(nodes.kit("proxy-0"), TMPDIR=str(tmp_path)) as second:
            second.end()
        assert room.exists()
        app.end(signal.SIGKILL)
    assert room.exists()
    with AppProcess(nodes.kit("proxy-0"), TMPDIR=str(tmp_path)) as app:
        assert not room.exists()
        app.end()
    assert os.listdir(tmp_path) == ["ppaurora-app-of-somebody"]


def test_other_folders_beside_the_apps_own_are_left_alone(kit: Path) -> None:
    """Only what an app has locked was an app's: no folder of a person's, and none that is just being made."""
    (kit / "app/notes").mkdir(parents=True)
    (kit / "app/notes/mine.txt").write_text("mine")
    (kit / "elsewhere").mkdir()
    (kit / "elsewhere/in-use").touch()
    (kit / "app/link").symlink_to(kit / "elsewhere")
    with AppProcess(kit) as app:
        app.enter()
        assert app.end()[0] == 0
    assert os.listdir(kit / "app/notes") == ["mine.txt"]
    assert os.listdir(kit / "elsewhere") == ["in-use"]


def test_killed_in_the_middle_of_a_submission_it_goes_on(
    nodes: Trials, tmp_path: Path, silent_proxy: subprocess.Popen[bytes]
) -> None:
    nodes.study("killed")
    kit = copied_kit(nodes, tmp_path / "north")
    content = table()
    own = Study(kit, "killed")
    with AppProcess(kit) as app:
        person = Person(app.enter(), "killed")
        person.choose(content)
        silent_proxy.send_signal(signal.SIGSTOP)
        person.submitted("agree")
        assert becomes(lambda: own.submitted is not None and "proxy-0" in own.submitted.acknowledged)
        app.end(signal.SIGKILL)
    silent_proxy.send_signal(signal.SIGCONT)
    with AppProcess(kit) as app:
        person = Person(app.enter(), "killed")
        assert "Choose the same file again" in person.page("Your submission is not complete").text
        person.choose(content)
        person.submitted("agree")
        person.page("60 samples: proxy 0 and proxy 1 acknowledged it")
        assert app.end()[0] == 0
    assert own.submitted is not None
    assert own.submitted.revision == 1
    submit_other(nodes, "killed")
    assert own.wait(timeout=PATIENCE).receipt.samples == {"north": 60, "harbour": 60}


def test_ended_in_the_middle_of_a_submission_it_says_so(
    nodes: Trials, tmp_path: Path, silent_proxy: subprocess.Popen[bytes]
) -> None:
    nodes.study("ended-app")
    kit = copied_kit(nodes, tmp_path / "north")
    with AppProcess(kit) as app:
        person = Person(app.enter(), "ended-app")
        person.choose(table())
        silent_proxy.send_signal(signal.SIGSTOP)
        person.submitted("agree")
        begun = time.monotonic()
        code, said = app.end()
    assert code == 0
    assert time.monotonic() - begun < 50  # after 60 seconds, a silent node would have been given up
    assert "waiting 10 seconds at most: submitting scores.csv is under way" in said
    assert "submitting scores.csv was cut off; start the app again to go on" in said
    assert rooms(kit) == []


def test_enter_prints_another_link(kit: Path) -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "ppaurora", "app", str(kit), "--no-browser"],
        stdin=theirs,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        first = re.search(LINK, process.stderr.readline())
        process.stderr.readline()
        os.write(ours, b"\n")
        second = re.search(LINK, process.stderr.readline())
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
    assert first is not None
    assert second is not None
    assert first[0] != second[0]
    os.close(ours)
    os.close(theirs)


def test_the_link_is_no_argument_of_the_browser(kit: Path, tmp_path: Path) -> None:
    """Everybody on a machine sees with which arguments programs run."""
    told, seen = tmp_path / "told", tmp_path / "seen"
    script = tmp_path / "browser"
    script.write_text(
        f'#!/bin/sh\necho "$1" > {told}.new\nfile="${{1#file://}}"\nstat -c %a "$file" > {seen}\n'
        f'cat "$file" >> {seen}\nmv {told}.new {told}\n'
    )
    script.chmod(0o700)
    with subprocess.Popen(
        [sys.executable, "-m", "ppaurora", "app", str(kit)],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "BROWSER": f"{script} %s"},
    ) as process:
        try:
            assert becomes(told.exists, PATIENCE)
        finally:  # nobody would end it otherwise
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=PATIENCE)
    opened = told.read_text().strip()
    assert opened.startswith("file://")
    assert "token" not in opened
    mode, *text = seen.read_text().splitlines()
    assert mode == "600"
    assert re.search(LINK, "\n".join(text))
    assert not Path(opened.removeprefix("file://")).exists()


def ended(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str]:
    with pytest.raises(SystemExit) as left:
        main([str(argument) for argument in arguments])
    assert isinstance(left.value.code, int)
    return left.value.code, capsys.readouterr().err


def test_what_cannot_start_says_why(kit: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with AppProcess(kit) as app:
        port = app.browser.port
        code, said = ended(capsys, "app", kit, "--port", port, "--no-browser")
        assert (code, "Address already in use" in said) == (2, True)
        assert "leave the option out, and a free one is taken" in said
    assert ended(capsys, "app", kit, "--port", 65536)[0] == 2
    code, said = ended(capsys, "app", tmp_path / "nothing")
    assert (code, "there is no such folder; a kit is needed" in said) == (2, True)
    (kit / "key.pem").chmod(0o644)
    code, said = ended(capsys, "app", kit)
    assert (code, "chmod 600" in said) == (2, True)


@pytest.mark.parametrize("package", ["aiohttp", "jinja2"])
def test_without_its_packages_it_says_which_to_install(
    package: str, kit: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith(("ppaurora.app", package))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    code, said = ended(capsys, "app", kit, "--no-browser")
    assert (code, 'pip install "ppaurora[app]"' in said) == (2, True)
