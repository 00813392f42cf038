"""The port for the other nodes. TLS only; the name that a client asks for says what it is here for.

    control.ppaurora          a question of one line, answered with one line, by this process
    <number>.job.ppaurora     a computation: the socket is passed on to the process that runs it
    worker-<index>.<number>.job.ppaurora   likewise, of several workers; that process finds the worker

A question is answered only to whom a study's authorities vouch for; whoever computes checks its peers itself.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator

from ppaurora.channel.tls import listen, pass_socket, peer_pin
from ppaurora.channel.tls.hello import NotTlsError, peek_server_name, split_worker_name
from ppaurora.errors import reason_of
from ppaurora.io.models import from_json, to_json
from ppaurora.messages import VERSION
from ppaurora.messages.nodes import Answer, AnyQuestion, Verdict
from ppaurora.node.logs import RateLimitedLog, log_unforeseen
from ppaurora.node.questions import CONTROL, read_line

JOB = "job.ppaurora"
_SECONDS_TO_SPEAK = 10.0
_MOST_CONNECTIONS = 128
_MOST_THREADS = _MOST_CONNECTIONS + 32  # those who were told to go need a moment

Answering = Callable[[str, AnyQuestion], Answer]  # of a pin and a question

log = logging.getLogger(__name__)


def job_name(token: str) -> str:
    """What connections of an attempt ask for."""
    return f"{token}.{JOB}"


class SniRouter:
    """Listens from its creation, and lets in from `open` until `close`."""

    def __init__(self, address: tuple[str, int], context: ssl.SSLContext) -> None:
        self._context = context
        self._jobs: dict[str, socket.socket] = {}
        self._lock = threading.Lock()
        self._connections: dict[int, socket.socket] = {}  # not yet passed on or answered; oldest first
        self._threads = threading.Semaphore(_MOST_THREADS)
        self._listener = listen(*address)
        self._closed = False
        self._refusals = RateLimitedLog(log)

    @property
    def address(self) -> tuple[str, int]:
        host, port, *_ = self._listener.getsockname()
        return host, port

    def open(self, answer: Answering) -> None:
        self._answer = answer
        threading.Thread(target=self._accept, name="gate", daemon=True).start()

    @contextlib.contextmanager
    def expecting(self, token: str) -> Iterator[socket.socket]:
        """While open: connections for this attempt arrive at the other end of the socket that is given."""
        name = job_name(token)
        with self._lock:
            if name in self._jobs:
                raise ValueError("a job of this name is expected already")
            ours, theirs = socket.socketpair()
            ours.setblocking(False)  # a flood of connections to one job must not hold up the others
            self._jobs[name] = ours
        try:
            with theirs:
                yield theirs
        finally:
            with self._lock:
                del self._jobs[name]
            ours.close()

    def close(self) -> None:
        self._closed = True
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        number = 0
        while not self._closed:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                time.sleep(0.05)  # out of descriptors, perhaps: let some go
                continue
            number += 1
            with self._lock:
                self._connections[number] = connection
                if len(self._connections) > _MOST_CONNECTIONS:
                    # When too many stand here, the first has to go: a peer needs but a moment.
                    evicted = self._connections.pop(min(self._connections))
                    with contextlib.suppress(OSError):
                        evicted.shutdown(socket.SHUT_RDWR)
            self._threads.acquire()
            try:
                threading.Thread(target=self._attend, args=(number, connection), daemon=True).start()
            except RuntimeError:  # the machine has no more threads: let some end
                self._leave(number)
                connection.close()
                time.sleep(0.05)

    def _attend(self, number: int, connection: socket.socket) -> None:
        try:
            with connection:
                self._route(number, connection)
        except (OSError, NotTlsError) as error:
            self._refused(reason_of(error))
        except Exception as error:
            # Whatever somebody unknown sends, its text stays out of the log.
            self._refused(type(error).__name__)
        finally:
            self._leave(number)

    def _refused(self, reason: str) -> None:
        self._refusals.info("a connection to the nodes' port was refused", {"reason": reason})

    def _leave(self, number: int) -> None:
        with self._lock:
            self._connections.pop(number, None)
        self._threads.release()

    def _route(self, number: int, connection: socket.socket) -> None:
        connection.settimeout(_SECONDS_TO_SPEAK)
        name = peek_server_name(connection, _SECONDS_TO_SPEAK, lambda: number in self._connections)
        if name == CONTROL:
            self._converse(connection)
            return
        with self._lock:
            job = self._jobs.get(split_worker_name(name or "")[1])
            if job is not None:
                pass_socket(job, connection)
        if job is None:
            raise NotTlsError("asked for a computation that does not run here")

    def _converse(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # an answer waits for nothing
        with self._context.wrap_socket(connection, server_side=True) as sock:
            try:
                question: AnyQuestion = from_json(AnyQuestion, read_line(sock))
            except (ValueError, RecursionError) as error:
                log.warning("a question could not be understood", extra={"reason": type(error).__name__})
                note = f"this node speaks version {VERSION}"
                answer = Answer(answer=Verdict.NOT_UNDERSTOOD, note=note)
            else:
                answer = self._answered(peer_pin(sock), question)
            sock.sendall(to_json(answer) + b"\n")

    def _answered(self, pin: str, question: AnyQuestion) -> Answer:
        """What fails here is this node's trouble, not the caller's: its operator is told."""
        try:
            return self._answer(pin, question)
        except Exception as error:
            log_unforeseen(log, "a question could not be answered", error)
            raise
