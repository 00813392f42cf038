"""What a study evaluates, at nodes that run: how scores are read, and until when submissions are taken."""

from __future__ import annotations

import json
import time
from pathlib import Path

import msgspec
import numpy as np
import pytest

from ppaurora.agreement.evaluation_spec import Deadline, EvaluationSpec
from ppaurora.data import check_samples
from ppaurora.errors import DataError
from ppaurora.node.store import SubmissionRecord
from ppaurora.owner.study import Study
from ppaurora.statistics.estimates import Table
from ppaurora.study.manifest import Manifest
from tests.support.deployment import NODES, samples, write_csv
from tests.support.oracles import defined, exact_auroc
from tests.support.trials import PAIR, PROXY_1, YES, PreparedUpload, RunCommand, Trials


def test_lower_scores_are_evaluated_as_the_study_says(nodes: Trials) -> None:
    """By counting pairs of the scores as they are; model and outcome come back with the result."""
    words = 'model = "alert"\nversion = "7"\noutcome = "sepsis"\nscore_direction = "lower"'
    nodes.study("lower", more=f"[evaluation]\n{words}")
    data = {owner: samples(40, 20 + place) for place, owner in enumerate(PAIR)}
    studies = {owner: Study(nodes.kit(owner), "lower") for owner in PAIR}
    for owner, (labels, scores) in data.items():
        studies[owner].submit(check_samples(owner, labels, -scores))
    pooled = [
        (float(score), int(label))
        for labels, scores in data.values()
        for label, score in zip(labels, scores, strict=True)
    ]
    report = studies["north"].wait(timeout=300)
    assert report.auroc == pytest.approx(float(defined(exact_auroc(pooled))), abs=1e-12)
    assert report.evaluation == report.receipt.evaluation == studies["north"].manifest.evaluation
    assert report.to_dict()["receipt"]["manifest"]["evaluation"]["model"] == "alert"


def test_a_private_study_of_lower_scores_calls_those_below_a_threshold_positive(nodes: Trials) -> None:
    """With so much epsilon that noise is next to nothing; read from the other side, it would be far off."""
    head = 'metrics = [{name = "sensitivity", thresholds = [0.5]}]\n'
    policy = '[policy]\nkind = "private"\nepsilon = 16.0\n'
    nodes.study("lower-private", head=head, policy=policy, more='[evaluation]\nscore_direction = "lower"')
    data = {owner: samples(40, 30 + place) for place, owner in enumerate(PAIR)}
    studies = {owner: Study(nodes.kit(owner), "lower-private") for owner in PAIR}
    for owner, (labels, scores) in data.items():
        studies[owner].submit(check_samples(owner, labels, -scores))
    below = np.concatenate([-scores[labels] <= 0.5 for labels, scores in data.values()])
    report = studies["north"].wait(timeout=300)
    found = report.metrics["sensitivity"]
    assert isinstance(found, Table)
    assert found[0]["sensitivity"].value == pytest.approx(below.mean(), abs=0.1)
    assert abs((1 - below).mean() - below.mean()) > 0.3
    assert not report.suppressed


def test_what_is_no_probability_is_not_sent(nodes: Trials, tmp_path: Path, run: RunCommand) -> None:
    nodes.study("probabilities", more='[evaluation]\nscore_scale = "probability"')
    labels, scores = samples(30, 4)
    good = write_csv(tmp_path / "good.csv", labels, np.clip(scores, 0, 1))
    bad = write_csv(tmp_path / "bad.csv", labels, np.where(np.arange(30) == 6, 1.25, np.clip(scores, 0, 1)))
    north = nodes.kit("north")
    code, said = run("submit", north, bad, "--study", "probabilities", *YES)
    assert (code, f"{bad}, row 8, column 'score': the score is outside [0, 1]" in said) == (2, True)
    assert "the study evaluates probabilities" in said
    assert "1.25" not in said
    study = Study(north, "probabilities")
    with pytest.raises(DataError, match="row 7, column 'y_score'"):
        study.evaluate(labels, np.where(np.arange(30) == 6, 1.25, 0.5), timeout=0)
    assert study.submitted is None
    assert not (north / "outbox" / "probabilities").exists()
    assert nodes.client("north", study.manifest).status().submitted == ()
    assert run("submit", north, good, "--study", "probabilities", *YES)[0] == 0


def dated(nodes: Trials, name: str, until: str) -> Manifest:
    """A study with this date, which may be over: `provision` would not make such a one."""
    planned = nodes.study(f"{name}-undated")
    manifest = msgspec.structs.replace(
        planned, study=name, evaluation=EvaluationSpec(submissions_until=Deadline(until))
    )
    for node in NODES:
        with nodes.store(node) as store:
            store.accept(manifest)
    for owner in PAIR:
        nodes.owner(owner).add(manifest)
    return manifest


def keep(nodes: Trials, manifest: Manifest, upload: PreparedUpload) -> None:
    """As proxy 0 has it of north from before the date."""
    with nodes.store("proxy-0") as store:
        (store.shares / manifest.study).write_bytes(upload.bodies[0])
        record = SubmissionRecord("north", upload.samples, upload.commitments, time.time(), manifest.study)
        store.submit(manifest.hash, record)


def test_after_the_date_nothing_new_is_taken(nodes: Trials) -> None:
    """By the nodes themselves, whatever an owner's program does; the same again is acknowledged."""
    later, over = dated(nodes, "later", "2090-01-01"), dated(nodes, "over", "2020-01-01")
    early = nodes.upload(later)
    assert early.send(nodes.client("north", later)).samples == 20  # the positive control
    upload = nodes.upload(over)
    keep(nodes, over, upload)
    client = nodes.client("north", over)
    assert upload.send(client).commitments == upload.commitments
    assert nodes.refusal(lambda: nodes.upload(over).send(client)) == "conflict"
    before = nodes.shares()
    assert nodes.refusal(lambda: nodes.upload(over).send(nodes.client("harbour", over))) == "too-late"
    assert nodes.refusal(lambda: upload.send(nodes.client("north", over, PROXY_1))) == "too-late"
    assert nodes.shares() == before
    note = client.status().note
    assert note == "submissions were taken until the end of 2020-01-01 (UTC); those of harbour are missing"


def test_owners_are_told_the_date(nodes: Trials, tmp_path: Path, run: RunCommand) -> None:
    """`status` shows it; `submit` says before anything is kept or sent that it is over."""
    manifest = dated(nodes, "missed", "2020-01-01")
    data = write_csv(tmp_path / "scores.csv", *samples(30, 5))
    code, said = run("submit", nodes.kit("north"), data, "--study", "missed", *YES)
    assert (code, "taken until the end of 2020-01-01 (UTC); nothing was sent" in said) == (2, True)
    assert not (nodes.kit("north") / "outbox" / "missed").exists()
    assert nodes.client("north", manifest).status().submitted == ()
    code, said = run("status", nodes.kit("north"), "--study", "missed")
    assert (code, "submissions are taken until the end of 2020-01-01 (UTC)" in said) == (0, True)
    code, said = run("status", nodes.kit("north"), "--study", "missed", "--format", "json")
    assert json.loads(said)["submissions_until"] == "2020-01-01"
