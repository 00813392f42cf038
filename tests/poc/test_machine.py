"""Nodes of a rehearsal are for this machine only."""

from __future__ import annotations

from pathlib import Path

from ppaurora.poc.machine import NODES, listen_here, participants, ports_for_nodes
from ppaurora.study.kit import NodeKit
from ppaurora.study.names import split_address
from ppaurora.study.provision import provision

OWNERS = ("north", "harbour", "valley")


def test_nodes_listen_on_loopback_at_the_ports_that_they_are_given(tmp_path: Path) -> None:
    """Kits as they are handed over listen on all addresses, for nodes are on machines of their own."""
    ports = ports_for_nodes()
    plan = tmp_path / "study.toml"
    plan.write_text(f'name = "rehearsal"\nmetrics = ["auroc"]\n{participants(ports, OWNERS)}')
    provision(plan, tmp_path / "kits")
    for name in NODES:
        kit = tmp_path / "kits" / name
        listen_here(kit, ports[name])
        settings = NodeKit.read(kit).settings
        addresses = [settings.listen_owners, settings.listen_nodes, settings.listen_admin]
        found = [None if address is None else split_address(address) for address in addresses]
        assert found == [None if port is None else ("127.0.0.1", port) for port in ports[name]]
