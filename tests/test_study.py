"""Plans, manifests and kits: what people write, agree on and carry around."""

from __future__ import annotations

import json
import ssl
from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from ppaurora.certificates import Authority, days_left, describe_certificates, pin_of_pem
from ppaurora.cli.main import cli
from ppaurora.errors import InputError
from ppaurora.study.kit import NodeKit, OwnerKit, read_kit
from ppaurora.study.manifest import Manifest, kit_name
from ppaurora.study.plan import SAMPLE
from ppaurora.study.provision import provision, renew
from ppaurora.suites.role import Role


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "study.toml"
    path.write_text(SAMPLE)
    return path


@pytest.fixture
def kits(plan: Path, tmp_path: Path) -> Path:
    provision(plan, tmp_path / "kits")
    return tmp_path / "kits"


def test_the_sample_is_a_plan(kits: Path) -> None:
    printed = CliRunner().invoke(cli, ["provision", "--sample"])
    assert printed.output == SAMPLE
    manifest = Manifest.read(kits / "sepsis-2026.json")
    assert manifest.owner_names == ["hospital-a", "hospital-b", "hospital-c"]
    assert manifest.release.minimum_samples == 100


def test_every_participant_gets_a_kit_with_its_own_key(kits: Path) -> None:
    names = [*(kit_name(role) for role in Role), "hospital-a", "hospital-b", "hospital-c"]
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


def test_the_manifest_is_canonical_and_named_by_its_hash(kits: Path) -> None:
    path = kits / "sepsis-2026.json"
    manifest = Manifest.read(path)
    assert path.read_text() == manifest.text()
    assert Manifest.parse(manifest.text(), "here").hash == manifest.hash
    other = json.loads(manifest.text())
    other["release"]["minimum_samples"] = 99
    changed = json.dumps(other, indent=2, sort_keys=True) + "\n"
    assert Manifest.parse(changed, "there").hash != manifest.hash
    path.write_text(json.dumps(other))
    with pytest.raises(InputError, match="canonical"):
        Manifest.read(path)


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
    content = manifest.model_dump()
    authorities = content.pop("authorities")
    content.pop("delta")  # 1: shown where it is not
    for said in [manifest.hash, *values_of(content), *describe_certificates(authorities)]:
        assert said in shown, said


def test_what_a_protocol_opens_is_shown(plan: Path, tmp_path: Path) -> None:
    for number, (more, said) in enumerate({"": "nothing", "delta = 3\n": "comparisons of scores"}.items()):
        protocol = "paper" if more else "fast"
        plan.write_text(SAMPLE.replace('protocol = "fast"', f'protocol = "{protocol}"\n{more}'))
        manifest = provision(plan, tmp_path / f"kits-{number}")
        assert said in dict(manifest.describe())["opened to servers"]
    plan.write_text(SAMPLE.replace('protocol = "fast"', 'protocol = "paper"'))
    assert "disguise" in dict(provision(plan, tmp_path / "kits-9").describe())["opened to servers"]


def test_more_samples_than_the_arithmetic_holds_are_refused(plan: Path, tmp_path: Path) -> None:
    plan.write_text(SAMPLE.replace("samples_per_owner = 1_000_000", "samples_per_owner = 40_000_000"))
    with pytest.raises(InputError, match="33,554,431 samples in all are the most"):
        provision(plan, tmp_path / "kits")


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


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("key_bits = 64", "key_bit = 64", r"key_bit: there is no such setting; did you mean 'key_bits'\?"),
        ("attempts = 5", "atempts = 5", r"limits.atempts: .* did you mean 'attempts'\?"),
        (
            'nodes_address = "helper.example.com:8444"',
            'node_address = "helper.example.com:8444"',
            r"nodes.helper.node_address: .*did you mean 'nodes_address'\?",
        ),
        ("[owners.hospital-a]", "[owners.hospital-a]\ncertificat = 'x'", r"did you mean 'certificate'\?"),
        ("[owners.hospital-a]", "[owners.Hospital_A]", "owners.Hospital_A"),
        ("[owners.hospital-a]", "[owners.helper]", "may not be called like a node"),
        ('"auroc", "aupr"', '"auroc", "auprc"', "unknown metric 'auprc'"),
        ("key_bits = 64", "key_bits = 48", "key_bits"),
        ('"proxy0.example.org:8444"', '"proxy0.example.org"', "an address is a host and a port"),
        ("[nodes.helper]", "[nodes.helpr]", "nodes"),
        ('"proxy1.example.net:8444"', '"proxy1.example.net:8443"', "two addresses are the same"),
        ("key_bits = 64", "key_bits = ", "is not TOML"),
        ("retention_days = 30", "retention_days = 0", "release.retention_days"),
        ('protocol = "fast"', 'protocol = "fast"\ndelta = 3', "delta"),
    ],
)
def test_a_wrong_plan_is_refused_with_its_place(
    plan: Path, tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert SAMPLE.count(old) == 1
    plan.write_text(SAMPLE.replace(old, new))
    with pytest.raises(InputError, match=message) as caught:
        provision(plan, tmp_path / "kits")
    assert str(plan) in str(caught.value)
    assert not (tmp_path / "kits").exists()


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
    with pytest.raises(InputError, match="--study"):
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


def test_a_key_that_others_can_read_is_refused(kits: Path) -> None:
    (kits / "proxy-0/key.pem").chmod(0o640)
    with pytest.raises(InputError, match="chmod 600"):
        NodeKit.read(kits / "proxy-0").check_key()


def test_a_folder_that_is_no_kit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no start-up kit"):
        read_kit(tmp_path)
