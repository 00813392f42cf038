"""Nodes that all live on this machine: their ports, their part of a plan, their settings, their health."""

from __future__ import annotations

import contextlib
import random
import socket
import sys
import urllib.request
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from ppaurora.errors import PartyFailedError
from ppaurora.node.admin_client import ask_locally
from ppaurora.protocols import DEFAULT_PROTOCOL, Protocol, find_protocol

PROTOCOL = find_protocol(DEFAULT_PROTOCOL)()
NODES = tuple(server.file_name for server in PROTOCOL.servers)
# Below those from which systems take ports for outgoing connections, which would come in between.
_PORTS = range(20_000, 32_000)


class Ports(NamedTuple):
    """At which a node listens."""

    owners: int | None
    nodes: int
    admin: int


_given: set[int] = set()  # by this process, to somebody who may listen there later


def free_ports(count: int) -> list[int]:
    """Return ports at which nobody listens, drawn at random, so that others who do the same find others.

    This process is given each but once, unless there are no more.
    """
    ports: list[int] = []
    drawn = random.sample(_PORTS, len(_PORTS))
    for port in sorted(drawn, key=_given.__contains__):
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            ports.append(port)
            _given.add(port)
        if len(ports) == count:
            return ports
    raise PartyFailedError(f"there are no {count} free ports on this machine")


def ports_for_nodes(protocol: Protocol = PROTOCOL) -> dict[str, Ports]:
    """Return free ports for the node of every server; only some have one that owners talk to."""
    ports = iter(free_ports(3 * len(protocol.servers)))
    for_owners = {*protocol.input_servers, *protocol.result_servers}
    return {
        server.file_name: Ports(next(ports) if server in for_owners else None, next(ports), next(ports))
        for server in protocol.servers
    }


def participants(
    ports: Mapping[str, Ports], owners: Iterable[str], organisations: Mapping[str, str] | None = None
) -> str:
    """Return the tables of a plan that say who takes part."""
    lines = []
    for node, found in ports.items():
        lines += [f"[nodes.{node}]", f'nodes_address = "127.0.0.1:{found.nodes}"']
        if found.owners is not None:
            lines.append(f'owners_address = "127.0.0.1:{found.owners}"')
        if organisations is not None:
            lines.append(f'organisation = "{organisations[node]}"')
    lines += [f"[owners.{owner}]" for owner in owners]
    return "\n".join(lines) + "\n"


def listen_here(kit: Path, ports: Ports, changes: Mapping[str, str] | None = None) -> None:
    """Edit a node's settings, as an operator would: on loopback only, at these ports."""
    path = kit / "node.toml"
    text = path.read_text("utf-8")
    for old, new in {"0.0.0.0:": "127.0.0.1:", ":9464": f":{ports.admin}", **(changes or {})}.items():
        text = text.replace(old, new)
    path.write_text(text)


def program(*arguments: str) -> list[str]:
    """`ppaurora ...`, of this very installation, whatever lies in the folder where it is run."""
    return [sys.executable, "-P", "-m", "ppaurora", *arguments]


def web_proxy_in_between() -> bool:
    """Return whether owners' commands here would ask a web proxy for the way to this machine."""
    proxies = urllib.request.getproxies_environment()
    excepted = urllib.request.proxy_bypass_environment("127.0.0.1")  # type: ignore[attr-defined]
    return "https" in proxies and not excepted


def get(admin: int, path: str) -> str:
    """Return what a node says at its local port; raise OSError if it does not answer."""
    return ask_locally("127.0.0.1", admin, path)
