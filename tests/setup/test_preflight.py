"""What would fail later is said before it is needed."""

from __future__ import annotations

import time
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from ppaurora.credentials.certificates import Authority, public_key_of
from ppaurora.errors import StudyNotNamedError
from ppaurora.messages.findings import Finding
from ppaurora.messages.owners import StudyStatus
from ppaurora.node.store import Store
from ppaurora.owner.client import NodeClient
from ppaurora.setup.preflight import check_node, check_owner
from ppaurora.study.kit import NodeKit, OwnerKit
from ppaurora.study.plan import SAMPLE
from ppaurora.study.provision import provision
from tests.support.trials import nothing_submitted

NAME = "hospital-a"


@pytest.fixture
def kits(tmp_path: Path) -> Path:
    (tmp_path / "study.toml").write_text(SAMPLE)
    provision(tmp_path / "study.toml", tmp_path / "kits")
    return tmp_path / "kits"


def checks(kits: Path) -> dict[str, Finding]:
    return {check.name: check for check in check_owner(OwnerKit.read(kits / NAME))}


@pytest.mark.parametrize(("minutes", "ok"), [(1, True), (-1, False)])
def test_a_certificate_that_has_expired(
    kits: Path, monkeypatch: pytest.MonkeyPatch, minutes: int, ok: bool
) -> None:
    monkeypatch.setattr(NodeClient, "status", lambda client: answer(kits, 0.0))
    authority = Authority.load(kits / "authority/certificate.pem", kits / "authority/key.pem")
    path = kits / NAME / "certificate.pem"
    path.write_bytes(authority.certify(NAME, public_key_of(path), timedelta(minutes=minutes)))
    found = checks(kits)
    assert found["certificate"].ok is ok
    assert ("expired" in found["certificate"].detail) is not ok
    assert ("manifest" in found) is ok  # without its certificate it goes no further


def answer(kits: Path, apart: float) -> StudyStatus:
    manifest = OwnerKit.read(kits / NAME).manifest()
    return msgspec.structs.replace(nothing_submitted(manifest), time=time.time() + apart)


@pytest.mark.parametrize(("apart", "ok"), [(0.0, True), (-40.0, True), (90.0, False), (-7_200.0, False)])
def test_a_clock_that_is_off(kits: Path, monkeypatch: pytest.MonkeyPatch, apart: float, ok: bool) -> None:
    monkeypatch.setattr(NodeClient, "status", lambda client: answer(kits, apart))
    found = checks(kits)
    for title in ("proxy 0", "proxy 1"):
        check = found[f"clock against {title}"]
        assert check.ok is ok
        assert bool(check.fix) is not ok


def test_a_kit_of_several_studies_names_them(kits: Path, tmp_path: Path) -> None:
    """It is for whoever asks to name one, and nobody's fault."""
    plan = tmp_path / "study.toml"
    plan.write_text(SAMPLE.replace("sepsis-2026", "sepsis-2027"))
    OwnerKit.read(kits / NAME).add(provision(plan, tmp_path / "more", kits))
    with pytest.raises(StudyNotNamedError, match="sepsis-2026, sepsis-2027"):
        checks(kits)


def test_a_kit_without_a_study_names_the_command_that_adds_one(kits: Path) -> None:
    (kits / NAME / "studies/sepsis-2026.json").unlink()
    found = checks(kits)["manifest"]
    assert not found.ok
    assert f"ppaurora accept {kits / NAME} MANIFEST" in found.fix


def test_a_nodes_database_that_is_damaged_is_no_matter_of_permissions(kits: Path) -> None:
    kit = NodeKit.read(kits / "helper")
    with Store(kit.data):
        pass
    (kit.data / "node.db").write_bytes(b"no database" * 1000)
    found = {check.name: check for check in check_node(kit)}["data folder"]
    assert not found.ok
    assert "let this user read and write" not in found.fix
    assert "ppaurora recover" in found.detail
