"""The example in the documentation of `ppaurora.Study` runs, on real nodes."""

from __future__ import annotations

import doctest

import pytest

from ppaurora.data import check_samples
from ppaurora.owner import study
from tests.support.trials import Trials


def test_the_example_runs(nodes: Trials, monkeypatch: pytest.MonkeyPatch) -> None:
    nodes.study("sepsis-2026")
    harbour = study.Study(nodes.kit("harbour"), "sepsis-2026")
    harbour.submit(check_samples("harbour", [0, 1, 0], [0.3, 0.6, 0.6]))
    monkeypatch.chdir(nodes.folder)
    found = doctest.testmod(study)
    assert found.attempted > 0
    assert found.failed == 0
