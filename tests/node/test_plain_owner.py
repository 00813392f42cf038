"""Nodes as processes, and owners that know nothing but the messages, from uploads to a released result."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import ppaurora
from ppaurora.data.samples import check_samples
from ppaurora.io.models import to_json
from ppaurora.messages.owners import Acknowledgement, StudyState, description_path
from ppaurora.node.openapi import openapi
from ppaurora.sharing.commitment import SALT_BYTES, commit, fresh_salt
from ppaurora.study.kit import OwnerKit
from ppaurora.testing.consortium import PROTOCOL
from tests.support.deployment import NODES, OWNERS, Deployment, children, samples, values_of
from tests.support.plain_owner import PlainOwner, Refused
from tests.support.trials import PAIR, becomes

DATA = {
    owner: check_samples(owner, *samples(60 + 40 * place, place), None) for place, owner in enumerate(OWNERS)
}
LEADER = PROTOCOL.leader


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    deployment = Deployment(tmp_path)
    deployment.accept()
    deployment.start()
    yield deployment
    deployment.stop()


def pooled() -> dict[str, float]:
    """By `evaluate`, which has its own tests against exact fractions."""
    pairs = [(data.labels, data.scores) for data in DATA.values()]
    return values_of(ppaurora.evaluate(pairs, metrics=["auroc", "aupr", "ap"]).metrics)


def check_settled(deployment: Deployment, node: str) -> None:
    """It opened one session, has released the study, and computes no longer."""

    def opened() -> list[tuple[str, int]]:
        events = [event for event in deployment.events(node) if event["event"] == "session opened"]
        return [(event["study"], event["attempt"]) for event in events]

    assert becomes(lambda: len(opened()) > 0)
    assert opened() == [("trial", 1)]
    assert becomes(lambda: len(children(deployment.processes[node].pid)) == 1)  # the warm process
    released = 'ppaurora_studies{state="released"} 1.0'
    assert becomes(lambda: released in deployment.get(node, "/metrics"))
    assert becomes(lambda: "ppaurora_attempts_running 0.0" in deployment.get(node, "/metrics"))


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
        shares = deployment.kit(server.file_name) / "data/shares"
        assert becomes(lambda shares=shares: list(shares.iterdir()) == [])  # type: ignore[misc]
    for name in NODES:
        check_settled(deployment, name)
    assert deployment.stop() == dict.fromkeys(NODES, 0)


@pytest.fixture(scope="module")
def owner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlainOwner]:
    """One that has submitted nothing, with one node that runs and takes its submission."""
    deployment = Deployment(tmp_path_factory.mktemp("one"), PAIR)
    deployment.accept()
    deployment.start(LEADER.file_name)
    yield PlainOwner(deployment, PAIR[0], deployment.manifest)
    assert deployment.stop() == {LEADER.file_name: 0}


def test_the_description_is_served(owner: PlainOwner) -> None:
    kit = OwnerKit.read(owner.deployment.kit(owner.name))
    host, port = owner.manifest.owners_address(LEADER)
    connection = http.client.HTTPSConnection(host, port, context=kit.client_context(owner.manifest))
    connection.request("GET", description_path())
    served = json.loads(connection.getresponse().read())
    connection.close()
    assert served == openapi()


def test_offers_that_are_refused(owner: PlainOwner) -> None:
    """Every one with its code; then a good one is taken, and taken again."""
    data = check_samples(owner.name, *samples(20, 1), None)
    shares = [(fresh_salt(), share.to_bytes()) for share in owner.manifest.terms.share(data)]
    commitments = [commit(salt, share) for salt, share in shares]
    body = b"".join(shares[0])
    good: dict[str, Any] = {"samples": 20, "commitments": commitments}
    cases: list[tuple[bytes, bytes, str]] = [
        (b"", body, "400 headers"),
        (b"nonsense", body, "400 headers"),
        (b"[" * 5000, body, "400 headers"),
        (to_json({"samples": 20}), body, "400 headers"),
        (to_json({**good, "samples": "many"}), body, "400 headers"),
        (to_json({**good, "samples": "20"}), body, "400 headers"),
        (to_json({**good, "more": 1}), body, "400 headers"),
        (to_json({**good, "floors": {"more": 1}}), body, "400 headers"),
        (to_json({**good, "floors": {"digits": 0}}), body, "400 headers"),
        (to_json({**good, "floors": {"minimum_positives": "10"}}), body, "400 headers"),
        (to_json({**good, "commitments": commitments[:1]}), body, "400 headers"),
        (to_json({**good, "commitments": [*commitments, commitments[0]]}), body, "400 headers"),
        (to_json({**good, "commitments": [commitments[0], "0" * 63]}), body, "400 headers"),
        (to_json({**good, "commitments": [commitments[0], "G" * 64]}), body, "400 headers"),
        (b'{"commitments":%s,"samples":%s}' % (to_json(commitments), b"9" * 5000), body, "400 headers"),
        (b'{"commitments":%s,"samples":%s}' % (to_json(commitments), b"9" * 400), body, "422 samples"),
        (to_json({**good, "samples": 0}), body, "422 samples"),
        (to_json({**good, "samples": -20}), body, "422 samples"),
        (to_json({**good, "samples": 2_000_001}), body, "422 samples"),
        (to_json({**good, "samples": 1000}), body, "422 too-short"),
        (to_json(good), body + b"\0", "413 too-long"),
        (to_json(good), body[:-1], "422 too-short"),
        (to_json(good), body[:SALT_BYTES] + bytes(len(body) - SALT_BYTES), "422 commitment"),
        (to_json({**good, "commitments": commitments[::-1]}), body, "422 commitment"),
    ]
    for offer, sent, expected in cases:
        with pytest.raises(Refused, match=expected):
            pytest.fail(f"{offer[:60]!r}: {owner.put(LEADER, offer, sent)}")
    shares_folder = owner.deployment.kit(LEADER.file_name) / "data/shares"
    assert list(shares_folder.iterdir()) == []
    assert owner.status(LEADER).missing == PAIR
    first = owner.put(LEADER, to_json(good), body)
    assert owner.put(LEADER, to_json(good), body) == first
    assert msgspec.structs.replace(first, received_at=0.0) == Acknowledgement(
        study=owner.manifest.hash,
        owner=owner.name,
        samples=20,
        commitments=tuple(commitments),
        revision=1,
        received_at=0.0,
        server=LEADER.title,
    )
    with pytest.raises(Refused, match="409 conflict"):
        owner.put(LEADER, to_json({**good, "commitments": commitments[::-1]}), body)
    with pytest.raises(Refused, match="409 conflict"):
        owner.put(LEADER, to_json({**good, "floors": {"minimum_positives": 10}}), body)
    status = owner.status(LEADER)
    assert (status.submitted, status.missing, status.attempt) == (PAIR[:1], PAIR[1:], 0)
    assert (status.state, status.server) == (StudyState.COLLECTING, LEADER.title)
    assert len(list(shares_folder.iterdir())) == 2  # the share and its description
