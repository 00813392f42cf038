"""Whatever happens here, nothing may be left behind."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.server_processes import children_of


@pytest.fixture(autouse=True)
def leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No child of this process, running or unburied, and no folder with keys."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    before = children_of(os.getpid())
    yield
    assert children_of(os.getpid()) <= before
    assert list(folder.iterdir()) == []
