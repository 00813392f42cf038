"""A plan, the kits made from it, and an empty folder to work in."""

from __future__ import annotations

from pathlib import Path

import pytest

from ppaurora.study.plan import SAMPLE
from ppaurora.study.provision import provision

# What `paper` does not have, in the sample, and what it takes instead.
INTERVALS = ("confidence_level = 0.95\n", "")
EXACT = ('kind = "publication"', 'kind = "exact"')


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "study.toml"
    path.write_text(SAMPLE)
    return path


@pytest.fixture
def kits(plan: Path, tmp_path: Path) -> Path:
    provision(plan, tmp_path / "kits")
    return tmp_path / "kits"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder
