"""Packed kits under pass phrases."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from ppaurora.cli.main import cli
from ppaurora.study.kit import read_kit
from tests.support.packs import NAMES, said, unpack


@pytest.fixture
def locked(plan: Path, tmp_path: Path) -> Path:
    out = tmp_path / "locked"
    result = CliRunner().invoke(cli, ["provision", str(plan), "--out", str(out), "--pack", "--encrypt"])
    assert f"their pass phrases: {out}/passphrases.txt; tell each person theirs" in result.output
    return out


def phrases_of(locked: Path) -> dict[str, str]:
    path = locked / "passphrases.txt"
    assert path.stat().st_mode & 0o777 == 0o600
    return dict(line.split() for line in path.read_text().splitlines())


def test_nothing_but_a_name_can_be_read(locked: Path) -> None:
    for name in NAMES:
        shown = json.loads((locked / f"{name}.kit").read_text())
        assert sorted(shown) == ["format", "iv", "participant", "salt", "sealed", "version"]
        assert shown["participant"] == name
        assert "PRIVATE" not in json.dumps(shown)
    phrases = phrases_of(locked)
    assert sorted(phrases) == sorted(NAMES)
    assert len(set(phrases.values())) == len(NAMES)
    assert {len(phrase) for phrase in phrases.values()} == {23}


def test_it_opens_with_its_own_pass_phrase_only(locked: Path, here: Path) -> None:
    phrases = phrases_of(locked)
    (here / "wrong").write_text(phrases["hospital-b"])
    (here / "right").write_text(phrases["hospital-a"].upper().replace("-", " ") + "\n")
    file = locked / "hospital-a.kit"
    told = f"{file}: the pass phrase does not open it, or the file was changed; ask whoever sent it"
    assert said(unpack(file, "--passphrase-file", "wrong")) == told
    assert not (here / "hospital-a").exists()
    assert unpack(file, "--passphrase-file", "right").exit_code == 0
    read_kit(here / "hospital-a").check_key()


@pytest.mark.parametrize("field", ["participant", "salt", "iv", "sealed"])
def test_a_changed_file_does_not_open(locked: Path, here: Path, field: str) -> None:
    shown = json.loads((locked / "hospital-a.kit").read_text())
    first = "b" if field == "participant" else {"A": "B"}.get(shown[field][0], "A")
    shown[field] = first + shown[field][1:]
    (here / "mine.kit").write_text(json.dumps(shown))
    (here / "right").write_text(phrases_of(locked)["hospital-a"])
    told = "the pass phrase does not open it, or the file was changed; ask whoever sent it"
    assert said(unpack("mine.kit", "--passphrase-file", "right")) == f"mine.kit: {told}"


def test_without_a_terminal_a_file_is_named(locked: Path, here: Path) -> None:
    file = locked / "hospital-a.kit"
    told = f"{file}: has a pass phrase; name a file that holds it: --passphrase-file FILE"
    assert said(unpack(file)) == told


def test_a_pass_phrase_is_for_packed_kits(plan: Path, tmp_path: Path) -> None:
    arguments = ["provision", str(plan), "--out", str(tmp_path / "kits"), "--encrypt"]
    refused = said(CliRunner().invoke(cli, arguments))
    assert refused == "--encrypt: is for the files that --pack writes; add --pack"
    assert not (tmp_path / "kits").exists()
