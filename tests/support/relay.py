"""A relay in front of a node's port that counts who comes by."""

from __future__ import annotations

import contextlib
import socket
import threading


class Relay:
    """Bytes in both directions, unopened, to a port of this machine."""

    def __init__(self, port: int) -> None:
        self.connections = 0
        self._target = port
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
                self.connections += 1
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with (
            client,
            contextlib.suppress(OSError),
            socket.create_connection(("127.0.0.1", self._target)) as node,
        ):
            back = threading.Thread(target=pipe, args=(node, client), daemon=True)
            back.start()
            pipe(client, node)
            back.join()


def pipe(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while piece := source.recv(1 << 16):
            sink.sendall(piece)
        sink.shutdown(socket.SHUT_WR)
