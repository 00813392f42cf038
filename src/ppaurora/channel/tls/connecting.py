"""How parties connect: each to those of lower number, while it accepts those of higher number.

Whoever connects is unauthenticated until its certificate shows the key of an expected peer.
"""

from __future__ import annotations

import selectors
import socket
import ssl
import sys
import time
from collections.abc import Sequence
from typing import Any, Protocol, Self

from ppaurora.channel.servers import Server
from ppaurora.channel.tls.identity import Identity
from ppaurora.channel.tls.loss import LOST, is_lost
from ppaurora.channel.tls.transport import TlsTransport
from ppaurora.errors import PeerLostError, PeerMisbehavedError, PeerTimeoutError, reason_of

_MAX_PENDING = 64


class Listener(Protocol):
    """Where connections arrive: a listening socket, or another process that accepts for this one."""

    def fileno(self) -> int: ...

    def setblocking(self, flag: bool, /) -> None: ...

    def accept(self) -> tuple[socket.socket, Any]: ...


class PassedSockets:
    """Connections that another process accepted and passed on through a pair of local sockets."""

    def __init__(self, pipe: socket.socket) -> None:
        self._pipe = pipe

    def fileno(self) -> int:
        return self._pipe.fileno()

    def setblocking(self, flag: bool, /) -> None:
        self._pipe.setblocking(flag)

    def accept(self) -> tuple[socket.socket, Any]:
        if sys.platform != "win32":  # where a server has one worker
            _, descriptors, _, _ = socket.recv_fds(self._pipe, 1, 1)
            if descriptors:
                return socket.socket(fileno=descriptors[0]), None
        raise ConnectionAbortedError("the process that accepts connections is gone")


def pass_socket(pipe: socket.socket, connection: socket.socket) -> None:
    """Pass a connection on to the other end of `PassedSockets`."""
    if sys.platform != "win32":
        socket.send_fds(pipe, [b"."], [connection.fileno()])


def listen(host: str = "127.0.0.1", port: int = 0) -> socket.socket:
    """Listen at an address of either family; "::" takes both."""
    if ":" not in host:
        return socket.create_server((host, port), backlog=256)
    both = host == "::" and socket.has_dualstack_ipv6()
    return socket.create_server((host, port), family=socket.AF_INET6, backlog=256, dualstack_ipv6=both)


def connect_parties(
    role: Server,
    identity: Identity,
    listener: Listener,
    addresses: dict[Server, tuple[str, int]],
    timeout: float,
    server_name: str = "ppaurora",
    budget: float | None = None,
    workers: int = 1,
) -> TlsTransport:
    """Connect to the parties of lower number, accept those of higher number, verify both.

    Where several computations share a port, the server's name (SNI) tells which one is meant. Once they
    are connected, whoever is waited for after `budget` seconds is taken to be silent. This is one of so
    many workers of the party.
    """
    deadline = time.monotonic() + timeout
    links: dict[Server, ssl.SSLSocket] = {}
    try:
        for peer in role.peers:
            if peer < role:
                links[peer] = _connect(peer, identity, addresses[peer], deadline, server_name)
        expected = [peer for peer in role.peers if peer > role]
        with _Acceptor(identity, listener) as acceptor:
            while expected:
                peer, sock = acceptor.accept_peer(expected, deadline)
                expected.remove(peer)
                links[peer] = sock
    except BaseException:
        for sock in links.values():
            sock.close()
        raise
    return TlsTransport(role, links, timeout, budget, workers)


def _remaining(deadline: float) -> float:
    return max(deadline - time.monotonic(), 0.001)


def _connect(
    peer: Server, identity: Identity, address: tuple[str, int], deadline: float, server_name: str
) -> ssl.SSLSocket:
    context = identity.context(ssl.Purpose.SERVER_AUTH)
    where = f"{address[0]}:{address[1]}"
    try:
        raw = socket.create_connection(address, timeout=_remaining(deadline))
    except (OSError, UnicodeError) as error:  # the latter of a name that no machine can have
        raise PeerLostError(peer.title, f"cannot be reached at {where}: {reason_of(error)}") from error
    try:
        sock = context.wrap_socket(raw, server_hostname=server_name)
    except TimeoutError as error:
        raise PeerTimeoutError(peer.title, f"at {where} did not answer the TLS handshake in time") from error
    except OSError as error:
        if is_lost(error):
            raise PeerLostError(peer.title, f"at {where}: {LOST} in the TLS handshake") from error
        raise PeerMisbehavedError(
            peer.title, f"at {where} failed the TLS handshake: {reason_of(error)}"
        ) from error
    try:
        identity.check(peer, sock)
    except PeerMisbehavedError:
        sock.close()
        raise
    except OSError as error:  # it was gone before the handshake began
        sock.close()
        raise PeerLostError(peer.title, f"at {where}: {LOST} in the TLS handshake") from error
    return sock


class _Acceptor:
    """Accepts connections and advances the handshakes of all that are pending side by side.

    So a client that connects and says nothing holds up nobody. When too many are pending, the oldest
    is dropped: a peer's handshake takes but a moment.
    """

    def __init__(self, identity: Identity, listener: Listener) -> None:
        self._identity = identity
        self._context = identity.context(ssl.Purpose.CLIENT_AUTH)
        self._listener = listener
        self._pending: list[ssl.SSLSocket] = []
        self._selector = selectors.DefaultSelector()
        listener.setblocking(False)
        self._selector.register(listener, selectors.EVENT_READ)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for connection in self._pending:
            connection.close()
        self._selector.close()

    def accept_peer(self, expected: Sequence[Server], deadline: float) -> tuple[Server, ssl.SSLSocket]:
        """Return the next connection that authenticates as an expected peer; any other is dropped."""
        while (seconds := deadline - time.monotonic()) > 0:
            for key, _ in self._selector.select(seconds):
                if key.fileobj is self._listener:
                    self._accept()
                    continue
                # One that was dropped since the selector reported it is no longer pending.
                connection = next((one for one in self._pending if one is key.fileobj), None)
                if connection is None or not self._advance_handshake(connection):
                    continue
                self._forget(connection)
                peer = self._identity.recognise(connection, expected)
                if peer is not None:
                    return peer, connection
                connection.close()
        raise PeerTimeoutError(expected[0].title, "did not connect in time")

    def _accept(self) -> None:
        try:
            raw, _ = self._listener.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return
        raw.setblocking(False)
        try:
            connection = self._context.wrap_socket(raw, server_side=True, do_handshake_on_connect=False)
        except OSError:
            raw.close()
            return
        self._pending.append(connection)
        self._selector.register(connection, selectors.EVENT_READ)
        if len(self._pending) > _MAX_PENDING:
            self._drop(self._pending[0])

    def _advance_handshake(self, connection: ssl.SSLSocket) -> bool:
        """Advance a handshake as far as it goes without waiting, and return whether it is done."""
        try:
            connection.do_handshake()
        except ssl.SSLWantReadError:
            self._selector.modify(connection, selectors.EVENT_READ)
        except ssl.SSLWantWriteError:
            self._selector.modify(connection, selectors.EVENT_WRITE)
        except OSError:
            self._drop(connection)
        else:
            return True
        return False

    def _forget(self, connection: ssl.SSLSocket) -> None:
        self._pending.remove(connection)
        self._selector.unregister(connection)

    def _drop(self, connection: ssl.SSLSocket) -> None:
        self._forget(connection)
        connection.close()
