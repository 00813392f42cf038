"""Mutual TLS 1.3 between the parties, on one thread and without blocking sends.

A frame that the kernel does not take at once waits in an outbox. Whenever a party waits, for a
frame or for room in an outbox, it moves bytes in both directions on all of its links. So two
parties that both send large frames before they receive cannot block each other, and a helper that
runs ahead of the proxies is held back by `OUTBOX_LIMIT` and `INBOX_LIMIT`.

Whoever connects is a stranger until its certificate says otherwise.
"""

from __future__ import annotations

import contextlib
import select
import selectors
import socket
import ssl
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self

from ppaurora.certificates import pin_of
from ppaurora.channel.base import Buffer
from ppaurora.channel.frames import HEADER_BYTES, Frame, FrameDecoder
from ppaurora.errors import PeerError, PeerLostError, PeerMisbehavedError, PeerTimeoutError
from ppaurora.servers import Server

OUTBOX_LIMIT = 64 << 20
INBOX_LIMIT = 64 << 20
_PIECE = 1 << 18
_JOIN_BELOW = 1 << 14
_MOST_GUESTS = 64


@dataclass(frozen=True)
class Identity:
    """A party's own certificate and key, the authorities it trusts (PEM), and its peers' pinned keys."""

    certificate: Path
    key: Path
    authorities: str
    pins: dict[Server, str]

    def context(self, purpose: ssl.Purpose) -> ssl.SSLContext:
        return tls_context(purpose, self.certificate, self.key, self.authorities)

    def check(self, peer: Server, sock: ssl.SSLSocket) -> None:
        if peer_pin(sock) != self.pins[peer]:
            raise PeerMisbehavedError(
                peer.title, "presented a certificate whose key is not the one pinned for its role"
            )


def tls_context(purpose: ssl.Purpose, certificate: Path, key: Path, authorities: str) -> ssl.SSLContext:
    """TLS 1.3 only, both sides with certificates. Whose they are is for pins to say, not for names."""
    context = ssl.create_default_context(purpose, cadata=authorities or None)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.verify_mode = ssl.CERT_REQUIRED
    # An authority may be a participant's own certificate.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.check_hostname = False
    context.load_cert_chain(certificate, key)
    if purpose is ssl.Purpose.CLIENT_AUTH:
        context.num_tickets = 0  # nobody resumes these sessions
    return context


def peer_pin(sock: ssl.SSLSocket | ssl.SSLObject) -> str:
    return pin_of(sock.getpeercert(binary_form=True) or b"")


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
            peer.title, f"at {where} failed the TLS handshake: {_reason(error)}"
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
                shown = peer_pin(guest)
                for peer in awaited:
                    if self._identity.pins[peer] == shown:
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


def _reason(error: OSError) -> str:
    return getattr(error, "reason", None) or error.strerror or type(error).__name__


class _Link:
    """One connected peer: bytes waiting to leave, frames that have arrived."""

    def __init__(self, peer: Server, sock: ssl.SSLSocket) -> None:
        self.peer = peer
        self.sock = sock
        self.decoder = FrameDecoder(peer)
        self.outbox: deque[memoryview] = deque()
        self.outbox_bytes = 0
        self.inbox: deque[Frame] = deque()
        self.inbox_bytes = 0
        self.end: PeerError | None = None  # why nothing more will arrive

    def queue(self, buffers: Sequence[Buffer]) -> None:
        """Small buffers leave joined, in one TLS record; large ones piece by piece, uncopied."""
        views = [memoryview(buffer).cast("B") for buffer in buffers if memoryview(buffer).nbytes]
        if sum(view.nbytes for view in views) <= _JOIN_BELOW:
            views = [memoryview(b"".join(views))]
        for view in views:
            for start in range(0, view.nbytes, _PIECE):
                self.outbox.append(view[start : start + _PIECE])
            self.outbox_bytes += view.nbytes

    def flush(self) -> None:
        """Hand the kernel what it takes."""
        while self.outbox:
            piece = self.outbox[0]
            try:
                sent = self.sock.send(piece)
            except (ssl.SSLWantWriteError, ssl.SSLWantReadError):
                return
            except OSError as error:
                self.fill()  # its last words may say why
                raise (self.end or self._lost()) from error
            self.outbox_bytes -= sent
            if sent == piece.nbytes:
                self.outbox.popleft()
            else:
                self.outbox[0] = piece[sent:]

    @property
    def open_to_more(self) -> bool:
        """Whether to take what the peer sends.

        There is a limit, but not while the peer owes us room in the outbox: if both sides stopped
        reading, each would wait for the other for ever.
        """
        return self.end is None and (self.inbox_bytes < INBOX_LIMIT or self.outbox_bytes > OUTBOX_LIMIT // 2)

    def fill(self) -> bool:
        """Take what the kernel has; True if anything arrived."""
        arrived = False
        while self.open_to_more:
            try:
                count = self.sock.recv_into(self.decoder.space())
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                break
            except ssl.SSLError as error:
                self.end = PeerMisbehavedError(self.peer.title, f"broke the TLS connection: {_reason(error)}")
                break
            except OSError:
                count = 0
            if count == 0:
                self.end = self._lost()
                break
            arrived = True
            frame = self.decoder.advance(count)
            if frame is not None:
                self.inbox.append(frame)
                self.inbox_bytes += HEADER_BYTES + frame.header.length
        return arrived

    def take(self) -> Frame:
        frame = self.inbox.popleft()
        self.inbox_bytes -= HEADER_BYTES + frame.header.length
        return frame

    def _lost(self) -> PeerLostError:
        return PeerLostError(self.peer.title, "closed the connection in the middle of the computation")

    def check_alive(self) -> None:
        if self.end is not None:
            raise self.end


class TlsTransport:
    """The connected links of one party."""

    def __init__(self, role: Server, sockets: dict[Server, ssl.SSLSocket], timeout: float) -> None:
        self.role = role
        self._timeout = timeout
        self._links = {peer: _Link(peer, sock) for peer, sock in sockets.items()}
        self._poll = select.poll()
        self._by_descriptor: dict[int, _Link] = {}
        for link in self._links.values():
            link.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            link.sock.setblocking(False)
            self._by_descriptor[link.sock.fileno()] = link

    def put(self, to: Server, buffers: Sequence[Buffer]) -> None:
        link = self._links[to]
        link.queue(buffers)
        link.flush()
        if link.outbox_bytes > OUTBOX_LIMIT:
            self._wait(link, lambda link: link.outbox_bytes <= OUTBOX_LIMIT // 2, "received nothing")

    def get(self, sender: Server) -> Frame:
        link = self._links[sender]
        if not link.inbox:
            link.fill()
        if not link.inbox:
            self._wait(link, lambda link: bool(link.inbox), "sent nothing")
        return link.take()

    def _wait(self, link: _Link, done: Callable[[_Link], bool], complaint: str) -> None:
        """Move bytes on all links until the one that we wait for is `done`."""
        last_sign_of_life = time.monotonic()
        while not done(link):
            link.check_alive()
            wait_for = last_sign_of_life + self._timeout - time.monotonic()
            if wait_for <= 0:
                raise PeerTimeoutError(link.peer.title, f"{complaint} for {self._timeout:g} seconds")
            for descriptor in self._poll_once(wait_for):
                moving = self._by_descriptor[descriptor]
                before = moving.outbox_bytes
                moving.flush()
                if (moving.fill() or moving.outbox_bytes < before) and moving is link:
                    last_sign_of_life = time.monotonic()

    def _poll_once(self, seconds: float) -> list[int]:
        for descriptor, link in self._by_descriptor.items():
            events = select.POLLOUT if link.outbox else 0
            if link.open_to_more:
                events |= select.POLLIN
            if events:
                self._poll.register(descriptor, events)
            else:
                with contextlib.suppress(KeyError):
                    self._poll.unregister(descriptor)
        return [descriptor for descriptor, _ in self._poll.poll(seconds * 1000)]

    def finish(self) -> None:
        """Wait until the kernel has all that was put; it takes as long as the peers take to read."""
        for link in self._links.values():
            self._wait(link, lambda link: not link.outbox, "received nothing")

    def close(self) -> None:
        for link in self._links.values():
            link.sock.close()
