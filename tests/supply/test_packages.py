"""What `make dist` builds: the same bytes everywhere, all of the package, and nothing else."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.parser import HeaderParser
from pathlib import Path

import pytest

from tests.support.packages import Packages, copy_checkout, make_dist
from tests.support.repository import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
NAME = f"ppaurora-{PROJECT['project']['version']}"
ADDED_BY_THE_BUILD = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}
NOT_FOR_A_RELEASE = ("tests", "benchmarks", "test_vectors", "requirements.lock", "requirements-peers.lock")


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Packages:
    return make_dist(copy_checkout(tmp_path_factory.mktemp("packages") / "checkout"))


def digests(packages: Packages) -> list[str]:
    return [hashlib.sha256(path.read_bytes()).hexdigest() for path in (packages.archive, packages.wheel)]


def files_of(folder: Path) -> set[str]:
    """But for what Python keeps of modules that have run."""
    found = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return {path.as_posix() for path in found if "__pycache__" not in path.parts}


def unpacked(packages: Packages, folder: Path) -> Path:
    with tarfile.open(packages.archive) as archive:
        archive.extractall(folder, filter="data")
    return folder / NAME


def test_two_machines_build_the_same_bytes(packages: Packages, tmp_path: Path) -> None:
    """Another folder, umask, permissions, times of change, time zone, order of sets, date in the air."""
    other = copy_checkout(tmp_path / "some where else", mode=0o700, time=1_000_000_000)
    built = make_dist(
        other, umask=0o077, TZ="Asia/Tokyo", PYTHONHASHSEED="7", SOURCE_DATE_EPOCH="1700000000", LC_ALL="C"
    )
    assert digests(built) == digests(packages)
    assert (
        built.sums
        == packages.sums
        == "".join(
            f"{digest}  {path.name}\n"
            for digest, path in zip(digests(packages), (packages.archive, packages.wheel), strict=True)
        )
    )


def test_other_sources_make_other_bytes(packages: Packages, tmp_path: Path) -> None:
    """The positive control."""
    other = copy_checkout(tmp_path / "checkout")
    with (other / "src/ppaurora/version.py").open("a") as file:
        file.write("\n")
    assert not set(digests(make_dist(other))) & set(digests(packages))


def test_the_source_archive_builds_the_very_wheel(packages: Packages, tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=unpacked(packages, tmp_path), check=True, capture_output=True, timeout=600)
    assert (tmp_path / packages.wheel.name).read_bytes() == packages.wheel.read_bytes()


def test_the_wheel_is_the_package_and_nothing_else(packages: Packages) -> None:
    """Modules, `py.typed`, templates, style sheets, scripts: every file below src/, as it is there."""
    with zipfile.ZipFile(packages.wheel) as wheel:
        inside = {name: wheel.read(name) for name in wheel.namelist()}
    expected = {name: (ROOT / "src" / name).read_bytes() for name in files_of(ROOT / "src")}
    added = {f"{NAME}.dist-info/{name}" for name in ADDED_BY_THE_BUILD}
    assert set(inside) == set(expected) | added
    assert {name: inside[name] for name in expected} == expected
    assert "ppaurora/py.typed" in inside
    assert inside[f"{NAME}.dist-info/licenses/LICENSE"] == (ROOT / "LICENSE").read_bytes()


def test_the_wheel_says_what_it_needs(packages: Packages) -> None:
    with zipfile.ZipFile(packages.wheel) as wheel:
        said = HeaderParser().parsestr(wheel.read(f"{NAME}.dist-info/METADATA").decode())
    assert (said["License-Expression"], said["License-File"]) == ("Apache-2.0", "LICENSE")
    assert said["Requires-Python"] == PROJECT["project"]["requires-python"]
    assert set(said.get_all("Provides-Extra", [])) == set(PROJECT["project"]["optional-dependencies"])
    without_extra = [line for line in said.get_all("Requires-Dist", []) if "extra ==" not in line]
    assert sorted(without_extra) == sorted(PROJECT["project"]["dependencies"])


def test_the_source_archive_is_what_a_release_needs(packages: Packages, tmp_path: Path) -> None:
    """It is a fixed list; whatever else lies in a checkout, such as a kit, stays there."""
    release = unpacked(packages, tmp_path)
    listed = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["only-include"]
    by_the_build = {"pyproject.toml", "README.md", "LICENSE", "PKG-INFO", ".gitignore"}
    assert {path.name for path in release.iterdir()} == {*listed, *by_the_build}
    assert not {path.name for path in release.iterdir()} & set(NOT_FOR_A_RELEASE)
    assert all((ROOT / name).exists() for name in NOT_FOR_A_RELEASE)
    for folder in ("src", "docs", "examples", "tools"):
        assert files_of(release / folder) == files_of(ROOT / folder)


def test_what_lies_around_is_not_packed(packages: Packages, tmp_path: Path) -> None:
    other = copy_checkout(tmp_path / "checkout")
    (other / "kits").mkdir()
    for name in ("kits/key.pem", "hospital-a.kit", "tests/notes.txt"):
        (other / name).write_text("secret")
    assert digests(make_dist(other)) == digests(packages)


def test_documents_of_a_release_lead_to_what_is_in_it(packages: Packages, tmp_path: Path) -> None:
    release = unpacked(packages, tmp_path)
    documents = [*release.glob("*.md"), *(release / "docs").rglob("*.md")]
    assert len(documents) > 10
    for document in documents:
        for target in re.findall(r"\]\(([^)#\s]+)\)", document.read_text()):
            if not target.startswith("http"):
                assert (document.parent / target).exists(), f"{document.name}: {target}"
