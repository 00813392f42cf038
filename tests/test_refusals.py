"""What bad input gets: a clear answer with a stable code, and nothing else changes.

Three nodes run as processes for the whole module. After every test that uses them they must still serve;
strangers, liars and full disks come and go. The last sections run single nodes in this process.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import fcntl
import http.client
import io
import json
import os
import resource
import shutil
import socket
import sqlite3
import ssl
import stat
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ppaurora.certificates import Authority, Issued, load_key
from ppaurora.cli.main import main
from ppaurora.errors import InputError, NotReleasedError, PpauroraError, RefusedError
from ppaurora.node.gate import CONTROL, ask, job_name
from ppaurora.node.hello import NotTlsError, peek_server_name
from ppaurora.node.metrics import Metrics
from ppaurora.node.node import Node
from ppaurora.node.service import OwnersService
from ppaurora.node.store import AttemptState, StaleAttemptError, Store, StudyState, Submission
from ppaurora.owner.client import ProxyClient
from ppaurora.owner.samples import check_samples
from ppaurora.owner.study import Study
from ppaurora.sharing.commitment import SALT_BYTES, commit
from ppaurora.study.kit import NodeKit, OwnerKit, read_kit
from ppaurora.study.manifest import Manifest
from ppaurora.study.provision import provision
from ppaurora.suites.role import Role
from tests.support.bad_input import PLANTED
from tests.support.deployment import NODES, Deployment, command, free_ports, samples, write_csv
from tests.support.oracles import exact_auroc

PROXY_0, PROXY_1, HELPER = Role
OWNERS = ("north", "harbour", "valley")
PAIR = ("north", "harbour")  # the owners of every study here but the first
HOUR = datetime.timedelta(hours=1)
SPOKEN: list[str] = []  # all that nodes and commands have said here, to be searched at the end
SECRETS: list[str] = [PLANTED]  # scores, salts, shares and keys, as they could be printed


class Trials(Deployment):
    """The deployment, with as many studies as tests want."""

    def study(self, name: str, *, ports: dict[str, int] | None = None, more: str = "") -> Manifest:
        """Accepted by all nodes and in the kits of its two owners."""
        plan = self.folder / f"{name}.toml"
        text = self.planned(name).replace("[owners.valley]\n", "").replace("[limits]", f"{more}\n[limits]")
        for old, new in (ports or {}).items():
            text = text.replace(f":{old}", f":{new}")
        plan.write_text(text)
        manifest = provision(plan, self.folder / name, self.folder / "kits")
        for node in NODES:
            with self.store(node) as store:
                store.accept(manifest)
        for owner in PAIR:
            self.owner(owner).add(manifest)
        return manifest

    def planned(self, name: str) -> str:
        """The first study's plan under another name."""
        return (self.folder / "trial.toml").read_text().replace('"trial"', f'"{name}"')

    @contextlib.contextmanager
    def store(self, node: str) -> Iterator[Store]:
        store = Store(NodeKit.read(self.kit(node)).data)
        try:
            yield store
        finally:
            store.close()

    def owner(self, name: str) -> OwnerKit:
        return OwnerKit.read(self.kit(name))

    def client(self, owner: str, manifest: Manifest, role: Role = PROXY_0) -> ProxyClient:
        return ProxyClient(self.owner(owner), manifest, role, 20.0)

    def shares(self, node: str = "proxy-0") -> set[str]:
        return set(os.listdir(self.kit(node) / "data" / "shares"))

    def process_id(self, node: str) -> int:
        return self.processes[node].pid

    def check_serving(self) -> None:
        """Health, a good request to both proxies, a question from node to node."""
        leader = NodeKit.read(self.kit("proxy-0"))
        for node in NODES:
            assert json.loads(self.get(node, "/healthz"))["status"] == "ok"
        for role in (PROXY_0, PROXY_1):
            assert self.client("valley", self.manifest, role).status()["state"] == "collecting"
        for role in (PROXY_1, HELPER):
            assert ask(leader, self.manifest, role, {"ask": "hello"}, 10)["answer"] == "hello"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trials]:
    deployment = Trials(tmp_path_factory.mktemp("consortium"), OWNERS)
    for node in NODES:
        with deployment.store(node) as store:
            store.accept(deployment.manifest)
    for name in (*OWNERS, *NODES):
        SECRETS.extend((deployment.kit(name) / "key.pem").read_text().splitlines()[1:-1])
    deployment.start()
    yield deployment
    codes = deployment.stop()
    assert set(codes.values()) == {0}, codes


@pytest.fixture
def nodes(running: Trials) -> Iterator[Trials]:
    """The running nodes, which must not have suffered from the test."""
    yield running
    running.check_serving()


@dataclass(frozen=True)
class Parcel:
    """A submission's two bodies, with random contents."""

    samples: int
    bodies: tuple[bytes, bytes]

    @classmethod
    def make(cls, manifest: Manifest, count: int = 20) -> Parcel:
        length = SALT_BYTES + manifest.job([1] * len(manifest.owners)).input_bytes(count)
        bodies = os.urandom(length), os.urandom(length)
        SECRETS.extend(part for body in bodies for part in _as_printed(body))
        return cls(count, bodies)

    @property
    def commitments(self) -> tuple[str, str]:
        first, second = (commit(body[:SALT_BYTES], body[SALT_BYTES:]) for body in self.bodies)
        return first, second

    def send(self, client: ProxyClient, **other: Any) -> dict[str, Any]:
        changed = replace(self, **other)
        return client.submit(changed.samples, self.commitments, changed.bodies[client.role])


def _as_printed(secret: bytes) -> list[str]:
    """How bytes would look in a log, salt and share: hexadecimal, as Python quotes them, as numbers."""
    parts = secret[:12], secret[SALT_BYTES : SALT_BYTES + 12]
    return [text for part in parts for text in (part.hex(), repr(part)[2:-1], json.dumps(list(part))[1:-1])]


def refusal(request: Callable[[], Any]) -> str:
    """The stable code with which a proxy refuses."""
    with pytest.raises(RefusedError) as caught:
        request()
    SPOKEN.append(str(caught.value))
    return caught.value.code


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str]:
    """A `ppaurora` command in this process: exit code, and all that it has said."""
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    said = "".join(capsys.readouterr())
    SPOKEN.append(said)
    assert isinstance(ended.value.code, int)
    return ended.value.code, said


# Who is at the door


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
    connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=10)
    with contextlib.closing(connection):
        connection.request("GET", f"/v1/studies/{study}")
        return dict(json.loads(connection.getresponse().read()))


def question(port: int, context: ssl.SSLContext, line: dict[str, Any], name: str = CONTROL) -> dict[str, Any]:
    """At the nodes' port."""
    with (
        socket.create_connection(("127.0.0.1", port), timeout=10) as raw,
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
    parcel = Parcel.make(manifest)
    before = nodes.shares()
    strangers = {name: nodes.kit(name) for name in ("helper", "proxy-1", "valley")}
    for name, folder in strangers.items():
        kit = tmp_path / name
        shutil.copytree(folder, kit, ignore=shutil.ignore_patterns("data"))
        (kit / "owner.toml").write_text('name = "north"\n')
        client = ProxyClient(OwnerKit.read(kit), manifest, PROXY_0)
        for request in (lambda c=client: parcel.send(c), client.status, client.release):
            assert refusal(request) == "not-an-owner", name
    assert nodes.shares() == before
    assert nodes.client("north", manifest).status()["missing"] == list(PAIR)
    assert parcel.send(nodes.client("north", manifest))["owner"] == "north"  # the positive control


def test_only_proxy_0_leads(nodes: Trials) -> None:
    """Owners and the other nodes may not begin, ask for outcomes or release; nothing is written down."""
    manifest = nodes.study("leading")
    agreed = [{"owner": name, "samples": 5, "commitments": ["0" * 64] * 2} for name in PAIR]
    questions: list[dict[str, Any]] = [
        {"ask": "ready", "agreed": agreed},
        {"ask": "begin", "attempt": 1, "token": "0" * 32, "agreed": agreed},
        {"ask": "outcome", "attempt": 1},
        {"ask": "release", "attempt": 1},
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
    leader = NodeKit.read(nodes.kit("proxy-0"))
    assert ask(leader, manifest, PROXY_1, questions[0], 10)["answer"] == "not yet"  # the positive control


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
    leader = NodeKit.read(nodes.kit("proxy-0"))
    for peer in (PROXY_1,) if line["ask"] == "release" else (PROXY_1, HELPER):
        answer = ask(leader, nodes.manifest, peer, line, 10)["answer"]
        assert answer in ("not understood", "mismatch", "stale")


# Noise


@pytest.mark.parametrize("port", [0, 1], ids=["owners", "nodes"])
def test_what_is_not_tls_is_dropped(nodes: Trials, port: int) -> None:
    """Plain HTTP and garbage end at once; whoever is silent holds up nobody, also many at once."""
    number = nodes.addresses["proxy-1"][port]
    assert number is not None
    for noise in (b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", os.urandom(300), b"\x16\x03\x01\xff\xff" * 9):
        with (
            socket.create_connection(("127.0.0.1", number), timeout=20) as sock,
            contextlib.suppress(OSError),
        ):
            sock.sendall(noise)
            sock.shutdown(socket.SHUT_WR)
            assert b"200" not in sock.recv(1000)
    with contextlib.ExitStack() as cleanup:
        for silent in range(100):
            sock = cleanup.enter_context(socket.create_connection(("127.0.0.1", number), timeout=20))
            if silent % 2:
                sock.sendall(b"\x16\x03")
        start = time.monotonic()
        nodes.check_serving()
        assert time.monotonic() - start < 5


# What owners send


def put(nodes: Trials, manifest: Manifest, parcel: Parcel, **changed: str | None) -> tuple[int, str]:
    """A submission with other headers, as they come: status and code."""
    context = nodes.owner("north").client_context(manifest)
    headers: dict[str, str | None] = {
        "Ppaurora-Samples": str(parcel.samples),
        "Ppaurora-Commitment-0": parcel.commitments[0],
        "Ppaurora-Commitment-1": parcel.commitments[1],
        "Content-Length": str(len(parcel.bodies[0])),
    }
    headers.update({name.replace("_", "-"): value for name, value in changed.items()})
    port = nodes.addresses["proxy-0"][0]
    connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=20)
    with contextlib.closing(connection):
        connection.putrequest("PUT", f"/v1/studies/{manifest.hash}/submission")
        for name, value in headers.items():
            if value is not None:
                connection.putheader(name, value)
        connection.endheaders()
        chunked = headers["Content-Length"] is None
        body = parcel.bodies[0][: int(headers["Content-Length"] or len(parcel.bodies[0]))]
        connection.send(b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body) if chunked else body)
        response = connection.getresponse()
        text = response.read().decode()
        SPOKEN.append(text)
        answer = json.loads(text)
        return response.status, answer.get("error", {}).get("code", "ok")


def test_submissions_that_are_refused(nodes: Trials) -> None:
    """Every one with its code; nothing is kept of any; then a good one is taken."""
    manifest = nodes.study("bodies", more="[release]\nminimum_samples_per_owner = 10")
    parcel = Parcel.make(manifest)
    before = nodes.shares()
    length = len(parcel.bodies[0])
    cases: list[tuple[dict[str, str | None], tuple[int, str]]] = [
        ({"Ppaurora_Samples": None}, (400, "headers")),
        ({"Ppaurora_Samples": "many"}, (400, "headers")),
        ({"Ppaurora_Samples": "9" * 5000}, (400, "headers")),
        ({"Ppaurora_Commitment_0": None}, (400, "headers")),
        ({"Ppaurora_Commitment_1": "0" * 63}, (400, "headers")),
        ({"Ppaurora_Commitment_1": "G" * 64}, (400, "headers")),
        ({"Ppaurora_Samples": "0"}, (422, "samples")),
        ({"Ppaurora_Samples": "-20"}, (422, "samples")),
        ({"Ppaurora_Samples": "9"}, (422, "samples")),
        ({"Ppaurora_Samples": "2000001"}, (422, "samples")),
        ({"Ppaurora_Samples": "9" * 400}, (422, "samples")),
        ({"Ppaurora_Samples": "1000"}, (422, "too-short")),
        ({"Content_Length": None, "Transfer_Encoding": "chunked"}, (411, "length")),
        ({"Content_Length": str(length + 1)}, (413, "too-long")),
        ({"Content_Length": str(length - 1)}, (422, "too-short")),
        ({"Ppaurora_Commitment_0": "0" * 64}, (422, "commitment")),
    ]
    for changed, expected in cases:
        assert put(nodes, manifest, parcel, **changed) == expected, changed
    for client, study in (
        (nodes.client("north", manifest), "0" * 64),
        (nodes.client("north", manifest), "..%2f"),
    ):
        client._study = study
        for request in (client.status, client.release, lambda c=client: parcel.send(c)):
            assert refusal(request) == "unknown-study"
    assert nodes.shares() == before
    assert nodes.client("north", manifest).status()["submitted"] == []
    assert put(nodes, manifest, parcel) == (200, "ok")


def test_an_upload_that_is_cut_off_leaves_nothing(nodes: Trials) -> None:
    """Half a body and then the line is cut: no file, no row; the same submission is taken afterwards."""
    manifest = nodes.study("cut")
    parcel = Parcel.make(manifest, 200_000)
    before = nodes.shares()
    with half_sent(nodes, manifest, parcel):
        assert _becomes(lambda: nodes.shares() != before)  # a part of it is there
    assert _becomes(lambda: nodes.shares() == before)
    client = nodes.client("north", manifest)
    assert client.status()["submitted"] == []
    assert parcel.send(client)["samples"] == 200_000


def _becomes(condition: Callable[[], bool], seconds: float = 10.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.05)
    return False


def test_a_submission_is_taken_once(nodes: Trials) -> None:
    """The same again is the same acknowledgement; anything else is a conflict, also a large one."""
    manifest = nodes.study("once")
    client = nodes.client("north", manifest)
    parcel = Parcel.make(manifest)
    first = parcel.send(client)
    before = nodes.shares()
    assert parcel.send(client) == first
    assert refusal(lambda: Parcel.make(manifest).send(client)) == "conflict"
    assert refusal(lambda: Parcel.make(manifest, 1_000_000).send(client)) == "conflict"
    assert refusal(lambda: parcel.send(client, bodies=Parcel.make(manifest).bodies)) == "commitment"
    assert nodes.shares() == before
    assert client.status()["submitted"] == ["north"]


def test_the_same_submission_many_times_at_once(nodes: Trials) -> None:
    """One row, one file, one acknowledgement; of two that differ, one is taken."""
    manifest = nodes.study("rush")
    before = nodes.shares()
    same, other = Parcel.make(manifest), Parcel.make(manifest)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: same.send(nodes.client("north", manifest)), range(8)))
    assert all(answer == answers[0] for answer in answers)

    def race(parcel: Parcel) -> str:
        try:
            return str(parcel.send(nodes.client("harbour", manifest))["commitments"])
        except RefusedError as error:
            return error.code

    with ThreadPoolExecutor(8) as pool:
        ends = list(pool.map(race, [same, other] * 4))
    assert len(set(ends)) == 2
    assert "conflict" in ends
    assert len(nodes.shares() - before) == 2


def test_nothing_is_taken_after_the_end(nodes: Trials) -> None:
    manifest = nodes.study("closed")
    client = nodes.client("north", manifest)
    parcel = Parcel.make(manifest)
    first = parcel.send(client)
    with nodes.store("proxy-0") as store:
        store.set_state(manifest.hash, StudyState.STOPPED, "a person stopped it")
    assert refusal(lambda: parcel.send(nodes.client("harbour", manifest))) == "closed"
    assert parcel.send(client) == first


def test_after_the_release(nodes: Trials, capsys: pytest.CaptureFixture[str]) -> None:
    """In spite of all refusals before, a study ends well; then nothing more is taken, and shares are gone."""
    manifest = nodes.study("well")
    before = {node: nodes.shares(node) for node in ("proxy-0", "proxy-1")}
    studies = {owner: Study(nodes.kit(owner), "well") for owner in PAIR}
    data = {owner: samples(40, seed) for seed, owner in enumerate(PAIR)}
    sent = {owner: studies[owner].submit(check_samples(owner, *data[owner])) for owner in PAIR}
    body = studies["north"]._outbox.body(PROXY_0)
    report = studies["north"].wait(timeout=30)
    pooled = [
        (score, int(label))
        for labels, scores in data.values()
        for label, score in zip(labels, scores, strict=True)
    ]
    expected = exact_auroc(pooled)
    assert expected is not None
    assert report.metrics["auroc"] == float(expected)
    assert {node: nodes.shares(node) for node in before} == before
    client = nodes.client("north", manifest)
    again = client.submit(sent["north"].samples, sent["north"].commitments, body)
    assert again == sent["north"].acknowledged["proxy 0"]
    assert refusal(lambda: Parcel.make(manifest).send(client)) == "conflict"
    assert nodes.shares() == before["proxy-0"]
    code, said = run(capsys, "result", nodes.kit("harbour"), "--study", "well")
    assert (code, f"{report.metrics['auroc']:.12f}" in said) == (0, True)


def test_proxies_that_were_told_different_things_stop(
    nodes: Trials, capsys: pytest.CaptureFixture[str]
) -> None:
    """No attempt is made, and a person reads whose submissions differ."""
    manifest = nodes.study("mismatch")
    fine, one, two = (Parcel.make(manifest) for _ in range(3))
    for role in (PROXY_1, PROXY_0):
        fine.send(nodes.client("north", manifest, role))
    two.send(nodes.client("harbour", manifest, PROXY_1))
    one.send(nodes.client("harbour", manifest, PROXY_0))
    client = nodes.client("north", manifest)
    assert _becomes(lambda: client.status()["state"] == "stopped")
    status = client.status()
    assert "harbour" in status["note"]
    assert "north" not in status["note"]
    for node in NODES:
        with nodes.store(node) as store:
            assert store.last_attempt(manifest.hash) == 0
    code, said = run(capsys, "status", nodes.kit("north"), "--study", "mismatch")
    assert code == 0
    assert "harbour" in said
    with pytest.raises(NotReleasedError, match="harbour"):
        Study(nodes.kit("north"), "mismatch").wait(timeout=5)
    code, said = run(capsys, "result", nodes.kit("north"), "--study", "mismatch")
    assert (code, "stopped" in said) == (4, True)


def test_a_full_disk(nodes: Trials) -> None:
    """No room: said so, nothing half stored; with room again, the same submission is taken."""
    manifest = nodes.study("full")
    parcel = Parcel.make(manifest, 1_200_000)
    client = nodes.client("north", manifest)
    before = nodes.shares()
    process = nodes.process_id("proxy-0")
    if not hasattr(resource, "prlimit"):
        pytest.skip("needs prlimit, to take room from a process that runs")
    soft, hard = resource.prlimit(process, resource.RLIMIT_FSIZE)
    resource.prlimit(process, resource.RLIMIT_FSIZE, (8 << 20, hard))
    try:
        assert refusal(lambda: parcel.send(client)) == "no-room"
        assert nodes.shares() == before
        assert client.status()["submitted"] == []
    finally:
        resource.prlimit(process, resource.RLIMIT_FSIZE, (soft, hard))
    assert parcel.send(client)["samples"] == 1_200_000


# Kits and commands


@pytest.fixture
def kit(running: Trials, tmp_path: Path) -> Path:
    """An owner's kit to spoil."""
    folder = tmp_path / "north"
    shutil.copytree(running.kit("north"), folder)
    for path in (folder / "studies").glob("*.json"):
        if path.name != "trial.json":
            path.unlink()
    return folder


@pytest.fixture
def node_kit(running: Trials, tmp_path: Path) -> Path:
    folder = tmp_path / "proxy-0"
    shutil.copytree(running.kit("proxy-0"), folder, ignore=shutil.ignore_patterns("data"))
    return folder


def spoil_key_mode(folder: Path) -> None:
    (folder / "key.pem").chmod(0o640)


def spoil_key(folder: Path) -> None:
    (folder / "key.pem").write_bytes(Authority.make("x", HOUR).issue("x", HOUR).key)


def spoil_key_text(folder: Path) -> None:
    (folder / "key.pem").write_text(f"{PLANTED}\n")


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (spoil_key_mode, "chmod 600"),
        (spoil_key, "is not the key of"),
        (spoil_key_text, "is not the key of"),
        (lambda folder: (folder / "key.pem").unlink(), "key.pem: cannot be read"),
        (lambda folder: (folder / "certificate.pem").unlink(), "certificate.pem"),
        (lambda folder: (folder / "certificate.pem").write_text("x"), "certificate.pem"),
    ],
    ids=["mode", "other key", "no key", "missing key", "missing certificate", "no certificate"],
)
def test_kits_with_bad_keys(
    kit: Path,
    node_kit: Path,
    capsys: pytest.CaptureFixture[str],
    spoil: Callable[[Path], object],
    says: str,
) -> None:
    """Refused before anything is sent or served, with what to do."""
    assert run(capsys, "status", kit)[0] == 0  # the positive control
    for folder, arguments in ((kit, ("result", kit)), (node_kit, ("serve", node_kit))):
        spoil(folder)
        code, said = run(capsys, *arguments)
        assert (code, says in said) == (2, True), said
        assert PLANTED not in said


def test_kits_with_missing_files(kit: Path, node_kit: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (kit / "studies" / "trial.json").unlink()
    code, said = run(capsys, "status", kit)
    assert (code, "none" in said) == (2, True)
    (kit / "owner.toml").unlink()
    code, said = run(capsys, "status", kit)
    assert (code, "it holds no owner.toml" in said) == (2, True)
    code, said = run(capsys, "preflight", kit)
    assert (code, "is no start-up kit" in said) == (2, True)
    (node_kit / "node.toml").unlink()
    code, said = run(capsys, "serve", node_kit)
    assert (code, "it holds no node.toml" in said) == (2, True)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("silence_second = 5.0", "did you mean 'silence_seconds'?"),
        ("listen_owner = 'x:1'", "did you mean 'listen_owners'?"),
        ("jobs = 'many'", "jobs"),
        ("jobs = 0", "jobs"),
        ("data = ", "is not TOML"),
    ],
)
def test_settings_that_do_not_exist(
    node_kit: Path, capsys: pytest.CaptureFixture[str], line: str, says: str
) -> None:
    """The nearest one that does is named."""
    path = node_kit / "node.toml"
    lines = [
        kept for kept in path.read_text().splitlines() if not kept.startswith(line.split(" = ")[0] + " ")
    ]
    path.write_text("\n".join([line, *lines]))
    code, said = run(capsys, "serve", node_kit)
    assert (code, says in said) == (2, True), said


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("[limits]", "[limits]\nattemps = 3", "did you mean 'attempts'?"),
        ("metrics", "metric", "did you mean 'metrics'?"),
        ("owners_address", "owner_address", "did you mean 'owners_address'?"),
        ("[limits]", "[limit]", "did you mean 'limits'?"),
        ('"auroc"', '"aurok"', "aurok"),
        ("[owners.north]", "[owners.North]", "North"),
        ("[owners.north]", '[owners."../north"]', "north"),
        ("[owners.north]", "[owners.authority]", "authority"),
        ("[owners.north]", "[owners.helper]", "like a node"),
    ],
)
def test_plans_that_cannot_be_provisioned(
    running: Trials, tmp_path: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, says: str
) -> None:
    plan = tmp_path / "study.toml"
    plan.write_text(running.planned("wrong").replace(old, new))
    code, said = run(capsys, "provision", plan, "--out", tmp_path / "kits")
    assert (code, says in said) == (2, True), said
    assert [path.name for path in tmp_path.iterdir()] == ["study.toml"]


def test_kits_are_never_overwritten(
    running: Trials, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = tmp_path / "study.toml"
    plan.write_text(running.planned("again"))
    assert run(capsys, "provision", plan, "--out", tmp_path / "kits")[0] == 0
    key = (tmp_path / "kits" / "north" / "key.pem").read_bytes()
    code, said = run(capsys, "provision", plan, "--out", tmp_path / "kits")
    assert (code, "exists" in said) == (2, True)
    assert (tmp_path / "kits" / "north" / "key.pem").read_bytes() == key
    assert stat.S_IMODE((tmp_path / "kits" / "north" / "key.pem").stat().st_mode) == 0o600


def test_manifests_that_are_not_accepted(
    running: Trials, kit: Path, node_kit: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Edited by hand, or meant for other keys, or another one of the same name."""
    text = running.manifest.text()
    edited = tmp_path / "edited.json"
    for changed, says in (
        (text.replace('"delta": 1', '"delta":  1'), "canonical"),
        (text.rstrip("\n"), "canonical"),
        (text.replace('"protocol": "fast"', '"protocol": "fats"'), "protocol"),
        (text.replace('"metrics"', '"metric"'), "did you mean 'metrics'?"),
        (text.replace(running.manifest.node(PROXY_0).pin, "0" * 64), "names another key for proxy 0"),
        (text.replace(running.manifest.node(PROXY_0).pin, running.manifest.node(HELPER).pin), "same key"),
        ("{}", "more"),
        ("no JSON", "no JSON"),
    ):
        edited.write_text(changed)
        code, said = run(capsys, "accept", node_kit, edited, "--yes")
        assert (code, says in said) == (2, True), said
    edited.write_text(text.replace(running.manifest.owners[0].pin, "1" * 64))
    code, said = run(capsys, "accept", kit, edited, "--yes")
    assert (code, "does not name this owner's key" in said) == (2, True)
    assert not (node_kit / "data").exists()
    edited.write_text(text)
    assert run(capsys, "accept", node_kit, edited, "--yes")[0] == 0  # the positive control
    edited.write_text(text.replace('"attempts": 100', '"attempts": 99'))
    code, said = run(capsys, "accept", node_kit, edited, "--yes")
    assert (code, "own name" in said) == (2, True)


def test_a_study_takes_other_data_from_nobody(
    nodes: Trials, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bad data, good data, other data; a result only once it is there; what is said tells no score."""
    nodes.study("commands")
    good = write_csv(tmp_path / "good.csv", *samples(30, 1))
    scores = np.where(np.arange(30) == 5, float(PLANTED), np.arange(30.0))
    other = write_csv(tmp_path / "other.csv", np.arange(30) % 2 == 0, scores)
    bad = tmp_path / "bad.csv"
    bad.write_text(f"score,label\n0.5,1\n{PLANTED},2\n{PLANTED}x,0\n")
    north = nodes.kit("north")
    arguments = ("--study", "commands", "--yes")
    assert run(capsys, "submit", north, bad, *arguments)[0] == 2
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert run(capsys, "submit", north, other, "--study", "commands")[0] == 130  # nobody says yes
    code, said = run(capsys, "submit", north, good, *arguments)
    assert code == 0, said
    assert run(capsys, "submit", north, good, *arguments)[0] == 0
    code, said = run(capsys, "submit", north, other, *arguments)
    assert (code, "other data was submitted" in said) == (2, True)
    code, said = run(capsys, "result", north, "--study", "commands")
    assert (code, "not-released" in said) == (4, True)
    assert PLANTED not in said


def test_a_proxy_that_is_down_is_named(
    nodes: Trials, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (nobody,) = free_ports(1)
    owners_port = str(nodes.addresses["proxy-1"][0])
    nodes.study("down", ports={owners_port: nobody})
    good = write_csv(tmp_path / "good.csv", *samples(30, 1))
    code, said = run(capsys, "submit", nodes.kit("north"), good, "--study", "down", "--yes")
    assert (code, f"proxy 1 cannot be reached at 127.0.0.1:{nobody}" in said) == (3, True)
    code, said = run(capsys, "status", nodes.kit("north"), "--study", "down", "--format", "json")
    state = json.loads(said)
    assert code == 0
    assert state["proxies"]["proxy 0"]["submitted"] == ["north"]
    assert str(nobody) in state["proxies"]["proxy 1"]["note"]
    code, said = run(capsys, "preflight", nodes.kit("north"), "--study", "down")
    assert (code, "HTTPS_PROXY" in said) == (2, True)


class ConnectProxy:
    """A forward proxy: CONNECT, an answer, then bytes in both directions."""

    def __init__(self, answer: bytes = b"HTTP/1.1 200 OK\r\n\r\n") -> None:
        self.requests: list[str] = []
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError):
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                head += client.recv(1)
            self.requests.append(head.decode())
            client.sendall(self._answer)
            if b" 200 " not in self._answer:
                return
            host, port = head.split()[1].decode().rsplit(":", 1)
            with socket.create_connection((host, int(port))) as server:
                back = threading.Thread(target=self._pipe, args=(server, client), daemon=True)
                back.start()
                self._pipe(client, server)
                back.join()

    @staticmethod
    def _pipe(source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while piece := source.recv(1 << 16):
                sink.sendall(piece)
            sink.shutdown(socket.SHUT_WR)


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def test_https_proxy_is_honoured(nodes: Trials, environment: pytest.MonkeyPatch) -> None:
    """TLS goes through it unopened: requests work, pins are checked, it sees addresses only."""
    client = nodes.client("north", nodes.manifest)
    with contextlib.closing(ConnectProxy()) as proxy:
        environment.setenv("HTTPS_PROXY", f"http://{proxy.address}")
        assert client.status()["state"] == "collecting"
        assert [request.split()[:2] for request in proxy.requests] == [["CONNECT", client.where]]
        environment.setenv("NO_PROXY", "127.0.0.1")
        assert client.status()["state"] == "collecting"
        assert len(proxy.requests) == 1
        environment.delenv("NO_PROXY")
        client._pin = "0" * 64
        with pytest.raises(PpauroraError, match="another key than the manifest says; nothing was sent"):
            client.status()
        assert len(proxy.requests) == 2
    with contextlib.closing(ConnectProxy(b"HTTP/1.1 403 Forbidden\r\n\r\n")) as proxy:
        environment.setenv("HTTPS_PROXY", f"http://{proxy.address}")
        with pytest.raises(PpauroraError, match="cannot be reached") as refused:
            nodes.client("north", nodes.manifest).status()
        assert refused.value.exit_code == 3


def test_an_https_proxy_that_wants_a_password_gets_it(nodes: Trials, environment: pytest.MonkeyPatch) -> None:
    with contextlib.closing(ConnectProxy()) as proxy:
        environment.setenv("HTTPS_PROXY", f"http://user:word@{proxy.address}")
        assert nodes.client("north", nodes.manifest).status()["state"] == "collecting"
        assert "Proxy-Authorization: Basic dXNlcjp3b3Jk" in proxy.requests[0]


def test_nothing_prints_its_secrets(nodes: Trials, tmp_path: Path) -> None:
    """Whatever a log or a debugger may show of what holds secrets."""
    labels, scores = samples(30, 3)
    checked = check_samples("north", labels, scores)
    nodes.study("printing")
    study = Study(nodes.kit("harbour"), "printing")
    submission = study.submit(checked)
    issued = Authority.make("x", HOUR).issue("x", HOUR)
    shown_texts = [repr(thing) for thing in (checked, study, submission, issued, study.kit)]
    secrets = [*issued.key.decode().splitlines()[1:-1], *(repr(score) for score in scores.tolist()[:5])]
    secrets += [submission.fingerprint, submission.fingerprint_salt]
    for text in shown_texts:
        SPOKEN.append(text)
        assert not any(secret in text for secret in secrets if len(secret) > 4)


# Found by attacking the nodes.


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Callable[..., Node]]:
    """A node of this process, with a consortium that does not run; `prepare` writes to its store first."""
    started: list[Node] = []

    def start(name: str, prepare: Callable[[Store, Manifest], object]) -> Node:
        with trials.store(name) as store:
            store.accept(trials.manifest)
            prepare(store, trials.manifest)
        started.append(Node(NodeKit.read(trials.kit(name)), Metrics()))
        return started[-1]

    (tmp_path / "alone").mkdir()
    trials = Trials(tmp_path / "alone", PAIR)
    yield start
    for node in started:
        node.close()


@pytest.fixture
def store(running: Trials, tmp_path: Path) -> Iterator[Store]:
    """With the first study accepted."""
    kept = Store(tmp_path / "data")
    kept.accept(running.manifest)
    yield kept
    kept.close()


def kept_share(store: Store, manifest: Manifest, owner: str = "north") -> Path:
    """A submission as a proxy keeps it; only its place matters here."""
    path = store.shares / f"{owner}-share"
    path.write_bytes(b"share")
    store.submit(manifest.hash, Submission(owner, 20, ("0" * 64, "1" * 64), time.time(), path.name))
    return path


def test_what_is_acknowledged_survives_a_second_start_of_the_node(nodes: Trials) -> None:
    """An operator who starts a node twice by mistake is told so, and an upload under way is not lost."""
    manifest = nodes.study("twice")
    parcel = Parcel.make(manifest, 50_000)
    before = nodes.shares()
    with half_sent(nodes, manifest, parcel) as finish:
        assert _becomes(lambda: nodes.shares() != before)
        second = command("serve", nodes.kit("proxy-0"), timeout=30)
        SPOKEN.append(second.stdout + second.stderr)
        assert second.returncode == 2
        assert b" 200 " in finish()
    with nodes.store("proxy-0") as store:
        kept = store.submission(manifest.hash, "north")
        assert kept is not None
        assert kept.file is not None
        assert (store.shares / kept.file).exists()


@contextlib.contextmanager
def half_sent(
    nodes: Trials, manifest: Manifest, parcel: Parcel, more: str = ""
) -> Iterator[Callable[[], bytes]]:
    """An upload to proxy 0 of which half is sent; what is yielded sends the rest and returns the answer."""
    context = nodes.owner("north").client_context(manifest)
    body = parcel.bodies[0]
    lines = [f"PUT /v1/studies/{manifest.hash}/submission HTTP/1.1", "Host: x", "Connection: close"]
    lines += [f"Ppaurora-Commitment-{number}: {text}" for number, text in enumerate(parcel.commitments)]
    lines += [f"Ppaurora-Samples: {parcel.samples}", f"Content-Length: {len(body)}", f"{more}", ""]
    with (
        socket.create_connection(("127.0.0.1", nodes.addresses["proxy-0"][0] or 0), timeout=20) as raw,
        context.wrap_socket(raw) as sock,
    ):
        sock.sendall("\r\n".join(lines).encode() + body[: len(body) // 2])

        def finish() -> bytes:
            sock.sendall(body[len(body) // 2 :])
            return sock.recv(1 << 16)

        yield finish


def test_an_owner_cannot_fill_the_disk_with_beginnings(nodes: Trials) -> None:
    """Uploads of one owner to one study that run at the same time are few, whatever they announce."""
    manifest = nodes.study("beginnings")
    before = nodes.shares()
    with contextlib.ExitStack() as cleanup:
        for _ in range(12):
            parcel = Parcel.make(manifest, 5000)
            cleanup.enter_context(half_sent(nodes, manifest, parcel))
        time.sleep(0.5)
        files = len(nodes.shares() - before)
    assert _becomes(lambda: nodes.shares() == before)
    assert files <= 4


def test_a_released_result_is_never_replaced(store: Store, running: Trials) -> None:
    """Proxy 0 may begin attempt 2 while attempt 1 awaits its release; what was released stays as it is."""
    study = running.manifest.hash
    first, second = np.arange(4, dtype=np.uint64).reshape(2, 2), np.ones((2, 2), np.uint64)
    store.begin_attempt(study, 1)
    store.computed(study, 1, {"north": first})
    store.begin_attempt(study, 2)
    store.release(study, 1)
    with contextlib.suppress(PpauroraError):
        store.computed(study, 2, {"north": second})
    found = store.result(study, "north")
    assert found is not None
    assert (found[0], found[1].tolist()) == (1, first.tolist())


def test_results_of_another_attempt_are_never_released(store: Store, running: Trials) -> None:
    """What owners get is of the attempt that was released, or nothing is released."""
    study = running.manifest.hash
    for number in (1, 2):
        store.begin_attempt(study, number)
        store.computed(study, number, {"north": np.full((2, 2), number, np.uint64)})
    with pytest.raises(StaleAttemptError):
        store.release(study, 1)
    found = store.study(study)
    assert found is not None
    assert found.state is StudyState.RUNNING
    store.release(study, 2)
    assert store.attempt_state(study, 2) is AttemptState.RELEASED


def test_an_expired_study_is_over(store: Store, running: Trials) -> None:
    """An upload or an attempt that ends after the study's time does not bring it back."""
    study = running.manifest
    store.begin_attempt(study.hash, 1)
    store.set_state(study.hash, StudyState.EXPIRED)
    with contextlib.suppress(PpauroraError):
        kept_share(store, study)
    with contextlib.suppress(PpauroraError):
        store.computed(study.hash, 1, {"north": np.zeros((2, 2), np.uint64)})
    with contextlib.suppress(PpauroraError):
        store.release(study.hash, 1)
    found = store.study(study.hash)
    assert found is not None
    assert found.state is StudyState.EXPIRED
    assert store.submission(study.hash, "north") is None
    assert store.result(study.hash, "north") is None


@pytest.mark.parametrize("proxy", ["proxy-0", "proxy-1"])
def test_shares_are_deleted_although_the_node_died_at_the_release(
    alone: Callable[..., Node], proxy: str
) -> None:
    """The manifest says: shares are kept until the release. Also if the node is killed just then."""
    paths: list[Path] = []

    def prepare(store: Store, manifest: Manifest) -> None:
        paths.extend(kept_share(store, manifest, owner) for owner in PAIR)
        store.begin_attempt(manifest.hash, 1)
        store.computed(manifest.hash, 1, {owner: np.zeros((2, 2), np.uint64) for owner in PAIR})
        store.release(manifest.hash, 1)

    alone(proxy, prepare)
    assert len(paths) == 2
    assert _becomes(lambda: not any(path.exists() for path in paths), 3)


def test_one_study_in_trouble_does_not_hold_up_the_others(
    alone: Callable[..., Node], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever fails for one study, a later one is let in."""
    hashes: list[str] = []

    def prepare(store: Store, manifest: Manifest) -> None:
        later = Manifest.model_validate({**manifest.model_dump(), "study": "later"})
        store.accept(later)
        hashes.extend([manifest.hash, later.hash])

    real = Node._retain

    def fail(self: Node, study: Any, now: float) -> None:
        if study.hash == hashes[0]:
            raise PermissionError(13, "a share cannot be deleted")
        real(self, study, now)

    monkeypatch.setattr(Node, "_retain", fail)
    node = alone("helper", prepare)
    assert _becomes(lambda: hashes[1] in node.accepted, 3)


def test_a_manifest_holds_certificates_and_nothing_that_deceives(running: Trials) -> None:
    """Authorities that are none are refused at once, and so is what would not be shown as it is."""
    good = running.manifest.model_dump()
    deceiving = "x\x1b[1A\x1b[2K:8444"
    nodes = {**good["nodes"], "helper": {**good["nodes"]["helper"], "nodes_address": deceiving}}
    for changed in ({"authorities": "nonsense"}, {"authorities": ""}, {"nodes": nodes}):
        text = json.dumps({**json.loads(running.manifest.text()), **changed}, indent=2, sort_keys=True) + "\n"
        with pytest.raises(InputError):
            Manifest.parse(text, "a manifest")
    assert Manifest.parse(running.manifest.text(), "a manifest").hash == running.manifest.hash


def test_the_helper_keeps_a_study_as_long_as_the_proxies(alone: Callable[..., Node]) -> None:
    """It holds nothing, so nothing of it expires while owners still submit elsewhere."""

    def prepare(store: Store, manifest: Manifest) -> None:
        days = manifest.release.retention_days + 1
        store._db.execute("UPDATE studies SET accepted_at = accepted_at - ?", (days * 86_400,))

    node = alone("helper", prepare)
    assert _becomes(lambda: bool(node.accepted), 3)
    time.sleep(0.2)
    assert [study.state for study in node.store.studies()] == [StudyState.COLLECTING]


def test_an_upload_that_is_cancelled_keeps_row_and_file_together(alone: Callable[..., Node]) -> None:
    """The node is told to stop while a submission is committed: it is there whole, or not at all."""
    node = alone("proxy-0", lambda store, manifest: None)
    (study,) = node.store.studies()
    service = OwnersService(node)
    path = node.store.shares / "upload"
    path.write_bytes(b"share")
    offered = Submission("north", 20, ("0" * 64, "1" * 64), time.time())
    committing, go_on = threading.Event(), threading.Event()
    commit_it = node.store.submit

    def slow(*arguments: Any) -> Submission:
        committing.set()
        go_on.wait(10)
        return commit_it(*arguments)

    async def participant(_: Any) -> Any:
        return study, "north"

    async def receive(*_: Any) -> Path:
        return path

    async def stop_in_the_middle() -> None:
        task = asyncio.create_task(service._submit(None))  # type: ignore[arg-type]
        await asyncio.to_thread(committing.wait, 10)
        task.cancel()
        await asyncio.sleep(0.05)
        go_on.set()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        await asyncio.sleep(0.3)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(service, "_participant", participant)
        patch.setattr(service, "_offer", lambda *_: offered)
        patch.setattr(service, "_receive", receive)
        patch.setattr(node.store, "submit", slow)
        asyncio.run(stop_in_the_middle())
    kept = node.store.submission(study.hash, "north")
    assert (kept is not None) == path.exists()


def test_a_hello_is_read_at_any_descriptor() -> None:
    """A node with a thousand connections open still lets the other nodes in."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        high = socket.socket(fileno=fcntl.fcntl(theirs, fcntl.F_DUPFD, 1200))
        with high:
            ours.sendall(b"GET / HTTP/1.1\r\n\r\n")
            with pytest.raises(NotTlsError):
                peek_server_name(high, 5)


def test_a_flood_of_silent_strangers_does_not_keep_the_nodes_apart(nodes: Trials) -> None:
    """However many stand at the nodes' port, a node gets in."""
    with contextlib.ExitStack() as cleanup:
        for _ in range(150):
            address = ("127.0.0.1", nodes.addresses["proxy-1"][1])
            cleanup.enter_context(socket.create_connection(address, timeout=20))
        time.sleep(0.3)
        entered = [_answers(nodes) for _ in range(5)]
    assert _becomes(lambda: _answers(nodes))
    assert entered == [True] * 5


def _answers(nodes: Trials) -> bool:
    try:
        return bool(ask(NodeKit.read(nodes.kit("proxy-0")), nodes.manifest, PROXY_1, {"ask": "hello"}, 10))
    except PpauroraError:
        return False


def test_strangers_that_begin_and_stop_do_not_pile_up(nodes: Trials) -> None:
    """Half a hello is no reason to stay, nor to keep a processor busy: threads stay within bounds."""
    status = Path(f"/proc/{nodes.process_id('proxy-1')}/status")
    if not status.exists():
        pytest.skip("needs /proc, to count threads")
    with contextlib.ExitStack() as cleanup:
        for _ in range(300):
            address = ("127.0.0.1", nodes.addresses["proxy-1"][1])
            sock = cleanup.enter_context(socket.create_connection(address, timeout=20))
            with contextlib.suppress(ConnectionError):
                sock.sendall(b"\x16\x03\x01\x10\x00half")
        assert not _becomes(lambda: int(status.read_text().split("Threads:")[1].split()[0]) > 200, 3)
        assert _answers(nodes)


def test_a_thread_that_cannot_be_started_does_not_close_the_gate(
    alone: Callable[..., Node], monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the machine is out of threads, a connection is lost, not the port."""
    node = alone("helper", lambda store, manifest: None)
    real = threading.Thread.start
    failures = iter([True])

    def fail_once(thread: threading.Thread) -> None:
        if "_welcome" in thread.name and next(failures, False):
            raise RuntimeError("can't start new thread")
        real(thread)

    monkeypatch.setattr(threading.Thread, "start", fail_once)
    for _ in range(2):
        with socket.create_connection(node.gate.address, timeout=5) as sock:
            sock.sendall(b"GET / HTTP/1.1\r\n\r\n")
            with contextlib.suppress(ConnectionError):
                assert sock.recv(100) == b""
    assert next(failures, None) is None


def test_the_name_of_a_computation_cannot_be_taken_by_another(alone: Callable[..., Node]) -> None:
    """Job names are seen on the wire; the leader of another study cannot divert their connections."""
    gate = alone("helper", lambda store, manifest: None).gate
    with gate.expecting("0" * 32):
        first = gate._jobs[job_name("0" * 32)]
        with contextlib.suppress(PpauroraError, KeyError, ValueError), gate.expecting("0" * 32):
            assert gate._jobs[job_name("0" * 32)] is first
        assert gate._jobs.get(job_name("0" * 32)) is first


def test_a_proxy_that_cannot_write_for_a_while_is_no_reason_to_wait_for_ever(nodes: Trials) -> None:
    """Proxy 1 can note neither its result nor its failure; when it can write again, the study goes on."""
    manifest = nodes.study("unwritten")
    database = sqlite3.connect(nodes.database("proxy-1"), timeout=10, isolation_level=None)
    with contextlib.closing(database):
        for number, event in enumerate(("INSERT ON results", "UPDATE ON attempts")):
            database.execute(
                f"CREATE TRIGGER full_{number} BEFORE {event} WHEN NEW.study = '{manifest.hash}' "
                "BEGIN SELECT RAISE(ABORT, 'disk is full'); END"
            )
        try:
            for seed, owner in enumerate(PAIR):
                labels, scores = samples(30, seed)
                Study(nodes.kit(owner), "unwritten").submit(check_samples(owner, labels, scores))
            with nodes.store("proxy-0") as store:
                assert _becomes(lambda: store.attempt_state(manifest.hash, 1) is not None)
                assert _becomes(lambda: store.attempt_state(manifest.hash, 1) is not AttemptState.RUNNING)
        finally:
            for number in range(2):
                database.execute(f"DROP TRIGGER full_{number}")
    report = Study(nodes.kit("north"), "unwritten").wait(timeout=12)
    assert 0 <= report.metrics["auroc"] <= 1


def test_provisioning_deletes_nobody_elses_folder(
    running: Trials, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also not one that is called like its own while it is being built."""
    plan = tmp_path / "study.toml"
    plan.write_text(running.planned("again"))
    assert run(capsys, "provision", plan, "--out", tmp_path / "kits.new")[0] == 0
    run(capsys, "provision", plan, "--out", tmp_path / "kits")
    assert (tmp_path / "kits.new" / "authority" / "key.pem").exists()


@pytest.mark.parametrize("note", ["a [/closing] tag", "a \x1b[2J bell"])
def test_what_a_proxy_says_is_shown_as_text(
    nodes: Trials, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, note: str
) -> None:
    """A note is a server's; it neither breaks the command nor steers the terminal."""
    answer = {"state": "running", "note": note, "missing": []}
    monkeypatch.setattr(Study, "status", lambda self: {"proxy 0": answer, "proxy 1": answer})
    code, said = run(capsys, "status", nodes.kit("valley"))
    assert code == 0
    assert "\x1b[2J" not in said
    assert "closing" in said or "bell" in said


def test_requests_that_are_not_http_are_not_quoted(nodes: Trials) -> None:
    """The log does not repeat what was sent: it may be a share, or the body of one that was cut wrongly."""
    manifest = nodes.study("quoting")
    parcel = Parcel.make(manifest)
    context = nodes.owner("north").client_context(manifest)
    address = f"PUT /v1/studies/{manifest.hash}/submission HTTP/1.1\r\nHost: x\r\n".encode()
    for noise in (
        address + b"Transfer-Encoding: chunked\r\n\r\n" + parcel.bodies[0],
        address + b"Content-Length: 0\r\n\r\n" + parcel.bodies[0],
        address + b"Salt\x00: " + parcel.bodies[0] + b"\r\n\r\n",
        parcel.bodies[0] + b"\r\n\r\n",
    ):
        with (
            socket.create_connection(("127.0.0.1", nodes.addresses["proxy-0"][0] or 0), timeout=20) as raw,
            context.wrap_socket(raw) as sock,
        ):
            sock.sendall(noise)
            with contextlib.suppress(ConnectionError):
                assert b" 200 " not in sock.recv(1 << 16)
    with (
        half_sent(nodes, manifest, parcel, "Content-Encoding: gzip\r\n") as finish,
        contextlib.suppress(ConnectionError),
    ):
        assert b" 500 " not in finish()
    secrets = [text for body in parcel.bodies for text in _as_printed(body)]
    log = nodes.log("proxy-0")
    assert [text for text in secrets if text in log] == []


def test_a_line_that_is_no_question_does_no_harm(nodes: Trials) -> None:
    """Numbers beyond all bounds, endless brackets: an answer or an end, and no traceback in the log."""
    before = len(nodes.log("proxy-1"))
    kit = nodes.owner("north")
    context = kit.client_context(nodes.manifest)
    with (
        socket.create_connection(("127.0.0.1", nodes.addresses["proxy-1"][1]), timeout=20) as raw,
        context.wrap_socket(raw, server_hostname=CONTROL) as sock,
    ):
        sock.sendall(b"[" * 100_000 + b"\n")
        with contextlib.suppress(ConnectionError):
            sock.recv(1000)
    leader = NodeKit.read(nodes.kit("proxy-0"))
    with contextlib.suppress(PpauroraError):
        ask(leader, nodes.manifest, PROXY_1, {"ask": "outcome", "attempt": 1 << 70}, 10)
    assert '"level": "error"' not in nodes.log("proxy-1")[before:]


# To be last: what all of them have said


def test_no_log_and_no_answer_tells_a_secret(nodes: Trials) -> None:
    """No score, salt, share or key of this module's tests, in whatever form; every line of a log is JSON."""
    Parcel.make(nodes.manifest)  # so that there is something to look for, also if this test runs alone
    said = {**{name: nodes.log(name) for name in NODES}, "commands": "\n".join(SPOKEN)}

    def leaks(text: str) -> list[str]:
        return [secret for secret in set(SECRETS) if len(secret) > 8 and secret in text]

    assert leaks(f"a line with {SECRETS[-1]} in it") == [SECRETS[-1]]  # the positive control
    assert {name: leaks(text) for name, text in said.items()} == {name: [] for name in said}
    for name in NODES:
        strange = [line for line in nodes.log(name).splitlines() if not line.startswith("{")]
        assert strange == [], name
