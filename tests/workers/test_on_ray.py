"""Workers on Ray clusters that run, one per party. All such tests are here, so that they share the clusters.

The engine's conformance is that of test_engines.py: what is imported from there is run here, with Ray.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from ppaurora.channel.servers import Server
from ppaurora.errors import PartyFailedError
from ppaurora.messages.workers import Crew, RayPlace
from ppaurora.setup.preflight import check_node
from ppaurora.study.kit import NodeKit
from ppaurora.suites.role import Role
from ppaurora.testing.ray_clusters import RayCluster, make_credentials
from ppaurora.workers import inspecting
from tests.support.deployment import NODES, free_ports
from tests.support.worker_nodes import WorkerNodes, settings
from tests.workers.conftest import Crews, needs_ray
from tests.workers.test_engines import (  # noqa: F401
    eventually,
    run,
    test_a_worker_that_fails_is_named_and_the_others_end,
    test_a_worker_that_is_killed_is_named_and_nothing_is_left,
    test_all_servers_have_as_many_workers,
    test_workers_meet_their_peers_and_hand_on_to_each_other,
)
from tests.workers.test_nodes import compute_in_spite_of_a_lost_worker, running, sessions

pytestmark = [needs_ray, pytest.mark.long]

Clusters = dict[str, RayCluster]


@pytest.fixture
def crews(monkeypatch: pytest.MonkeyPatch, three_clusters: Clusters) -> Crews:
    return Crews(monkeypatch, three_clusters)


def test_a_study_on_three_clusters_one_of_which_loses_a_worker(
    tmp_path: Path, three_clusters: Clusters
) -> None:
    """Nobody but its node knows a cluster. Connections come through the node's one port, but for the
    helper's workers, which listen themselves.
    """
    (first,) = free_ports(1)
    workers = {
        name: settings(
            engine="ray",
            count=2,
            address=f"127.0.0.1:{cluster.port}",
            credentials=str(cluster.credentials),
            **({"ports": [first, first + 9]} if name == "helper" else {}),
        )
        for name, cluster in three_clusters.items()
    }
    with running(WorkerNodes(tmp_path, workers)) as nodes:
        compute_in_spite_of_a_lost_worker(nodes, three_clusters["proxy-1"].workers)
        last = max(int(str(event["attempt"])) for event in sessions(nodes, "proxy-0"))
        opened = [
            {event["session"] for event in sessions(nodes, name) if event["attempt"] == last}
            for name in NODES
        ]
        assert opened[0] == opened[1] == opened[2]
        assert len(opened[0]) == 2
    for cluster in three_clusters.values():
        eventually(lambda cluster=cluster: cluster.placement_groups() <= {"REMOVED"})  # type: ignore[misc]


def on_ray(place: RayPlace, workers: int = 2) -> dict[Server, Crew]:
    """Only the first server's workers."""
    given: dict[Server, Crew] = {role: Crew(workers=workers) for role in Role}
    return given | {Role.PROXY_0: Crew(workers=workers, ray=place)}


def test_a_run_names_the_party_whose_cluster_is_not_there(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    place = RayPlace(address=("127.0.0.1", port), credentials=str(make_credentials(tmp_path / "ray")))
    with pytest.raises(PartyFailedError, match=f"proxy 0: the Ray cluster at 127.0.0.1:{port} cannot be"):
        run(on_ray(place))


def test_a_cluster_that_is_too_small_says_so(three_clusters: Clusters) -> None:
    cluster = three_clusters["proxy-0"]
    free = "print(ray.available_resources().get('CPU', 0))"
    eventually(lambda: float(cluster.ask(free)) == 2)  # also of what ran there before
    with pytest.raises(PartyFailedError, match="has no room for 4 workers with 1 CPUs each; free are 2 CPUs"):
        run(on_ray(cluster.place(), workers=4))
    eventually(lambda: cluster.placement_groups() <= {"REMOVED"})


def test_a_wrong_token_is_named_and_not_shown(three_clusters: Clusters, tmp_path: Path) -> None:
    cluster, other = three_clusters["proxy-0"], tmp_path / "ray"
    other.mkdir()
    for file in cluster.credentials.iterdir():
        (other / file.name).write_bytes(file.read_bytes())
        (other / file.name).chmod(0o600)
    (other / "token").write_text("0123456789abcdef" * 4)
    place = RayPlace(address=("127.0.0.1", cluster.port), credentials=str(other))
    with pytest.raises(PartyFailedError, match=r"proxy 0: .* does not take the token in .*/token") as caught:
        run(on_ray(place))
    assert "0123456789abcdef" not in str(caught.value)


def test_preflight_looks_into_the_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It asks for no token, spills elsewhere and has no room; tests/documents has one that is in order."""
    monkeypatch.setattr(inspecting, "_SECONDS", 600.0)
    kit = WorkerNodes(tmp_path, dict.fromkeys(NODES, "")).kit("proxy-0")
    cluster = RayCluster(make_credentials(kit / "ray"), cpus=1, token=False)
    try:
        cluster.wait()
        text = settings(engine="ray", count=2, address=f"127.0.0.1:{cluster.port}")
        (kit / "node.toml").write_text((kit / "node.toml").read_text() + text)
        found = {check.name: check for check in check_node(NodeKit.read(kit)) if "Ray" in check.name}
    finally:
        cluster.stop()
    wrong = {name for name, check in found.items() if not check.ok}
    assert wrong == {"Ray asks for a token", "Ray has room", "Ray spills"}
    assert all(found[name].fix for name in wrong)
