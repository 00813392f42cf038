"""Kits, settings, plans and manifests that are refused before anything is served or sent."""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from ppaurora.credentials.certificates import Authority
from ppaurora.errors import InputError
from ppaurora.io.models import to_builtins
from ppaurora.study.manifest import Manifest
from tests.support.bad_input import PLANTED
from tests.support.deployment import command
from tests.support.trials import HELPER, HOUR, PROXY_0, RunCommand, Trials
from tests.versions.earlier import data_folder


def spoil_key_mode(folder: Path) -> None:
    (folder / "key.pem").chmod(0o640)


def spoil_key(folder: Path) -> None:
    (folder / "key.pem").write_bytes(Authority.make("x", HOUR).issue("x", HOUR).key)


def spoil_key_text(folder: Path) -> None:
    (folder / "key.pem").write_text(f"{PLANTED}\n")


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (spoil_key_mode, "chmod 600"),
        (spoil_key, "is not the key of"),
        (spoil_key_text, "is not the key of"),
        (lambda folder: (folder / "key.pem").unlink(), "key.pem: cannot be read"),
        (lambda folder: (folder / "certificate.pem").unlink(), "certificate.pem"),
        (lambda folder: (folder / "certificate.pem").write_text("x"), "certificate.pem"),
    ],
    ids=["mode", "other key", "no key", "missing key", "missing certificate", "no certificate"],
)
def test_kits_with_bad_keys(
    kit: Path,
    node_kit: Path,
    run: RunCommand,
    spoil: Callable[[Path], object],
    says: str,
) -> None:
    """Refused before anything is sent or served, with what to do."""
    assert run("status", kit)[0] == 0  # the positive control
    for folder, arguments in ((kit, ("result", kit)), (node_kit, ("serve", node_kit))):
        spoil(folder)
        code, said = run(*arguments)
        assert (code, says in said) == (2, True), said
        assert PLANTED not in said


def test_kits_with_missing_files(kit: Path, node_kit: Path, run: RunCommand) -> None:
    (kit / "studies" / "trial.json").unlink()
    code, said = run("status", kit)
    assert (code, "none" in said) == (2, True)
    (kit / "owner.toml").unlink()
    code, said = run("status", kit)
    assert (code, "it holds no owner.toml" in said) == (2, True)
    code, said = run("preflight", kit)
    assert (code, "is not a kit folder" in said) == (2, True)
    (node_kit / "node.toml").unlink()
    code, said = run("serve", node_kit)
    assert (code, "it holds no node.toml" in said) == (2, True)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("silence_second = 5.0", "did you mean 'silence_seconds'?"),
        ("listen_owner = 'x:1'", "did you mean 'listen_owners'?"),
        ("jobs = 'many'", "jobs"),
        ("jobs = 0", "jobs"),
        ("data = ", "is not TOML"),
    ],
)
def test_settings_that_do_not_exist(node_kit: Path, run: RunCommand, line: str, says: str) -> None:
    """The nearest one that does is named."""
    path = node_kit / "node.toml"
    lines = [
        kept for kept in path.read_text().splitlines() if not kept.startswith(line.split(" = ")[0] + " ")
    ]
    path.write_text("\n".join([line, *lines]))
    code, said = run("serve", node_kit)
    assert (code, says in said) == (2, True), said


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("[limits]", "[limits]\nattemps = 3", "did you mean 'attempts'?"),
        ("metrics", "metric", "did you mean 'metrics'?"),
        ("owners_address", "owner_address", "did you mean 'owners_address'?"),
        ("[limits]", "[limit]", "did you mean 'limits'?"),
        ('"auroc"', '"aurok"', "aurok"),
        ("[owners.north]", "[owners.North]", "owners.North: expected a name of small letters"),
        ("[owners.north]", '[owners."../north"]', "owners.../north: expected a name of small letters"),
        ('name = "wrong"', 'name = "wrong name"', "name: expected a name of small letters"),
        ("[owners.north]", "[owners.authority]", "authority"),
        ("[owners.north]", "[owners.helper]", "like a node"),
    ],
)
def test_plans_that_cannot_be_provisioned(
    consortium: Trials, tmp_path: Path, run: RunCommand, old: str, new: str, says: str
) -> None:
    plan = tmp_path / "study.toml"
    plan.write_text(consortium.planned("wrong").replace(old, new))
    code, said = run("provision", plan, "--out", tmp_path / "kits")
    assert (code, says in said) == (2, True), said
    assert [path.name for path in tmp_path.iterdir()] == ["study.toml"]


def test_kits_are_never_overwritten(consortium: Trials, tmp_path: Path, run: RunCommand) -> None:
    plan = tmp_path / "study.toml"
    plan.write_text(consortium.planned("again"))
    assert run("provision", plan, "--out", tmp_path / "kits")[0] == 0
    key = (tmp_path / "kits" / "north" / "key.pem").read_bytes()
    code, said = run("provision", plan, "--out", tmp_path / "kits")
    assert (code, "exists" in said) == (2, True)
    assert (tmp_path / "kits" / "north" / "key.pem").read_bytes() == key
    assert stat.S_IMODE((tmp_path / "kits" / "north" / "key.pem").stat().st_mode) == 0o600


def test_manifests_that_are_not_accepted(
    consortium: Trials, kit: Path, node_kit: Path, tmp_path: Path, run: RunCommand
) -> None:
    """Edited by hand, or meant for other keys, or another one of the same name."""
    text = consortium.manifest.text()
    edited = tmp_path / "edited.json"
    for changed, says in (
        (text.replace('"key_bits": 64', '"key_bits":  64'), "canonical"),
        (text.rstrip("\n"), "canonical"),
        (text.replace('"name": "fast"', '"name": "fats"'), "protocol"),
        (text.replace('"metrics"', '"metric"'), "did you mean 'metrics'?"),
        (text.replace(consortium.manifest.node(PROXY_0).pin, "0" * 64), "names another key for proxy 0"),
        (
            text.replace(consortium.manifest.node(PROXY_0).pin, consortium.manifest.node(HELPER).pin),
            "same key",
        ),
        ("{}", "is missing"),
        ("no JSON", "not JSON"),
        ("[" * 100_000, "not JSON"),
    ):
        edited.write_text(changed)
        code, said = run("accept", node_kit, edited, "--yes")
        assert (code, says in said) == (2, True), said
    edited.write_text(text.replace(consortium.manifest.owners[0].pin, "1" * 64))
    code, said = run("accept", kit, edited, "--yes")
    assert (code, "does not name this owner's key" in said) == (2, True)
    assert not (node_kit / "data").exists()
    edited.write_text(text)
    assert run("accept", node_kit, edited, "--yes")[0] == 0  # the positive control
    edited.write_text(text.replace('"attempts": 100', '"attempts": 99'))
    code, said = run("accept", node_kit, edited, "--yes")
    assert (code, "own name" in said) == (2, True)


def test_a_manifest_holds_certificates_and_nothing_that_deceives(consortium: Trials) -> None:
    """Authorities that are none are refused at once, and so is what would not be shown as it is."""
    good = to_builtins(consortium.manifest)
    deceiving = "x\x1b[1A\x1b[2K:8444"
    nodes = {**good["nodes"], "helper": {**good["nodes"]["helper"], "nodes_address": deceiving}}
    for changed in ({"authorities": "nonsense"}, {"authorities": ""}, {"nodes": nodes}):
        text = (
            json.dumps({**json.loads(consortium.manifest.text()), **changed}, indent=2, sort_keys=True) + "\n"
        )
        with pytest.raises(InputError):
            Manifest.parse(text, "a manifest")
    assert Manifest.parse(consortium.manifest.text(), "a manifest").hash == consortium.manifest.hash


def test_provisioning_deletes_nobody_elses_folder(
    consortium: Trials, tmp_path: Path, run: RunCommand
) -> None:
    """Also not one that is called like its own while it is being built."""
    plan = tmp_path / "study.toml"
    plan.write_text(consortium.planned("again"))
    assert run("provision", plan, "--out", tmp_path / "kits.new")[0] == 0
    run("provision", plan, "--out", tmp_path / "kits")
    assert (tmp_path / "kits.new" / "authority" / "key.pem").exists()


def test_data_of_another_version_is_refused_by_every_command(node_kit: Path, run: RunCommand) -> None:
    """With what to do; nothing in it is changed."""
    assert run("studies", node_kit)[0] == 0  # the positive control; it makes the folder
    shutil.rmtree(node_kit / "data")
    data_folder(6, "under-way", node_kit).rename(node_kit / "data")
    manifest = node_kit / "studies/trial.json"
    for arguments in (
        ("studies", node_kit),
        ("retry", node_kit, "trial"),
        ("accept", node_kit, manifest, "--yes"),
        ("preflight", node_kit),
    ):
        code, said = run(*arguments)
        assert code == 2, said
        assert "Nothing was changed. Go back to that one" in said, arguments
    served = command("serve", node_kit)
    assert served.returncode == 2
    assert "Nothing was changed. Go back to that one" in served.stderr
    assert "Traceback" not in served.stderr
    with contextlib.closing(sqlite3.connect(node_kit / "data/node.db")) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (6,)
