"""Certificates for one run on this machine: an authority that is forgotten, a certificate per server."""

from __future__ import annotations

import datetime
from pathlib import Path

from ppaurora.certificates import Authority, pin_of_pem
from ppaurora.channel.tls import Identity
from ppaurora.files import write_secret
from ppaurora.role import Role

_LIFETIME = datetime.timedelta(days=30)


def make_identities(folder: Path) -> dict[Role, Identity]:
    """Writes certificates and keys (mode 0600) to `folder`. The authority's key is never written."""
    authority = Authority.make("ppaurora run", _LIFETIME)
    paths: dict[Role, tuple[Path, Path]] = {}
    pins: dict[Role, str] = {}
    for role in Role:
        name = role.file_name
        issued = authority.issue(name, _LIFETIME)
        paths[role] = folder / f"{name}.pem", folder / f"{name}.key"
        paths[role][0].write_bytes(issued.certificate)
        write_secret(paths[role][1], issued.key)
        pins[role] = pin_of_pem(issued.certificate)
    return {
        role: Identity(
            *paths[role], authority.certificate.decode(), {peer: pins[peer] for peer in role.peers}
        )
        for role in Role
    }
