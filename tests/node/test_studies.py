"""Three nodes and three owners as real processes, from kits to a released result."""

from __future__ import annotations

import json
import sqlite3
import stat
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import ppaurora
from ppaurora.data.samples import check_samples
from ppaurora.errors import NotReleasedError
from ppaurora.io.models import to_json
from ppaurora.owner.client import NodeClient
from ppaurora.owner.outbox import Outbox
from ppaurora.owner.study import Study
from ppaurora.study.kit import OwnerKit
from ppaurora.study.manifest import Manifest
from ppaurora.suites.role import Role
from tests.node.crash_campaign import Campaign
from tests.support.deployment import NODES, OWNERS, Deployment, command, samples, values_of, write_csv
from tests.support.scikit_learn import pooled_by_scikit_learn
from tests.support.trials import YES, becomes

DATA = {owner: samples(80 + 60 * place, place) for place, owner in enumerate(OWNERS)}


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    deployment = Deployment(tmp_path)
    deployment.accept()
    deployment.start()
    yield deployment
    deployment.stop()


def submit(deployment: Deployment, owner: str, study: str | None = None) -> None:
    labels, scores = DATA[owner]
    Study(deployment.kit(owner), study).submit(check_samples(owner, labels, scores, None))


def pooled() -> dict[str, float]:
    return pooled_by_scikit_learn(DATA.values())


@pytest.mark.usefixtures("ordinary_starts")
def test_six_processes_from_kits_to_a_receipt(deployment: Deployment, tmp_path: Path) -> None:
    """Three nodes, three owners, days apart in spirit; equal to scikit-learn on the pooled data."""
    for owner in OWNERS:
        done = command("preflight", deployment.kit(owner), "--format", "json")
        assert done.returncode == 0, done.stdout
        assert all(check["ok"] for check in json.loads(done.stdout))
    early = command("result", deployment.kit("north"))
    assert early.returncode == 4
    assert "not-released" in early.stderr
    files = {owner: write_csv(tmp_path / f"{owner}.csv", *DATA[owner]) for owner in OWNERS}
    with ThreadPoolExecutor(3) as pool:
        runs = [
            pool.submit(command, "submit", deployment.kit(owner), files[owner], *YES, "--wait")
            for owner in OWNERS
        ]
    for owner, run in zip(OWNERS, runs, strict=True):
        done = run.result()
        assert done.returncode == 0, done.stderr
        saved = json.loads((deployment.kit(owner) / "results/trial.json").read_text())
        values = {name: estimate["value"] for name, estimate in saved["metrics"].items()}
        assert values == pytest.approx(pooled(), abs=1e-9)
        assert (saved["suppressed"], saved["positives"]) == (False, None)
        receipt = saved["receipt"]
        assert receipt["manifest_hash"] == deployment.manifest.hash
        assert receipt["manifest"] == json.loads(deployment.manifest.text())
        assert receipt["attempt"] == 1
        assert receipt["samples"] == {name: len(DATA[name][0]) for name in OWNERS}
        named = [*receipt["manifest"]["nodes"], *(one["name"] for one in receipt["manifest"]["owners"])]
        assert set(named) == {*NODES, *OWNERS}
        assert [one["statement"]["server"] for one in receipt["statements"]] == list(NODES)
        for one in receipt["statements"][:2]:
            assert {entry["owner"] for entry in one["statement"]["history"]} == set(OWNERS)
        for name in ("trial.json", "trial.receipt.json"):
            path = deployment.kit(owner) / "results" / name
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            verified = command("verify", path, "--manifest-hash", deployment.manifest.hash)
            assert (verified.returncode, verified.stderr) == (0, ""), verified.stderr
    receipts = {(deployment.kit(owner) / "results/trial.receipt.json").read_bytes() for owner in OWNERS}
    assert len(receipts) == 1, "all owners have the same receipt"
    status = command("status", deployment.kit("valley"), "--format", "json")
    states = [answer["state"] for answer in json.loads(status.stdout)["nodes"].values()]
    assert states == ["released", "released"]
    printed = command("result", deployment.kit("harbour"), "--format", "json", "--out", tmp_path / "out.json")
    assert json.loads(printed.stdout)["metrics"] == json.loads((tmp_path / "out.json").read_text())["metrics"]

    # Nothing is left of the shares, and the log says so.
    for proxy in ("proxy-0", "proxy-1"):
        deleted = "shares were deleted after the release"
        assert becomes(lambda proxy=proxy, deleted=deleted: deleted in deployment.log(proxy))  # type: ignore[misc]
        assert list((deployment.kit(proxy) / "data/shares").iterdir()) == []
    for owner in OWNERS:
        assert [path.name for path in (deployment.kit(owner) / "outbox/trial").iterdir()] == [
            "submission.json"
        ]
    released = 'ppaurora_studies{state="released"} 1.0'
    assert becomes(lambda: released in deployment.get("proxy-0", "/metrics"))
    assert "ppaurora_submissions_total 3.0" in deployment.get("proxy-0", "/metrics")
    assert deployment.stop() == dict.fromkeys(NODES, 0)
    assert all(deployment.events(name)[-1]["event"] == "node stopped" for name in NODES)
    for name in NODES:
        receipt_file = deployment.kit("north") / "results/trial.receipt.json"
        audit = command("audit", deployment.kit(name), "--receipt", receipt_file)
        assert (audit.returncode, audit.stderr.split(":")[0]) == (0, "verified"), audit.stderr
        assert "what this node signed in the receipt fits" in audit.stderr
        assert "trial: released, with attempt 1" in audit.stdout


def test_parts_of_different_owners_do_not_fit(deployment: Deployment) -> None:
    """Results are shared afresh for every owner: parts of two different owners tell nothing."""
    for owner in OWNERS:
        submit(deployment, owner)
    reports = [Study(deployment.kit(owner)).wait(timeout=300) for owner in OWNERS]
    assert len({json.dumps(values_of(report.metrics)) for report in reports}) == 1
    parts = {
        (owner, role): NodeClient(OwnerKit.read(deployment.kit(owner)), deployment.manifest, role)
        .release()
        .part.words
        for owner in OWNERS
        for role in (Role.PROXY_0, Role.PROXY_1)
    }

    def flag(first: str, second: str) -> int:
        total = int(parts[first, Role.PROXY_0][0][0]) + int(parts[second, Role.PROXY_1][0][0])
        return total % (1 << 64)

    assert [flag(owner, owner) for owner in OWNERS] == [1, 1, 1]
    assert all(flag(a, b) != 1 for a in OWNERS for b in OWNERS if a != b)


def test_the_same_from_python(deployment: Deployment) -> None:
    said: list[str] = []

    def evaluate(owner: str) -> ppaurora.StudyReport:
        watch = said.append if owner == "north" else None
        return ppaurora.Study(deployment.kit(owner)).evaluate(*DATA[owner], watch=watch)

    with ThreadPoolExecutor(3) as pool:
        reports = list(pool.map(evaluate, OWNERS))
    for report in reports:
        assert report.auroc == pytest.approx(pooled()["auroc"], abs=1e-12)
        assert values_of(report.metrics) == pytest.approx(pooled(), abs=1e-9)
    assert said


def test_a_hundred_uploads_of_the_same_body_are_one(deployment: Deployment) -> None:
    kit = OwnerKit.read(deployment.kit("north"))
    outbox = Outbox(kit, deployment.manifest)
    submission = outbox.prepare(check_samples("north", *DATA["north"], None))
    body = outbox.body(Role.PROXY_0)

    def upload(_: int) -> bytes:
        client = NodeClient(kit, deployment.manifest, Role.PROXY_0)
        return to_json(client.submit(submission.offer, body))

    with ThreadPoolExecutor(100) as pool:
        acknowledgements = set(pool.map(upload, range(100)))
    assert len(acknowledgements) == 1
    assert (
        len(list((deployment.kit("proxy-0") / "data/shares").iterdir())) == 2
    )  # the share, and its description
    with sqlite3.connect(deployment.database("proxy-0")) as db:
        assert db.execute("SELECT COUNT(*) FROM submissions").fetchone() == (1,)
    db.close()
    assert deployment.log("proxy-0").count("submission stored") == 1


def test_nothing_runs_that_an_operator_has_not_accepted(tmp_path: Path) -> None:
    """The study waits for the third operator, and starts by itself when it is accepted at last."""
    deployment = Deployment(tmp_path)
    deployment.accept(names=["proxy-0", "proxy-1"])
    deployment.start()
    try:
        for owner in OWNERS:
            submit(deployment, owner)
        study, refusal = Study(deployment.kit("north")), "has probably not accepted this study"
        assert becomes(lambda: refusal in study.status()["proxy 0"].note)
        with pytest.raises(NotReleasedError, match=refusal):
            study.wait(timeout=4)
        assert deployment.log("proxy-0").count("attempt begins") == 0
        deployment.accept(names=["helper"])
        assert values_of(study.wait(timeout=300).metrics) == pytest.approx(pooled(), abs=1e-9)
    finally:
        deployment.stop()


@pytest.mark.parametrize("count", [6, pytest.param(50, marks=pytest.mark.long)])
@pytest.mark.filterwarnings("ignore::ppaurora.OverlapWarning")
def test_many_studies_at_once_all_end(deployment: Deployment, tmp_path: Path, count: int) -> None:
    """A consortium's further studies reuse its identities; nodes compute a few at a time."""
    manifests: list[Manifest] = []
    for number in range(count):
        manifest = deployment.provision(f"queued-{number}", tmp_path / f"more-{number}", tmp_path / "kits")
        deployment.accept(manifest, (*NODES, *OWNERS))
        manifests.append(manifest)

    def submit_all(owner: str) -> None:
        for manifest in manifests:
            submit(deployment, owner, manifest.study)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(submit_all, OWNERS))
    for manifest in manifests:
        report = Study(deployment.kit("harbour"), manifest.study).wait(timeout=1200)
        assert values_of(report.metrics) == pytest.approx(pooled(), abs=1e-9)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::ppaurora.OverlapWarning")
def test_nodes_killed_at_random_moments(tmp_path: Path) -> None:
    """The short form of `python -m tests.node.crash_campaign`."""
    campaign = Campaign(tmp_path, seed=int(time.time()))
    campaign.run(kills=10)
    assert campaign.studies >= 3
