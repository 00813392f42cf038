"""Keys and certificates for the parties of one machine."""

from __future__ import annotations

import contextlib
import os
import ssl
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from ppaurora.credentials.certificates import pin_of_pem
from ppaurora.local.certificates import make_identities
from ppaurora.suites.role import Role
from tests.support.channels import Identities


@pytest.fixture
def careless_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.usefixtures("careless_umask")
def test_keys_are_for_their_owner_only(tmp_path: Path) -> None:
    identities = make_identities(tmp_path, Role)
    assert [mode(identities[role].key) for role in Role] == [0o600] * 3
    # The control: this umask leaves other files open to everybody.
    assert [mode(identities[role].certificate) for role in Role] == [0o666] * 3


def test_a_key_never_overwrites_a_file(tmp_path: Path) -> None:
    """A file that somebody else put there could be readable for others."""
    make_identities(tmp_path, Role)
    with pytest.raises(FileExistsError):
        make_identities(tmp_path, Role)


def test_the_key_of_the_authority_is_not_written(tmp_path: Path) -> None:
    identities = make_identities(tmp_path, Role)
    keys = [path for path in tmp_path.iterdir() if b"PRIVATE KEY" in path.read_bytes()]
    assert sorted(keys) == sorted(identities[role].key for role in Role)
    assert not any(b"PRIVATE KEY" in identities[role].authorities.encode() for role in Role)


def test_every_role_is_pinned_to_its_own_certificate(identities: Identities) -> None:
    shown = {role: pin_of_pem(identities[role].certificate.read_bytes()) for role in Role}
    assert len(set(shown.values())) == 3
    for role in Role:
        assert identities[role].pins == {peer: shown[peer] for peer in role.peers}


def shake_hands(client: ssl.SSLContext, server: ssl.SSLContext) -> str | None:
    """Without a network: the version that both have agreed on."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [client.wrap_bio(to_client, to_server), server.wrap_bio(to_server, to_client, server_side=True)]
    for end in ends * 4:
        with contextlib.suppress(ssl.SSLWantReadError):
            end.do_handshake()
    return ends[0].version()


@pytest.mark.parametrize("older", [0, 1], ids=["client", "server"])
def test_nobody_speaks_an_older_tls(identities: Identities, older: int) -> None:
    purposes = (ssl.Purpose.SERVER_AUTH, ssl.Purpose.CLIENT_AUTH)
    contexts = [identities[role].context(purpose) for role, purpose in zip(Role, purposes, strict=False)]
    assert shake_hands(*contexts) == "TLSv1.3"
    contexts[older].minimum_version = contexts[older].maximum_version = ssl.TLSVersion.TLSv1_2
    with pytest.raises(ssl.SSLError):
        shake_hands(*contexts)
