"""The example's servers as the page shows them, also before they have started."""

from __future__ import annotations

from dataclasses import dataclass

from ppaurora.suites.role import Role

# Those that take shares, as the protocol says; known before it is loaded.
PROXIES = (Role.PROXY_0, Role.PROXY_1)
DONE = "done"
STATES = {
    "collecting": "waiting for shares",
    "running": "computing",
    "released": DONE,
    "stopped": "stopped",
    "deleted": "study deleted",
    "expired": "study deleted",
}


@dataclass(frozen=True)
class ServerCost:
    """The cost of one server's part of the computation, as it has logged it."""

    seconds: float
    rounds: int
    bytes: int
    openings: int


@dataclass(frozen=True)
class ServerSeen:
    """One of them as it is now; before it has started, only its name is known."""

    name: str
    state: str = "starts"
    progress: str = ""
    owners: tuple[str, ...] = ()  # whose shares it has, or has computed with
    cost: ServerCost | None = None

    @property
    def title(self) -> str:
        return self.name.replace("-", " ")

    @property
    def is_done(self) -> bool:
        return self.state == DONE

    @property
    def has_given_up(self) -> bool:
        """Its operator has to look, or has ended it: kits of the example can be opened by other apps."""
        return self.state in (STATES["stopped"], STATES["deleted"])

    @property
    def takes_shares(self) -> bool:
        return self.name in {proxy.file_name for proxy in PROXIES}


@dataclass(frozen=True)
class StoredShare:
    """Some bytes out of a hospital's share as it is on a server's disk, and how long it is."""

    server: str
    owner: str
    size: int
    excerpt: str


def not_started() -> tuple[ServerSeen, ...]:
    return tuple(ServerSeen(server.file_name) for server in Role)
