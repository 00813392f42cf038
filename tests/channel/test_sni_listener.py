"""A shared port: connections go by the name that they ask for, and a crowd drives out itself."""

from __future__ import annotations

import contextlib
import queue
import socket
import ssl
from collections.abc import Iterator

import pytest

from ppaurora.channel.tls import listen, sni_listener
from ppaurora.channel.tls.sni_listener import SniListener

PATIENCE = 120.0


class Port:
    """A listener with room for two, whose route notes the names that were asked for."""

    def __init__(self) -> None:
        self.names: queue.Queue[str] = queue.Queue()
        self.reasons: queue.Queue[str] = queue.Queue()
        self.socket = listen()
        self.listener = SniListener(self.socket, self._route, self.reasons.put, most=2)

    def _route(self, name: str, connection: socket.socket) -> None:
        if name == "nobody":
            raise ValueError("a text that may quote what was sent")
        self.names.put(name)
        connection.close()

    def connect(self) -> socket.socket:
        return socket.create_connection(self.socket.getsockname(), timeout=PATIENCE)

    def ask_for(self, name: str) -> None:
        with self.connect() as raw, contextlib.suppress(OSError):
            ssl.create_default_context().wrap_socket(raw, server_hostname=name)


@pytest.fixture
def port() -> Iterator[Port]:
    port = Port()
    port.listener.start()
    yield port
    port.listener.close()
    port.socket.close()


def test_a_connection_is_routed_by_its_name(port: Port) -> None:
    for name in ("one", "another"):
        port.ask_for(name)
        assert port.names.get(timeout=PATIENCE) == name


def test_of_those_who_say_nothing_the_oldest_goes(port: Port, monkeypatch: pytest.MonkeyPatch) -> None:
    """Because there are too many: for being silent, nobody would have to go while this test waits."""
    monkeypatch.setattr(sni_listener, "_SECONDS_TO_SPEAK", 10 * PATIENCE)
    with port.connect() as first, port.connect() as second, port.connect():
        assert first.recv(1) == b""
        port.ask_for("one")
        assert port.names.get(timeout=PATIENCE) == "one"
        assert second.recv(1) == b""
    assert port.reasons.qsize() >= 2


def test_who_is_not_routed_is_closed_and_its_text_told_to_nobody(port: Port) -> None:
    port.ask_for("nobody")
    assert port.reasons.get(timeout=PATIENCE) == "ValueError"


def test_one_that_was_never_started_can_be_closed() -> None:
    port = Port()
    port.listener.close()
    port.socket.close()


def test_those_that_wait_when_it_is_closed_are_broken_off_and_routed_nowhere(port: Port) -> None:
    with port.connect() as silent, port.connect() as late:
        port.ask_for("one")
        assert port.names.get(timeout=PATIENCE) == "one"  # so the others have arrived
        port.listener.close()
        assert silent.recv(1) == b""
        with contextlib.suppress(OSError):
            ssl.create_default_context().wrap_socket(late, server_hostname="late")
    assert port.names.empty()


def test_one_that_its_route_holds_up_goes_when_others_come() -> None:
    """A route that speaks TLS has taken the socket from the connection by then: its handle still ends it."""
    held: queue.Queue[bytes] = queue.Queue()

    def route(name: str, connection: socket.socket) -> None:
        with socket.socket(fileno=connection.detach()) as taken:
            held.put(b"held")
            taken.recv(1 << 16)  # the hello
            taken.settimeout(PATIENCE)
            held.put(taken.recv(1))

    with listen() as raw, contextlib.ExitStack() as crowd:
        listener = SniListener(raw, route, most=2)
        listener.start()
        crowd.callback(listener.close)
        first = crowd.enter_context(socket.create_connection(raw.getsockname(), timeout=PATIENCE))
        context = ssl.create_default_context()
        outgoing = ssl.MemoryBIO()
        with contextlib.suppress(ssl.SSLWantReadError):
            context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="holds").do_handshake()
        first.sendall(outgoing.read())
        assert held.get(timeout=PATIENCE) == b"held"
        for _ in range(3):
            crowd.enter_context(socket.create_connection(raw.getsockname(), timeout=PATIENCE))
        assert held.get(timeout=PATIENCE) == b""
