"""Owners on Windows: the same steps of installation, and locks that have what only Windows needs.

Whether there are wheels for Windows takes a network; CONTRIBUTING.md says how to ask.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from importlib.metadata import Distribution

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support.repository import ROOT
from tools.supply.locks import Pin, installed_by, read_lock

SH, PS1 = (ROOT / "install.sh").read_text(), (ROOT / "install.ps1").read_text()
OF_OWNERS = ("requirements-owner.lock", "requirements-app.lock")
WINDOWS: dict[str, str | AbstractSet[str]] = {
    "sys_platform": "win32",
    "platform_system": "Windows",
    "os_name": "nt",
    "extra": "",
}
CHECKED = "if ($LASTEXITCODE -ne 0) { exit $LASTEXITCODE }"


def steps_of_sh(text: str) -> list[str]:
    """Its commands behind the choice of a Python, without the look at its version."""
    lines = text.partition("\npython=")[2].splitlines()[1:]
    steps = [line.replace('"$python"', "python").replace('"', "") for line in lines if line[:1] not in "#"]
    return [step.replace("venv/bin/", "").replace("$1", "FOR") for step in steps if " -c " not in step]


def steps_of_ps1(text: str) -> list[str]:
    lines = re.findall(r"^& (.*)$", text, flags=re.MULTILINE)
    steps = [line.replace("$python", "python").replace('"', "").replace("$For", "FOR") for line in lines]
    return [step.replace("venv\\Scripts\\", "").replace(".exe", "") for step in steps if " -c " not in step]


def unchecked(text: str) -> list[str]:
    """Commands of which a failure would not end the script: PowerShell goes on after those of programs."""
    lines = text.splitlines()
    pairs = zip(lines, [*lines[1:], ""], strict=True)
    return [
        line for line, then in pairs if line.startswith("& ") and then not in (CHECKED, "exit $LASTEXITCODE")
    ]


def test_windows_is_installed_by_the_same_steps() -> None:
    assert len(steps_of_sh(SH)) == 4
    assert steps_of_ps1(PS1) == steps_of_sh(SH)
    assert unchecked(PS1) == []


def test_another_step_is_noticed() -> None:
    assert steps_of_ps1(PS1.replace(" --require-hashes", "")) != steps_of_sh(SH)
    assert unchecked(PS1.replace(CHECKED, "", 1)) != []


def test_windows_has_the_locks_of_owners_and_no_others() -> None:
    (choice,) = re.findall(r"-notin (.*)\)", PS1)
    assert [f"requirements-{name}.lock" for name in re.findall(r'"(\w+)"', choice)] == list(OF_OWNERS)
    assert "(3, 11)" in PS1
    assert "(3, 11)" in SH


def on_windows(pins: Iterable[Pin]) -> Iterator[Pin]:
    for pin in pins:
        marker = pin.requirement.marker
        if marker is None or marker.evaluate(WINDOWS):
            yield pin


def missing_on_windows(pins: Sequence[Pin], installed: Sequence[tuple[Pin, Distribution]]) -> list[str]:
    """What packages of a lock say that they need there, and the lock does not have."""
    locked = {pin.name for pin in on_windows(pins)}
    environment = WINDOWS
    found = []
    for pin, package in installed:
        for requirement in map(Requirement, package.requires or ()):
            is_needed = requirement.marker is None or requirement.marker.evaluate(environment)
            if is_needed and canonicalize_name(requirement.name) not in locked:
                found.append(f"{pin.name} needs {requirement.name}")
    return found


@pytest.mark.parametrize("lock", OF_OWNERS)
def test_what_only_windows_needs_is_locked(lock: str) -> None:
    pins, installed = read_lock(ROOT / lock), installed_by(ROOT / lock)
    assert missing_on_windows(pins, installed) == []
    without = [pin for pin in pins if pin.name != "pygments"]
    assert missing_on_windows(without, installed) == ["rich needs pygments"]
