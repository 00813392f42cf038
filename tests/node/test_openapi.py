"""The owners' API is described as it is."""

from __future__ import annotations

import json
import re

import msgspec
import pytest

from ppaurora.messages import VERSIONS
from ppaurora.messages import owners as messages
from ppaurora.messages.owners import (
    Acknowledgement,
    Offer,
    ReleasedPart,
    StudyStatus,
    Withdrawal,
    WithdrawalAcknowledgement,
)
from ppaurora.messages.refusals import RefusalCode
from ppaurora.node.openapi import openapi
from ppaurora.node.store import Store
from ppaurora.policy.rules import Floors
from ppaurora.study.kit import NodeKit
from tests.support.deployment import NODES
from tests.support.trials import Trials, owners_service


@pytest.fixture
def routes(consortium: Trials, store: Store) -> set[tuple[str, str]]:
    """Method and path of everything that the service answers."""
    kit = NodeKit.read(consortium.kit(NODES[0]))
    app = owners_service(kit, store).app
    return {
        (route.method.lower(), route.resource.canonical)
        for route in app.router.routes()
        if route.resource is not None and route.method != "HEAD"
    }


def test_every_route_is_described_and_no_other(routes: set[tuple[str, str]]) -> None:
    described = {
        (method, path)
        for version in VERSIONS
        for path, methods in openapi(version)["paths"].items()
        for method in methods
    }
    assert routes == described


def test_every_refusal_is_described() -> None:
    """A status that a node refuses with is among some request's responses."""
    described = {
        status
        for methods in openapi()["paths"].values()
        for operation in methods.values()
        for status in operation["responses"]
    }
    assert {str(code.status) for code in RefusalCode} - {"500"} <= described


def test_path_parameters_are_declared() -> None:
    for path, methods in openapi()["paths"].items():
        for operation in methods.values():
            declared = {p["name"] for p in operation.get("parameters", []) if p["in"] == "path"}
            assert declared == set(re.findall(r"{(\w+)}", path))


def test_schemas_are_those_of_the_messages() -> None:
    """Every reference leads somewhere; every schema has the fields of its message, and no others."""
    schemas = openapi()["components"]["schemas"]
    references = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(openapi())))
    assert references <= set(schemas)
    optional = {
        Offer: {"floors", "revision"},
        StudyStatus: {"amendment", "to_agree"},
        ReleasedPart: {"amended"},
    }
    for message in (
        Offer,
        Acknowledgement,
        Withdrawal,
        WithdrawalAcknowledgement,
        StudyStatus,
        messages.Amended,
        messages.SignedAgreement,
        ReleasedPart,
        messages.Refusal,
    ):
        schema = schemas[message.__name__]
        assert set(schema["properties"]) == set(message.__struct_fields__)
        required = {field.name for field in msgspec.structs.fields(message) if field.required}
        assert set(schema["required"]) == required
        assert set(message.__struct_fields__) - required == optional.get(message, set())
        assert schema["additionalProperties"] is False
    assert set(schemas["Floors"]["properties"]) == set(Floors.__struct_fields__)
    assert schemas["Floors"]["additionalProperties"] is False
    assert schemas["ReleasedPart"]["properties"]["part"]["contentEncoding"] == "base64"
    assert set(schemas["StudyState"]["enum"]) == {state.value for state in messages.StudyState}
