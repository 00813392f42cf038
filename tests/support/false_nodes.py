"""Nodes that have the right key and say whatever a test has them say."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator

from ppaurora.channel.tls import listen
from ppaurora.study.kit import NodeKit
from ppaurora.testing.consortium import Consortium

Says = Callable[[bytes], None]


@contextlib.contextmanager
def false_node(consortium: Consortium, name: str, port: int, end: bytes) -> Iterator[Says]:
    """With a node's key, at one of its ports: says what it is told to, once it has been asked.

    A question is over with `end`.
    """
    kit = NodeKit.read(consortium.kit(name))
    context = kit.identity(consortium.manifest).context(ssl.Purpose.CLIENT_AUTH)
    answer = b""

    def say(text: bytes) -> None:
        nonlocal answer
        answer = text

    def serve() -> None:
        while True:
            try:
                raw, _ = listener.accept()
            except OSError:
                return
            raw.settimeout(60)
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with contextlib.suppress(OSError), raw, context.wrap_socket(raw, server_side=True) as sock:
                query = b""
                while end not in query and (piece := sock.recv(1 << 16)):
                    query += piece
                sock.sendall(answer)

    with listen("127.0.0.1", port) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield say
        listener.shutdown(socket.SHUT_RDWR)
    thread.join()


def response(body: bytes, status: str = "200 OK", length: int | None = None) -> bytes:
    """Return an HTTP response."""
    announced = len(body) if length is None else length
    return f"HTTP/1.1 {status}\r\nContent-Length: {announced}\r\n\r\n".encode() + body
