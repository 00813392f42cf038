"""Names, addresses and keys as plans and manifests write them."""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated

from msgspec import Meta

from ppaurora.io.text import HOST, CheckedText, Line

Name = Annotated[
    str,
    Meta(
        pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\Z",
        extra={"expected": "a name of small letters, digits and hyphens"},
    ),
]
Pin = Annotated[str, Meta(pattern="^[0-9a-f]{64}$", max_length=64)]


class Organisation(Line):
    """Who runs a node or holds data, for people to read."""

    __slots__ = ()


class Address(CheckedText):
    """A host and a port."""

    __slots__ = ()

    @classmethod
    def check(cls, text: str) -> None:
        try:
            host, port = split_address(text)
        except ValueError:
            host, port = "", 0
        if not re.fullmatch(HOST, host) or not 0 < port < 1 << 16:
            raise ValueError(
                "an address is a host and a port from 1 to 65535, such as proxy.example.org:8443"
            )


class LocalAddress(Address):
    """A host and a port at which only this machine connects."""

    __slots__ = ()

    @classmethod
    def check(cls, text: str) -> None:
        super().check(text)
        host, _ = split_address(text)
        if host != "localhost" and not is_loopback(host):
            raise ValueError(
                "there is no password, so it is for this machine alone, such as 127.0.0.1:9464; "
                "'ppaurora serve KIT --expose-admin ADDRESS' lets others connect"
            )


def is_loopback(host: str) -> bool:
    """Return whether this is a numeric address of the machine itself."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def split_address(address: str) -> tuple[str, int]:
    """Return the host and the port of an address."""
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)
