"""The credentials of a worker: a key that it makes itself, for one attempt, and that never leaves it."""

from __future__ import annotations

import contextlib
import datetime
import os
import ssl
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ppaurora.channel.servers import Server
from ppaurora.channel.tls import Identity
from ppaurora.credentials.certificates import Authority, first_certificate, pin_of_pem
from ppaurora.errors import PeerMisbehavedError
from ppaurora.messages.workers import Endpoint

_LIFETIME = datetime.timedelta(days=30)  # no attempt takes longer


@dataclass(frozen=True)
class Credentials:
    """A worker's certificate, which its peers are told of by the nodes, and its key."""

    certificate: bytes
    _key: bytes = field(repr=False)

    @classmethod
    def make(cls, name: str) -> Credentials:
        authority = Authority.make(name, _LIFETIME)
        return cls(authority.certificate, authority.key)

    @contextlib.contextmanager
    def identity(self, endpoints: Mapping[Server, Endpoint]) -> Iterator[Identity]:
        """Yield an identity that connects to the workers of these endpoints, and to nobody else."""
        certificates = {peer: _certificate(peer, endpoint) for peer, endpoint in endpoints.items()}
        pins = {peer: pin_of_pem(certificate.encode()) for peer, certificate in certificates.items()}
        authorities = "".join(certificates.values())
        with _in_memory(self.certificate) as certificate, _in_memory(self._key) as key:
            yield Identity(certificate, key, authorities, pins)


def _certificate(peer: Server, endpoint: Endpoint) -> str:
    """Return the certificate that a peer gave as its worker's; raise unless it is one that TLS can read."""
    try:
        only = first_certificate(endpoint.certificate)
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=only)
    except (ValueError, ssl.SSLError):
        raise PeerMisbehavedError(peer.title, "has a worker whose certificate cannot be read") from None
    return only


@contextlib.contextmanager
def _in_memory(content: bytes) -> Iterator[Path]:
    """Yield the path of a file with this content, on no disk where the system has such files."""
    if not hasattr(os, "memfd_create"):
        with tempfile.NamedTemporaryFile() as file:  # readable by this user only
            file.write(content)
            file.flush()
            yield Path(file.name)
        return
    descriptor = os.memfd_create("ppaurora", os.MFD_CLOEXEC)
    try:
        os.write(descriptor, content)
        yield Path(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)
