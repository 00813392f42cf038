"""The lock files are what pyproject.toml asks for, and nodes and owners install a part of what is tested."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from ppaurora.errors import InputError
from tests.support.repository import ROOT
from tools.supply.locks import Pin, installed_by, read_lock
from tools.supply.sbom import is_direct

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
TESTED = ROOT / "requirements.lock"
# The extras and groups of pyproject.toml that each is made of.
LOCKS = {
    "requirements.lock": (["dev"], ["bench", "docs"]),
    "requirements-node.lock": (["node"], ["build"]),
    "requirements-owner.lock": ([], ["build"]),
    "requirements-ray.lock": (["node", "ray"], ["build"]),
    "requirements-app.lock": (["app"], ["build"]),
}
DEPLOYED = ("requirements-node.lock", "requirements-owner.lock", "requirements-app.lock")
PLATFORMS = [
    {"python_version": f"3.{minor}", "python_full_version": f"3.{minor}.1", "sys_platform": system}
    for minor in (11, 12, 13, 14)
    for system in ("linux", "darwin", "win32")
]


def wanted(project: Mapping[str, Any], extras: Sequence[str], groups: Sequence[str]) -> list[Requirement]:
    """What pyproject.toml asks for itself."""
    lines = [*project["project"]["dependencies"]]
    lines += [line for name in groups for line in project["dependency-groups"][name]]
    return [*map(Requirement, lines), *(one for name in extras for one in of_extra(project["project"], name))]


def of_extra(project: Mapping[str, Any], extra: str) -> Iterator[Requirement]:
    """It may name other extras of our own."""
    for requirement in map(Requirement, project["optional-dependencies"][extra]):
        if requirement.name == project["name"]:
            for other in sorted(requirement.extras):
                yield from of_extra(project, other)
        else:
            yield requirement


def staleness(project: Mapping[str, Any], name: str, pins: Sequence[Pin]) -> list[str]:
    """In what the lock is not what pyproject.toml asks for."""
    query = wanted(project, *LOCKS[name])
    names = {canonicalize_name(requirement.name) for requirement in query}
    found = [
        f"{pin.name} is locked and not asked for" for pin in pins if is_direct(pin) and pin.name not in names
    ]
    for requirement in query:
        fitting = [pin for pin in pins if pin.name == canonicalize_name(requirement.name) and is_direct(pin)]
        if not fitting:
            found.append(f"{requirement.name} is not locked")
        found += [
            f"{pin.name} {pin.version} is not {requirement}"
            for pin in fitting
            if not requirement.specifier.contains(pin.version)
        ]
    return found


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_is_what_the_project_asks_for(name: str) -> None:
    assert staleness(PROJECT, name, read_lock(ROOT / name)) == [], "run `make lock`"


def test_a_stale_lock_is_found() -> None:
    """The positive control: one asked for more, one for less, one for a newer version."""
    own = PROJECT["project"]
    others = [line for line in own["dependencies"] if not line.startswith(("click", "numpy"))]
    changed = PROJECT | {"project": own | {"dependencies": [*others, "numpy>=99", "colorama>=0.4"]}}
    for name in LOCKS:
        problems = staleness(changed, name, read_lock(ROOT / name))
        assert "click is locked and not asked for" in problems
        assert "colorama is not locked" in problems
        assert len([problem for problem in problems if "is not numpy>=99" in problem]) == 2
        assert len(problems) == 4


@pytest.mark.parametrize("name", LOCKS)
def test_everything_locked_is_needed_by_something(name: str) -> None:
    pins = read_lock(ROOT / name)
    needed = {pin.name for pin in pins if is_direct(pin)}
    while more := {pin.name for pin in pins if needed & set(pin.via)} - needed:
        needed |= more
    assert {pin.name for pin in pins} == needed


@pytest.mark.parametrize("platform", PLATFORMS, ids=lambda p: "-".join(sorted(p.values())))
@pytest.mark.parametrize("name", LOCKS)
def test_a_platform_gets_one_version_of_what_it_needs(name: str, platform: dict[str, str]) -> None:
    pins = [
        p
        for p in read_lock(ROOT / name)
        if p.requirement.marker is None or p.requirement.marker.evaluate(platform)
    ]
    names = [pin.name for pin in pins]
    assert len(names) == len(set(names))
    assert {canonicalize_name(requirement.name) for requirement in wanted(PROJECT, *LOCKS[name])} <= set(
        names
    )


@pytest.mark.parametrize("name", DEPLOYED)
def test_what_is_deployed_is_a_part_of_what_is_tested(name: str) -> None:
    """The same versions, and the same files of them."""
    tested = {(pin.name, pin.version): set(pin.hashes) for pin in read_lock(TESTED)}
    deployed = {(pin.name, pin.version): set(pin.hashes) for pin in read_lock(ROOT / name)}
    assert len(deployed) > 10
    assert deployed == {version: tested[version] for version in deployed}


def test_these_tests_run_with_what_is_locked() -> None:
    installed = {pin.name: package.version for pin, package in installed_by(TESTED)}
    assert len(installed) > 40
    assert installed["numpy"] == __import__("numpy").__version__


def test_what_builds_a_node_builds_the_package_anywhere() -> None:
    assert PROJECT["dependency-groups"]["build"] == PROJECT["build-system"]["requires"]


HASH = "    --hash=sha256:" + "0" * 64


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "locks nothing"),
        ("numpy==2.0\n", "no single version with hashes"),
        (f"numpy>=2.0 \\\n{HASH}\n", "no single version with hashes"),
        (f"numpy==2.* \\\n{HASH}\n", "no single version with hashes"),
        (f"numpy==2.0,<3 \\\n{HASH}\n", "no single version with hashes"),
        (f"click==8.0 \\\n{HASH}\nnumpy==2.0\n    # via click\n", "'numpy==2.0' has no single version"),
        ("-e .\n", "is no locked version"),
        ("--index-url somewhere\n", "is no locked version"),
    ],
)
def test_a_lock_that_does_not_lock_is_refused(text: str, says: str, tmp_path: Path) -> None:
    lock = tmp_path / "bad.lock"
    lock.write_text(text)
    with pytest.raises(InputError, match=says) as refused:
        read_lock(lock)
    assert "make lock" in str(refused.value)


def test_an_environment_with_other_versions_is_not_taken_for_the_lock(tmp_path: Path) -> None:
    lock = tmp_path / "other.lock"
    lock.write_text(f"click==1.2.3 \\\n{HASH}\nno-such-package==1 \\\n{HASH}\n")
    with pytest.raises(InputError, match=r"no-such-package is missing; click is [\d.]+, not 1\.2\.3"):
        installed_by(lock)
