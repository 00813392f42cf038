"""Whom a node lets in at its TLS ports: participants of accepted studies, as their authorities vouch."""

from __future__ import annotations

import logging
import ssl
import threading
from collections.abc import Iterable

from ppaurora.channel.tls import tls_context
from ppaurora.study.kit import NodeKit

log = logging.getLogger(__name__)


class Authorities:
    """The one list of authorities. Every context that is made here is kept up to date with it.

    What somebody whom they vouch for may do is for the pins of each study to say.
    """

    def __init__(self, kit: NodeKit) -> None:
        self._kit = kit
        self._lock = threading.Lock()
        self._trusted: list[str] = []
        self._contexts: list[ssl.SSLContext] = []
        self._owners: set[str] = set()

    def server_context(self) -> ssl.SSLContext:
        """Return the TLS context of a port of this node."""
        context = tls_context(ssl.Purpose.CLIENT_AUTH, self._kit.certificate, self._kit.key, "")
        with self._lock:
            for authorities in self._trusted:
                _add(context, authorities)
            self._contexts.append(context)
        return context

    def is_owner(self, pin: str) -> bool:
        """Return whether an owner of an accepted study has this key."""
        return pin in self._owners

    def trust(self, authorities: str, owners: Iterable[str] = ()) -> None:
        """Let in whom they vouch for, at all ports, from now on. PEM; and the pins of owners among them."""
        with self._lock:
            self._owners.update(owners)
            if authorities in self._trusted:
                return
            self._trusted.append(authorities)
            for context in self._contexts:
                _add(context, authorities)


def _add(context: ssl.SSLContext, authorities: str) -> None:
    try:
        context.load_verify_locations(cadata=authorities)
    except ssl.SSLError:
        log.error("a study's authorities cannot be used")  # noqa: TRY400 (its text might quote them)
