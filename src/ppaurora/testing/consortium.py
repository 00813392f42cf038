"""A consortium on this machine: kits, and nodes as processes that can be started and killed."""

from __future__ import annotations

import contextlib
import json
import random
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ppaurora.acceptance import accept
from ppaurora.errors import PartyFailedError
from ppaurora.protocols import DEFAULT_PROTOCOL, find_protocol
from ppaurora.study.kit import read_kit
from ppaurora.study.manifest import Manifest
from ppaurora.study.provision import provision

PROTOCOL = find_protocol(DEFAULT_PROTOCOL)
NODES = tuple(server.file_name for server in PROTOCOL.servers)
# Those that owners talk to.
_FOR_OWNERS = {server.file_name for server in (*PROTOCOL.input_servers, *PROTOCOL.result_servers)}
# Below those from which systems take ports for outgoing connections, which would come in between.
_PORTS = range(20_000, 32_000)
# Small studies with made-up data are to have results, at full precision.
POLICY = """\
[policy]
minimum_owners = 2
largest_owner_fraction = 1.0
minimum_positives = 0
minimum_negatives = 0
minimum_per_cell = 1
digits = "exact"
"""


def free_ports(count: int) -> list[int]:
    """At which nobody listens now; drawn at random, so that others who do the same find other ones."""
    ports: list[int] = []
    for port in random.sample(_PORTS, len(_PORTS)):
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            ports.append(port)
        if len(ports) == count:
            return ports
    raise PartyFailedError(f"there are no {count} free ports on this machine")


class Consortium:
    """Kits in `folder`, nodes that can be started, killed and started again."""

    def __init__(self, folder: Path, owners: Sequence[str], *, jobs: int = 2, silence: float = 10.0) -> None:
        self.folder = folder
        self.owners = tuple(owners)
        ports = iter(free_ports(3 * len(NODES)))
        self.addresses: dict[str, tuple[int | None, int]] = {
            name: (next(ports) if name in _FOR_OWNERS else None, next(ports)) for name in NODES
        }
        self.admin = {name: next(ports) for name in NODES}
        self.jobs = jobs
        self.silence = silence
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.manifest = self.provision("trial", folder / "kits")
        for name in NODES:
            self._set_up(name)

    def plan(self, name: str, attempts: int) -> str:
        lines = [f'name = "{name}"', 'metrics = ["auroc", "aupr", "ap"]']
        for node, (owners_port, nodes_port) in self.addresses.items():
            lines += [f"[nodes.{node}]", f'nodes_address = "127.0.0.1:{nodes_port}"']
            if owners_port is not None:
                lines.append(f'owners_address = "127.0.0.1:{owners_port}"')
        lines += [f"[owners.{owner}]" for owner in self.owners]
        lines += ["[limits]", f"attempts = {attempts}", "samples_per_owner = 2_000_000"]
        return "\n".join(lines) + "\n" + POLICY

    def provision(self, name: str, out: Path, reuse: Path | None = None, attempts: int = 100) -> Manifest:
        plan = self.folder / f"{name}.toml"
        plan.write_text(self.plan(name, attempts))
        return provision(plan, out, reuse)

    def kit(self, name: str) -> Path:
        return self.folder / "kits" / name

    def _set_up(self, name: str) -> None:
        """As an operator would: listen on loopback only, at free ports."""
        path = self.kit(name) / "node.toml"
        text = path.read_text()
        for old, new in (
            ("0.0.0.0:", "127.0.0.1:"),
            ("9464", str(self.admin[name])),
            ("jobs = 2", f"jobs = {self.jobs}"),
            ("silence_seconds = 60.0", f"silence_seconds = {self.silence}"),
        ):
            text = text.replace(old, new)
        path.write_text(text)

    def accept(self, manifest: Manifest | None = None, names: Iterable[str] = NODES) -> None:
        """What `ppaurora accept --yes` does; nodes may be running."""
        manifest = manifest or self.manifest
        for name in names:
            kit = read_kit(self.kit(name))
            kit.check_own(manifest)
            accept(kit, manifest)

    def start(self, *names: str) -> None:
        for name in names or NODES:
            log = (self.folder / f"{name}.log").open("ab")
            self.processes[name] = subprocess.Popen(  # noqa: S603 (this interpreter, our own words)
                [sys.executable, "-m", "ppaurora", "serve", str(self.kit(name))], stdout=log, stderr=log
            )
            log.close()
        for name in names or NODES:
            self.wait_until_healthy(name)

    def wait_until_healthy(self, name: str, seconds: float = 60.0) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                if self.get(name, "/healthz"):
                    return
            except OSError:
                time.sleep(0.05)
            if self.processes[name].poll() is not None:
                break
        raise PartyFailedError(f"{name} did not start: {self.log(name)}")

    def get(self, name: str, path: str) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.admin[name]}{path}", timeout=10) as answer:
            return str(answer.read().decode())

    def kill(self, name: str) -> None:
        """As a power cut would. Its workers notice, and end by themselves."""
        process = self.processes[name]
        process.send_signal(signal.SIGKILL)
        process.wait()

    def stop(self) -> dict[str, int]:
        """Exit codes after SIGTERM."""
        for process in self.processes.values():
            if process.poll() is None:
                process.terminate()
        return {name: process.wait(timeout=30) for name, process in self.processes.items()}

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text()

    def events(self, name: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log(name).splitlines() if line.startswith("{")]

    def database(self, name: str) -> Path:
        return self.kit(name) / "data" / "node.db"
