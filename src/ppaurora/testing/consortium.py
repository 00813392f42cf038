"""A consortium on this machine: kits, and nodes as processes that can be started and killed."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ppaurora.errors import PartyFailedError
from ppaurora.metrics.precision_recall import Aupr, AveragePrecision
from ppaurora.metrics.roc import Auroc
from ppaurora.poc.machine import (
    NODES,
    PROTOCOL,
    free_ports,
    get,
    listen_here,
    participants,
    ports_for_nodes,
    program,
)
from ppaurora.setup.acceptance import accept
from ppaurora.study.kit import read_kit
from ppaurora.study.manifest import Manifest
from ppaurora.study.provision import provision

__all__ = ["NODES", "POLICY", "PROTOCOL", "Consortium", "free_ports"]

# Small studies with made-up data are to have results, at full precision.
POLICY = """\
[policy]
kind = "exact"
counts = "hidden"
"""


class Consortium:
    """Kits in `folder`, nodes that can be started, killed and started again."""

    def __init__(self, folder: Path, owners: Sequence[str], *, jobs: int = 2, silence: float = 10.0) -> None:
        self.folder = folder
        self.owners = tuple(owners)
        self._ports = ports_for_nodes()
        self.addresses: dict[str, tuple[int | None, int]] = {
            name: (ports.owners, ports.nodes) for name, ports in self._ports.items()
        }
        self.admin = {name: ports.admin for name, ports in self._ports.items()}
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.manifest = self.provision("trial", folder / "kits")
        changes = {"jobs = 2": f"jobs = {jobs}", "silence_seconds = 60.0": f"silence_seconds = {silence}"}
        for name, ports in self._ports.items():
            listen_here(self.kit(name), ports, changes)

    def plan(self, name: str, attempts: int) -> str:
        return (
            f'name = "{name}"\nmetrics = {json.dumps([Auroc.name, Aupr.name, AveragePrecision.name])}\n'
            + participants(self._ports, self.owners)
            + f"[limits]\nattempts = {attempts}\nsamples_per_owner = 2_000_000\n"
            + POLICY
        )

    def provision(self, name: str, out: Path, reuse: Path | None = None, attempts: int = 100) -> Manifest:
        plan = self.folder / f"{name}.toml"
        plan.write_text(self.plan(name, attempts))
        return provision(plan, out, reuse)

    def kit(self, name: str) -> Path:
        return self.folder / "kits" / name

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
                program("serve", str(self.kit(name))), stdout=log, stderr=log
            )
            log.close()
        for name in names or NODES:
            self.wait_until_healthy(name)

    def wait_until_healthy(self, name: str, seconds: float = 180.0) -> None:
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
        return get(self.admin[name], path)

    def kill(self, name: str) -> None:
        """Kill a node as a power cut would. Its workers notice, and end by themselves."""
        process = self.processes[name]
        process.send_signal(signal.SIGKILL)
        process.wait()

    def stop(self) -> dict[str, int]:
        """Exit codes after SIGTERM."""
        for process in self.processes.values():
            if process.poll() is None:
                process.terminate()
        return {name: process.wait(timeout=180) for name, process in self.processes.items()}

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text()

    def events(self, name: str) -> list[dict[str, Any]]:
        """A line that is being written is not there yet."""
        whole = self.log(name).rpartition("\n")[0]
        return [json.loads(line) for line in whole.splitlines() if line.startswith("{")]

    def database(self, name: str) -> Path:
        return self.kit(name) / "data" / "node.db"
