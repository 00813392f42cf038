"""Nodes as processes, and owners that know nothing but the messages, from uploads to a released result."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import ppaurora
from ppaurora.data.samples import check_samples
from ppaurora.testing.consortium import PROTOCOL
from tests.support.deployment import NODES, OWNERS, Deployment, children, samples
from tests.support.plain_owner import PlainOwner, Refused
from tests.support.trials import becomes

DATA = {
    owner: check_samples(owner, *samples(60 + 40 * place, place), None) for place, owner in enumerate(OWNERS)
}
LEADER = PROTOCOL.leader


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    deployment = Deployment(tmp_path, silence=2.0)
    deployment.accept()
    deployment.start()
    yield deployment
    deployment.stop()


def pooled() -> dict[str, float]:
    """By `evaluate`, which has its own tests against exact fractions."""
    pairs = [(data.labels, data.scores) for data in DATA.values()]
    return ppaurora.evaluate(pairs, metrics=["auroc", "aupr", "ap"]).metrics


def test_a_study_from_uploads_to_its_release(deployment: Deployment) -> None:
    """Every owner gets the pooled result; nothing is left of shares and processes; a session is logged."""
    owners = {name: PlainOwner(deployment, name, deployment.manifest) for name in OWNERS}
    with pytest.raises(Refused, match="404 not-released"):
        owners["north"].release(LEADER)
    for name, owner in owners.items():
        acknowledged = owner.submit(DATA[name])
        assert [one.server for one in acknowledged] == [server.title for server in PROTOCOL.input_servers]
    for owner in owners.values():
        assert owner.result() == pytest.approx(pooled(), abs=1e-12)
    part = owners["north"].release(LEADER)
    assert [(one.owner, one.samples) for one in part.submissions] == [
        (name, len(data)) for name, data in DATA.items()
    ]
    for server in PROTOCOL.input_servers:
        assert list((deployment.kit(server.file_name) / "data/shares").iterdir()) == []
    for name in NODES:
        opened = [event for event in deployment.events(name) if event["event"] == "session opened"]
        assert [(event["study"], event["attempt"]) for event in opened] == [("trial", 1)]
        assert becomes(lambda name=name: children(deployment.processes[name].pid) == [])  # type: ignore[misc]
        assert becomes(
            lambda name=name: 'ppaurora_studies{state="released"} 1.0' in deployment.get(name, "/metrics")  # type: ignore[misc]
        )
        assert "ppaurora_attempts_running 0.0" in deployment.get(name, "/metrics")
    assert deployment.stop() == dict.fromkeys(NODES, 0)
