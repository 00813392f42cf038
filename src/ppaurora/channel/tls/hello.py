"""Which name a TLS client asks for (SNI), read from its first message without taking it from the socket.

All computations of a node share one port. The name tells which process a connection is for, before
anybody has spoken TLS with it. It is routing only: who the client is, its certificate says later.
"""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Callable

from ppaurora.channel.tls.polling import READABLE, new_poll

_HANDSHAKE, _CLIENT_HELLO, _SERVER_NAME, _HOST_NAME = 22, 1, 0, 0
RECORD_HEADER = 5
_MOST_BYTES = RECORD_HEADER + (1 << 14)
_WORKER = re.compile(r"worker-([0-9]{1,3})\.(.+)", re.ASCII)


def worker_name(worker: int, name: str) -> str:
    """Return the name that connections to one of several workers ask for."""
    return f"worker-{worker}.{name}"


def split_worker_name(name: str) -> tuple[int | None, str]:
    """Return which worker is meant, if one is, and the name of all of them together."""
    found = _WORKER.fullmatch(name)
    return (None, name) if found is None else (int(found[1]), found[2])


class NotTlsError(Exception):
    """A connection does not begin as TLS does, or asks for nothing that is here."""


def peek_server_name(
    connection: socket.socket, seconds: float, may_stay: Callable[[], bool] = lambda: True
) -> str | None:
    """Wait for the first record, leave it where it is, and return the name that it asks for."""
    deadline = time.monotonic() + seconds
    ready = new_poll()
    ready.register(connection.fileno(), READABLE)
    while True:
        remaining = deadline - time.monotonic()
        if remaining <= 0 or not may_stay() or not ready.poll(remaining * 1000):
            raise TimeoutError("no complete TLS hello in time")
        seen = connection.recv(_MOST_BYTES, socket.MSG_PEEK)
        if not seen:
            raise NotTlsError("closed before it said anything")
        length = first_record_bytes(seen)
        if len(seen) >= length > RECORD_HEADER:
            return server_name(seen[RECORD_HEADER:length])
        time.sleep(0.05)  # a part is here already, so poll would not wait


def first_record_bytes(seen: bytes) -> int:
    """Return how long the first record is, from what is seen of it; its header at least."""
    if seen[0] != _HANDSHAKE:
        raise NotTlsError("does not speak TLS")
    if len(seen) < RECORD_HEADER:
        return RECORD_HEADER
    length = int.from_bytes(seen[3:5], "big")
    if length > 1 << 14:
        raise NotTlsError("sent an oversized first record")
    if not length:
        raise NotTlsError("sent an empty first record")
    return RECORD_HEADER + length


def server_name(hello: bytes) -> str | None:
    """Return the name in a ClientHello message, RFC 8446 section 4.1.2 and RFC 6066 section 3."""
    try:
        return _server_name(_Reader(hello))
    except IndexError:
        raise NotTlsError("sent a hello that ends too early") from None


def _server_name(message: _Reader) -> str | None:
    if message.number(1) != _CLIENT_HELLO:
        raise NotTlsError("began with something else than a hello")
    body = _Reader(message.vector(3))
    body.take(2 + 32)  # version and random
    body.vector(1)  # session
    body.vector(2)  # ciphers
    body.vector(1)  # compression
    extensions = _Reader(body.vector(2))
    while extensions.left:
        kind, content = extensions.number(2), _Reader(extensions.vector(2))
        if kind == _SERVER_NAME:
            names = _Reader(content.vector(2))
            while names.left:
                if names.number(1) == _HOST_NAME:
                    return names.vector(2).decode("ascii", "replace")
                names.vector(2)
    return None


class _Reader:
    """Numbers and length-prefixed vectors, one after the other."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    @property
    def left(self) -> int:
        return len(self._content) - self._at

    def take(self, count: int) -> bytes:
        if count > self.left:
            raise IndexError
        self._at += count
        return self._content[self._at - count : self._at]

    def number(self, count: int) -> int:
        return int.from_bytes(self.take(count), "big")

    def vector(self, prefix: int) -> bytes:
        return self.take(self.number(prefix))
