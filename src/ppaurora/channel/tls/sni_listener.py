"""A port that several listeners share: each connection goes where the name in its TLS hello says."""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
import time
from collections.abc import Callable

from ppaurora.channel.tls.connecting import Listener
from ppaurora.channel.tls.hello import NotTlsError, peek_server_name
from ppaurora.errors import reason_of

_SECONDS_TO_SPEAK = 10.0
_SECONDS_TO_RECOVER = 0.05
_MORE_THREADS = 32  # those who were told to go need a moment

Route = Callable[[str, socket.socket], None]


class SniListener:
    """Accepts from `start` until `close`, and gives every connection to `route`, with the name asked for.

    Nothing is read from a connection but a look at its first record. It waits for that in a thread of its
    own, in which it is routed, too. When more than `most` wait, the oldest has to go: a peer needs but a
    moment, and a crowd drives out itself. From the call of `route` on the connection is the route's; if it
    raises, the connection is closed, and `refused` is told the reason.
    """

    def __init__(
        self,
        listener: Listener,
        route: Route,
        refused: Callable[[str], None] = lambda reason: None,
        *,
        most: int = 128,
    ) -> None:
        self._listener = listener
        self._route = route
        self._refused = refused
        self._most = most
        self._lock = threading.Lock()
        self._connections: dict[int, socket.socket] = {}  # that wait or are being routed; the oldest first
        self._threads = threading.Semaphore(most + _MORE_THREADS)
        self._closing, self._close = socket.socketpair()
        self._thread: threading.Thread | None = None
        listener.setblocking(False)

    def start(self) -> None:
        """Accept in a thread of its own from now on."""
        self._thread = threading.Thread(target=self._accept, name="listener", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Accept nobody any more; the listening socket itself is its owner's to close."""
        self._close.close()
        if self._thread is not None:
            self._thread.join()
        self._closing.close()

    def _accept(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._listener, selectors.EVENT_READ)
            selector.register(self._closing, selectors.EVENT_READ)
            number = 0
            while all(key.fileobj is not self._closing for key, _ in selector.select()):
                try:
                    connection, _ = self._listener.accept()
                except BlockingIOError:
                    continue
                except OSError:  # out of descriptors, perhaps: let some go
                    time.sleep(_SECONDS_TO_RECOVER)
                    continue
                number += 1
                self._let_wait(number, connection)

    def _let_wait(self, number: int, connection: socket.socket) -> None:
        """Keep the connection until its first record is here; the oldest goes if there are too many."""
        with self._lock:
            self._connections[number] = connection
            if len(self._connections) > self._most:
                evicted = self._connections.pop(min(self._connections))
                with contextlib.suppress(OSError):
                    evicted.shutdown(socket.SHUT_RDWR)
        self._threads.acquire()
        try:
            threading.Thread(target=self._attend, args=(number, connection), daemon=True).start()
        except RuntimeError:  # the machine has no more threads: let some end
            self._leave(number)
            connection.close()
            time.sleep(_SECONDS_TO_RECOVER)

    def _attend(self, number: int, connection: socket.socket) -> None:
        try:
            connection.settimeout(_SECONDS_TO_SPEAK)
            name = peek_server_name(connection, _SECONDS_TO_SPEAK, lambda: number in self._connections)
            self._route(name or "", connection)
        except Exception as error:
            connection.close()
            # Whatever somebody unknown sends, its text stays out of the log.
            is_known = isinstance(error, OSError | NotTlsError)
            self._refused(reason_of(error) if is_known else type(error).__name__)
        finally:
            self._leave(number)

    def _leave(self, number: int) -> None:
        with self._lock:
            self._connections.pop(number, None)
        self._threads.release()
