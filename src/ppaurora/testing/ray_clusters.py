"""Small Ray clusters on this machine, each for one party; nobody else can reach them."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from ppaurora.errors import PartyFailedError
from ppaurora.messages.workers import RayPlace
from ppaurora.poc.machine import free_ports
from ppaurora.workers.cluster import Cluster

HAS_RAY = importlib.util.find_spec("ray") is not None

_SECONDS_TO_START = 600.0
# For a short life: no worker is started before it is asked for, and none is waited for in the end. On a busy
# machine it may take long to start.
SHORT_LIVED = {
    "RAY_enable_worker_prestart": "0",
    "RAY_prestart_worker_first_driver": "0",
    "RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S": "0",
    "RAY_worker_register_timeout_seconds": "300",
}
_CURVE = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]


def make_credentials(folder: Path) -> Path:
    """As docs/workers.md has them made: an authority, a certificate for 127.0.0.1, and a token."""
    folder.mkdir(mode=0o700, parents=True)

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)  # noqa: S603, S607

    ca = ["-keyout", "authority.key", "-out", "authority.pem", "-subj", "/CN=ray", "-days", "30"]
    openssl("req", "-x509", *_CURVE, *ca)
    names = ["-addext", "subjectAltName=IP:127.0.0.1"]
    openssl("req", *_CURVE, "-keyout", "key.pem", "-out", "request.pem", "-subj", "/CN=ray", *names)
    signing = ["-CA", "authority.pem", "-CAkey", "authority.key", "-copy_extensions", "copy", "-days", "30"]
    openssl("x509", "-req", "-in", "request.pem", *signing, "-out", "certificate.pem")
    (folder / "token").write_text(secrets.token_hex(32))
    for name in ("token", "key.pem"):
        (folder / name).chmod(0o600)
    return folder


class RayCluster:
    """Runs from its creation until `stop`. Without `token`, it asks for none."""

    def __init__(
        self,
        credentials: Path,
        *,
        cpus: int = 8,
        store: int = 100_000_000,
        spill: Path | None = None,
        token: bool = True,
    ) -> None:
        (self.port,) = free_ports(1)
        self.credentials = credentials
        self._folder = Path(tempfile.mkdtemp(prefix="ppr"))  # short: it holds sockets
        self.spill = spill or self._folder / "spill"
        self.spill.mkdir(mode=0o700, parents=True, exist_ok=True)
        variables = Cluster("127.0.0.1", self.port, credentials).environment() | SHORT_LIVED
        if not token:
            variables["RAY_AUTH_MODE"] = "disabled"
        self.log = self._folder / "start.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(  # noqa: S603 (our own words)
                self._command(cpus, store),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env={**os.environ, **variables, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )

    def _command(self, cpus: int, store: int) -> list[str]:
        return [
            str(Path(sys.executable).with_name("ray")),
            *("start", "--head", "--block", "--disable-usage-stats", "--include-dashboard=false"),
            *("--node-ip-address", "127.0.0.1", "--port", str(self.port), "--num-cpus", str(cpus)),
            *("--object-store-memory", str(store), "--temp-dir", str(self._folder / "t")),
            *("--object-spilling-directory", str(self.spill)),
        ]

    def wait(self) -> None:
        deadline = time.monotonic() + _SECONDS_TO_START
        while "Ray runtime started" not in self.log.read_text():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise PartyFailedError(f"a Ray cluster did not start: {self.log.read_text()}")
            time.sleep(0.2)

    def place(self, **more: object) -> RayPlace:
        return RayPlace(
            address=("127.0.0.1", self.port),
            credentials=str(self.credentials),
            **more,  # type: ignore[arg-type]
        )

    def workers(self) -> list[int]:
        """Actors that run, by their processes."""
        found = []
        for status in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                if status.read_bytes().startswith(b"ray::RayWorker") and self._is_ours(status.parent):
                    found.append(int(status.parent.name))
        return found

    def _is_ours(self, process: Path) -> bool:
        return str(self._folder).encode() in (process / "environ").read_bytes() or any(
            str(self._folder) in os.readlink(descriptor)
            for descriptor in (process / "fd").iterdir()
            if descriptor.is_symlink() and descriptor.exists()
        )

    def placement_groups(self) -> set[str]:
        """Their states, by what the cluster itself says."""
        told = self.ask(
            "import ray.util; print({g['state'] for g in ray.util.placement_group_table().values()})"
        )
        return set(re.findall(r"'(\w+)'", told))

    def ask(self, code: str) -> str:
        """Return what a program prints that is connected to the cluster."""
        connect = (
            f"import ray; ray.init(address='127.0.0.1:{self.port}', log_to_driver=False, "
            "logging_level='ERROR', _node_ip_address='127.0.0.1')\n"
        )
        environment = Cluster("127.0.0.1", self.port, self.credentials).environment()
        done = subprocess.run(  # noqa: S603 (our own words)
            [sys.executable, "-c", connect + code],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=600,
            check=True,
        )
        return done.stdout

    def signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)

    def stop(self) -> None:
        for number in (signal.SIGTERM, signal.SIGKILL):
            self.signal(number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=20)
        shutil.rmtree(self._folder, ignore_errors=True)


@contextlib.contextmanager
def clusters(folders: Mapping[str, Path], **options: object) -> Iterator[dict[str, RayCluster]]:
    """One for every name, with credentials in its folder."""
    started: dict[str, RayCluster] = {}
    try:
        for name, folder in folders.items():
            started[name] = RayCluster(make_credentials(folder), **options)  # type: ignore[arg-type]
        for cluster in started.values():
            cluster.wait()
        yield started
    finally:
        for cluster in started.values():
            cluster.signal(signal.SIGTERM)  # all at once, and then wait for each
        for cluster in started.values():
            cluster.stop()
