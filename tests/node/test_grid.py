"""Studies on a grid, at nodes that run: shares of unequal lengths, restarts, floors, receipts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from ppaurora.data import Grid, check_samples
from ppaurora.errors import DataError
from ppaurora.messages.owners import StudyStatus
from ppaurora.owner.report import StudyReport
from ppaurora.owner.study import Study
from ppaurora.owner.verifying import verify_receipt
from ppaurora.policy.rules import Policy
from ppaurora.sharing.commitment import SALT_BYTES
from ppaurora.sharing.stages import SEED_BYTES
from ppaurora.statistics.estimates import Estimate
from tests.support.deployment import OWNERS, samples
from tests.support.oracles import defined, exact_auroc
from tests.support.policies import DEFAULT_POLICY, Data, check_rounded, made_up, submit_all, with_floors
from tests.support.trials import PAIR, Trials

GRID = Grid(low=-8.0, high=8.0, decimals=1)
ON_GRID = '[protocol]\nname = "grid"\nlow = -8.0\nhigh = 8.0\ndecimals = 1\n'
BESIDE_LISTS = '[protocol]\nname = "fast"\ngrid = { low = -8.0, high = 8.0, decimals = 1 }\n'
HEAD = 'metrics = ["auroc", { name = "sensitivity", thresholds = [-0.5, 0.5] }]\nconfidence_level = 0.95\n'


def as_read(data: Data) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Scores to the nearest tenth, the even one where two are as near."""
    return {owner: (labels, np.round(scores * 10) / 10) for owner, (labels, scores) in data.items()}


def auroc_of(data: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> float:
    """By counting pairs."""
    pooled = [
        (float(score), int(label))
        for labels, scores in data.values()
        for label, score in zip(labels, scores, strict=True)
    ]
    return float(defined(exact_auroc(pooled)))


def lengths(nodes: Trials, node: str) -> set[int]:
    """Of the shares that a node keeps."""
    return {(nodes.kit(node) / "data" / "shares" / name).stat().st_size for name in nodes.shares(node)}


def has_nothing(study: Study) -> bool:
    answer = study.status()["proxy 0"]
    return isinstance(answer, StudyStatus) and not answer.submitted


def test_a_study_on_a_grid_outlives_a_restart_and_a_replacement(tmp_path: Path) -> None:
    """Of lower scores; one proxy keeps seeds, the other words, whatever the number of samples."""
    nodes = Trials(tmp_path)
    for_scores = '[evaluation]\nscore_direction = "lower"\n'
    manifest = nodes.study("tables", head=HEAD, more=ON_GRID + for_scores)
    nodes.start()
    try:
        data = {owner: samples(40 * (1 + place), place) for place, owner in enumerate(PAIR)}
        studies = {owner: Study(nodes.kit(owner), "tables") for owner in PAIR}
        studies["north"].submit(check_samples("north", *samples(70, 9)))
        studies["north"].submit(check_samples("north", *data["north"]), replace=True)
        assert lengths(nodes, "proxy-0") == {SALT_BYTES + SEED_BYTES}
        assert lengths(nodes, "proxy-1") == {SALT_BYTES + 4 * 2 * GRID.cells}
        nodes.kill("proxy-0")
        nodes.kill("proxy-1")
        nodes.start("proxy-0", "proxy-1")
        studies["harbour"].submit(check_samples("harbour", *data["harbour"]))
        report = studies["harbour"].wait(timeout=300)
    finally:
        nodes.stop()
    negated = {owner: (labels, -scores) for owner, (labels, scores) in as_read(data).items()}
    assert report.auroc == pytest.approx(auroc_of(negated), abs=1e-12)
    raw = {owner: (labels, -scores) for owner, (labels, scores) in data.items()}
    estimate = report["auroc"]
    assert isinstance(estimate, Estimate)
    assert estimate.grid_bound is not None
    assert abs(auroc_of(raw) - report.auroc) <= estimate.grid_bound < 0.05
    assert verify_receipt(nodes.kit("harbour") / "results" / "tables.json").receipt.manifest == manifest
    assert report.receipt.samples == {"north": 40, "harbour": 80}


@pytest.mark.parametrize(
    ("name", "protocol"), [("on-a-grid", ON_GRID), ("beside-lists", BESIDE_LISTS)], ids=["grid", "fast"]
)
def test_two_owners_floors_hold_on_a_grid(nodes: Trials, tmp_path: Path, name: str, protocol: str) -> None:
    """A table beside lists changes nothing that comes from the lists."""
    nodes.study(name, owners=OWNERS, head=HEAD, policy=DEFAULT_POLICY, more=protocol)
    data = made_up(name, (210, 210, 210))
    kits = {
        "harbour": with_floors(nodes, "harbour", tmp_path, "minimum_positives = 420"),
        "valley": with_floors(nodes, "valley", tmp_path, "digits = 2"),
    }
    reports = [study.wait(timeout=300) for study in submit_all(nodes, name, data, kits).values()]
    policy = Policy(minimum_positives=420, digits=2)
    for report in reports:
        assert report.policy == report.receipt.policy == policy
        check_rounded(report, as_read(data) if protocol == ON_GRID else data, policy)


def test_a_private_study_on_a_grid(nodes: Trials) -> None:
    """With so much epsilon that noise is next to nothing."""
    policy = '[policy]\nkind = "private"\nepsilon = 16.0\n'
    nodes.study(
        "private-grid", head=HEAD.replace("confidence_level = 0.95\n", ""), policy=policy, more=ON_GRID
    )
    data = {owner: samples(200, 450 + place) for place, owner in enumerate(PAIR)}
    studies = {owner: Study(nodes.kit(owner), "private-grid") for owner in PAIR}
    for owner, (labels, scores) in data.items():
        studies[owner].submit(check_samples(owner, labels, scores))
    report: StudyReport = studies["north"].wait(timeout=300)
    assert report.auroc == pytest.approx(auroc_of(as_read(data)), abs=0.05)
    assert not report.suppressed


def test_a_score_beyond_the_grid_is_not_sent(nodes: Trials) -> None:
    nodes.study("narrow", more=ON_GRID)
    study = Study(nodes.kit("north"), "narrow")
    labels, scores = samples(30, 4)
    with pytest.raises(DataError, match="row 7, column 'y_score': the score is outside of the study's grid"):
        study.evaluate(labels, np.where(np.arange(30) == 6, 8.2, scores), timeout=0)
    assert study.submitted is None


def test_nodes_take_no_share_of_another_length(nodes: Trials) -> None:
    """A seed is none for the proxy that keeps words, and the other way round."""
    manifest = nodes.study("lengths", more=ON_GRID)
    upload = nodes.upload(manifest)
    swapped = upload.bodies[::-1]
    assert nodes.refusal(lambda: upload.send(nodes.client("north", manifest), bodies=swapped)) == "too-long"
    assert has_nothing(Study(nodes.kit("north"), "lengths"))
