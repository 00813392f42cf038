"""Where connections for a server's workers arrive, all at one entrance; the name asked for says for whom."""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
from collections.abc import Callable

from ppaurora.channel.tls import Listener, PassedSockets
from ppaurora.channel.tls.hello import NotTlsError, peek_server_name, split_worker_name

_SECONDS_TO_SPEAK = 10.0
_SECONDS_TO_RECOVER = 0.05
_MOST_WAITING = 256

Admit = Callable[[int, socket.socket], None]


class WorkerListener:
    """Lets in from its creation until it is closed; what arrives is read by nobody but the worker."""

    def __init__(self, listener: socket.socket, workers: int, admit: Admit, *, passed: bool) -> None:
        self._listener_socket = listener
        self._workers = workers
        self._admit = admit
        self._listener: Listener = PassedSockets(listener) if passed else listener
        self._listener.setblocking(False)
        self._waiting = threading.Semaphore(_MOST_WAITING)
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._accept, name="lobby", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._closed.set()
        self._thread.join()
        self._listener_socket.close()

    def _accept(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._listener_socket, selectors.EVENT_READ)
            while not self._closed.is_set():
                if not selector.select(0.1):
                    continue
                try:
                    connection, _ = self._listener.accept()
                except BlockingIOError:
                    continue
                except OSError:  # out of descriptors, perhaps: let some go
                    self._closed.wait(_SECONDS_TO_RECOVER)
                    continue
                self._attend(connection)

    def _attend(self, connection: socket.socket) -> None:
        self._waiting.acquire()
        try:
            threading.Thread(target=self._route, args=(connection,), daemon=True).start()
        except RuntimeError:  # the machine has no more threads: let some end
            self._waiting.release()
            connection.close()
            self._closed.wait(_SECONDS_TO_RECOVER)

    def _route(self, connection: socket.socket) -> None:
        """A stranger is shown the door; so is who wants a worker that there is not."""
        try:
            connection.settimeout(_SECONDS_TO_SPEAK)
            with contextlib.suppress(OSError, NotTlsError):
                name = peek_server_name(connection, _SECONDS_TO_SPEAK, lambda: not self._closed.is_set())
                worker, _ = split_worker_name(name or "")
                if worker is not None and worker < self._workers:
                    connection.settimeout(None)
                    self._admit(worker, connection)
                    return
            connection.close()
        finally:
            self._waiting.release()
