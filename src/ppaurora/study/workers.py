"""`[workers]` of `node.toml`: how many workers this node computes with, and where they run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta

from ppaurora.io.models import StrictModel
from ppaurora.messages.workers import Port, RayPlace
from ppaurora.session.worker import MOST_WORKERS, is_possible
from ppaurora.study.names import Address, split_address
from ppaurora.workers.local import workers_here

RAY, AUTO = "ray", "auto"
SAMPLE = """\
[workers]
engine = "local"
count = "auto"
samples_per_worker = 50_000
"""
_BYTES_PER_SAMPLE = 500  # that a server needs at most, all workers together


class WorkerSettings(StrictModel):
    """`[workers]`. A study is computed by as many as all of its nodes have: the smallest number counts."""

    # "local": processes on this machine. "ray": actors on a Ray cluster of this node's own.
    engine: Literal["local", "ray"] = "local"
    # 1, 2, 4, 8, ... or "auto": as many as this machine has cores and memory for; "auto" is for "local" only.
    count: Annotated[int, Meta(ge=1, le=MOST_WORKERS)] | Literal["auto"] = "auto"
    # A further worker is not worth its while for fewer samples than so many each.
    samples_per_worker: Annotated[int, Meta(ge=1)] = 50_000
    # Ray: the address of the cluster's head, to which this machine belongs.
    address: Address | None = None
    # Ray: a folder of the kit with the cluster's token, certificate.pem, key.pem and authority.pem.
    credentials: str = "ray"
    # Ray: what every worker gets. No memory: whatever there is.
    cpus: Annotated[float, Meta(gt=0, le=1024)] = 1.0
    memory_mb: Annotated[int, Meta(ge=0)] = 0
    # Ray: from and to which port workers listen for those of the other nodes. None: this node lets them in
    # through its own port, and passes on what they send.
    ports: tuple[Port, Port] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.count, int) and not is_possible(self.count):
            raise ValueError(f"count: expected 1, 2, 4, 8, ... up to {MOST_WORKERS}, or 'auto'")
        if self.engine == RAY and self.count == AUTO:
            raise ValueError("count: 'auto' looks at this machine only; with Ray, say how many, such as 4")
        if self.engine == RAY and self.address is None:
            raise ValueError("address: is missing; with Ray, name the cluster's head, such as 10.0.0.5:6379")
        if self.ports is not None and self.ports[0] > self.ports[1]:
            raise ValueError("ports: expected the first and the last port, such as [9000, 9063]")

    def most(self) -> int:
        """Return how many workers there would be if only the study were large enough."""
        return workers_here() if isinstance(self.count, str) else self.count

    def workers_for(self, sizes: Sequence[int]) -> int:
        """Return how many workers this node would compute with, from what is public."""
        samples = sum(sizes)
        wanted = workers_here(_BYTES_PER_SAMPLE * samples) if isinstance(self.count, str) else self.count
        while wanted > 1 and samples < wanted * self.samples_per_worker:
            wanted //= 2
        return wanted

    def cluster(self, kit: Path) -> RayPlace | None:
        """Return where they run, if not on this machine; files are named as seen from the kit."""
        if self.address is None or self.engine != RAY:
            return None
        return RayPlace(
            address=split_address(self.address),
            credentials=str((kit / self.credentials).absolute()),
            cpus=self.cpus,
            memory=self.memory_mb * 1_000_000,
            ports=self.ports,
        )
