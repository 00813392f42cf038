"""A consortium whose nodes do not run, its stores, and single nodes in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ppaurora.node.metrics import Metrics
from ppaurora.node.node import Node
from ppaurora.node.store import Store
from ppaurora.study.kit import NodeKit
from ppaurora.study.manifest import Manifest
from ppaurora.testing.consortium import Consortium

PAIR = ("north", "harbour")


@pytest.fixture(scope="session")
def silent(tmp_path_factory: pytest.TempPathFactory) -> Consortium:
    """Its kits only; nothing is accepted, nothing runs."""
    return Consortium(tmp_path_factory.mktemp("silent"), PAIR)


@pytest.fixture
def manifest(silent: Consortium) -> Manifest:
    return silent.manifest


@pytest.fixture
def store(manifest: Manifest, tmp_path: Path) -> Iterator[Store]:
    """With the study accepted."""
    with Store(tmp_path / "data") as store:
        store.accept(manifest)
        yield store


Start = Callable[[Consortium, str], Node]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts the node of a kit in this process."""
    started: list[Node] = []

    def start_node(consortium: Consortium, name: str) -> Node:
        started.append(Node(NodeKit.read(consortium.kit(name)), Metrics()))
        return started[-1]

    yield start_node
    for node in started:
        node.close()
