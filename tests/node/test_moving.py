"""A node moves to another machine while a study is under way; its name leads there afterwards."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ppaurora.data.samples import check_samples
from ppaurora.owner.study import Study
from ppaurora.poc.machine import free_ports
from tests.support.deployment import NODES, OWNERS, command, samples, values_of
from tests.support.relay import Between, pass_on
from tests.support.scikit_learn import pooled_by_scikit_learn
from tests.support.sending import send
from tests.support.trials import Trials, becomes

DATA = {owner: samples(80 + 40 * place, place) for place, owner in enumerate(OWNERS)}
PROXIES = ("proxy-0", "proxy-1")
# What docs say to run: on the old machine, and on the new one.
PACK = "umask 077; tar -cf {archive} -C {old} ."
UNPACK = "umask 077; mkdir {new}; tar -xf {archive} -C {new}"


class Name(Between):
    """A name in the domain name system, with a port: it leads to one machine, later to another."""

    def __init__(self, port: int) -> None:
        self.leads_to = port
        super().__init__()

    def serve(self, client: socket.socket) -> None:
        pass_on(client, ("127.0.0.1", self.leads_to))


class Movable(Trials):
    """Nodes that are known by names, and can be moved."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.places = {name: super(Movable, self).kit(name) for name in NODES}
        self.names = {
            (node, port): Name(port) for node in PROXIES for port in self.addresses[node] if port is not None
        }
        self.study(
            "moved",
            owners=OWNERS,
            ports={str(port): str(name.port) for (_, port), name in self.names.items()},  # type: ignore[misc]
        )

    def kit(self, name: str) -> Path:
        return self.places[name] if name in getattr(self, "places", ()) else super().kit(name)

    def move(self, node: str) -> None:
        """To another folder and other addresses; the old machine is gone before the new one starts."""
        process = self.processes[node]
        process.terminate()
        assert process.wait(timeout=180) == 0
        old, new = self.kit(node), self.folder / f"other-machine-{node}"
        paths = {"archive": self.folder / f"{node}.tar", "old": old, "new": new}
        for line in (PACK, UNPACK):
            subprocess.run(["/bin/sh", "-euc", line.format(**paths)], check=True)
        old.rename(self.folder / f"gone-{node}")
        settings = (new / "node.toml").read_text()
        for port in filter(None, (*self.addresses[node], self.admin[node])):
            (other,) = free_ports(1)
            settings = settings.replace(f":{port}", f":{other}")
            if (node, port) in self.names:
                self.names[node, port].leads_to = other
            if port == self.admin[node]:
                self.admin[node] = other
        (new / "node.toml").write_text(settings)
        self.places[node] = new
        self.start(node)

    def submit(self, owner: str) -> None:
        send(Study(self.kit(owner), "moved"), check_samples(owner, *DATA[owner]))


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Movable]:
    nodes = Movable(tmp_path)
    nodes.start()
    yield nodes
    codes = nodes.stop()
    for name in nodes.names.values():
        name.close()
    assert set(codes.values()) == {0}
    nodes.check_secrecy()


def test_both_proxies_move_and_a_study_under_way_is_released(nodes: Movable) -> None:
    """Nobody accepts or submits anything again; the node that leads moves with shares of two owners."""
    nodes.submit("north")
    nodes.move("proxy-1")
    nodes.submit("harbour")
    nodes.move("proxy-0")
    done = command("preflight", nodes.kit("proxy-0"))
    assert "moved" in done.stdout
    status = json.loads(command("status", nodes.kit("valley"), "--study", "moved", "--format", "json").stdout)
    assert [node["submitted"] for node in status["nodes"].values()] == [["north", "harbour"]] * 2
    nodes.submit("valley")
    for owner in OWNERS:
        report = Study(nodes.kit(owner), "moved").wait(timeout=300)
        assert values_of(report.metrics) == pytest.approx(pooled_by_scikit_learn(DATA.values()), abs=1e-9)
        assert report.receipt.attempt == 1
    for node in PROXIES:
        assert command("audit", nodes.kit(node)).returncode == 0
        assert becomes(lambda node=node: nodes.shares(node) == set())  # type: ignore[misc]
