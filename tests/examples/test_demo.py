"""The demo ends with a result for a paper, and notices one that is wrong. tests/supply runs it over TLS."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import ppaurora
from tests.support.repository import ROOT

REPORTS: dict[str, ppaurora.Report] = {}


@pytest.fixture
def demo(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """With servers that are threads, once for every policy."""
    monkeypatch.syspath_prepend(ROOT / "examples")
    found = importlib.import_module("demo")
    monkeypatch.setattr(found, "FOLDER", tmp_path)
    evaluate = ppaurora.evaluate

    def in_threads(hospitals: Any, **options: Any) -> ppaurora.Report:
        kind = options["policy"].kind
        if kind not in REPORTS:
            REPORTS[kind] = evaluate(hospitals, **{**options, "transport": "memory"})
        return REPORTS[kind]

    monkeypatch.setattr(ppaurora, "evaluate", in_threads)
    return found


def test_it_ends_with_what_a_paper_can_say(demo: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert demo.main() == 0
    said = capsys.readouterr().out
    paper = " ".join(said.split("For the paper:")[1].split())
    for title, shown in (("AUROC", "0.710"), ("average precision", "0.565"), ("Brier score", "0.2146")):
        assert f"  {title} {shown} (95% CI 0." in said
        assert f"{title} was {shown} (95% CI 0." in paper


@pytest.mark.parametrize(
    "wrong", ["roc_auc_score", "average_precision_score", "brier_score_loss", "delong_variance"]
)
def test_it_fails_if_the_pooled_samples_give_something_else(
    wrong: str, demo: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = getattr(demo, wrong)
    monkeypatch.setattr(demo, wrong, lambda labels, scores: right(labels, scores) * 1.1)
    assert demo.main() == 1
