"""Two proxies that hold shares, and a helper that holds none: the servers of the suites here."""

from __future__ import annotations

from ppaurora.channel.servers import Server


class Role(Server):
    """One of the three servers."""

    PROXY_0 = 0
    PROXY_1 = 1
    HELPER = 2

    @property
    def is_helper(self) -> bool:
        return self is Role.HELPER

    @property
    def runs_ahead(self) -> bool:
        return self.is_helper

    @property
    def unit(self) -> int:
        """This server's additive part of the public constant one."""
        return int(self is Role.PROXY_1)

    @property
    def other_proxy(self) -> Role:
        """The proxy across the table; the helper has none."""
        return (Role.PROXY_1, Role.PROXY_0)[self]
