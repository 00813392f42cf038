"""The port for the other nodes. TLS only; the name that a client asks for says what it is here for.

    control.ppaurora          a question of one line, answered with one line, by this process
    <number>.job.ppaurora     a computation: the socket is passed on to the process that runs it

A control question is answered only to a node that a study's manifest names; whoever computes checks
its peers itself.
"""

from __future__ import annotations

import contextlib
import json
import logging
import socket
import ssl
import threading
import time
from collections.abc import Callable
from typing import Any

from ppaurora.channel.tls import listen, pass_socket, peer_pin, tls_context
from ppaurora.errors import PeerError, PeerLostError, PeerMisbehavedError
from ppaurora.node.hello import NotTlsError, peek_server_name
from ppaurora.study.kit import NodeKit
from ppaurora.study.manifest import Manifest
from ppaurora.suites.role import Role

CONTROL = "control.ppaurora"
JOB = "job.ppaurora"
_SECONDS_TO_SPEAK = 10.0
_MOST_GUESTS = 128
_MOST_THREADS = _MOST_GUESTS + 32  # those who were told to go need a moment
_LONGEST_LINE = 1 << 22

Answer = Callable[[str, dict[str, Any]], dict[str, Any]]  # of a pin and a question

log = logging.getLogger(__name__)


def job_name(job: str) -> str:
    return f"{job}.{JOB}"


class Gate:
    """Accepts connections until it is closed."""

    def __init__(self, kit: NodeKit, address: tuple[str, int], answer: Answer) -> None:
        self._kit = kit
        self._answer = answer
        self._context = tls_context(ssl.Purpose.CLIENT_AUTH, kit.certificate, kit.key, "")
        self._trusted: set[str] = set()
        self._jobs: dict[str, socket.socket] = {}
        self._lock = threading.Lock()
        self._guests: dict[int, socket.socket] = {}  # by number, oldest first
        self._threads = threading.Semaphore(_MOST_THREADS)
        self._listener = listen(*address)
        self._closed = False
        threading.Thread(target=self._accept, name="gate", daemon=True).start()

    @property
    def address(self) -> tuple[str, int]:
        host, port, *_ = self._listener.getsockname()
        return host, port

    def trust(self, manifest: Manifest) -> None:
        """Let in whom this study's authorities vouch for; what they may ask is for pins to say."""
        with self._lock:
            if manifest.authorities not in self._trusted:
                self._context.load_verify_locations(cadata=manifest.authorities)
                self._trusted.add(manifest.authorities)

    @contextlib.contextmanager
    def expecting(self, job: str) -> Any:
        """While open: connections for this job arrive at the other end of the socket that is given."""
        with self._lock:
            if job_name(job) in self._jobs:
                raise ValueError("a job of this name is expected already")
            ours, theirs = socket.socketpair()
            ours.setblocking(False)  # a flood of connections to one job must not hold up the others
            self._jobs[job_name(job)] = ours
        try:
            with theirs:
                yield theirs
        finally:
            with self._lock:
                del self._jobs[job_name(job)]
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
                self._guests[number] = connection
                if len(self._guests) > _MOST_GUESTS:
                    # When too many stand here, the first has to go: a peer needs but a moment.
                    evicted = self._guests.pop(min(self._guests))
                    with contextlib.suppress(OSError):
                        evicted.shutdown(socket.SHUT_RDWR)
            self._threads.acquire()
            try:
                threading.Thread(target=self._welcome, args=(number, connection), daemon=True).start()
            except RuntimeError:  # the machine has no more threads: let some end
                self._leave(number)
                connection.close()
                time.sleep(0.05)

    def _welcome(self, number: int, connection: socket.socket) -> None:
        try:
            with connection:
                self._route(number, connection)
        except (OSError, NotTlsError) as error:
            log.info("a connection to the nodes' port was refused", extra={"reason": _reason(error)})
        except Exception as error:
            # Whatever a stranger sends, its text stays out of the log.
            log.info("a connection to the nodes' port was refused", extra={"reason": type(error).__name__})
        finally:
            self._leave(number)

    def _leave(self, number: int) -> None:
        with self._lock:
            self._guests.pop(number, None)
        self._threads.release()

    def _route(self, number: int, connection: socket.socket) -> None:
        connection.settimeout(_SECONDS_TO_SPEAK)
        name = peek_server_name(connection, _SECONDS_TO_SPEAK, lambda: number in self._guests)
        if name == CONTROL:
            self._converse(connection)
            return
        with self._lock:
            job = self._jobs.get(name or "")
            if job is not None:
                pass_socket(job, connection)
        if job is None:
            raise NotTlsError("asked for a computation that does not run here")

    def _converse(self, connection: socket.socket) -> None:
        with self._context.wrap_socket(connection, server_side=True) as sock:
            question = _read_line(sock)
            answer = self._answer(peer_pin(sock), question)
            sock.sendall(json.dumps(answer).encode() + b"\n")


def ask(
    kit: NodeKit, manifest: Manifest, peer: Role, question: dict[str, Any], seconds: float
) -> dict[str, Any]:
    """Another node's answer; raises a `PeerError` if there is none."""
    identity = kit.identity(manifest)
    host, port = manifest.addresses()[peer]
    where = f"{host}:{port}"
    try:
        with (
            socket.create_connection((host, port), timeout=seconds) as raw,
            identity.context(ssl.Purpose.SERVER_AUTH).wrap_socket(raw, server_hostname=CONTROL) as sock,
        ):
            identity.check(peer, sock)
            sock.sendall(json.dumps({**question, "study": manifest.hash}).encode() + b"\n")
            return _read_line(sock)
    except PeerError:
        raise
    except (ssl.SSLError, ConnectionResetError):
        problem = f"at {where} broke off the connection; its operator may not have accepted the study"
        raise PeerMisbehavedError(peer.title, problem) from None
    except ValueError:
        raise PeerMisbehavedError(peer.title, f"at {where} gave an unreadable answer") from None
    except OSError as error:
        raise PeerLostError(peer.title, f"cannot be reached at {where}: {_reason(error)}") from None


def _read_line(sock: ssl.SSLSocket) -> dict[str, Any]:
    """One deadline for all of it, so that nobody trickles."""
    line = bytearray()
    deadline = time.monotonic() + (sock.gettimeout() or _SECONDS_TO_SPEAK)
    while not line.endswith(b"\n"):
        sock.settimeout(max(deadline - time.monotonic(), 0.001))
        piece = sock.recv(1 << 16)
        if not piece:
            raise ConnectionResetError("closed in the middle of a line")
        line += piece
        if len(line) > _LONGEST_LINE:
            raise ValueError("a line is too long")
    content = json.loads(line)
    if not isinstance(content, dict):
        raise ValueError("not an object")  # noqa: TRY004 (of the peer's text, not of our types)
    return content


def _reason(error: BaseException) -> str:
    return (
        getattr(error, "reason", None)
        or getattr(error, "strerror", None)
        or str(error)
        or type(error).__name__
    )
