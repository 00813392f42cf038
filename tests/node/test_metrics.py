"""Metrics of a node's machine and kit; tests of what studies do to the others are with what they do."""

from __future__ import annotations

import re
import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from ppaurora.credentials.certificates import Authority, public_key_of
from ppaurora.node import health, watching
from ppaurora.node.metrics import Metrics
from ppaurora.node.node import Node
from ppaurora.node.upkeep import CertificateKind, Certificates, DiskSpace
from ppaurora.study.kit import NodeKit
from tests.support.trials import PAIR, StartKit, Trials, becomes


@pytest.fixture
def trials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trials:
    monkeypatch.setattr(watching, "_SECONDS_BETWEEN_TRIALS", 0.1)
    return Trials(tmp_path, PAIR)


def value(metrics: Metrics, sample: str) -> float:
    (found,) = re.findall(rf"^{re.escape(sample)} (\S+)$", metrics.text().decode(), re.MULTILINE)
    return float(found)


def certify(trials: Trials, kit: NodeKit, days: float) -> None:
    """Renew the node's certificate, or rather the opposite."""
    folder = trials.folder / "kits/authority"
    authority = Authority.load(folder / "certificate.pem", folder / "key.pem")
    key = public_key_of(kit.certificate)
    kit.certificate.write_bytes(authority.certify("helper", key, timedelta(days=days)))


def test_a_manifest_that_was_not_accepted_is_counted(trials: Trials, start: StartKit) -> None:
    node = start(trials, "helper")
    assert becomes(lambda: value(node.metrics, "ppaurora_unaccepted_manifests") == 1)
    node.store.accept(trials.manifest)
    assert becomes(lambda: value(node.metrics, "ppaurora_unaccepted_manifests") == 0)


def test_days_of_a_node_that_was_not_restarted_are_those_of_what_it_serves_with(trials: Trials) -> None:
    """A renewed certificate in the kit helps nobody before; one that ends earlier is in use at once."""
    kit = NodeKit.read(trials.kit("helper"))
    certify(trials, kit, 20)
    served = Certificates(kit)
    for days, left in ((300, 20), (10, 10)):
        certify(trials, kit, days)
        assert served.days_left([])[CertificateKind.OWN] == pytest.approx(left, abs=0.1)
    certify(trials, kit, 300)
    assert Certificates(kit).days_left([])[CertificateKind.OWN] == pytest.approx(300, abs=0.1)
    certify(trials, kit, -0.002)
    assert -0.1 < Certificates(kit).days_left([])[CertificateKind.OWN] < 0


def test_days_of_authorities_are_those_of_the_first_that_ends(trials: Trials, start: StartKit) -> None:
    """The kit's own, and those of the studies under way here."""
    kit = NodeKit.read(trials.kit("helper"))
    with trials.store("helper") as store:
        store.accept(trials.manifest)
        (study,) = store.studies()
    (kit.folder / "authority.pem").write_bytes(Authority.make("another", timedelta(days=50)).certificate)
    authority = CertificateKind.AUTHORITY
    assert Certificates(kit).days_left([study])[authority] == pytest.approx(50, abs=0.1)
    (kit.folder / "authority.pem").unlink()
    assert Certificates(kit).days_left([study])[authority] == pytest.approx(20 * 365, abs=1)
    assert authority not in Certificates(kit).days_left([])
    node = start(trials, "helper")
    name = f'ppaurora_certificate_days_left{{kind="{authority}"}}'
    assert becomes(lambda: value(node.metrics, name) > 7000)


def test_the_disk_is_that_of_the_data_folder(
    trials: Trials, start: StartKit, monkeypatch: pytest.MonkeyPatch
) -> None:
    kit = NodeKit.read(trials.kit("helper"))
    assert DiskSpace.of(kit) == DiskSpace(0, 0)  # it is not there yet
    node = start(trials, "helper")
    free = "ppaurora_disk_free_bytes"
    assert becomes(lambda: value(node.metrics, free) > 0)
    asked: list[Path] = []
    usage = shutil.disk_usage(kit.data)

    def nearly_full(path: Path) -> object:
        asked.append(path)
        return usage._replace(free=123)

    monkeypatch.setattr(shutil, "disk_usage", nearly_full)
    assert becomes(lambda: value(node.metrics, free) == 123)
    assert set(asked) == {kit.data}
    assert value(node.metrics, "ppaurora_disk_size_bytes") == usage.total


def test_a_node_that_looks_after_nothing_is_not_ready(
    trials: Trials, start: StartKit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its watcher is stuck, so nobody writes anything down: it is told when somebody asks."""
    node: Node = start(trials, "helper")
    assert becomes(lambda: value(node.metrics, "ppaurora_not_ready") == 0)
    monkeypatch.setattr(watching.Watcher, "_look", lambda _: None)
    monkeypatch.setattr(health, "_LONGEST_SILENCE", 0.0)
    assert value(node.metrics, "ppaurora_not_ready") == 1
