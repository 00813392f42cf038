"""The examples of CONTRIBUTING.md do what it says they do."""

from __future__ import annotations

import pstats
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import ppaurora
from ppaurora.algorithms.curve import FP, TP, Curve
from ppaurora.metrics import METRICS, Denominator, Metric, SecretFraction
from tests.support.deployment import cleaned_environment
from tests.support.repository import ROOT

METRIC, PROFILED = re.findall(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), flags=re.DOTALL)


@pytest.mark.parametrize("protocol", ["fast", "paper"])
def test_the_metric_is_what_its_definition_says(protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    names = {
        "Curve": Curve,
        "FP": FP,
        "TP": TP,
        "Denominator": Denominator,
        "Metric": Metric,
        "SecretFraction": SecretFraction,
    }
    exec(compile(METRIC, "CONTRIBUTING.md", "exec"), names)  # noqa: S102
    metric = names["STRICT"]
    assert isinstance(metric, Metric)
    monkeypatch.setitem(METRICS, metric.name, metric)
    random = np.random.default_rng(3)
    owners = [(random.random(size) < 0.5, random.integers(0, 9, size) / 8) for size in (30, 1, 12)]
    y_true, y_score = (np.concatenate(column) for column in zip(*owners, strict=True))
    higher = [bool(p > n) for p in y_score[y_true] for n in y_score[~y_true]]
    exact = Fraction(sum(higher), len(higher))
    report = ppaurora.evaluate(owners, metrics=[metric.name], protocol=protocol)
    assert report.metrics[metric.name] == pytest.approx(float(exact), abs=1e-12)
    assert metric.reference(y_true, y_score) == pytest.approx(float(exact), abs=1e-12)


def test_the_profile_of_every_server_is_there(tmp_path: Path) -> None:
    (tmp_path / "build").mkdir()
    (tmp_path / "build/profiled.py").write_text(PROFILED)
    run = [sys.executable, "build/profiled.py"]
    subprocess.run(run, cwd=tmp_path, env=cleaned_environment(), check=True, timeout=60)
    for server in ("proxy-0", "proxy-1", "helper"):
        profile = pstats.Stats(str(tmp_path / f"build/{server}.prof"))
        assert any(name == "take_part" for _, _, name in profile.stats)  # type: ignore[attr-defined]
