"""A shared port: connections go by the name that they ask for, and a crowd drives out itself."""

from __future__ import annotations

import contextlib
import queue
import socket
import ssl
from collections.abc import Iterator

import pytest

from ppaurora.channel.tls import listen
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


def test_of_those_who_say_nothing_the_oldest_goes(port: Port) -> None:
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
