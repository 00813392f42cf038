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
from collections.abc import Callable, Iterator

from ppaurora.channel.tls import listen, pass_socket, peer_pin
from ppaurora.channel.tls.hello import NotTlsError, split_worker_name
from ppaurora.channel.tls.sni_listener import SniListener
from ppaurora.io.models import from_json, to_json
from ppaurora.messages import SUPPORTED
from ppaurora.messages.nodes import Answer, AnyQuestion, Verdict
from ppaurora.node.logs import RefusedConnections, log_unforeseen
from ppaurora.node.questions import CONTROL, read_line

JOB = "job.ppaurora"

Answering = Callable[[str, AnyQuestion], Answer]  # of a pin and a question

log = logging.getLogger(__name__)


def job_name(token: str) -> str:
    """Return the name that connections of an attempt ask for."""
    return f"{token}.{JOB}"


class SniRouter:
    """Listens from its creation, and lets in from `open` until `close`."""

    def __init__(self, address: tuple[str, int], context: ssl.SSLContext) -> None:
        self._context = context
        self._jobs: dict[str, socket.socket] = {}
        self._lock = threading.Lock()
        self._refusals = RefusedConnections(log, "nodes'")
        self._socket = listen(*address)
        self._listener = SniListener(self._socket, self._route, self._refusals.tell)

    @property
    def address(self) -> tuple[str, int]:
        host, port, *_ = self._socket.getsockname()
        return host, port

    def open(self, answer: Answering) -> None:
        """Let in from now on, and have questions answered like this."""
        self._answer = answer
        self._listener.start()

    @contextlib.contextmanager
    def expecting(self, token: str) -> Iterator[socket.socket]:
        """Yield a socket at whose other end connections for this attempt arrive meanwhile."""
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
        """Let in nobody any more."""
        self._listener.close()
        self._socket.close()

    def _route(self, name: str, connection: socket.socket) -> None:
        with connection:
            if name == CONTROL:
                self._converse(connection)
                return
            with self._lock:
                job = self._jobs.get(split_worker_name(name)[1])
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
                note = f"this node speaks versions {SUPPORTED}"
                answer = Answer(answer=Verdict.NOT_UNDERSTOOD, note=note)
            else:
                answer = self._answered(peer_pin(sock), question)
            sock.sendall(to_json(answer) + b"\n")

    def _answered(self, pin: str, question: AnyQuestion) -> Answer:
        """Return the answer to a question; an error is this node's trouble, and its operator is told."""
        try:
            return self._answer(pin, question)
        except Exception as error:
            log_unforeseen(log, "a question could not be answered", error)
            raise
