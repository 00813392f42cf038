"""Engines to be tested alike, and clusters for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from ppaurora.channel.servers import Server
from ppaurora.messages.workers import Crew
from ppaurora.suites.role import Role
from ppaurora.testing.ray_clusters import HAS_RAY, RayCluster, clusters
from tests.support.deployment import NODES
from tests.support.stand_in_crew import does

needs_ray = pytest.mark.skipif(not HAS_RAY, reason="Ray is not installed: pip install 'ppaurora[ray]'")


@pytest.fixture(scope="session")
def three_clusters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, RayCluster]]:
    """One per party. They are for one file of tests: each process of pytest's would start its own."""
    folder = tmp_path_factory.mktemp("clusters")
    with clusters({name: folder / name for name in NODES}, cpus=2) as started:
        yield started


class Crews:
    """Of three servers: all with processes on this machine but for one, which may have a cluster."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, clusters: Mapping[str, RayCluster] | None = None
    ) -> None:
        self._monkeypatch = monkeypatch
        self.clusters = clusters

    def __call__(self, workers: int, part: str, *, tested: Role = Role.PROXY_0) -> dict[Server, Crew]:
        """Of the server `tested`, the workers run where they are to be tested."""
        does(self._monkeypatch, f"tests.support.stand_in_part:{part}")
        crews: dict[Server, Crew] = {role: Crew(workers=workers) for role in Role}
        if self.clusters is not None:
            place = self.clusters[tested.file_name].place(cpus=0.3)
            crews[tested] = Crew(workers=workers, ray=place)
        return crews


@pytest.fixture
def crews(monkeypatch: pytest.MonkeyPatch) -> Crews:
    """On this machine; a file of tests for another engine has its own."""
    return Crews(monkeypatch)
