"""How parties find each other: each connects to those of lower number and accepts those of higher number.

Whoever connects is a stranger until its certificate says otherwise.
"""

from __future__ import annotations

import selectors
import socket
import ssl
import time
from collections.abc import Sequence
from typing import Any, Protocol, Self

from ppaurora.channel.tls.identity import Identity
from ppaurora.channel.tls.transport import TlsTransport, reason_of
from ppaurora.errors import PeerLostError, PeerMisbehavedError, PeerTimeoutError
from ppaurora.servers import Server

_MOST_GUESTS = 64


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
        _, descriptors, _, _ = socket.recv_fds(self._pipe, 1, 1)
        if not descriptors:
            raise ConnectionAbortedError("the process that accepts connections is gone")
        return socket.socket(fileno=descriptors[0]), None


def pass_socket(pipe: socket.socket, connection: socket.socket) -> None:
    """The other end of `PassedSockets`."""
    socket.send_fds(pipe, [b"."], [connection.fileno()])


def listen(host: str = "127.0.0.1", port: int = 0) -> socket.socket:
    """At an address of either family; "::" takes both."""
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
) -> TlsTransport:
    """Connect to the parties of lower number, accept those of higher number, verify both.

    Where several computations share a port, the server's name (SNI) tells which one is meant.
    """
    deadline = time.monotonic() + timeout
    links: dict[Server, ssl.SSLSocket] = {}
    try:
        for peer in role.peers:
            if peer < role:
                links[peer] = _connect(peer, identity, addresses[peer], deadline, server_name)
        awaited = [peer for peer in role.peers if peer > role]
        with _Entrance(identity, listener) as entrance:
            while awaited:
                peer, sock = entrance.admit(awaited, deadline)
                awaited.remove(peer)
                links[peer] = sock
    except BaseException:
        for sock in links.values():
            sock.close()
        raise
    return TlsTransport(role, links, timeout)


def _remaining(deadline: float) -> float:
    return max(deadline - time.monotonic(), 0.001)


def _connect(
    peer: Server, identity: Identity, address: tuple[str, int], deadline: float, server_name: str
) -> ssl.SSLSocket:
    context = identity.context(ssl.Purpose.SERVER_AUTH)
    where = f"{address[0]}:{address[1]}"
    try:
        raw = socket.create_connection(address, timeout=_remaining(deadline))
    except OSError as error:
        raise PeerLostError(peer.title, f"cannot be reached at {where}: {error.strerror or error}") from error
    try:
        sock = context.wrap_socket(raw, server_hostname=server_name)
    except TimeoutError as error:
        raise PeerTimeoutError(peer.title, f"at {where} did not answer the TLS handshake in time") from error
    except OSError as error:
        raise PeerMisbehavedError(
            peer.title, f"at {where} failed the TLS handshake: {reason_of(error)}"
        ) from error
    try:
        identity.check(peer, sock)
    except PeerMisbehavedError:
        sock.close()
        raise
    return sock


class _Entrance:
    """Accepts connections and shakes hands with all of them side by side.

    So a stranger who connects and says nothing holds up nobody. When too many stand here, the one
    that came first has to go: a peer needs but a moment.
    """

    def __init__(self, identity: Identity, listener: Listener) -> None:
        self._identity = identity
        self._context = identity.context(ssl.Purpose.CLIENT_AUTH)
        self._listener = listener
        self._guests: list[ssl.SSLSocket] = []
        self._selector = selectors.DefaultSelector()
        listener.setblocking(False)
        self._selector.register(listener, selectors.EVENT_READ)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for guest in self._guests:
            guest.close()
        self._selector.close()

    def admit(self, awaited: Sequence[Server], deadline: float) -> tuple[Server, ssl.SSLSocket]:
        """The next connection that proves to be one of the awaited peers; strangers are dropped."""
        while (seconds := deadline - time.monotonic()) > 0:
            for key, _ in self._selector.select(seconds):
                if key.fileobj is self._listener:
                    self._welcome()
                    continue
                guest = next((guest for guest in self._guests if guest is key.fileobj), None)
                if guest is None or not self._shake_hands(guest):
                    continue
                self._release(guest)
                peer = self._identity.recognise(guest, awaited)
                if peer is not None:
                    return peer, guest
                guest.close()
        raise PeerTimeoutError(awaited[0].title, "did not connect in time")

    def _welcome(self) -> None:
        try:
            raw, _ = self._listener.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return
        raw.setblocking(False)
        try:
            guest = self._context.wrap_socket(raw, server_side=True, do_handshake_on_connect=False)
        except OSError:
            raw.close()
            return
        self._guests.append(guest)
        self._selector.register(guest, selectors.EVENT_READ)
        if len(self._guests) > _MOST_GUESTS:
            self._dismiss(self._guests[0])

    def _shake_hands(self, guest: ssl.SSLSocket) -> bool:
        """As far as the handshake goes without waiting; True once it is done."""
        try:
            guest.do_handshake()
        except ssl.SSLWantReadError:
            self._selector.modify(guest, selectors.EVENT_READ)
        except ssl.SSLWantWriteError:
            self._selector.modify(guest, selectors.EVENT_WRITE)
        except OSError:
            self._dismiss(guest)
        else:
            return True
        return False

    def _release(self, guest: ssl.SSLSocket) -> None:
        self._guests.remove(guest)
        self._selector.unregister(guest)

    def _dismiss(self, guest: ssl.SSLSocket) -> None:
        self._release(guest)
        guest.close()
