"""Where nodes compute with several workers each: the leader hears where all of them are, and tells all.

Each node signs where its workers are and by which certificates they are known, with the key that the manifest
pins, and for one attempt. So a leader, through which it goes, cannot put itself between two others.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from ppaurora.channel.servers import Server
from ppaurora.credentials.signatures import Signature, problem_with, sign
from ppaurora.errors import PeerError, PeerMisbehavedError
from ppaurora.io.models import canonical_json
from ppaurora.messages.nodes import (
    Answer,
    AnyQuestion,
    Outcome,
    Placement,
    Rendezvous,
    SignedPlacement,
    Verdict,
)
from ppaurora.messages.workers import Endpoint
from ppaurora.node.attempt import Attempt, AttemptPlan
from ppaurora.node.questions import ask
from ppaurora.study.kit import NodeKit
from ppaurora.study.manifest import Manifest

_CONTEXT = b"ppaurora placement 1\0"
_SECONDS_BETWEEN_LOOKS = 0.2
_SECONDS_TO_PLACE = 240.0
_SECONDS_TO_ANSWER = 15.0


def own_placement(kit: NodeKit, plan: AttemptPlan, endpoints: tuple[Endpoint, ...]) -> SignedPlacement:
    """Return where this node's workers are, signed."""
    placement = Placement(
        study=plan.manifest.study_hash,
        attempt=plan.number,
        token=plan.token,
        server=kit.server(plan.manifest).file_name,
        endpoints=endpoints,
    )
    signed = sign(kit.key, _CONTEXT + canonical_json(placement))
    return SignedPlacement(
        placement=placement, algorithm=signed.algorithm, key=signed.key, signature=signed.signature
    )


def all_endpoints(
    plan: AttemptPlan, placements: Sequence[SignedPlacement]
) -> dict[str, tuple[Endpoint, ...]]:
    """Return every server's endpoints, as its own node has signed them, or raise `PeerError`."""
    by_server = {signed.placement.server: signed for signed in placements}
    endpoints = {}
    for server in plan.manifest.protocol.servers:
        endpoints[server.file_name] = _checked(
            by_server.get(server.file_name), server, plan
        ).placement.endpoints
    return endpoints


def _checked(signed: SignedPlacement | None, server: Server, plan: AttemptPlan) -> SignedPlacement:
    problem = "nothing was said" if signed is None else _problem(signed, server, plan)
    if signed is None or problem:
        raise PeerMisbehavedError(server.title, f"did not sign where its workers are: {problem}")
    return signed


def _problem(signed: SignedPlacement, server: Server, plan: AttemptPlan) -> str:
    said = signed.placement
    if (said.study, said.attempt, said.token) != (plan.manifest.study_hash, plan.number, plan.token):
        return "it is for another attempt"
    if said.server != server.file_name:
        return "it is another server's"
    if len(said.endpoints) != plan.workers:
        return f"it has {len(said.endpoints)} workers, where {plan.workers} were agreed on"
    signature = Signature(signed.key, signed.algorithm, signed.signature)
    if signature.pin != plan.manifest.node(server).pin:
        return "the key is not the one that the manifest has for it"
    return problem_with(signature, _CONTEXT + canonical_json(said))


def connect_workers(kit: NodeKit, attempt: Attempt) -> None:
    """Wait until all workers are ready, and tell them of each other; a failure ends the attempt."""
    plan = attempt.plan
    peers = kit.server(plan.manifest).peers
    deadline = time.monotonic() + _SECONDS_TO_PLACE
    try:
        others = [_placement_of(kit, peer, attempt, deadline) for peer in peers]
        while not attempt.has_ended and not attempt.endpoints:
            time.sleep(_SECONDS_BETWEEN_LOOKS)
        if attempt.has_ended:
            return  # why, its results tell
        own = own_placement(kit, plan, attempt.endpoints)
        signed = (own, *(one for one in others if one is not None))
        endpoints = all_endpoints(plan, signed)
        rendezvous = Rendezvous(study=plan.manifest.study_hash, attempt=plan.number, placements=signed)
        for peer in peers:
            answer = _ask(kit, plan.manifest, peer, rendezvous)
            if answer.answer is not Verdict.RUNNING:
                attempt.abort(f"{peer.title} did not go on: {answer.note or answer.answer.value}")
                return
        attempt.rendezvous(endpoints)
    except PeerError as error:
        attempt.abort(str(error))
    except Exception as error:
        attempt.abort(f"internal error: {type(error).__name__}")


def _placement_of(kit: NodeKit, peer: Server, attempt: Attempt, deadline: float) -> SignedPlacement | None:
    """Return the placement of another node's workers, once they are ready; None if the attempt has ended."""
    manifest = attempt.plan.manifest
    while not attempt.has_ended:
        answer = _ask(kit, manifest, peer, Outcome(study=manifest.study_hash, attempt=attempt.number))
        if answer.answer is not Verdict.RUNNING:
            raise PeerError(peer.title, f"did not place its workers: {answer.note or answer.answer.value}")
        if answer.placement is not None:
            return _checked(answer.placement, peer, attempt.plan)
        if time.monotonic() > deadline:
            raise PeerError(peer.title, "did not place its workers in time")
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    return None


def _ask(kit: NodeKit, manifest: Manifest, peer: Server, question: AnyQuestion) -> Answer:
    return ask(kit, manifest, peer, question, _SECONDS_TO_ANSWER)
