"""Who gets in and who does not: versions, certificates, pins, strangers at the door."""

from __future__ import annotations

import os
import socket
import ssl
import stat
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from ppaurora.certificates import pin_of_pem
from ppaurora.channel import Channel
from ppaurora.channel.tls import Identity, TlsTransport, connect_parties, listen
from ppaurora.errors import PeerLostError, PeerMisbehavedError, PeerTimeoutError
from ppaurora.local.certificates import make_identities
from ppaurora.suites.role import Role
from tests.channel_support import PATIENCE, side_by_side, tls_transports

PROXY_0, PROXY_1, HELPER = Role
WELCOME = b"welcome"
Address = tuple[str, int]
Identities = dict[Role, Identity]


@pytest.fixture(scope="module")
def identities(tmp_path_factory: pytest.TempPathFactory) -> Identities:
    return make_identities(tmp_path_factory.mktemp("identities"), Role)


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Identities:
    """The same roles, certified by another authority."""
    return make_identities(tmp_path_factory.mktemp("foreign"), Role)


def test_the_parties_speak_tls_1_3(identities: Identities) -> None:
    with ExitStack() as cleanup:
        transports = [cleanup.enter_context(closing(end)) for end in tls_transports(identities)]
        versions = [link.sock.version() for end in transports for link in end._links.values()]
    assert versions == ["TLSv1.3"] * 6


@dataclass
class House:
    """Proxy 0, waiting for both of its peers. Once they are there, it says `WELCOME` to proxy 1."""

    address: Address
    owner: Future[TlsTransport]


@pytest.fixture
def open_house(identities: Identities) -> Iterator[Callable[..., House]]:
    houses: list[House] = []

    def receive_guests(listener: socket.socket, timeout: float) -> TlsTransport:
        with listener:
            transport = connect_parties(PROXY_0, identities[PROXY_0], listener, {}, timeout)
        Channel(transport).send(PROXY_1, WELCOME)
        return transport

    def open_house(timeout: float = PATIENCE) -> House:
        listener = listen()
        houses.append(House(listener.getsockname(), pool.submit(receive_guests, listener, timeout)))
        return houses[-1]

    with ThreadPoolExecutor() as pool:
        yield open_house
    for house in houses:
        if house.owner.exception() is None:
            house.owner.result().close()


@pytest.fixture
def house(open_house: Callable[..., House]) -> House:
    return open_house()


def client(
    identity: Identity, *, certificate: bool = True, newest: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3
) -> ssl.SSLContext:
    """A client that trusts anybody, made without the code under test."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.maximum_version = newest
    if certificate:
        context.load_cert_chain(identity.certificate, identity.key)
    return context


@contextmanager
def visit(address: Address, context: ssl.SSLContext) -> Iterator[ssl.SSLSocket]:
    with socket.create_connection(address, timeout=PATIENCE) as raw, context.wrap_socket(raw) as sock:
        yield sock


def knock(address: Address, context: ssl.SSLContext) -> bytes:
    """What the house answers: a frame, nothing, or the reason why it refuses.

    A refusal shows when the client reads: in TLS 1.3 its own handshake ends before the server has
    seen its certificate.
    """
    try:
        with visit(address, context) as sock:
            return sock.recv(1000)
    except ssl.SSLError as error:
        return error.reason.encode()


def let_peers_in(house: House, identities: Identities) -> bytes:
    """The real peers join; what proxy 0 says to proxy 1."""
    doors = {PROXY_1: listen(), HELPER: listen()}
    addresses = {PROXY_0: house.address, PROXY_1: doors[PROXY_1].getsockname()}

    def join(role: Role) -> TlsTransport:
        with doors[role] as listener:
            return connect_parties(role, identities[role], listener, addresses, PATIENCE)

    proxy_1, helper = side_by_side(lambda: join(PROXY_1), lambda: join(HELPER))
    with closing(proxy_1), closing(helper):
        return bytes(Channel(proxy_1).receive(PROXY_0, len(WELCOME)))


def test_a_client_with_the_right_certificate_is_taken_for_the_peer(
    house: House, identities: Identities
) -> None:
    """The control of the refusals below: this client lacks only what they take from it."""
    with visit(house.address, client(identities[HELPER])):
        assert knock(house.address, client(identities[PROXY_1])).endswith(WELCOME)


def test_a_tls_1_2_client_is_refused(house: House, identities: Identities) -> None:
    old_fashioned = client(identities[PROXY_1], newest=ssl.TLSVersion.TLSv1_2)
    assert knock(house.address, old_fashioned) == b"TLSV1_ALERT_PROTOCOL_VERSION"
    assert let_peers_in(house, identities) == WELCOME


def test_a_client_without_a_certificate_is_refused(house: House, identities: Identities) -> None:
    nameless = client(identities[PROXY_1], certificate=False)
    assert knock(house.address, nameless) == b"TLSV13_ALERT_CERTIFICATE_REQUIRED"
    assert let_peers_in(house, identities) == WELCOME


def test_a_certificate_of_another_authority_is_refused(
    house: House, identities: Identities, foreign: Identities
) -> None:
    assert knock(house.address, client(foreign[PROXY_1])) == b"TLSV1_ALERT_UNKNOWN_CA"
    assert let_peers_in(house, identities) == WELCOME


def test_a_certificate_for_no_awaited_role_is_refused(house: House, identities: Identities) -> None:
    assert knock(house.address, client(identities[PROXY_0])) == b""
    assert let_peers_in(house, identities) == WELCOME


def test_a_peer_cannot_take_the_place_of_the_other(house: House, identities: Identities) -> None:
    with visit(house.address, client(identities[HELPER])):
        assert knock(house.address, client(identities[HELPER])) == b""
        assert knock(house.address, client(identities[PROXY_1])).endswith(WELCOME)


@pytest.mark.parametrize(
    "words",
    [b"", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"GET / HTTP/1.0\r\n\r\n"],
    ids=["silence", "half a greeting", "no TLS"],
)
def test_a_stranger_that_lingers_holds_up_nobody(house: House, identities: Identities, words: bytes) -> None:
    with socket.create_connection(house.address, timeout=PATIENCE) as stranger:
        stranger.sendall(words)
        start = time.monotonic()
        assert let_peers_in(house, identities) == WELCOME
        assert time.monotonic() - start < 3
        house.owner.result(PATIENCE)
        assert is_dropped(stranger)


def is_dropped(stranger: socket.socket) -> bool:
    """The other end is closed, with or without last words."""
    try:
        while stranger.recv(1000):
            pass
    except ConnectionResetError:
        pass
    except TimeoutError:
        return False
    return True


def test_a_crowd_of_silent_strangers_makes_room_for_the_peers(
    house: House, identities: Identities, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ppaurora.channel.tls.connecting._MAX_PENDING", 4)
    with ExitStack() as cleanup:
        crowd = [
            cleanup.enter_context(socket.create_connection(house.address, timeout=PATIENCE)) for _ in range(6)
        ]
        assert all(is_dropped(stranger) for stranger in crowd[:2])
        crowd[2].settimeout(0.1)
        assert not is_dropped(crowd[2])
        assert let_peers_in(house, identities) == WELCOME
        house.owner.result(PATIENCE)
        assert all(is_dropped(stranger) for stranger in crowd[3:])


def test_a_stranger_that_leaves_at_once_harms_nobody(house: House, identities: Identities) -> None:
    for _ in range(5):
        socket.create_connection(house.address).close()
    assert let_peers_in(house, identities) == WELCOME


def test_peers_that_never_come_are_named(open_house: Callable[..., House], identities: Identities) -> None:
    house = open_house(timeout=0.5)
    with (
        socket.create_connection(house.address),
        visit(house.address, client(identities[PROXY_1])),
        pytest.raises(PeerTimeoutError, match="helper did not connect in time"),
    ):
        house.owner.result(PATIENCE)


def server(identity: Identity, newest: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> ssl.SSLContext:
    """A server that takes anybody, made without the code under test."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(identity.certificate, identity.key)
    context.maximum_version = newest
    return context


def serve_with(context: ssl.SSLContext) -> Callable[[socket.socket], None]:
    def serve(raw: socket.socket) -> None:
        with context.wrap_socket(raw, server_side=True) as sock:
            sock.recv(1)

    return serve


@pytest.fixture
def serve() -> Iterator[Callable[[Callable[[socket.socket], None]], Address]]:
    """Call it with what to do to the first one that connects; it returns the address."""
    conversations: list[Future[None]] = []

    def converse(listener: socket.socket, conversation: Callable[[socket.socket], None]) -> None:
        listener.settimeout(PATIENCE)
        with listener, listener.accept()[0] as raw:
            raw.settimeout(PATIENCE)
            conversation(raw)

    def serve(conversation: Callable[[socket.socket], None]) -> Address:
        listener = listen()
        conversations.append(pool.submit(converse, listener, conversation))
        return listener.getsockname()

    with ThreadPoolExecutor() as pool:
        yield serve
    for conversation in conversations:
        # The client hung up, in one way or another: nobody was left waiting.
        assert not isinstance(conversation.exception(), TimeoutError)


def join_as_proxy_1(identity: Identity, proxy_0: Address, timeout: float = 0.5) -> None:
    with listen() as listener:
        connect_parties(PROXY_1, identity, listener, {PROXY_0: proxy_0}, timeout).close()


def test_a_server_with_the_right_certificate_is_taken_for_the_peer(
    serve: Callable[..., Address], identities: Identities
) -> None:
    """The control of the refusals below: proxy 1 is content and goes on to wait for the helper."""
    address = serve(serve_with(server(identities[PROXY_0])))
    with pytest.raises(PeerTimeoutError, match="helper did not connect in time"):
        join_as_proxy_1(identities[PROXY_1], address)


def test_a_tls_1_2_server_is_refused(serve: Callable[..., Address], identities: Identities) -> None:
    host, port = serve(serve_with(server(identities[PROXY_0], newest=ssl.TLSVersion.TLSv1_2)))
    with pytest.raises(PeerMisbehavedError, match=f"proxy 0 at {host}:{port} failed .*PROTOCOL_VERSION"):
        join_as_proxy_1(identities[PROXY_1], (host, port))


def test_a_server_of_another_authority_is_refused(
    serve: Callable[..., Address], identities: Identities, foreign: Identities
) -> None:
    host, port = serve(serve_with(server(foreign[PROXY_0])))
    with pytest.raises(PeerMisbehavedError, match=f"proxy 0 at {host}:{port} .*CERTIFICATE_VERIFY_FAILED"):
        join_as_proxy_1(identities[PROXY_1], (host, port))


@pytest.mark.parametrize("role", [PROXY_1, HELPER])
def test_a_server_of_another_role_is_refused(
    serve: Callable[..., Address], identities: Identities, role: Role
) -> None:
    address = serve(serve_with(server(identities[role])))
    with pytest.raises(
        PeerMisbehavedError, match="proxy 0 presented a certificate whose key is not the one pinned"
    ):
        join_as_proxy_1(identities[PROXY_1], address)


def test_a_server_that_speaks_no_tls_is_refused(
    serve: Callable[..., Address], identities: Identities
) -> None:
    host, port = serve(lambda raw: raw.sendall(b"220 mail.example.org ESMTP\r\n"))
    with pytest.raises(PeerMisbehavedError, match=f"proxy 0 at {host}:{port} failed the TLS handshake"):
        join_as_proxy_1(identities[PROXY_1], (host, port))


def test_a_server_that_says_nothing_is_a_timeout(identities: Identities) -> None:
    with listen() as mute:
        host, port = mute.getsockname()
        with pytest.raises(PeerTimeoutError, match=f"proxy 0 at {host}:{port} did not answer"):
            join_as_proxy_1(identities[PROXY_1], (host, port), timeout=0.3)


def test_an_address_where_nobody_listens_is_named(identities: Identities) -> None:
    with listen() as gone:
        host, port = gone.getsockname()
    with pytest.raises(PeerLostError, match=f"proxy 0 cannot be reached at {host}:{port}: ") as caught:
        join_as_proxy_1(identities[PROXY_1], (host, port))
    assert caught.value.peer == "proxy 0"


def test_who_is_refused_learns_why(
    house: House,
    serve: Callable[..., Address],
    identities: Identities,
    foreign: Identities,
) -> None:
    """A helper whose own certificate is of the wrong authority hears so from the peer that it named."""
    mistaken = replace(
        foreign[HELPER], authorities=identities[HELPER].authorities, pins=identities[HELPER].pins
    )
    addresses = {PROXY_0: house.address, PROXY_1: serve(serve_with(server(identities[PROXY_1])))}
    with (
        listen() as listener,
        closing(connect_parties(HELPER, mistaken, listener, addresses, PATIENCE)) as transport,
        pytest.raises(PeerMisbehavedError, match=r"proxy 0 broke the TLS connection: .*UNKNOWN_CA"),
    ):
        Channel(transport).receive(PROXY_0, 1)
    assert let_peers_in(house, identities) == WELCOME


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
