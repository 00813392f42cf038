"""Names, addresses and keys as plans and manifests write them."""

from __future__ import annotations

import re
from typing import Annotated, Any, Self

from msgspec import Meta

from ppaurora.text import printable

Name = Annotated[
    str,
    Meta(
        pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\Z",
        extra={"expected": "a name of small letters, digits and hyphens"},
    ),
]
Pin = Annotated[str, Meta(pattern="^[0-9a-f]{64}$", max_length=64)]

_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?|[0-9a-fA-F:.]*:[0-9a-fA-F:.]*")
_LONGEST_ORGANISATION = 200


class _CheckedText(str):
    """A text that a model takes only if it is in order."""

    __slots__ = ()

    def to_plain(self) -> str:
        return str(self)

    @classmethod
    def from_plain(cls, plain: Any) -> Self:
        if not isinstance(plain, str):
            raise ValueError("is not a text")  # noqa: TRY004 (models want a ValueError)
        cls.check(plain)
        return cls(plain)

    @classmethod
    def check(cls, text: str) -> None:
        """Raises ValueError, which says what is wrong."""


class Organisation(_CheckedText):
    """Shown to people, so without control of their terminals."""

    __slots__ = ()

    @classmethod
    def check(cls, text: str) -> None:
        if len(text) > _LONGEST_ORGANISATION or printable(text) != text:
            raise ValueError(f"an organisation is named in at most {_LONGEST_ORGANISATION} printable letters")


class Address(_CheckedText):
    """A host and a port."""

    __slots__ = ()

    @classmethod
    def check(cls, text: str) -> None:
        try:
            host, port = split_address(text)
        except ValueError:
            host, port = "", 0
        if not _HOST.fullmatch(host) or not 0 < port < 1 << 16:
            raise ValueError("an address is a host and a port, such as proxy.example.org:8443")


def split_address(address: str) -> tuple[str, int]:
    """Host and port."""
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)
