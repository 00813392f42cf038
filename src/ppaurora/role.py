"""Who is who among the three servers."""

from __future__ import annotations

from enum import IntEnum


class Role(IntEnum):
    PROXY_0 = 0
    PROXY_1 = 1
    HELPER = 2

    @property
    def title(self) -> str:
        return ("proxy 0", "proxy 1", "helper")[self]

    @property
    def file_name(self) -> str:
        """The title as a name of a file, a folder or a section."""
        return self.title.replace(" ", "-")

    @property
    def is_helper(self) -> bool:
        return self is Role.HELPER

    @property
    def other_proxy(self) -> Role:
        """The proxy across the table; the helper has none."""
        return (Role.PROXY_1, Role.PROXY_0)[self]

    @property
    def peers(self) -> tuple[Role, ...]:
        return tuple(role for role in Role if role is not self)
