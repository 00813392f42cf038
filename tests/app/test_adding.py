"""A second study, added in the browser: by its manifest, or by a packed kit with a key of its own."""

from __future__ import annotations

import itertools
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from ppaurora.app.owner.kits import FOLDER, OwnerKits
from ppaurora.app.private_folder import PrivateFolder
from ppaurora.app.security import guard
from ppaurora.app.sessions import Sessions
from ppaurora.study.kit import OwnerKit
from ppaurora.study.manifest import Manifest
from ppaurora.study.provision import provision
from ppaurora.testing.consortium import Consortium
from tests.support.local_app import Answer, Browser, entered, served
from tools.browser.shown import passphrase_of

NUMBERS = itertools.count(1)
App = tuple[Sessions, PrivateFolder]


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> Consortium:
    """Another coordinator's consortium: its kits have other keys."""
    return Consortium(tmp_path_factory.mktemp("others"), ("north", "harbour", "valley"))


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Consortium:
    """The consortium whose kit the app is started with; no node runs."""
    return Consortium(tmp_path_factory.mktemp("own"), ("north", "harbour", "valley"))


@pytest.fixture
def kit(own: Consortium, tmp_path: Path) -> Path:
    return Path(shutil.copytree(own.kit("north"), tmp_path / "north"))


@pytest.fixture
def app(kit: Path) -> Iterator[App]:
    with served(kit) as running:
        yield running


@pytest.fixture
def browser(app: App) -> Browser:
    return entered(app[0])


def packed(others: Consortium, *, encrypted: bool = False) -> Path:
    """A folder with packed kits of a new study."""
    name = f"next-{next(NUMBERS)}"
    plan = others.folder / f"{name}.toml"
    plan.write_text(others.plan(name, 5))
    provision(plan, others.folder / name, packed=True, encrypted=encrypted)
    return others.folder / name


def manifest_of(own: Consortium) -> bytes:
    """The manifest of a new study under the keys that are there."""
    name = f"next-{next(NUMBERS)}"
    own.provision(name, own.folder / name, own.folder / "kits")
    return (own.folder / name / f"{name}.json").read_bytes()


def send(browser: Browser, name: str, content: bytes) -> Answer:
    return browser.upload("/add", name, content, csrf_token=browser.csrf_token())


def agree(browser: Browser, path: str, **ticked: str) -> Answer:
    return browser.post(f"{path}/agree", ticked, csrf_token=browser.csrf_token(path))


def kept(kit: Path) -> list[str]:
    """Kits that were added to this one."""
    return sorted(path.name for path in (kit / FOLDER).glob("*"))


def left(folder: PrivateFolder) -> list[str]:
    return sorted(path.name for path in folder.path.iterdir() if path.name != "in-use")


def test_a_manifest_is_shown_agreed_to_and_listed(own: Consortium, kit: Path, browser: Browser) -> None:
    content = manifest_of(own)
    manifest = Manifest.parse(content.decode(), "it")
    assert manifest.study not in browser.get("/").text
    shown = browser.get(send(browser, f"{manifest.study}.json", content).location)
    assert f">{manifest.hash}</code>" in shown.text
    assert "with the key that you already have" in shown.text
    assert "What the result will disclose" in shown.text
    assert OwnerKit.read(kit).manifests() != [manifest]  # looking adds nothing
    path = re.search(r'action="(/add/[0-9a-f]+)/agree"', shown.text)
    assert path is not None
    refused = agree(browser, path[1])
    assert refused.status == 422
    assert "confirm that you have" in refused.text
    wrong = agree(browser, path[1], agree="on", **{"expect-hash": "0" * 64})
    assert wrong.status == 422
    assert "which is not the expected one" in wrong.text
    assert manifest.study not in browser.get("/").text
    done = agree(browser, path[1], agree="on", **{"expect-hash": manifest.hash[:12]})
    assert (done.status, done.location) == (303, f"/studies/{manifest.study}")
    assert manifest in OwnerKit.read(kit).manifests()
    assert manifest.study in browser.get("/").text
    assert browser.get(path[1]).status == 404  # nothing is left of it
    assert kept(kit) == []


def test_a_packed_kit_gets_a_folder_of_its_own(
    others: Consortium, kit: Path, app: App, browser: Browser
) -> None:
    folder = packed(others)
    study, key = folder.name, (kit / "key.pem").read_bytes()
    path = send(browser, "north.kit", (folder / "north.kit").read_bytes()).location
    shown = browser.get(path)
    assert "with a key of its own" in shown.text
    assert kept(kit) == []
    assert len(left(app[1])) == 1  # unpacked in this run's private folder, and nowhere else
    assert agree(browser, path, agree="on").status == 303
    assert left(app[1]) == []
    assert kept(kit) == [study]
    added = kit / FOLDER / study
    modes = {str(one.relative_to(added)): one.stat().st_mode & 0o777 for one in added.rglob("*")}
    assert {mode for name, mode in modes.items() if name != "studies"} == {0o600}
    assert {modes["studies"], added.stat().st_mode & 0o777, added.parent.stat().st_mode & 0o777} == {0o700}
    OwnerKit.read(added).check_key()
    assert (kit / "key.pem").read_bytes() == key
    assert "Studies of north" in browser.get("/").text
    assert f"/studies/{study}" in browser.get("/").text
    assert study in browser.get(f"/studies/{study}").text
    # The next start finds it again.
    assert [one.manifest.study for one in OwnerKits(OwnerKit.read(kit)).studies] == ["trial", study]


def test_a_pass_phrase_opens_a_kit(others: Consortium, kit: Path, app: App, browser: Browser) -> None:
    folder = packed(others, encrypted=True)
    path = send(browser, "north.kit", (folder / "north.kit").read_bytes()).location
    assert "Pass phrase" in browser.get(path).text
    assert folder.name not in browser.get(path).text
    assert agree(browser, path, agree="on").status == 422
    for phrase, said in (("wrong", "does not open it"), ("", "pass phrase is missing")):
        refused = browser.post(f"{path}/open", {"passphrase": phrase}, csrf_token=browser.csrf_token(path))
        assert refused.status == 422
        assert said in refused.text
        assert (left(app[1]), kept(kit)) == ([], [])
    phrase = passphrase_of(folder, "north").upper()
    opened = browser.post(f"{path}/open", {"passphrase": phrase}, csrf_token=browser.csrf_token(path))
    assert opened.status == 303
    assert phrase not in browser.get(opened.location).text
    assert agree(browser, opened.location, agree="on").status == 303
    assert kept(kit) == [folder.name]


def test_what_is_not_added_is_deleted(others: Consortium, kit: Path, app: App, browser: Browser) -> None:
    folder = packed(others)
    path = send(browser, "north.kit", (folder / "north.kit").read_bytes()).location
    assert browser.post(f"{path}/away", csrf_token=browser.csrf_token(path)).location == "/"
    assert (left(app[1]), kept(kit)) == ([], [])
    assert browser.get(path).status == 404
    paths = [send(browser, "north.kit", (folder / "north.kit").read_bytes()).location for _ in range(10)]
    assert len(left(app[1])) == 8  # old ones make room
    assert browser.get(paths[0]).status == 404
    assert browser.get(paths[-1]).status == 200


def test_keys_that_nobody_agreed_to_are_gone_when_the_app_ends(others: Consortium, kit: Path) -> None:
    content = (packed(others) / "north.kit").read_bytes()
    with served(kit) as (sessions, folder):
        assert send(entered(sessions), "north.kit", content).status == 303
        assert len(left(folder)) == 1
    with folder:  # what the app does when it ends
        pass
    assert not folder.path.exists()
    assert kept(kit) == []


def changed(folder: Path, **words: object) -> bytes:
    content = json.loads((folder / "north.kit").read_text())
    return json.dumps({**content, **words}).encode()


def test_what_is_no_kit_and_no_manifest_is_refused(
    others: Consortium, kit: Path, app: App, browser: Browser
) -> None:
    folder = packed(others)
    known = json.loads((folder / "north.kit").read_text())["files"]
    outside = {**known, "../../evil": known["key.pem"]}
    missing = {name: file for name, file in known.items() if name != "certificate.pem"}
    altered = {**known, "owner.toml": {**known["owner.toml"], "content": 'name = "else"\n'}}
    cases = {
        "a.kit": (b"PK\x03\x04", "is not a kit"),
        "b.kit": (b"", "is not a kit"),
        "c.kit": (b'{"format": "zip"}', "is not a kit"),
        "d.kit": (changed(folder, files=outside), "is not part of a kit"),
        "e.kit": (changed(folder, files=missing), "lacks certificate.pem"),
        "f.kit": (changed(folder, files=altered), "was changed on the way"),
        "g.kit": (changed(folder, hash="0" * 64), "another manifest than it says"),
        "harbour.kit": ((folder / "north.kit").read_bytes(), "is the kit of north, not of harbour"),
        "proxy-0.kit": ((folder / "proxy-0.kit").read_bytes(), "is the kit of a server, proxy 0"),
        "study.json": (b"{}", "study.json"),
        "study.toml": (b"name = 1", "is not a manifest"),
        "picture.json": (b"\xff\xd8\xff", "neither the manifest of a study nor a kit"),
        "others.json": ((folder / f"{folder.name}.json").read_bytes(), "does not name this owner's key"),
    }
    for name, (content, said) in cases.items():
        answer = send(browser, name, content)
        assert answer.status == 422, (name, answer.said)
        assert said in answer.text, (name, answer.said)
        assert "PRIVATE" not in answer.text
    assert (left(app[1]), kept(kit)) == ([], [])
    assert not list(kit.parent.rglob("evil"))
    assert send(browser, "north.kit", (folder / "north.kit").read_bytes()).status == 303  # the control


@pytest.mark.parametrize("name", ["../../../north.kit", "/etc/north.kit", "<b>north.kit"])
def test_a_name_is_no_path(others: Consortium, kit: Path, app: App, browser: Browser, name: str) -> None:
    path = send(browser, name, (packed(others) / "north.kit").read_bytes()).location
    assert re.fullmatch("/add/[0-9a-f]{32}", path)
    [unpacked] = left(app[1])
    assert re.fullmatch("[0-9a-f]{32}", unpacked)
    assert b"<b>north" not in browser.get(path).body
    for other in (f"{path}/../../etc", "/add/..%2f..%2fkey.pem", f"/add/{'0' * 32}"):
        assert browser.get(other).status == 404


def test_a_second_study_of_the_same_name_is_refused(
    others: Consortium, own: Consortium, kit: Path, browser: Browser
) -> None:
    """The first kit's study is 'trial', as others' is."""
    content = json.loads((packed(others) / "north.kit").read_text())
    assert content["study"] != "trial"
    folder = others.folder / "same-name"
    if not folder.exists():
        provision(others.folder / "trial.toml", folder, packed=True)
    answer = send(browser, "north.kit", (folder / "north.kit").read_bytes())
    assert answer.status == 422
    assert "there is another study named trial here" in answer.text
    assert own.manifest.hash in answer.text
    assert kept(kit) == []


def test_the_same_study_again_changes_nothing(own: Consortium, kit: Path, browser: Browser) -> None:
    before = (kit / "studies/trial.json").read_bytes()
    path = send(browser, "trial.json", before).location
    assert agree(browser, path, agree="on").status == 303
    assert (kit / "studies/trial.json").read_bytes() == before
    assert kept(kit) == []


def test_one_takes_part_in_a_study_once(others: Consortium, kit: Path, browser: Browser) -> None:
    folder = packed(others)
    path = send(browser, "north.kit", (folder / "north.kit").read_bytes()).location
    assert agree(browser, path, agree="on").status == 303
    answer = send(browser, "harbour.kit", (folder / "harbour.kit").read_bytes())
    assert answer.status == 422
    assert f"you take part in {folder.name} already, as north" in answer.text
    assert kept(kit) == [folder.name]


@pytest.mark.parametrize("megabytes", [17, 3000])
def test_a_large_file_is_refused_before_it_is_read(browser: Browser, app: App, megabytes: int) -> None:
    kind = {"Content-Type": "multipart/form-data; boundary=x", "X-CSRF-Token": browser.csrf_token()}
    answer = browser.send("POST", "/add", None, kind | {"Content-Length": str(megabytes << 20)})
    assert answer.status == 413
    assert "No kit is larger than 16 MB" in answer.text
    assert left(app[1]) == []


def foreign(browser: Browser, content: bytes, csrf_token: str) -> list[Answer]:
    """What another site's page could have this browser send."""
    origin = {"Origin": "https://evil.example"}
    return [
        browser.upload("/add", "north.kit", content, csrf_token=csrf_token, **origin),
        browser.upload("/add", "north.kit", content, csrf_token=csrf_token, Sec_Fetch_Site="cross-site"),
        browser.upload("/add", "north.kit", content, csrf_token="A" * 43),
        Browser(browser.port).upload("/add", "north.kit", content, csrf_token=csrf_token),
    ]


def test_another_sites_page_adds_nothing(others: Consortium, kit: Path, app: App, browser: Browser) -> None:
    content, csrf_token = (packed(others) / "north.kit").read_bytes(), browser.csrf_token()
    assert [answer.status for answer in foreign(browser, content, csrf_token)] == [403] * 4
    path = send(browser, "north.kit", content).location
    for action in ("agree", "away", "open"):
        assert browser.post(f"{path}/{action}", {"agree": "on"}, csrf_token="A" * 43).status == 403
    assert browser.get(path).status == 200
    assert kept(kit) == []


def test_without_the_guard_another_sites_page_would_be_heard(others: Consortium, kit: Path) -> None:
    """The positive control."""
    content = (packed(others) / "north.kit").read_bytes()
    with served(kit, lambda app: app.middlewares.remove(guard)) as (sessions, _):
        browser = entered(sessions)
        assert {answer.status for answer in foreign(browser, content, "")} == {303}
