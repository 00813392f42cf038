"""The lines for Flower and NVIDIA FLARE in docs/examples.md submit the site's predictions."""

from __future__ import annotations

import re
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import ppaurora
from tests.support.repository import ROOT

FLOWER, FLARE = re.findall(r"```python\n(.*?)```", (ROOT / "docs/examples.md").read_text(), flags=re.DOTALL)
LABELS, WEIGHTS = np.array([0, 1, 1]), np.array([0.2, 0.5, 0.9])


class Model:
    """Predicts its weights."""

    def set_weights(self, weights: np.ndarray) -> None:
        self.weights = weights

    def predict_proba(self, features: np.ndarray) -> np.ndarray:
        return np.column_stack([1 - self.weights, self.weights])


@pytest.fixture
def submitted(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """What was submitted, and from which kit."""
    found: list[tuple[str, Any]] = []

    class Study:
        def __init__(self, kit: str) -> None:
            self.kit = kit

        def submit(self, data: Any) -> None:
            found.append((self.kit, data))

    monkeypatch.setattr(ppaurora, "Study", Study)
    return found


def stand_in(monkeypatch: pytest.MonkeyPatch, name: str, **contents: object) -> ModuleType:
    module = ModuleType(name)
    vars(module).update(contents)
    monkeypatch.setitem(sys.modules, name, module)
    return module


def made(source: str, name: str) -> Any:
    names: dict[str, Any] = {}
    exec(compile(source, "docs/examples.md", "exec"), names)  # noqa: S102
    return names[name](Model(), np.zeros((3, 1)), LABELS)


def check(submitted: list[tuple[str, Any]]) -> None:
    ((kit, (y_true, y_score)),) = submitted
    assert kit == "kits/north"
    assert (y_true is LABELS, y_score.tolist()) == (True, WEIGHTS.tolist())


def test_a_client_of_flower(monkeypatch: pytest.MonkeyPatch, submitted: list[tuple[str, Any]]) -> None:
    client = stand_in(monkeypatch, "flwr.client", NumPyClient=type("NumPyClient", (), {}))
    stand_in(monkeypatch, "flwr", client=client)
    assert made(FLOWER, "SiteClient").evaluate(WEIGHTS, {}) == (0.0, 3, {})
    check(submitted)


def test_an_executor_of_flare(monkeypatch: pytest.MonkeyPatch, submitted: list[tuple[str, Any]]) -> None:
    package = type("DXO", (), {"data": WEIGHTS})
    for name in ("nvflare", "nvflare.apis"):
        stand_in(monkeypatch, name)
    stand_in(monkeypatch, "nvflare.apis.dxo", from_shareable=lambda shareable: package)
    stand_in(monkeypatch, "nvflare.apis.executor", Executor=type("Executor", (), {}))
    stand_in(monkeypatch, "nvflare.apis.fl_constant", ReturnCode=type("ReturnCode", (), {"OK": "OK"}))
    stand_in(monkeypatch, "nvflare.apis.shareable", make_reply=lambda code: {"code": code})
    assert made(FLARE, "PooledEvaluation").execute("pooled", object(), None, None) == {"code": "OK"}
    check(submitted)
