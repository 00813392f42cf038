"""Where workers are is signed by their own node: whoever passes it on cannot change it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import cast

import msgspec
import pytest

from ppaurora.channel.servers import Server
from ppaurora.errors import PeerMisbehavedError
from ppaurora.io.models import from_json, to_json
from ppaurora.messages.nodes import Answer, AnyQuestion, Placement, SignedPlacement, Verdict
from ppaurora.messages.workers import Endpoint
from ppaurora.node import rendezvous
from ppaurora.node.attempt import Attempt, AttemptPlan, fresh_token
from ppaurora.node.rendezvous import all_endpoints, connect_workers, own_placement
from ppaurora.study.kit import NodeKit
from ppaurora.suites.role import Role
from tests.support.deployment import NODES, Deployment

ENDPOINTS = (
    Endpoint(certificate="of worker 0"),
    Endpoint(certificate="of worker 1", address=("10.1.2.3", 9000)),
)
MINE = Endpoint(certificate="of somebody in between")


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Deployment:
    return Deployment(tmp_path_factory.mktemp("nodes"))


@pytest.fixture(scope="module")
def plan(deployment: Deployment) -> AttemptPlan:
    return AttemptPlan(deployment.manifest, 3, fresh_token(), (), workers=2)


def kit(deployment: Deployment, name: str) -> NodeKit:
    return NodeKit.read(deployment.kit(name))


def test_what_all_nodes_have_signed_is_taken(deployment: Deployment, plan: AttemptPlan) -> None:
    signed = [own_placement(kit(deployment, name), plan, ENDPOINTS) for name in NODES]
    sent = [from_json(SignedPlacement, to_json(one)) for one in signed]
    assert all_endpoints(plan, sent) == dict.fromkeys(NODES, ENDPOINTS)


def _changed(signed: SignedPlacement, **fields: object) -> SignedPlacement:
    placement: Placement = msgspec.structs.replace(signed.placement, **fields)
    return msgspec.structs.replace(signed, placement=placement)


Spoil = Callable[[Deployment, AttemptPlan, SignedPlacement], SignedPlacement]

SPOILT: dict[str, tuple[Spoil, str]] = {
    "a leader's own worker in the helper's place": (
        lambda _, __, signed: _changed(signed, endpoints=(MINE, MINE)),
        "the signature does not fit",
    ),
    "signed by the leader in the helper's name": (
        lambda deployment, plan, _: msgspec.structs.replace(
            own_placement(
                replace(
                    kit(deployment, "proxy-0"),
                    settings=msgspec.structs.replace(kit(deployment, "proxy-0").settings, role="helper"),
                ),
                plan,
                (MINE, MINE),
            )
        ),
        "the key is not the one that the manifest has for it",
    ),
    "of an earlier attempt": (
        lambda deployment, plan, _: own_placement(
            kit(deployment, "helper"), replace(plan, number=2), ENDPOINTS
        ),
        "it is for another attempt",
    ),
    "of another token": (
        lambda deployment, plan, _: own_placement(
            kit(deployment, "helper"), replace(plan, token=fresh_token()), ENDPOINTS
        ),
        "it is for another attempt",
    ),
    "another number of workers": (
        lambda deployment, plan, _: own_placement(kit(deployment, "helper"), plan, ENDPOINTS * 2),
        "it has 4 workers, where 2 were agreed on",
    ),
    "somebody else's": (
        lambda deployment, plan, _: own_placement(kit(deployment, "proxy-1"), plan, ENDPOINTS),
        "nothing was said",
    ),
}


class Waiting:
    """An attempt of the leader's, whose own workers stand ready."""

    def __init__(self, plan: AttemptPlan) -> None:
        self.plan, self.number, self.endpoints = plan, plan.number, ENDPOINTS
        self.has_ended = False
        self.heard: list[object] = []

    def abort(self, reason: str) -> None:
        self.has_ended = True
        self.heard.append(reason)

    def rendezvous(self, endpoints: object) -> None:
        self.heard.append(endpoints)


def _told_of_each_other(
    deployment: Deployment,
    plan: AttemptPlan,
    monkeypatch: pytest.MonkeyPatch,
    of_helper: Callable[[SignedPlacement], SignedPlacement],
) -> list[object]:
    """What the leader's attempt hears if the other nodes answer so."""

    def answered(
        kit_: NodeKit, manifest: object, peer: Server, question: AnyQuestion, seconds: float
    ) -> Answer:
        signed = own_placement(kit(deployment, peer.file_name), plan, ENDPOINTS)
        placement = of_helper(signed) if peer is Role.HELPER else signed
        return Answer(answer=Verdict.RUNNING, placement=placement)

    monkeypatch.setattr(rendezvous, "ask", answered)
    attempt = Waiting(plan)
    connect_workers(kit(deployment, "proxy-0"), cast(Attempt, attempt))
    return attempt.heard


def test_all_are_told_of_each_other(
    deployment: Deployment, plan: AttemptPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = _told_of_each_other(deployment, plan, monkeypatch, lambda signed: signed)
    assert heard == [dict.fromkeys(NODES, ENDPOINTS)]


def test_who_speaks_in_anothers_name_is_blamed_itself(
    deployment: Deployment, plan: AttemptPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = _told_of_each_other(
        deployment,
        plan,
        monkeypatch,
        lambda signed: _changed(signed, server="proxy-1", endpoints=(MINE, MINE)),
    )
    assert heard == ["helper did not sign where its workers are: it is another server's"]


@pytest.mark.parametrize("how", SPOILT)
def test_anything_else_is_refused(deployment: Deployment, plan: AttemptPlan, how: str) -> None:
    spoil, problem = SPOILT[how]
    signed = [own_placement(kit(deployment, name), plan, ENDPOINTS) for name in NODES]
    with pytest.raises(PeerMisbehavedError, match=f"helper did not sign where its workers are: {problem}"):
        all_endpoints(plan, [*signed[:2], spoil(deployment, plan, signed[2])])


def test_without_the_signature_a_leader_could_stand_in_between(
    deployment: Deployment, plan: AttemptPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The positive control."""
    monkeypatch.setattr(rendezvous, "problem_with", lambda signature, content: "")
    signed = [own_placement(kit(deployment, name), plan, ENDPOINTS) for name in NODES]
    swapped = _changed(signed[2], endpoints=(MINE, MINE))
    assert all_endpoints(plan, [*signed[:2], swapped])["helper"] == (MINE, MINE)
