"""The bill of materials lists exactly what a lock installs, the same on every run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from ppaurora.errors import InputError
from tests.support.repository import ROOT
from tools.supply.locks import check_nothing_else, read_lock
from tools.supply.sbom import as_text, bill_of

SBOM = [sys.executable, "-m", "tools.supply", "sbom", "--beside", "requirements.lock"]
SBOM += ["--beside", "requirements-ray.lock"]
LOCKS = [ROOT / f"requirements-{name}.lock" for name in ("node", "owner", "app")]


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.stem)
def test_the_bill_lists_what_the_lock_installs_here(lock: Path) -> None:
    bill = bill_of(lock)
    pins = {pin.name: pin for pin in read_lock(lock) if pin.is_for_here}
    assert [component["name"] for component in bill["components"]] == sorted(pins)
    for component in bill["components"]:
        pin = pins[component["name"]]
        assert component["version"] == pin.version == version(pin.name)
        assert component["purl"] == f"pkg:pypi/{pin.name}@{pin.version}"
        assert {entry["content"] for entry in component["hashes"]} == set(pin.hashes)
        assert {entry["alg"] for entry in component["hashes"]} == {"SHA-256"}
        assert component["licenses"][0]["expression"]
    assert (bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.6", 1)
    assert bill["metadata"]["component"]["name"] == "ppaurora"


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.stem)
def test_everything_is_reached_from_the_package(lock: Path) -> None:
    bill = bill_of(lock)
    edges = {edge["ref"]: set(edge["dependsOn"]) for edge in bill["dependencies"]}
    assert set(edges) == references(bill)
    reached = {bill["metadata"]["component"]["bom-ref"]}
    while more := set().union(*(edges[one] for one in reached)) - reached:
        reached |= more
    assert reached == references(bill)


def references(bill: dict[str, Any]) -> set[str]:
    return {part["bom-ref"] for part in (bill["metadata"]["component"], *bill["components"])}


def test_the_command_prints_the_same_bytes_every_time(tmp_path: Path) -> None:
    command = [*SBOM, str(LOCKS[0])]
    printed = []
    for seed in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": seed}
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, timeout=60, check=True)
        printed.append(done.stdout)
    out = tmp_path / "sbom.json"
    subprocess.run([*command, "--out", str(out)], cwd=ROOT, timeout=60, check=True)
    assert printed == [out.read_bytes()] * 2
    assert json.loads(printed[0]) == bill_of(LOCKS[0])


def test_another_lock_has_another_serial_number() -> None:
    serials = [bill_of(lock)["serialNumber"] for lock in LOCKS]
    assert len(set(serials)) == len(LOCKS)
    assert all(serial.startswith("urn:uuid:") for serial in serials)


def test_a_lock_without_something_that_is_needed_is_refused(tmp_path: Path) -> None:
    text = LOCKS[0].read_text()
    begin, end = text.index("\nmdurl=="), text.index("\nmsgspec==")
    lock = tmp_path / "without.lock"
    lock.write_text(text[:begin] + text[end:])
    with pytest.raises(InputError, match="markdown-it-py needs mdurl"):
        bill_of(lock)


def test_text_is_readable() -> None:
    assert as_text({"b": "ü", "a": 1}) == '{\n  "a": 1,\n  "b": "ü"\n}\n'


@pytest.fixture
def intruder(tmp_path: Path) -> Callable[[str, str], dict[str, str]]:
    """Return the environment of a process that finds one more package installed."""

    def environment(name: str, version: str) -> dict[str, str]:
        about = tmp_path / f"{name}-{version}.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        return os.environ | {"PYTHONPATH": str(tmp_path)}

    return environment


@pytest.mark.parametrize(
    ("name", "version", "says"),
    [
        ("intruder", "6.6", "intruder 6.6 is not locked"),
        ("pyarrow", "0.1", "pyarrow 0.1 is another version than is locked"),
    ],
)
def test_an_environment_with_something_else_is_refused(
    name: str, version: str, says: str, intruder: Callable[[str, str], dict[str, str]]
) -> None:
    """Of a lock that has no such package: the bill would not list it. Without it, there is a bill."""
    for environment, code in ((dict(os.environ), 0), (intruder(name, version), 2)):
        done = subprocess.run(
            [*SBOM, "requirements-owner.lock"],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == code, done.stderr
    assert says in done.stderr
    assert done.stdout == ""


def test_packages_of_other_locks_are_something_else() -> None:
    """As where developers work, unless these locks are named."""
    with pytest.raises(InputError, match=r"hypothesis [\d.]+ is not locked"):
        check_nothing_else(LOCKS[0])
    check_nothing_else(LOCKS[0], [ROOT / "requirements.lock", ROOT / "requirements-ray.lock"])
