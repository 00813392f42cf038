"""The hash that a person expects: any other manifest is refused before anything is done."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

import ppaurora
from ppaurora.cli.main import cli
from ppaurora.errors import InputError
from ppaurora.study.kit import OwnerKit
from ppaurora.study.manifest import Manifest
from ppaurora.study.plan import SAMPLE
from ppaurora.study.provision import provision


@pytest.fixture
def manifest(kits: Path) -> Manifest:
    return Manifest.read(kits / "sepsis-2026.json")


@pytest.fixture
def other(plan: Path, kits: Path, tmp_path: Path, manifest: Manifest) -> Manifest:
    """Of the same name and participants."""
    plan.write_text(SAMPLE.replace("minimum_samples = 100", "minimum_samples = 2"))
    other = provision(plan, tmp_path / "other", kits)
    assert (other.study, other.owners) == (manifest.study, manifest.owners)
    return other


def test_the_whole_hash_or_its_beginning(kits: Path, manifest: Manifest) -> None:
    hash_ = manifest.hash
    for expected in (None, hash_, hash_[:12], hash_[:63], hash_.upper(), f" {hash_[:20]}\n"):
        assert ppaurora.Study(kits / "hospital-a", expect_hash=expected).manifest.hash == hash_


@pytest.mark.parametrize(
    "change", [lambda h: h[:11], lambda h: "", lambda h: h + "0", lambda h: "sepsis-2026-x"]
)
def test_too_few_digits_are_none(kits: Path, manifest: Manifest, change: Callable[[str], str]) -> None:
    with pytest.raises(InputError, match="at least the first 12"):
        ppaurora.Study(kits / "hospital-a", expect_hash=change(manifest.hash))


def test_another_manifest_is_refused(kits: Path, manifest: Manifest) -> None:
    last = "0" if manifest.hash[-1] != "0" else "1"
    for expected in (manifest.hash[:-1] + last, manifest.hash[1:13], "0" * 64):
        with pytest.raises(InputError, match=f"has the hash {manifest.hash}, which is not the expected one"):
            ppaurora.Study(kits / "hospital-a", expect_hash=expected)


def test_a_manifest_that_is_exchanged_in_the_kit_is_noticed(
    kits: Path, manifest: Manifest, other: Manifest
) -> None:
    study = ppaurora.Study(kits / "hospital-a", expect_hash=manifest.hash)
    (kits / "hospital-a/studies/sepsis-2026.json").write_text(other.text())
    assert study.manifest.hash == manifest.hash  # what was looked at is what is used
    assert ppaurora.Study(kits / "hospital-a").manifest.hash == other.hash  # the positive control
    with pytest.raises(InputError, match="not the expected one"):
        ppaurora.Study(kits / "hospital-a", expect_hash=manifest.hash)


def test_digits_that_fit_two_manifests_are_too_few(
    kits: Path, manifest: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As whoever makes manifests could arrange it."""
    kit = OwnerKit.read(kits / "hospital-a")
    twin = msgspec.structs.replace(manifest, study="twin")
    kit.add(twin)
    found = manifest.hash
    hashes = {"sepsis-2026": found, "twin": found[:20] + found[20:][::-1]}
    assert hashes["twin"] != found
    monkeypatch.setattr(Manifest, "hash", property(lambda self: hashes[self.study]))
    kit.expect(twin, hashes["twin"])
    with pytest.raises(InputError, match="give more digits"):
        kit.expect(twin, found[:20])


def test_commands_take_it(kits: Path, manifest: Manifest, other: Manifest, tmp_path: Path) -> None:
    """`accept` for a node and an owner, `submit` and `result`."""
    data = tmp_path / "scores.csv"
    data.write_text("score,label\n0.5,1\n")
    shutil.copy(tmp_path / "other/sepsis-2026.json", tmp_path / "other.json")
    for arguments in (
        ("accept", kits / "proxy-0", tmp_path / "other.json", "--yes"),
        ("accept", kits / "hospital-b", tmp_path / "other.json", "--yes"),
        ("submit", kits / "hospital-a", data, "--yes"),
        ("result", kits / "hospital-a"),
    ):
        expected = other.hash if arguments[0] != "accept" else manifest.hash
        result = CliRunner().invoke(cli, [*map(str, arguments), "--expect-hash", expected])
        assert isinstance(result.exception, InputError)
        assert "not the expected one; nothing was done" in str(result.exception)
    accepted = CliRunner().invoke(
        cli,
        [
            "accept",
            str(kits / "proxy-0"),
            str(tmp_path / "other.json"),
            "--yes",
            "--expect-hash",
            other.hash[:12],
        ],
    )
    assert accepted.exit_code == 0, accepted.output
