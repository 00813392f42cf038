"""The examples in the documentation of what needs nodes run, on real ones."""

from __future__ import annotations

import pytest

import ppaurora
from tests.support.examples import ON_NODES, run_examples
from tests.support.trials import Trials


def test_the_examples_run(nodes: Trials, monkeypatch: pytest.MonkeyPatch) -> None:
    """One after the other: what the first does, later ones find."""
    nodes.study("sepsis-2026")
    nodes.study("corrected-2026")
    ppaurora.Study(nodes.kit("harbour"), "sepsis-2026").submit([0, 1, 0], [0.3, 0.6, 0.6])
    monkeypatch.chdir(nodes.folder)
    for name in ON_NODES:
        assert run_examples(name) > 0, name
