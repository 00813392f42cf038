"""Kits: what people carry around."""

from __future__ import annotations

import json
import ssl
from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner
from cryptography import x509

from ppaurora.cli.main import cli
from ppaurora.credentials.certificates import Authority, days_left, pin_of_pem
from ppaurora.errors import InputError
from ppaurora.study.kit import NodeKit, OwnerKit, read_kit
from ppaurora.study.manifest import Manifest
from ppaurora.study.plan import SAMPLE
from ppaurora.study.provision import provision, renew
from ppaurora.suites.role import Role


def test_every_participant_gets_a_kit_with_its_own_key(kits: Path) -> None:
    names = [*(role.file_name for role in Role), "hospital-a", "hospital-b", "hospital-c"]
    manifest = Manifest.read(kits / "sepsis-2026.json")
    for name in names:
        kit = read_kit(kits / name)
        kit.check_key()
        kit.check_own(manifest)
        assert (kits / name / "key.pem").stat().st_mode & 0o777 == 0o600
        assert [found.hash for found in kit.manifests()] == [manifest.hash]
        ssl.create_default_context(cafile=str(kits / name / "authority.pem"))
    pins = {read_kit(kits / name).pin for name in names}
    assert len(pins) == len(names)
    assert not any(b"PRIVATE" in path.read_bytes() for path in kits.rglob("*.json"))
    assert {path.parent.name for path in kits.rglob("key.pem")} == {*names, "authority"}


@pytest.mark.parametrize("name", ["hospital-a", "proxy-1"])
def test_preflight_says_what_is_missing_and_stops(kits: Path, name: str) -> None:
    """A kit without its key is diagnosed, not stumbled over."""
    (kits / name / "key.pem").unlink()
    result = CliRunner().invoke(cli, ["preflight", str(kits / name), "--format", "json"])
    assert isinstance(result.exception, InputError)
    checks = {check["name"]: check for check in json.loads(result.output)}
    assert not checks["key"]["ok"]
    assert checks["key"]["fix"]
    assert not any("reached" in name for name in checks)


def test_kits_are_never_overwritten(plan: Path, kits: Path) -> None:
    before = (kits / "helper" / "key.pem").read_bytes()
    with pytest.raises(InputError, match="exists"):
        provision(plan, kits)
    assert (kits / "helper" / "key.pem").read_bytes() == before


def test_an_organisation_may_bring_its_own_certificate(plan: Path, tmp_path: Path) -> None:
    authority = Authority.make("a hospital", timedelta(days=100))
    issued = authority.issue("hospital-c", timedelta(days=50))
    (tmp_path / "hospital-c.pem").write_bytes(issued.certificate)
    (tmp_path / "ca.pem").write_bytes(authority.certificate)
    plan.write_text(
        SAMPLE.replace(
            "[owners.hospital-c]",
            '[owners.hospital-c]\ncertificate = "hospital-c.pem"\nauthority = "ca.pem"',
        )
    )
    manifest = provision(plan, tmp_path / "kits")
    assert manifest.owners[2].pin == pin_of_pem(issued.certificate)
    assert authority.certificate.decode().strip() in manifest.authorities
    assert not (tmp_path / "kits/hospital-c/key.pem").exists()
    with pytest.raises(InputError, match=r"key\.pem"):
        OwnerKit.read(tmp_path / "kits/hospital-c").check_key()
    (tmp_path / "kits/hospital-c/key.pem").touch(mode=0o600)
    (tmp_path / "kits/hospital-c/key.pem").write_bytes(issued.key)
    OwnerKit.read(tmp_path / "kits/hospital-c").check_key()


def test_an_expired_certificate_is_noticed_when_a_study_is_made(plan: Path, tmp_path: Path) -> None:
    issued = Authority.make("a hospital", timedelta(days=1)).issue("hospital-c", timedelta(minutes=-1))
    (tmp_path / "old.pem").write_bytes(issued.certificate)
    plan.write_text(SAMPLE.replace("[owners.hospital-c]", '[owners.hospital-c]\ncertificate = "old.pem"'))
    with pytest.raises(InputError, match="hospital-c: its certificate has expired"):
        provision(plan, tmp_path / "kits")


def test_a_second_study_reuses_the_identities(plan: Path, kits: Path, tmp_path: Path) -> None:
    first = Manifest.read(kits / "sepsis-2026.json")
    plan.write_text(
        SAMPLE.replace("sepsis-2026", "sepsis-2027").replace("[owners.hospital-c]", "[owners.hospital-d]")
    )
    second = provision(plan, tmp_path / "more", kits)
    assert second.nodes == first.nodes
    assert second.owners[:2] == first.owners[:2]
    assert second.owners[2].pin not in {owner.pin for owner in first.owners}
    assert not (tmp_path / "more/proxy-0/key.pem").exists()
    assert (tmp_path / "more/hospital-d/key.pem").exists()
    kit = OwnerKit.read(kits / "hospital-a")
    with pytest.raises(InputError, match="no study 'sepsis-2027'"):
        kit.manifest("sepsis-2027")
    kit.add(second)
    assert kit.manifest("sepsis-2027") == second
    said = r"has several studies; name one, as in Study\(.*, NAME\): sepsis-2026, sepsis-2027$"
    with pytest.raises(InputError, match=said):
        kit.manifest()


def test_a_renewed_certificate_keeps_its_pin(kits: Path) -> None:
    path = kits / "hospital-a" / "certificate.pem"
    before = path.read_bytes()
    pin = pin_of_pem(before)
    renew(kits, "hospital-a")
    assert path.read_bytes() != before
    assert pin_of_pem(path.read_bytes()) == pin
    assert days_left(path.read_bytes()) > 1000
    kit = OwnerKit.read(kits / "hospital-a")
    kit.check_key()
    kit.check_own(kit.manifest())


def test_a_certificate_of_somebody_elses_is_not_renewed(kits: Path) -> None:
    path = kits / "hospital-a" / "certificate.pem"
    issued = Authority.make("a hospital", timedelta(days=90)).issue("hospital-a", timedelta(days=50))
    path.write_bytes(issued.certificate)
    with pytest.raises(InputError, match="was signed by somebody else"):
        renew(kits, "hospital-a")
    assert path.read_bytes() == issued.certificate


def test_only_the_authority_can_vouch_for_others(kits: Path) -> None:
    """Else a participant could certify keys of its own, which nodes would let in."""
    for name in ("proxy-0", "hospital-a", "authority"):
        certificate = x509.load_pem_x509_certificate((kits / name / "certificate.pem").read_bytes())
        constraints = certificate.extensions.get_extension_for_class(x509.BasicConstraints)
        assert constraints.critical
        assert constraints.value.ca == (name == "authority")


def test_a_key_that_others_can_read_is_refused(kits: Path) -> None:
    (kits / "proxy-0/key.pem").chmod(0o640)
    with pytest.raises(InputError, match="chmod 600"):
        NodeKit.read(kits / "proxy-0").check_key()


def test_a_folder_that_is_no_kit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a kit folder"):
        read_kit(tmp_path)
