"""The examples of CONTRIBUTING.md do what it says they do."""

from __future__ import annotations

import pstats
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ppaurora
from ppaurora.errors import InputError
from ppaurora.metrics import METRICS, Metric
from ppaurora.policy.rules import Policy
from ppaurora.protocols.names import ProtocolName
from tests.support.deployment import cleaned_environment
from tests.support.releases import half_away
from tests.support.repository import ROOT

AREA, SUM, PROFILED = re.findall(
    r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), flags=re.DOTALL
)


def add(source: str, name: Any, patch: pytest.MonkeyPatch) -> Metric:
    """As a file of its own; it makes itself known, until the test ends."""
    assert name not in METRICS
    patch.setitem(METRICS, name, Metric)
    names: dict[str, object] = {"__name__": f"example_of_{name}"}
    exec(compile(source, "CONTRIBUTING.md", "exec"), names)  # noqa: S102
    assert METRICS[name] is not Metric
    assert METRICS[name] in names.values()
    return METRICS[name]()


def made_up_owners() -> tuple[list[tuple[np.ndarray, np.ndarray]], np.ndarray, np.ndarray]:
    """With ties; and what they are together."""
    random = np.random.default_rng(3)
    owners = [(random.random(size) < 0.5, random.integers(0, 9, size) / 8) for size in (30, 1, 12)]
    y_true, y_score = (np.concatenate(column) for column in zip(*owners, strict=True))
    return owners, y_true, y_score


def names_of(metric: Metric) -> Any:
    """As people write them; the types do not know those of examples."""
    return [metric.name]


def check(metric: Metric, exact: Fraction, protocol: ProtocolName) -> None:
    """At full precision, where anybody may ask for it, and rounded as a policy says."""
    owners, y_true, y_score = made_up_owners()
    report = ppaurora.evaluate(owners, metrics=names_of(metric), protocol=protocol)
    assert getattr(report, metric.name) == pytest.approx(float(exact), abs=1e-12)
    assert metric.reference(y_true, y_score) == pytest.approx(float(exact), abs=1e-12)
    if protocol == "fast":
        policy = Policy.exact(digits=3, minimum_positives=1, minimum_negatives=1)
        rounded = ppaurora.evaluate(owners, metrics=names_of(metric), policy=policy)
        assert getattr(rounded, metric.name) == float(half_away(exact, 3))
        strict = Policy.exact(digits=3, minimum_positives=20, minimum_negatives=20)
        assert ppaurora.evaluate(owners, metrics=names_of(metric), policy=strict).suppressed


@pytest.mark.parametrize("protocol", ["fast", "paper"])
def test_the_area_is_what_its_definition_says(
    protocol: ProtocolName, monkeypatch: pytest.MonkeyPatch
) -> None:
    metric = add(AREA, "auroc_strict", monkeypatch)
    _, y_true, y_score = made_up_owners()
    higher = [bool(p > n) for p in y_score[y_true] for n in y_score[~y_true]]
    check(metric, Fraction(sum(higher), len(higher)), protocol)


def test_the_sum_is_what_its_definition_says(monkeypatch: pytest.MonkeyPatch) -> None:
    metric = add(SUM, "mean_probability", monkeypatch)
    owners, _, y_score = made_up_owners()
    check(metric, sum(map(Fraction, y_score.tolist()), Fraction(0)) / len(y_score), "fast")
    with pytest.raises(InputError, match="does not compute"):
        ppaurora.evaluate(owners, metrics=names_of(metric), protocol="paper")


def test_the_profile_of_every_server_is_there(tmp_path: Path) -> None:
    (tmp_path / "build").mkdir()
    (tmp_path / "build/profiled.py").write_text(PROFILED)
    run = [sys.executable, "build/profiled.py"]
    subprocess.run(run, cwd=tmp_path, env=cleaned_environment(), check=True, timeout=300)
    for server in ("proxy-0", "proxy-1", "helper"):
        profile = pstats.Stats(str(tmp_path / f"build/{server}.prof"))
        assert any(name == "take_part" for _, _, name in profile.stats)  # type: ignore[attr-defined]
