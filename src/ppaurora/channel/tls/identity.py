"""Who is who in TLS: a party's own certificate, the authorities it trusts, and its peers' pinned keys."""

from __future__ import annotations

import ssl
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ppaurora.channel.servers import Server
from ppaurora.credentials.pins import pin_of
from ppaurora.errors import PeerMisbehavedError


@dataclass(frozen=True)
class Identity:
    """A party's own certificate and key, the authorities it trusts (PEM), and its peers' pinned keys."""

    certificate: Path
    key: Path
    authorities: str
    pins: dict[Server, str]

    def context(self, purpose: ssl.Purpose) -> ssl.SSLContext:
        return tls_context(purpose, self.certificate, self.key, self.authorities)

    def check(self, peer: Server, sock: ssl.SSLSocket) -> None:
        """Raise if the other end is not this peer."""
        if self.recognise(sock, [peer]) is None:
            raise PeerMisbehavedError(
                peer.title, "presented a certificate whose key is not the one pinned for its role"
            )

    def recognise(self, sock: ssl.SSLSocket, among: Iterable[Server]) -> Server | None:
        """Return which of these peers is at the other end, if any."""
        shown = peer_pin(sock)
        return next((peer for peer in among if self.pins[peer] == shown), None)


def tls_context(purpose: ssl.Purpose, certificate: Path, key: Path, authorities: str) -> ssl.SSLContext:
    """TLS 1.3 only, both sides with certificates. Whose they are is for pins to say, not for names."""
    context = ssl.create_default_context(purpose, cadata=authorities or None)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.verify_mode = ssl.CERT_REQUIRED
    # An authority may be a participant's own certificate.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.check_hostname = False
    context.load_cert_chain(certificate, key)
    if purpose is ssl.Purpose.CLIENT_AUTH:
        context.num_tickets = 0  # nobody resumes these sessions
    return context


def peer_pin(sock: ssl.SSLSocket | ssl.SSLObject) -> str:
    return pin_of(sock.getpeercert(binary_form=True) or b"")
