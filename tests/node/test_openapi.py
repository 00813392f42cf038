"""The owners' API is described as it is."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from ppaurora.node import refusals, service, uploads
from ppaurora.node.activity import Activity
from ppaurora.node.metrics import Metrics
from ppaurora.node.openapi import OPENAPI
from ppaurora.node.service import OwnersService
from ppaurora.node.store import Store
from ppaurora.study.kit import NodeKit
from ppaurora.study.plan import SAMPLE
from ppaurora.study.provision import provision


@pytest.fixture
def routes(tmp_path: Path) -> set[tuple[str, str]]:
    """Method and path of everything that the service answers."""
    (tmp_path / "study.toml").write_text(SAMPLE)
    provision(tmp_path / "study.toml", tmp_path / "kits")
    kit = NodeKit.read(tmp_path / "kits/proxy-0")
    with Store(tmp_path / "data") as store:
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
    source = "".join(inspect.getsource(module) for module in (refusals, service, uploads))
    refused = set(re.findall(r"(?:refuse|RequestRefusedError)\((\d{3}), ", source))
    described = {
        status
        for methods in OPENAPI["paths"].values()
        for operation in methods.values()
        for status in operation["responses"]
    }
    assert len(refused) > 5
    assert refused - {"500"} <= described


def test_path_parameters_are_declared() -> None:
    for path, methods in OPENAPI["paths"].items():
        for operation in methods.values():
            declared = {p["name"] for p in operation.get("parameters", []) if p["in"] == "path"}
            assert declared == set(re.findall(r"{(\w+)}", path))
