"""Manifests: what people agree on, shown in full and accepted by name."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from ppaurora.cli.main import cli
from ppaurora.credentials.certificates import describe_certificates
from ppaurora.errors import InputError
from ppaurora.io.models import to_builtins
from ppaurora.messages import SUPPORTED, VERSION
from ppaurora.study.manifest import Manifest
from ppaurora.study.plan import SAMPLE
from ppaurora.study.provision import provision
from tests.study.conftest import EXACT, INTERVALS


def test_the_manifest_is_canonical_and_named_by_its_hash(kits: Path) -> None:
    path = kits / "sepsis-2026.json"
    manifest = Manifest.read(path)
    assert path.read_text() == manifest.text()
    assert Manifest.parse(manifest.text(), "here").hash == manifest.hash
    other = json.loads(manifest.text())
    other["terms"]["policy"]["minimum_samples"] = 99
    changed = json.dumps(other, indent=2, sort_keys=True) + "\n"
    assert Manifest.parse(changed, "there").hash != manifest.hash
    path.write_text(json.dumps(other))
    with pytest.raises(InputError, match="canonical"):
        Manifest.read(path)


def test_a_manifest_of_an_earlier_version_is_refused_with_what_to_do(kits: Path) -> None:
    """Whatever its rules were called: those of version 6 had no kind, and digits that were decided inside."""
    path = kits / "sepsis-2026.json"
    old = json.loads(path.read_text())
    assert old["version"] == VERSION
    old["version"] = 6
    del old["terms"]["policy"]["kind"]
    old["terms"]["policy"] |= {"digits": "auto", "most_digits": 4}
    path.write_text(json.dumps(old, indent=2, sort_keys=True) + "\n")
    with pytest.raises(InputError) as caught:
        Manifest.read(path)
    assert str(caught.value) == (
        f"{path}: version: this ppaurora takes part in studies of version {SUPPORTED} only; take the "
        "ppaurora that the study was made with, or make it anew from its plan"
    )


def values_of(content: object) -> list[str]:
    """Everything in a manifest that is no name of a setting, as it is shown."""
    if isinstance(content, dict):
        return [text for value in content.values() for text in values_of(value)]
    if isinstance(content, list | tuple):
        return [text for value in content for text in values_of(value)]
    return [] if content is None else [f"{content:,}" if isinstance(content, int) else str(content)]


def test_everything_a_person_agrees_to_is_shown(kits: Path) -> None:
    """No value of the manifest may be missing from what is shown; authorities appear by their digests."""
    manifest = Manifest.read(kits / "sepsis-2026.json")
    shown = "\n".join(f"{name} {value}" for name, value in manifest.describe())
    content = to_builtins(manifest)
    authorities = content.pop("authorities")
    for said in [manifest.hash, *values_of(content), *describe_certificates(authorities)]:
        assert said in shown, said


FAST = 'name = "fast"\nkey_bits = 64'
PAPER = 'name = "paper"'
LEARNT = {
    FAST: {"each proxy": "^nothing$", "the helper": "^nothing$"},
    PAPER: {"each proxy": "^nothing$", "the helper": "disguise$"},
    f"{PAPER}\ndelta = 3": {
        "each proxy": "comparisons of scores",
        "the helper": "disguise; how many records the merge took from which list$",
    },
}


@pytest.mark.parametrize("protocol", LEARNT)
def test_what_every_party_learns_is_shown(protocol: str, plan: Path, tmp_path: Path) -> None:
    assert SAMPLE.count(FAST) == 1
    sample = SAMPLE if protocol == FAST else SAMPLE.replace(*INTERVALS).replace(*EXACT)
    plan.write_text(sample.replace(FAST, protocol))
    manifest = provision(plan, tmp_path / "kits")
    shown = dict(manifest.describe())
    learnt = {name.removeprefix("learnt by "): said for name, said in shown.items() if "learnt by" in name}
    assert learnt == manifest.protocol.discloses(manifest.terms.policy)
    for party, said in LEARNT[protocol].items():
        assert re.search(said, learnt[party]), party
    assert "the metrics" in learnt["the owners"]


@pytest.mark.parametrize("name", ["proxy-1", "hospital-b"])
def test_accepting_shows_the_study_and_asks(kits: Path, name: str) -> None:
    manifest = kits / "sepsis-2026.json"
    runner = CliRunner()
    declined = runner.invoke(cli, ["accept", str(kits / name), str(manifest)], input="n\n")
    assert isinstance(declined.exception, InputError)
    assert Manifest.read(manifest).hash in declined.output
    accepted = runner.invoke(cli, ["accept", str(kits / name), str(manifest)], input="y\n")
    assert accepted.exit_code == 0, accepted.output
    again = runner.invoke(cli, ["accept", str(kits / name), str(manifest), "--yes"])
    assert "was accepted before" in again.output


def test_a_study_that_means_somebody_else_is_not_accepted(plan: Path, kits: Path, tmp_path: Path) -> None:
    provision(plan, tmp_path / "others")
    for name in ("proxy-0", "hospital-a"):
        result = CliRunner().invoke(
            cli, ["accept", str(kits / name), str(tmp_path / "others/sepsis-2026.json"), "--yes"]
        )
        assert isinstance(result.exception, InputError)


def test_a_name_stands_for_one_manifest(plan: Path, kits: Path, tmp_path: Path) -> None:
    """Another study of the same name, with the same participants, is refused by node and owner."""
    plan.write_text(SAMPLE.replace("minimum_samples = 100", "minimum_samples = 101"))
    provision(plan, tmp_path / "others", kits)
    for name in ("proxy-0", "hospital-a"):
        first = CliRunner().invoke(cli, ["accept", str(kits / name), str(kits / "sepsis-2026.json"), "--yes"])
        assert first.exit_code == 0
        second = CliRunner().invoke(
            cli, ["accept", str(kits / name), str(tmp_path / "others/sepsis-2026.json"), "--yes"]
        )
        assert isinstance(second.exception, InputError)
        assert "own name" in str(second.exception)
