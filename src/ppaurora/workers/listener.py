"""Where connections for all workers of a server arrive; the name asked for says for which of them."""

from __future__ import annotations

import socket
from collections.abc import Callable

from ppaurora.channel.tls import PassedSockets
from ppaurora.channel.tls.hello import NotTlsError, split_worker_name
from ppaurora.channel.tls.sni_listener import SniListener

_MOST_WAITING = 256  # more than all peers of all workers are at once

Admit = Callable[[int, socket.socket], None]


class WorkerListener:
    """Accepts from its creation until it is closed; what arrives is read by nobody but the worker."""

    def __init__(self, listener: socket.socket, workers: int, admit: Admit, *, passed: bool) -> None:
        self._socket = listener
        self._workers = workers
        self._admit = admit
        arriving = PassedSockets(listener) if passed else listener
        self._listener = SniListener(arriving, self._route, most=_MOST_WAITING)
        self._listener.start()

    def close(self) -> None:
        """Accept nobody any more."""
        self._listener.close()
        self._socket.close()

    def _route(self, name: str, connection: socket.socket) -> None:
        worker, _ = split_worker_name(name)
        if worker is None or worker >= self._workers:
            raise NotTlsError("asked for a worker that there is not")
        connection.settimeout(None)
        self._admit(worker, connection)
