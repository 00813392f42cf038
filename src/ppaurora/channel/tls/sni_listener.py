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
        # Handles of those that wait or are being routed, the oldest first. TLS takes the connection itself.
        self._connections: dict[int, socket.socket] = {}
        self._closed = False
        self._threads = threading.Semaphore(most + _MORE_THREADS)
        self._closing, self._close = socket.socketpair()
        self._thread: threading.Thread | None = None
        listener.setblocking(False)

    def start(self) -> None:
        """Accept in a thread of its own from now on."""
        self._thread = threading.Thread(target=self._accept, name="listener", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Accept nobody any more, and break off those that wait; the listening socket is its owner's."""
        with self._lock:
            self._closed = True
            for number in list(self._connections):
                self._break_off(number)
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
                number += 1
                try:
                    connection, _ = self._listener.accept()
                    self._let_wait(number, connection)
                except BlockingIOError:
                    continue
                except OSError:  # out of descriptors, perhaps: let some go
                    time.sleep(_SECONDS_TO_RECOVER)

    def _let_wait(self, number: int, connection: socket.socket) -> None:
        """Keep the connection until its first record is here; the oldest goes if there are too many."""
        try:
            handle = connection.dup()
        except OSError:
            connection.close()
            raise
        with self._lock:
            self._connections[number] = handle
            if self._closed:
                self._break_off(number)
            elif len(self._connections) > self._most:
                self._break_off(min(self._connections))
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

    def _break_off(self, number: int) -> None:
        """End a connection, whoever has it by now; the lock is held."""
        with self._connections.pop(number) as handle, contextlib.suppress(OSError):
            handle.shutdown(socket.SHUT_RDWR)

    def _leave(self, number: int) -> None:
        with self._lock:
            handle = self._connections.pop(number, None)
        if handle is not None:
            handle.close()
        self._threads.release()
