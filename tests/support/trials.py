"""Nodes to be tried with bad input: studies on demand, made-up submissions, a record of all that was said."""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import ArrayLike

from ppaurora.channel.servers import Server
from ppaurora.errors import RefusedError
from ppaurora.io.models import to_json
from ppaurora.messages.nodes import Hello
from ppaurora.messages.owners import (
    OFFER_HEADER,
    Acknowledgement,
    Offer,
    StudyState,
    StudyStatus,
    studies_path,
)
from ppaurora.node.activity import Activity
from ppaurora.node.amending import StudyAmendments
from ppaurora.node.metrics import Metrics
from ppaurora.node.node import Node
from ppaurora.node.peer_records import PeerRecords
from ppaurora.node.questions import ask
from ppaurora.node.runner import AttemptRunner
from ppaurora.node.service import OwnersService
from ppaurora.node.sni_router import SniRouter
from ppaurora.node.store import Store, SubmissionRecord
from ppaurora.node.withdrawing import Withdrawals
from ppaurora.owner.client import NodeClient
from ppaurora.owner.records import with_digest
from ppaurora.sharing.commitment import SALT_BYTES, commit
from ppaurora.sharing.stages import ResultShare
from ppaurora.study.kit import NodeKit, OwnerKit
from ppaurora.study.manifest import Manifest
from ppaurora.study.provision import provision
from ppaurora.suites.role import Role
from ppaurora.testing.consortium import POLICY, Consortium
from tests.support.bad_input import PLANTED
from tests.support.deployment import NODES, Deployment

PROXY_0, PROXY_1, HELPER = Role
OWNERS = ("north", "harbour", "valley")
PAIR = ("north", "harbour")  # the owners of every study here but the first
HEAD = 'metrics = ["auroc", "aupr", "ap"]\n'
YES = ("--yes", "--despite-warnings")  # made-up data may look strange
HOUR = datetime.timedelta(hours=1)

RunCommand = Callable[..., tuple[int, str]]
StartKit = Callable[[Consortium, str], Node]
StartNode = Callable[[str, Callable[[Store, Manifest], object]], Node]


@dataclass(frozen=True)
class PreparedUpload:
    """A submission's bodies, one for every server that takes one, with random contents."""

    samples: int
    bodies: tuple[bytes, ...]

    @property
    def commitments(self) -> tuple[str, ...]:
        return tuple(commit(body[:SALT_BYTES], body[SALT_BYTES:]) for body in self.bodies)

    @property
    def offer(self) -> Offer:
        return Offer(samples=self.samples, commitments=self.commitments)

    def send(self, client: NodeClient, **other: Any) -> Acknowledgement:
        """With other bodies than were committed to, if some are given."""
        return client.submit(self.offer, replace(self, **other).bodies[client.server])

    def as_printed(self) -> list[str]:
        """How salts and shares would look in a log: hexadecimal, as Python quotes them, as numbers."""
        parts = [body[start : start + 12] for body in self.bodies for start in (0, SALT_BYTES)]
        ways: tuple[Callable[[bytes], str], ...] = (
            bytes.hex,
            lambda part: repr(part)[2:-1],
            lambda part: json.dumps(list(part))[1:-1],
        )
        return [way(part) for part in parts for way in ways]


class Trials(Deployment):
    """The deployment, with as many studies as tests want; it knows its secrets, to look for them."""

    def __init__(self, folder: Path, owners: Sequence[str] = OWNERS, *, silence: float = 60.0) -> None:
        super().__init__(folder, owners, silence=silence)
        self.spoken: list[str] = []  # what nodes have answered and commands have said
        self.secrets = [PLANTED]  # scores, salts, shares and keys, as they could be printed
        for name in (*owners, *NODES):
            self.secrets += (self.kit(name) / "key.pem").read_text().splitlines()[1:-1]

    def study(
        self,
        name: str,
        *,
        owners: Sequence[str] = PAIR,
        head: str = HEAD,
        policy: str = POLICY,
        ports: dict[str, int] | None = None,
        more: str = "",
    ) -> Manifest:
        """Accepted by all nodes and in the kits of its owners. `head` says what is computed."""
        plan = self.folder / f"{name}.toml"
        text = self.planned(name).replace("[limits]", f"{more}\n[limits]")
        for default, chosen in ((HEAD, head), (POLICY, policy)):
            assert default in text
            text = text.replace(default, chosen)
        for owner in set(self.owners) - set(owners):
            text = text.replace(f"[owners.{owner}]\n", "")
        for old, new in (ports or {}).items():
            text = text.replace(f":{old}", f":{new}")
        plan.write_text(text)
        manifest = provision(plan, self.folder / name, self.folder / "kits")
        for node in NODES:
            with self.store(node) as store:
                store.accept(manifest)
        for owner in owners:
            self.owner(owner).add(manifest)
        return manifest

    def planned(self, name: str) -> str:
        """The first study's plan under another name."""
        return (self.folder / "trial.toml").read_text().replace('"trial"', f'"{name}"')

    def owner(self, name: str) -> OwnerKit:
        return OwnerKit.read(self.kit(name))

    def client(self, owner: str, manifest: Manifest, server: Server = PROXY_0) -> NodeClient:
        return NodeClient(self.owner(owner), manifest, server, 60.0)

    def shares(self, node: str = "proxy-0") -> set[str]:
        """The files of shares that a node has, without their descriptions."""
        files = set(os.listdir(self.kit(node) / "data" / "shares"))
        return {file for file in files if not file.endswith(".about")}

    def upload(self, manifest: Manifest, count: int = 20) -> PreparedUpload:
        protocol, shape = manifest.protocol, manifest.terms.shape
        lengths = [protocol.share_bytes(server, count, shape) for server in protocol.input_servers]
        upload = PreparedUpload(count, tuple(os.urandom(SALT_BYTES + length) for length in lengths))
        self.secrets += upload.as_printed()
        return upload

    def refusal(self, request: Callable[[], Any]) -> str:
        """The stable code with which a proxy refuses."""
        with pytest.raises(RefusedError) as caught:
            request()
        self.spoken.append(str(caught.value))
        return caught.value.code

    def process_id(self, node: str) -> int:
        return self.processes[node].pid

    def check_serving(self) -> None:
        """Health, a good request to both proxies, a question from node to node."""
        leader = NodeKit.read(self.kit("proxy-0"))
        for node in NODES:
            assert json.loads(self.get(node, "/healthz"))["status"] == "ok"
        for server in (PROXY_0, PROXY_1):
            assert self.client("valley", self.manifest, server).status().state == "collecting"
        for server in (PROXY_1, HELPER):
            assert ask(leader, self.manifest, server, Hello(study=self.manifest.hash), 60).answer == "hello"

    def told(self, text: str) -> list[str]:
        """The secrets that a text tells."""
        return [secret for secret in set(self.secrets) if len(secret) > 8 and secret in text]

    def check_secrecy(self) -> None:
        """No secret in whatever was said until now; every line of a log is JSON."""
        said = {**{name: self.log(name) for name in NODES}, "commands": "\n".join(self.spoken)}
        assert {name: self.told(text) for name, text in said.items()} == {name: [] for name in said}
        for name in NODES:
            strange = [line for line in self.log(name).splitlines() if not line.startswith("{")]
            assert strange == [], name


def becomes(condition: Callable[[], bool], seconds: float = 120.0) -> bool:
    """Whether it is so at last: what a node does at once may take long on a busy machine."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.05)
    return False


@contextlib.contextmanager
def half_sent(
    nodes: Trials, manifest: Manifest, upload: PreparedUpload, more: str = ""
) -> Iterator[Callable[[], bytes]]:
    """An upload to proxy 0 of which half is sent; what is yielded sends the rest and returns the answer."""
    context = nodes.owner("north").client_context(manifest)
    body = upload.bodies[0]
    lines = [f"PUT {studies_path()}/{manifest.hash}/submission HTTP/1.1", "Host: x", "Connection: close"]
    lines += [f"{OFFER_HEADER}: {to_json(upload.offer).decode()}"]
    lines += [f"Content-Length: {len(body)}", f"{more}", ""]
    with (
        socket.create_connection(("127.0.0.1", nodes.addresses["proxy-0"][0] or 0), timeout=60) as raw,
        context.wrap_socket(raw) as sock,
    ):
        sock.sendall("\r\n".join(lines).encode() + body[: len(body) // 2])

        def finish() -> bytes:
            sock.sendall(body[len(body) // 2 :])
            return sock.recv(1 << 16)

        yield finish


def nothing_submitted(manifest: Manifest) -> StudyStatus:
    """As a proxy would answer of a new study."""
    return StudyStatus(
        study=manifest.hash,
        name=manifest.study,
        state=StudyState.COLLECTING,
        note="",
        submitted=(),
        missing=PAIR,
        withdrawn=(),
        revision=0,
        progress="",
        attempt=0,
        version="1",
        protocol_version=manifest.version,
        server="proxy 1",
        time=0.0,
    )


def part(words: ArrayLike) -> ResultShare:
    """A node's part of a result of two columns, from four numbers."""
    return ResultShare(np.asarray(words, dtype=np.uint64).reshape(2, 2))


def rewritten(content: dict[str, Any]) -> bytes:
    """A record of an owner's kit as if it had been written with this content."""
    return with_digest({name: value for name, value in content.items() if name != "digest"})


def kept_share(store: Store, manifest: Manifest, owner: str = "north") -> Path:
    """A submission as a proxy keeps it; only its place matters here."""
    path = store.shares / f"{owner}-share"
    path.write_bytes(b"share")
    store.submit(manifest.hash, SubmissionRecord(owner, 20, ("0" * 64, "1" * 64), time.time(), path.name))
    return path


def owners_service(kit: NodeKit, store: Store, activity: Activity | None = None) -> OwnersService:
    """The owners' port of a node of which no more is there than its store."""
    activity, metrics = activity or Activity(), Metrics()
    runner = AttemptRunner(kit, store, cast(SniRouter, None), activity, metrics)
    records = PeerRecords(kit, store, activity, runner)
    withdrawals, amendments = Withdrawals(kit, store, activity), StudyAmendments(kit, store, activity)
    return OwnersService(kit, store, activity, metrics, withdrawals, records, amendments)
