"""Addresses that accept every connection and stay silent, as a machine does whose disk hangs."""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
from collections import Counter
from typing import Self


class SilentAddresses:
    """Ports of this machine; a connection to one is accepted, kept, and never answered."""

    def __init__(self, count: int = 1) -> None:
        listeners = [socket.create_server(("127.0.0.1", 0), backlog=1024) for _ in range(count)]
        self.ports: list[int] = [listener.getsockname()[1] for listener in listeners]
        self.connections = 0
        self.most_at_once = 0  # at one port
        self._open = Counter[int]()  # by port
        self._selector = selectors.DefaultSelector()
        self._closing, self._close = socket.socketpair()
        for sock in (*listeners, self._closing):
            self._selector.register(sock, selectors.EVENT_READ, self._accept)
        self._thread = threading.Thread(target=self._listen, name="silent", daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._closing:
                    return
                assert isinstance(key.fileobj, socket.socket)
                key.data(key.fileobj)

    def _accept(self, listener: socket.socket) -> None:
        sock, _ = listener.accept()
        self._selector.register(sock, selectors.EVENT_READ, self._read)
        port = listener.getsockname()[1]
        self._open[port] += 1
        self.connections += 1
        self.most_at_once = max(self.most_at_once, self._open[port])

    def _read(self, sock: socket.socket) -> None:
        """Notice when the other end gives up; what it says is not answered."""
        with contextlib.suppress(ConnectionError):
            if sock.recv(1 << 16):
                return
        self._open[sock.getsockname()[1]] -= 1
        self._selector.unregister(sock)
        sock.close()

    def close(self) -> None:
        """Break off every connection; from then on the ports refuse."""
        self._close.close()
        self._thread.join()
        for key in list(self._selector.get_map().values()):
            assert isinstance(key.fileobj, socket.socket)
            key.fileobj.close()
        self._selector.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
