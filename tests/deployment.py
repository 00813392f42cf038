"""A consortium on this machine: three nodes as processes, owners with kits, everything over TLS."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ppaurora.node.store import Store
from ppaurora.role import Role
from ppaurora.study.kit import NodeKit, read_kit
from ppaurora.study.manifest import Manifest, kit_name
from ppaurora.study.provision import provision

NODES = tuple(kit_name(role) for role in Role)
OWNERS = ("north", "harbour", "valley")


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [sock.getsockname()[1] for sock in sockets]
    for sock in sockets:
        sock.close()
    return ports


def command(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """`ppaurora ...` as a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "ppaurora", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=options.pop("timeout", 120),
        check=False,
        **options,
    )


def samples(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels and scores, with ties."""
    random = np.random.default_rng(seed)
    scores = np.round(random.normal(size=count), 2)
    return random.random(count) < 1 / (1 + np.exp(-scores)), scores


def write_csv(path: Path, labels: np.ndarray, scores: np.ndarray) -> Path:
    rows = [f"{score!r},{int(label)}" for label, score in zip(labels, scores.tolist(), strict=True)]
    path.write_text("\n".join(["score,label", *rows]) + "\n")
    return path


class Deployment:
    """Kits in `folder`, nodes that can be started, killed and started again."""

    def __init__(
        self, folder: Path, owners: Sequence[str] = OWNERS, *, jobs: int = 2, silence: float = 10.0
    ) -> None:
        self.folder = folder
        self.owners = tuple(owners)
        ports = free_ports(8)
        self.addresses = {
            "proxy-0": (ports[0], ports[1]),
            "proxy-1": (ports[2], ports[3]),
            "helper": (None, ports[4]),
        }
        self.admin = dict(zip(NODES, ports[5:], strict=True))
        self.jobs = jobs
        self.silence = silence
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._broken: set[str] = set()
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
        return "\n".join(lines) + "\n"

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
            if isinstance(kit, NodeKit):
                store = Store(kit.data)
                store.accept(manifest)
                store.close()
            else:
                kit.add(manifest)

    def start(self, *names: str) -> None:
        for name in names or NODES:
            log = (self.folder / f"{name}.log").open("ab")
            self._processes[name] = subprocess.Popen(
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
            assert self._processes[name].poll() is None, self.log(name)
        raise AssertionError(f"{name} did not start: {self.log(name)}")

    def get(self, name: str, path: str) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.admin[name]}{path}", timeout=10) as answer:
            return str(answer.read().decode())

    def kill(self, name: str) -> None:
        """As a power cut would: the node and whatever it has started."""
        process = self._processes[name]
        process.send_signal(signal.SIGKILL)
        process.wait()

    def break_workers(self, name: str) -> None:
        """From now on, whatever process the node starts is killed at once; the node itself lives."""
        self._broken.add(name)

        def break_them() -> None:
            while name in self._broken:
                for child in children(self._processes[name].pid):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(child, signal.SIGKILL)
                time.sleep(0.02)

        threading.Thread(target=break_them, daemon=True).start()

    def mend_workers(self, name: str) -> None:
        self._broken.discard(name)

    def stop(self) -> dict[str, int]:
        """Exit codes after SIGTERM."""
        for process in self._processes.values():
            if process.poll() is None:
                process.terminate()
        return {name: process.wait(timeout=30) for name, process in self._processes.items()}

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text()

    def events(self, name: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log(name).splitlines() if line.startswith("{")]

    def database(self, name: str) -> Path:
        return self.kit(name) / "data" / "node.db"


def children(pid: int) -> list[int]:
    """Of all threads of a process."""
    found = []
    for listing in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += [int(child) for child in listing.read_text().split()]
    return found


def cleaned_environment(**more: str) -> dict[str, str]:
    """Without proxies of this machine's."""
    return {**{k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}, **more}
