"""Nodes whose attempts compute nothing: for tests of what comes before and after."""

from __future__ import annotations

import hashlib
import time

import numpy as np

from ppaurora.messages.owners import StudyState
from ppaurora.node.attempt import AttemptPlan
from ppaurora.node.node import Node
from ppaurora.node.store import SubmissionRecord
from ppaurora.sharing.stages import ResultShare
from ppaurora.study.kit import NodeKit
from ppaurora.study.manifest import Manifest
from tests.support.trials import PAIR, Trials, part


class QuickAttempt:
    """Computes nothing, at once."""

    def __init__(self, kit: NodeKit, router: object, plan: AttemptPlan, warm_pool: object) -> None:
        self.number = plan.number
        self.progress = ""
        self.cost: dict[str, object] = {}
        self.endpoints = ()
        self._gets_parts = kit.server(plan.manifest) in plan.manifest.protocol.result_servers
        self._owners = len(plan.agreed)

    def results(self) -> tuple[ResultShare, ...]:
        return (part(np.zeros(4)),) * self._owners if self._gets_parts else ()

    def abort(self, reason: str, *, blameless: bool = False) -> None:
        pass


def submitted(trials: Trials, name: str, node: str = "helper", port: int | None = None) -> Manifest:
    """Return a study of which both proxies have all shares; with a `port`, a node is said to be there."""
    ports = {} if port is None else {str(trials.addresses[node][1]): port}
    manifest = trials.study(name, ports=ports)
    for owner in PAIR:
        contents = [f"{name}: share of {owner} at {number}".encode() for number in range(2)]
        commitments = tuple(hashlib.sha256(content).hexdigest() for content in contents)
        for number, content in enumerate(contents):
            with trials.store(f"proxy-{number}") as store:
                (store.shares / f"{name}-{owner}").write_bytes(content)
                record = SubmissionRecord(owner, 20, commitments, time.time(), f"{name}-{owner}")
                store.submit(manifest.hash, record)
    return manifest


def state(node: Node, manifest: Manifest) -> StudyState:
    study = node.store.study(manifest.hash)
    assert study is not None
    return study.state
