"""Between a server process that has several workers, its workers, and the process that started it.

The server process is started as one without workers is. It places its workers and says at which endpoints
the others' workers find them (`Placed`); it is told everybody's (`PeerEndpoints`), and orders its workers to
begin (`Order`). Workers tell the same events as a server process does.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from ppaurora.io.models import StrictModel
from ppaurora.io.text import HOST
from ppaurora.session.worker import MOST_WORKERS

HOST_ALONE = rf"^{HOST}\Z"
Host = Annotated[str, Meta(pattern=HOST_ALONE, max_length=255)]
Port = Annotated[int, Meta(ge=1, le=65535)]
Workers = Annotated[int, Meta(ge=1, le=MOST_WORKERS)]


class Endpoint(StrictModel):
    """Where a worker's peers find it, and by which certificate they know it.

    The certificate's key was made by the worker, for one attempt, and never leaves it.
    """

    certificate: Annotated[str, Meta(max_length=4096)]  # PEM
    address: tuple[Host, Port] | None = None  # None: at its server's own address, by its number


Endpoints = Annotated[tuple[Endpoint, ...], Meta(max_length=MOST_WORKERS)]


class RayPlace(StrictModel):
    """Workers are actors on a Ray cluster of this party's."""

    address: tuple[Host, Port]  # of the cluster's head
    credentials: str  # the folder with the cluster's token, a certificate, its key, and its authority
    cpus: float = 1.0  # that every worker gets
    memory: int = 0  # likewise, in bytes; 0: whatever there is
    ports: tuple[Port, Port] | None = None  # where workers listen themselves; None: the node lets in for them


class Crew(StrictModel):
    """How many workers a server has, and where they run."""

    workers: Annotated[int, Meta(ge=2, le=MOST_WORKERS)]
    ray: RayPlace | None = None  # None: as processes on this machine


class PeerEndpoints(StrictModel):
    """Everybody's endpoints, by the server's file name; workers may connect now."""

    endpoints: dict[str, Endpoints]
