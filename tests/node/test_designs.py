"""A study with several models, subgroups, sites and rows left out, from its plan to its release."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ppaurora.errors import InputError
from ppaurora.owner.study import Study
from ppaurora.statistics.auroc import auroc_estimate
from tests.support.trials import PAIR, RunCommand, Trials

HEAD = """\
metrics = ["auroc", "brier", { name = "net_benefit", thresholds = [0.3] }]
confidence_level = 0.95
comparisons = [["new", "old"]]
left_out = true
"""
DESIGN = """
[models.new]
column = "risk_new"
grid = { decimals = 2 }
[models.old]
column = "risk_old"
grid = { decimals = 2 }
[subgroups.sex]
levels = ["f", "m"]
[evaluation]
score_scale = "probability"
"""
PROTOCOLS = {
    "fast": "",
    "grid": '[protocol]\nname = "grid"\ndecimals = 2\n',
}
Frame = dict[str, list[object]]


def frame(size: int, seed: int) -> Frame:
    """Return a made-up table of one hospital; one row has no score."""
    random = np.random.default_rng(seed)
    died = random.random(size) < 0.4
    logits = {"risk_new": 1.5, "risk_old": 0.7}
    table: Frame = {"died": [int(one) for one in died]}
    for name, strength in logits.items():
        x = random.normal(size=size) + strength * died - 0.5
        table[name] = [round(float(1 / (1 + np.exp(-value))), 2) for value in x]
    table["risk_new"][0] = float("nan")
    table["gender"] = ["f" if one else "m" for one in random.random(size) < 0.5]
    return table


@pytest.mark.parametrize("protocol", ["fast", "grid"])
def test_from_the_plan_to_the_release(
    running: Trials, run: RunCommand, protocol: str, tmp_path: Path
) -> None:
    name = f"designed-{protocol}"
    manifest = running.study(name, head=HEAD, more=DESIGN + PROTOCOLS[protocol])
    said = dict(manifest.describe())
    assert said["comparisons"] == "new with old"
    assert said["subgroups by sex"] == "f, m"
    frames = [frame(size, seed) for seed, size in enumerate((90, 70))]
    studies = [Study(running.kit(owner), name) for owner in PAIR]
    with pytest.raises(InputError, match="no such column"):
        studies[0].submit(frames[0], label="died")
    for study, own in zip(studies, frames, strict=True):
        study.submit(
            own, label="died", group={"sex": "gender"}, leave_out_missing=True, left_out={"excluded": 4}
        )
    report = studies[0].wait(timeout=300)

    pooled = {key: np.concatenate([np.array(own[key])[1:] for own in frames]) for key in frames[0]}
    labels, is_f = pooled["died"].astype(np.uint8), pooled["gender"] == "f"
    for model, column in (("new", "risk_new"), ("old", "risk_old")):
        scores = pooled[column].astype(np.float64)
        assert report.models[model].auroc == pytest.approx(auroc_estimate(labels, scores, 0.95).value)
        level = report.subgroups["sex"].of(model)["f"]
        assert level.auroc == pytest.approx(auroc_estimate(labels[is_f], scores[is_f], 0.95).value)
    difference = report.comparison("new", "old").auroc
    assert difference is not None
    assert difference.value == pytest.approx(report.models["new"].auroc - report.models["old"].auroc)
    assert difference.p_value is not None
    # To the nearest five, as the policy hides numbers of positives.
    left_out = {reason: found.value for reason, found in report.left_out.items()}
    assert left_out == {"missing_score": 0, "missing_label": 0, "excluded": 10}
    code, printed = run("result", running.kit(PAIR[1]), "--study", name, "--format", "json")
    assert code == 0
    assert json.loads(printed)["comparisons"] == json.loads(report.to_json())["comparisons"]
    code, _ = run("report", running.kit(PAIR[1]), "--study", name, "--out", tmp_path / "report.html")
    assert code == 0
