"""Three connected parties, in memory and over TLS; and single ones, to be met by peers of the test's own."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from ppaurora.channel.base import Channel
from ppaurora.channel.memory import memory_transports
from ppaurora.channel.tls import TlsTransport, connect_parties, listen
from ppaurora.local.certificates import make_identities
from ppaurora.suites.role import Role
from tests.support.channels import PATIENCE, Address, Connect, ConnectTls, Identities, tls_transports
from tests.support.tls_peers import GREETING, AcceptingParty, Serve


@pytest.fixture(scope="package")
def identities(tmp_path_factory: pytest.TempPathFactory) -> Identities:
    return make_identities(tmp_path_factory.mktemp("identities"), Role)


@pytest.fixture
def connect_tls(identities: Identities) -> Iterator[ConnectTls]:
    """Call it for three connected transports; they are closed after the test."""
    opened: list[TlsTransport] = []

    def connect(timeout: float = PATIENCE) -> list[TlsTransport]:
        opened.extend(tls_transports(identities, timeout))
        return opened[-3:]

    yield connect
    for transport in opened:
        transport.close()


@pytest.fixture(params=["memory", "tls"])
def connect(request: pytest.FixtureRequest) -> Connect:
    if request.param == "tls":
        over_tls: Connect = request.getfixturevalue("connect_tls")
        return over_tls
    return lambda timeout=PATIENCE: memory_transports(Role, timeout)


@pytest.fixture
def channels(connect: Connect) -> list[Channel]:
    return [Channel(transport) for transport in connect()]


@pytest.fixture(scope="package")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Identities:
    """The same roles, certified by another authority."""
    return make_identities(tmp_path_factory.mktemp("foreign"), Role)


@pytest.fixture
def start_accepting(identities: Identities) -> Iterator[Callable[..., AcceptingParty]]:
    started: list[AcceptingParty] = []

    def accept_peers(listener: socket.socket, timeout: float) -> TlsTransport:
        with listener:
            transport = connect_parties(Role.PROXY_0, identities[Role.PROXY_0], listener, {}, timeout)
        Channel(transport).send(Role.PROXY_1, GREETING)
        return transport

    def start_accepting(timeout: float = PATIENCE) -> AcceptingParty:
        listener = listen()
        started.append(AcceptingParty(listener.getsockname(), pool.submit(accept_peers, listener, timeout)))
        return started[-1]

    with ThreadPoolExecutor() as pool:
        yield start_accepting
    for accepting in started:
        if accepting.transport.exception() is None:
            accepting.transport.result().close()


@pytest.fixture
def accepting(start_accepting: Callable[..., AcceptingParty]) -> AcceptingParty:
    return start_accepting()


@pytest.fixture
def serve() -> Iterator[Serve]:
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
        address: Address = listener.getsockname()
        return address

    with ThreadPoolExecutor() as pool:
        yield serve
    for conversation in conversations:
        # The client hung up, in one way or another: nobody was left waiting.
        assert not isinstance(conversation.exception(), TimeoutError)
