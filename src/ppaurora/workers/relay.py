"""A connection handed on to a worker on another machine: bytes in both directions, read by nobody here.

TLS is between the workers: what passes here is encrypted for them.
"""

from __future__ import annotations

import contextlib
import socket
import threading

_PIECE = 1 << 18
_SECONDS_TO_CONNECT = 10.0


def relay(connection: socket.socket, address: tuple[str, int]) -> None:
    """Pass bytes on in both directions until either side ends, in threads of its own."""
    try:
        worker = socket.create_connection(address, _SECONDS_TO_CONNECT)
    except OSError:  # that a worker is gone is heard elsewhere
        connection.close()
        return
    worker.settimeout(None)
    for sock in (connection, worker):
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for source, sink in ((connection, worker), (worker, connection)):
        threading.Thread(target=_pump, args=(source, sink), daemon=True).start()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    buffer = memoryview(bytearray(_PIECE))
    with contextlib.suppress(OSError):
        while count := source.recv_into(buffer):
            sink.sendall(buffer[:count])
    # The last words have been passed on: the other side hears that nothing follows them.
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
    with contextlib.suppress(OSError):
        source.shutdown(socket.SHUT_RD)
