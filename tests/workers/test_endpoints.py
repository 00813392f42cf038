"""What a peer says of its workers may be anything: it is refused, or it fails as that peer's."""

from __future__ import annotations

import re
import ssl

import pytest

from ppaurora.channel.servers import Server
from ppaurora.channel.tls import connect_parties, listen
from ppaurora.errors import PeerLostError, PeerMisbehavedError
from ppaurora.io.models import from_json, to_json
from ppaurora.messages.workers import Endpoint
from ppaurora.suites.role import Role
from ppaurora.workers.credentials import Credentials

OWN, OTHER, THIRD = (Credentials.make(name) for name in ("own", "other", "third"))
PEM = OTHER.certificate.decode()


@pytest.mark.parametrize("host", ["10.1.2.3", "worker-3.example.org", "fd00::17", "localhost"])
def test_hosts_that_there_may_be(host: str) -> None:
    endpoint = Endpoint(certificate=PEM, address=(host, 65535))
    assert from_json(Endpoint, to_json(endpoint)) == endpoint


@pytest.mark.parametrize(
    "host",
    ["", " ", "a b", "a\0", "a\n", "x\nattempt computed", "\x1b[2J", "é.org", "-a", "a" * 256, "[::1]"],
)
def test_others_are_not_taken(host: str) -> None:
    """They would also be shown to people."""
    with pytest.raises(ValueError, match="address"):
        from_json(Endpoint, to_json(Endpoint(certificate=PEM, address=(host, 9000))))


@pytest.mark.parametrize("port", [0, -1, 65536, 1 << 70])
def test_nor_are_ports_that_there_are_not(port: int) -> None:
    line = to_json(Endpoint(certificate=PEM, address=("a", 1))).replace(b'"a",1', b'"a",%d' % port)
    assert b"%d" % port in line
    with pytest.raises(ValueError, match=r"address|integer"):
        from_json(Endpoint, line)


@pytest.mark.parametrize("host", ["a" * 64 + ".org", "a..b", "nobody.invalid"])
def test_a_name_that_no_machine_has_is_its_peers_trouble(host: str) -> None:
    endpoints: dict[Server, Endpoint] = dict.fromkeys((Role.PROXY_0, Role.HELPER), Endpoint(certificate=PEM))
    addresses: dict[Server, tuple[str, int]] = {Role.PROXY_0: (host, 9000)}
    with (
        OWN.identity(endpoints) as identity,
        listen() as listener,
        pytest.raises(PeerLostError, match=f"proxy 0 cannot be reached at {re.escape(host)}:9000: "),
    ):
        connect_parties(Role.PROXY_1, identity, listener, addresses, 5.0)


@pytest.mark.parametrize(
    "around", ["{}", "\n\n{}", "somebody's\n{}", "é{}", "{}\0", "{}é", "{}" + THIRD.certificate.decode()]
)
def test_a_certificate_is_taken_without_what_is_around_it(around: str) -> None:
    """Or else what one peer sends would keep another's certificate from being read."""
    given = Endpoint(certificate=around.format(PEM.strip() if around == "{}" else PEM))
    endpoints: dict[Server, Endpoint] = {
        Role.PROXY_0: given,
        Role.HELPER: Endpoint(certificate=THIRD.certificate.decode()),
    }
    with OWN.identity(endpoints) as identity:
        context = identity.context(ssl.Purpose.SERVER_AUTH)
        assert len(context.get_ca_certs()) == 2
    assert len(set(identity.pins.values())) == 2


@pytest.mark.parametrize("text", ["", "x" * 4096, PEM[:-60], PEM.replace("M", "N"), "\ud800"])
def test_what_is_no_certificate_is_said_of_its_peer(text: str) -> None:
    endpoints: dict[Server, Endpoint] = {
        Role.PROXY_0: Endpoint(certificate=text),
        Role.HELPER: Endpoint(certificate=PEM),
    }
    with (
        pytest.raises(PeerMisbehavedError, match="proxy 0 has a worker whose certificate cannot be read"),
        OWN.identity(endpoints),
    ):
        pass
