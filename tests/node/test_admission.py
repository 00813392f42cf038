"""Who is let in: certificates that do not get in, participants in another role, false leaders."""

from __future__ import annotations

import contextlib
import datetime
import http.client
import json
import shutil
import socket
import ssl
from pathlib import Path
from typing import Any

import pytest

from ppaurora.credentials.certificates import Authority, Issued, load_key
from ppaurora.io.models import to_builtins
from ppaurora.messages.nodes import Ready
from ppaurora.messages.owners import Submitted, studies_path
from ppaurora.node.questions import CONTROL, ask
from ppaurora.node.sni_router import job_name
from ppaurora.owner.client import NodeClient
from ppaurora.study.kit import NodeKit, OwnerKit, read_kit
from ppaurora.study.manifest import Manifest
from tests.support.deployment import NODES
from tests.support.trials import HOUR, PAIR, PROXY_0, PROXY_1, Trials


def shown(manifest: Manifest, folder: Path, name: str, issued: Issued | None) -> ssl.SSLContext:
    """A client that trusts the study's nodes, with a certificate or with none."""
    context = ssl.create_default_context(cadata=manifest.authorities)
    context.check_hostname = False
    if issued is not None:
        certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
        certificate.write_bytes(issued.certificate)
        key.write_bytes(issued.key)
        context.load_cert_chain(certificate, key)
    return context


def knock(port: int, context: ssl.SSLContext, study: str) -> dict[str, Any]:
    """At the owners' port: how is the study?"""
    connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=60)
    with contextlib.closing(connection):
        connection.request("GET", f"{studies_path()}/{study}")
        return dict(json.loads(connection.getresponse().read()))


def question(port: int, context: ssl.SSLContext, line: dict[str, Any], name: str = CONTROL) -> dict[str, Any]:
    """At the nodes' port."""
    with (
        socket.create_connection(("127.0.0.1", port), timeout=60) as raw,
        context.wrap_socket(raw, server_hostname=name) as sock,
    ):
        sock.sendall(json.dumps(line).encode() + b"\n")
        answer = sock.recv(1 << 16)
        if not answer:
            raise ConnectionResetError("closed without an answer")
        return dict(json.loads(answer))


def test_certificates_that_do_not_get_in(nodes: Trials, tmp_path: Path) -> None:
    """Another authority's, an expired one for the right key, none, an older TLS: no answer at either port."""
    kits = nodes.folder / "kits"
    authority = Authority.load(kits / "authority" / "certificate.pem", kits / "authority" / "key.pem")
    manifest = nodes.manifest

    def own(name: str, lifetime: datetime.timedelta = HOUR, by: Authority = authority) -> Issued:
        key = load_key(nodes.kit(name) / "key.pem")
        certificate = by.certify(name, key.public_key(), lifetime)
        return Issued(certificate, (nodes.kit(name) / "key.pem").read_bytes())

    other = Authority.make("another authority", HOUR)
    expired = -datetime.timedelta(minutes=1)
    older = shown(manifest, tmp_path, "older", own("north"))
    older.maximum_version = ssl.TLSVersion.TLSv1_2
    refused = {
        "other authority": shown(manifest, tmp_path, "other", own("north", by=other)),
        "other authority, new key": shown(manifest, tmp_path, "fresh", other.issue("north", HOUR)),
        "expired": shown(manifest, tmp_path, "expired", own("north", expired)),
        "expired node": shown(manifest, tmp_path, "expired-node", own("proxy-0", expired)),
        "no certificate": shown(manifest, tmp_path, "none", None),
        "TLS 1.2": older,
    }
    hello = {"ask": "hello", "study": manifest.hash}
    for node in ("proxy-0", "proxy-1"):
        owners_port, nodes_port = nodes.addresses[node]
        assert owners_port is not None
        for name, context in refused.items():
            with pytest.raises(OSError, match=r"."):
                pytest.fail(f"{name}: {knock(owners_port, context, manifest.hash)}")
            with pytest.raises(OSError, match=r"."):
                pytest.fail(f"{name}: {question(nodes_port, context, hello)}")
        # Positive controls: the same requests with certificates that are right.
        right = shown(manifest, tmp_path, "right", own("north"))
        assert knock(owners_port, right, manifest.hash)["state"] == "collecting"
        leader = shown(manifest, tmp_path, "leader", own("proxy-0"))
        assert question(nodes_port, leader, hello)["answer"] == "hello"


def test_a_participant_in_another_role_is_told_so(nodes: Trials, tmp_path: Path) -> None:
    """A node is no owner, and an owner of one study is none of another."""
    manifest = nodes.study("roles")
    upload = nodes.upload(manifest)
    before = nodes.shares()
    outsiders = {name: nodes.kit(name) for name in ("helper", "proxy-1", "valley")}
    for name, folder in outsiders.items():
        kit = tmp_path / name
        shutil.copytree(folder, kit, ignore=shutil.ignore_patterns("data"))
        (kit / "owner.toml").write_text('name = "north"\n')
        client = NodeClient(OwnerKit.read(kit), manifest, PROXY_0)
        for request in (lambda c=client: upload.send(c), client.status, client.release):
            assert nodes.refusal(request) == "not-an-owner", name
    assert nodes.shares() == before
    assert nodes.client("north", manifest).status().missing == PAIR
    assert upload.send(nodes.client("north", manifest)).owner == "north"  # the positive control


def test_only_proxy_0_leads(nodes: Trials) -> None:
    """Owners and the other nodes may not begin, ask for outcomes, release or stop; nothing is written."""
    manifest = nodes.study("leading")
    submitted = tuple(Submitted(owner=name, samples=5, commitments=("0" * 64,) * 2) for name in PAIR)
    agreed = to_builtins(submitted)
    questions: list[dict[str, Any]] = [
        {"ask": "ready", "agreed": agreed},
        {"ask": "begin", "attempt": 1, "token": "0" * 32, "agreed": agreed, "workers": 1},
        {"ask": "outcome", "attempt": 1},
        {"ask": "release", "attempt": 1, "statements": []},
        {"ask": "stop", "note": "a false leader's"},
        {"ask": "withdrawn", "owner": "north", "revision": 2},
    ]
    for name in ("north", "helper", "proxy-1"):
        kit = read_kit(nodes.kit(name))
        context = OwnerKit.client_context(kit, manifest) if isinstance(kit, OwnerKit) else None
        if isinstance(kit, NodeKit):
            context = kit.identity(manifest).context(ssl.Purpose.SERVER_AUTH)
        assert context is not None
        for node in NODES:
            for line in questions:
                said = question(nodes.addresses[node][1], context, {**line, "study": manifest.hash})
                assert said["answer"] == "refused", (name, node, line)
            unknown = question(nodes.addresses[node][1], context, {**questions[0], "study": "0" * 64})
            assert unknown["answer"] == "unknown study"
            with pytest.raises(OSError, match=r"."):
                question(nodes.addresses[node][1], context, {}, job_name("0" * 32))
    for node in NODES:
        with nodes.store(node) as store:
            assert store.last_attempt(manifest.hash) == 0
            assert [study.state for study in store.studies() if study.hash == manifest.hash] == ["collecting"]
    leader = NodeKit.read(nodes.kit("proxy-0"))
    ready = Ready(study=manifest.hash, agreed=submitted)
    assert ask(leader, manifest, PROXY_1, ready, 60).answer == "not yet"  # the positive control


@pytest.mark.parametrize(
    "line",
    [
        {"ask": "ready"},
        {"ask": "ready", "agreed": 5},
        {"ask": "ready", "agreed": [{"owner": "north", "samples": "many"}]},
        {"ask": "begin", "agreed": []},
        {"ask": "outcome", "attempt": "first"},
        {"ask": "release", "attempt": 7},
        {"ask": ["release"]},
    ],
    ids=lambda line: json.dumps(line)[:40],
)
def test_a_leader_that_talks_nonsense_gets_an_answer(nodes: Trials, line: dict[str, Any]) -> None:
    leader = NodeKit.read(nodes.kit("proxy-0")).identity(nodes.manifest).context(ssl.Purpose.SERVER_AUTH)
    for node in ("proxy-1",) if line["ask"] == "release" else ("proxy-1", "helper"):
        said = question(nodes.addresses[node][1], leader, {**line, "study": nodes.manifest.hash})
        assert said["answer"] in ("not understood", "mismatch", "stale")
