"""Attempts that fail, nodes that are stopped, killed or not there: the study goes on, or waits for people."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import ppaurora
from ppaurora.data.samples import check_samples
from ppaurora.errors import NotReleasedError
from ppaurora.owner.study import Study
from tests.support.deployment import NODES, OWNERS, Deployment, command, samples, values_of
from tests.support.trials import becomes

DATA = {owner: samples(60 + 40 * place, place) for place, owner in enumerate(OWNERS)}


@pytest.fixture
def silence() -> float:
    """As long as nodes usually wait for each other."""
    return 60.0


@pytest.fixture
def deployment(tmp_path: Path, silence: float) -> Iterator[Deployment]:
    deployment = Deployment(tmp_path, silence=silence)
    deployment.accept()
    deployment.start()
    yield deployment
    deployment.stop()


def submit(deployment: Deployment, owner: str, study: str | None = None) -> None:
    labels, scores = DATA[owner]
    Study(deployment.kit(owner), study).submit(check_samples(owner, labels, scores, None))


def pooled() -> dict[str, float]:
    """By `evaluate`, which has its own tests against exact fractions."""
    pairs = [(labels.astype(np.uint8), scores) for labels, scores in DATA.values()]
    return values_of(ppaurora.evaluate(pairs, metrics=["auroc", "aupr", "ap"]).metrics)


# So long the others wait for a helper that has no worker; less is too little for a busy machine.
@pytest.mark.long
@pytest.mark.parametrize("silence", [10.0])
def test_a_study_that_keeps_failing_goes_on_when_every_operator_has_looked(deployment: Deployment) -> None:
    """The leader stops and tells the others. Its retry alone begins nothing, and uses up no attempt."""
    folder = deployment.folder
    manifest = deployment.provision("few", folder / "few", folder / "kits", attempts=2)
    deployment.accept(manifest, (*NODES, *OWNERS))
    study = Study(deployment.kit("north"), "few")
    # The helper agrees to everything and then computes nothing: its worker is taken away.
    with deployment.broken_workers("helper"):
        for owner in OWNERS:
            submit(deployment, owner, "few")
        with pytest.raises(NotReleasedError, match="2 attempts failed"):
            study.wait(timeout=300)
    for node in NODES:
        with deployment.store(node) as store:
            assert becomes(lambda store=store: store.studies()[-1].state == "stopped")  # type: ignore[misc]
    assert [answer.state for answer in study.status().values()] == ["stopped", "stopped"]
    assert "2 attempts failed" in study.status()["proxy 0"].note
    with deployment.store("proxy-0") as store:
        attempts = store.last_attempt(manifest.hash)

    assert command("retry", deployment.kit("proxy-0"), "no-such-study").returncode == 2
    assert command("retry", deployment.kit("proxy-0"), "trial").returncode == 2  # it has not stopped
    again = command("retry", deployment.kit("proxy-0"), "few")
    assert again.returncode == 0, again.stderr
    assert "2 attempts failed" in again.stdout
    waits = "proxy 1 has stopped this study; its operator must run 'ppaurora retry'"
    assert becomes(lambda: study.status()["proxy 0"].note.startswith(waits))
    time.sleep(1.5)
    with deployment.store("proxy-0") as store:
        found = store.study(manifest.hash)
        assert found is not None
        assert (found.state, store.last_attempt(manifest.hash)) == ("running", attempts)
    for node in ("proxy-1", "helper"):
        again = command("retry", deployment.kit(node), "few")
        assert again.returncode == 0, again.stderr
    report = study.wait(timeout=300)
    assert values_of(report.metrics) == pytest.approx(pooled(), abs=1e-9)
    assert report.receipt.attempt >= 3


def test_a_node_that_is_stopped_goes_on_when_it_is_back(deployment: Deployment) -> None:
    for owner in OWNERS[:2]:
        submit(deployment, owner)
    assert deployment.stop() == dict.fromkeys(NODES, 0)
    deployment.start()
    waiting = threading.Timer(0.5, submit, (deployment, OWNERS[2]))
    waiting.start()
    report = Study(deployment.kit("north")).wait(timeout=300)
    assert values_of(report.metrics) == pytest.approx(pooled(), abs=1e-9)
    waiting.join()


def test_a_follower_that_was_down_and_a_leader_that_was_killed_cost_no_result(deployment: Deployment) -> None:
    study = Study(deployment.kit("valley"))
    deployment.kill("helper")
    for owner in OWNERS:
        submit(deployment, owner)
    assert becomes(lambda: "cannot be reached" in study.status()["proxy 0"].note)
    deployment.kill("proxy-0")
    deployment.start("helper")
    deployment.start("proxy-0")
    assert values_of(study.wait(timeout=300).metrics) == pytest.approx(pooled(), abs=1e-12)
