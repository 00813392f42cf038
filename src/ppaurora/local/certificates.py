"""Certificates for one run on this machine: an authority that is forgotten, a certificate per server."""

from __future__ import annotations

import datetime
from pathlib import Path

from ppaurora.channel.servers import Server
from ppaurora.channel.tls import Identity
from ppaurora.credentials.certificates import Authority, pin_of_pem
from ppaurora.io.files import write_secret

_LIFETIME = datetime.timedelta(days=30)


def make_identities(folder: Path, servers: type[Server]) -> dict[Server, Identity]:
    """Writes certificates and keys (mode 0600) to `folder`. The authority's key is never written."""
    authority = Authority.make("ppaurora run", _LIFETIME)
    paths: dict[Server, tuple[Path, Path]] = {}
    pins: dict[Server, str] = {}
    for server in servers:
        name = server.file_name
        issued = authority.issue(name, _LIFETIME)
        paths[server] = folder / f"{name}.pem", folder / f"{name}.key"
        paths[server][0].write_bytes(issued.certificate)
        write_secret(paths[server][1], issued.key)
        pins[server] = pin_of_pem(issued.certificate)
    return {
        server: Identity(
            *paths[server], authority.certificate.decode(), {peer: pins[peer] for peer in server.peers}
        )
        for server in servers
    }
