"""Licences: as packages state them, and whether they are allowed."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import PathDistribution
from pathlib import Path

import pytest

from tests.support.repository import ROOT
from tools.supply.licences import ALLOWED, is_allowed, licence_of

DEPLOYED = ("requirements-node.lock", "requirements-owner.lock", "requirements-app.lock")


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    run = [sys.executable, "-m", "tools.supply", "licences", *arguments]
    return subprocess.run(run, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)


def test_what_nodes_and_owners_install_is_allowed() -> None:
    done = command(*DEPLOYED)
    assert done.returncode == 0, done.stdout
    assert " 0 with a licence that is not allowed" in done.stdout


def test_what_is_not_allowed_is_named() -> None:
    """Among developers' tools: one whose licence is not on the list, one that quotes its whole text."""
    done = command("requirements.lock")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert "pillow: MIT-CMU: not allowed" in lines
    assert "matplotlib: names no licence that is understood: not allowed" in lines


def test_every_licence_on_the_list_has_a_reason() -> None:
    assert all(len(reason) > 10 for reason in ALLOWED.values())
    assert not [name for name in ALLOWED if "GPL" in name]


@pytest.mark.parametrize(
    ("expression", "allowed"),
    [
        ("MIT", True),
        ("GPL-3.0-only", False),
        ("MIT OR GPL-3.0-only", True),
        ("GPL-3.0-only OR MIT", True),
        ("MIT AND GPL-3.0-only", False),
        ("GPL-3.0-only AND MIT", False),
        ("MIT AND Apache-2.0 OR GPL-3.0-only", True),
        ("GPL-3.0-only AND MIT OR GPL-3.0-only", False),
        ("GPL-3.0-only AND (MIT OR Apache-2.0)", False),
        ("(GPL-3.0-only OR MIT) AND Apache-2.0", True),
        ("((GPL-3.0-only AND MIT) OR Zlib) AND (MIT)", True),
        ("Apache-2.0 WITH LLVM-exception", False),
        ("LicenseRef-Ours", False),
    ],
)
def test_expressions_are_read_as_spdx_means_them(expression: str, allowed: bool) -> None:
    assert is_allowed(expression) is allowed


def test_a_licence_with_an_exception_is_allowed_by_its_full_name() -> None:
    allowed = {"Apache-2.0 WITH LLVM-exception", "MIT"}
    assert is_allowed("MIT AND Apache-2.0 WITH LLVM-exception", allowed)
    assert not is_allowed("Apache-2.0", allowed)


MIT = "Classifier: License :: OSI Approved :: MIT License"
GPL = "Classifier: License :: OSI Approved :: GNU General Public License v3 (GPLv3)"


@pytest.mark.parametrize(
    ("stated", "licence"),
    [
        (["License-Expression: mit or apache-2.0", "License: GPL", GPL], "MIT OR Apache-2.0"),
        (["License: BSD-3-Clause", MIT], "BSD-3-Clause"),
        (["License: Apache 2.0"], "Apache-2.0"),
        (["License: All of it may be used by everybody", MIT], "MIT"),
        ([MIT], "MIT"),
        ([MIT, GPL], None),
        ([GPL], None),
        (["License: UNKNOWN"], None),
        ([], None),
    ],
)
def test_what_a_package_states(stated: list[str], licence: str | None, tmp_path: Path) -> None:
    folder = tmp_path / "made_up-1.dist-info"
    folder.mkdir()
    lines = ["Metadata-Version: 2.4", "Name: made-up", "Version: 1", *stated]
    (folder / "METADATA").write_text("\n".join(lines) + "\n")
    assert licence_of(PathDistribution(folder)) == licence
