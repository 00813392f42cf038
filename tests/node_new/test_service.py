"""The owners' port: described as it is, strict in what it takes."""

from __future__ import annotations

import ast
import http.client
import inspect
import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from ppaurora.messages import owners as messages
from ppaurora.messages.owners import DESCRIPTION_PATH, Acknowledgement, Offer, ReleasedPart, StudyStatus
from ppaurora.models import to_json
from ppaurora.node import refusals, service, uploads
from ppaurora.node.activity import Activity
from ppaurora.node.metrics import Metrics
from ppaurora.node.openapi import OPENAPI
from ppaurora.node.service import OwnersService
from ppaurora.node.store import Store
from ppaurora.sharing.commitment import SALT_BYTES, commit, fresh_salt
from ppaurora.study.kit import NodeKit, OwnerKit
from ppaurora.testing.consortium import NODES, PROTOCOL, Consortium
from tests.node_new.conftest import PAIR
from tests.node_new.owners import Owner, Refused, samples

LEADER = PROTOCOL.leader


@pytest.fixture
def routes(silent: Consortium, store: Store) -> set[tuple[str, str]]:
    """Method and path of everything that the service answers."""
    kit = NodeKit.read(silent.kit(NODES[0]))
    app = OwnersService(kit, store, Activity(), Metrics()).app
    return {
        (route.method.lower(), route.resource.canonical)
        for route in app.router.routes()
        if route.resource is not None and route.method != "HEAD"
    }


def test_every_route_is_described_and_no_other(routes: set[tuple[str, str]]) -> None:
    described = {(method, path) for path, methods in OPENAPI["paths"].items() for method in methods}
    assert routes == described


def test_every_refusal_is_described() -> None:
    """A status that the code refuses with is among some request's responses."""
    refused = set()
    for module in (service, uploads, refusals):
        for call in ast.walk(ast.parse(inspect.getsource(module))):
            if isinstance(call, ast.Call) and ast.unparse(call.func) in ("refuse", "RequestRefusedError"):
                status = call.args[0]
                if isinstance(status, ast.Constant):
                    refused.add(str(status.value))
    described = {
        status
        for methods in OPENAPI["paths"].values()
        for operation in methods.values()
        for status in operation["responses"]
    }
    assert len(refused) > 10
    assert refused - {"500"} <= described


def test_path_parameters_are_declared() -> None:
    for path, methods in OPENAPI["paths"].items():
        for operation in methods.values():
            declared = {p["name"] for p in operation.get("parameters", []) if p["in"] == "path"}
            assert declared == set(re.findall(r"{(\w+)}", path))


def test_schemas_are_those_of_the_messages() -> None:
    """Every reference leads somewhere; every schema has the fields of its message, and no others."""
    schemas = OPENAPI["components"]["schemas"]
    references = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(OPENAPI)))
    assert references <= set(schemas)
    for message in (Offer, Acknowledgement, StudyStatus, ReleasedPart, messages.Refusal):
        schema = schemas[message.__name__]
        assert set(schema["properties"]) == set(message.__struct_fields__)
        assert set(schema["required"]) == set(message.__struct_fields__)
        assert schema["additionalProperties"] is False
    assert schemas["ReleasedPart"]["properties"]["part"]["contentEncoding"] == "base64"
    assert set(schemas["StudyState"]["enum"]) == {state.value for state in messages.StudyState}


@pytest.fixture(scope="module")
def owner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Owner]:
    """One that has submitted nothing, with one node that runs and takes its submission."""
    consortium = Consortium(tmp_path_factory.mktemp("one"), PAIR)
    consortium.accept()
    consortium.start(LEADER.file_name)
    yield Owner(consortium, PAIR[0], consortium.manifest)
    assert consortium.stop() == {LEADER.file_name: 0}


def test_the_description_is_served(owner: Owner) -> None:
    kit = OwnerKit.read(owner.consortium.kit(owner.name))
    host, port = owner.manifest.owners_address(LEADER)
    connection = http.client.HTTPSConnection(host, port, context=kit.client_context(owner.manifest))
    connection.request("GET", DESCRIPTION_PATH)
    served = json.loads(connection.getresponse().read())
    connection.close()
    assert served == OPENAPI


def test_offers_that_are_refused(owner: Owner) -> None:
    """Every one with its code; then a good one is taken, and taken again."""
    protocol = owner.manifest.protocol
    data = samples(owner.name, 20, 1)
    shares = [(fresh_salt(), share.to_bytes()) for share in protocol.split(protocol.prepare(data))]
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
    shares_folder = owner.consortium.kit(LEADER.file_name) / "data/shares"
    assert list(shares_folder.iterdir()) == []
    assert owner.status(LEADER).missing == PAIR
    first = owner.put(LEADER, to_json(good), body)
    assert owner.put(LEADER, to_json(good), body) == first
    assert msgspec.structs.replace(first, received_at=0.0) == Acknowledgement(
        study=owner.manifest.hash,
        owner=owner.name,
        samples=20,
        commitments=tuple(commitments),
        received_at=0.0,
        server=LEADER.title,
    )
    with pytest.raises(Refused, match="409 conflict"):
        owner.put(LEADER, to_json({**good, "commitments": commitments[::-1]}), body)
    status = owner.status(LEADER)
    assert (status.submitted, status.missing, status.attempt) == (PAIR[:1], PAIR[1:], 0)
    assert (status.state, status.server) == (messages.StudyState.COLLECTING, LEADER.title)
    assert len(list(shares_folder.iterdir())) == 1
