"""What stands between a client and a node's port: it passes bytes on, unopened."""

from __future__ import annotations

import contextlib
import selectors
import socket
import struct
import threading
from abc import ABC, abstractmethod


class Between(ABC):
    """Listens on a port of this machine; everybody who comes is served by a thread."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._welcome, args=(client,), daemon=True).start()

    def _welcome(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError):
            self.serve(client)

    @abstractmethod
    def serve(self, client: socket.socket) -> None:
        """One connection, to its end."""


class Relay(Between):
    """To a port of this machine; counts who comes by."""

    def __init__(self, port: int) -> None:
        self.connections = 0
        self._counting = threading.Lock()
        self._target = port
        super().__init__()

    def serve(self, client: socket.socket) -> None:
        with self._counting:
            self.connections += 1
        pass_on(client, ("127.0.0.1", self._target))


def pass_on(client: socket.socket, address: tuple[str, int]) -> None:
    """Bytes in both directions."""
    with socket.create_connection(address) as server:
        back = threading.Thread(target=_pipe, args=(server, client), daemon=True)
        back.start()
        _pipe(client, server)
        back.join()


def _pipe(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while piece := source.recv(1 << 16):
            sink.sendall(piece)
        sink.shutdown(socket.SHUT_WR)


class CuttingRelay(Between):
    """To a port of this machine; connections are cut off after so many bytes, as by a network that fails."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._lock = threading.Lock()
        self.carried: list[int] = []  # bytes of each connection so far, in both directions
        self.cut(None)
        super().__init__()

    def cut(self, after: int | None, *, spared: int = 0, reset: bool = False) -> None:
        """Cut off the next connection but so many `spared` ones; none at all without a number of bytes."""
        with self._lock:
            self._after, self._reset = after, reset
            self._cut_next = len(self.carried) + spared

    def serve(self, client: socket.socket) -> None:
        with self._lock:
            number = len(self.carried)
            self.carried.append(0)
            left = self._after if number == self._cut_next else None
            reset = self._reset
        with (
            socket.create_connection(("127.0.0.1", self._target)) as server,
            selectors.DefaultSelector() as selector,
        ):
            others = {client: server, server: client}
            for sock in others:
                selector.register(sock, selectors.EVENT_READ)
            while left is None or left > 0:
                for key, _ in selector.select():
                    source = key.fileobj
                    assert isinstance(source, socket.socket)
                    piece = source.recv(1 << 16 if left is None else max(left, 1))[:left]
                    if not piece:
                        return
                    others[source].sendall(piece)
                    self.carried[number] += len(piece)
                    left = None if left is None else left - len(piece)
            if reset:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
