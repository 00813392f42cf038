"""Mutual TLS 1.3 between the parties, on one thread and without blocking sends.

A frame that the kernel does not take at once waits in an outbox. Whenever a party waits, for a
frame or for room in an outbox, it moves bytes in both directions on all of its links. So two
parties that both send large frames before they receive cannot block each other, and a helper that
runs ahead of the proxies is held back by `OUTBOX_LIMIT` and `INBOX_LIMIT`.
"""

from __future__ import annotations

import contextlib
import hashlib
import select
import socket
import ssl
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ppaurora.channel.base import Buffer
from ppaurora.channel.frames import Frame, FrameDecoder
from ppaurora.errors import PeerLostError, PeerMisbehavedError, PeerTimeoutError
from ppaurora.party.role import Role

OUTBOX_LIMIT = 64 << 20
INBOX_LIMIT = 64 << 20
_PIECE = 1 << 18
_JOIN_BELOW = 1 << 14


@dataclass(frozen=True)
class Identity:
    """A party's own certificate and key, the authority it trusts, and its peers' pinned certificates."""

    certificate: Path
    key: Path
    authority: Path
    pins: dict[Role, str]

    def context(self, purpose: ssl.Purpose) -> ssl.SSLContext:
        context = ssl.create_default_context(purpose, cafile=str(self.authority))
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.verify_mode = ssl.CERT_REQUIRED
        # The pin below says more than a name could: this very certificate, for this very role.
        context.check_hostname = False
        context.load_cert_chain(self.certificate, self.key)
        if purpose is ssl.Purpose.CLIENT_AUTH:
            context.num_tickets = 0  # nobody resumes these sessions
        return context

    def check(self, peer: Role, sock: ssl.SSLSocket) -> None:
        if fingerprint(sock.getpeercert(binary_form=True) or b"") != self.pins[peer]:
            raise PeerMisbehavedError(
                peer.title, "presented a certificate that is not the one pinned for its role"
            )


def fingerprint(certificate_der: bytes) -> str:
    return hashlib.sha256(certificate_der).hexdigest()


def listen(host: str = "127.0.0.1", port: int = 0) -> socket.socket:
    return socket.create_server((host, port))


def connect_parties(
    role: Role,
    identity: Identity,
    listener: socket.socket,
    addresses: dict[Role, tuple[str, int]],
    timeout: float,
) -> TlsTransport:
    """Connect to the parties of lower number, accept those of higher number, verify both."""
    deadline = time.monotonic() + timeout
    links: dict[Role, ssl.SSLSocket] = {}
    try:
        for peer in role.peers:
            if peer < role:
                links[peer] = _connect(peer, identity, addresses[peer], deadline)
        awaited = [peer for peer in role.peers if peer > role]
        while awaited:
            peer, sock = _accept(identity, listener, awaited, deadline)
            awaited.remove(peer)
            links[peer] = sock
    except BaseException:
        for sock in links.values():
            sock.close()
        raise
    return TlsTransport(role, links, timeout)


def _remaining(deadline: float) -> float:
    return max(deadline - time.monotonic(), 0.001)


def _connect(peer: Role, identity: Identity, address: tuple[str, int], deadline: float) -> ssl.SSLSocket:
    context = identity.context(ssl.Purpose.SERVER_AUTH)
    where = f"{address[0]}:{address[1]}"
    try:
        raw = socket.create_connection(address, timeout=_remaining(deadline))
    except OSError as error:
        raise PeerLostError(peer.title, f"cannot be reached at {where}: {error.strerror or error}") from error
    try:
        sock = context.wrap_socket(raw, server_hostname=peer.title.replace(" ", "-"))
        identity.check(peer, sock)
    except (OSError, PeerMisbehavedError) as error:
        raw.close()
        if isinstance(error, PeerMisbehavedError):
            raise
        raise PeerMisbehavedError(
            peer.title, f"at {where} failed the TLS handshake: {_reason(error)}"
        ) from error
    return sock


def _accept(
    identity: Identity, listener: socket.socket, awaited: Sequence[Role], deadline: float
) -> tuple[Role, ssl.SSLSocket]:
    """The next connection that proves to be one of the awaited peers; strangers are dropped."""
    context = identity.context(ssl.Purpose.CLIENT_AUTH)
    while True:
        listener.settimeout(_remaining(deadline))
        try:
            raw, _ = listener.accept()
        except TimeoutError:
            raise PeerTimeoutError(awaited[0].title, "did not connect in time") from None
        raw.settimeout(min(_remaining(deadline), 10.0))
        try:
            sock = context.wrap_socket(raw, server_side=True)
        except OSError:
            raw.close()
            continue
        shown = fingerprint(sock.getpeercert(binary_form=True) or b"")
        for peer in awaited:
            if identity.pins[peer] == shown:
                return peer, sock
        sock.close()


def _reason(error: OSError) -> str:
    return getattr(error, "reason", None) or error.strerror or type(error).__name__


class _Link:
    """One connected peer: bytes waiting to leave, frames that have arrived."""

    def __init__(self, peer: Role, sock: ssl.SSLSocket) -> None:
        self.peer = peer
        self.sock = sock
        self.decoder = FrameDecoder(peer)
        self.outbox: deque[memoryview] = deque()
        self.outbox_bytes = 0
        self.inbox: deque[Frame] = deque()
        self.inbox_bytes = 0
        self.ended = False

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
                raise self._lost() from error
            self.outbox_bytes -= sent
            if sent == piece.nbytes:
                self.outbox.popleft()
            else:
                self.outbox[0] = piece[sent:]

    def fill(self) -> bool:
        """Take what the kernel has; True if anything arrived."""
        arrived = False
        while not self.ended and self.inbox_bytes < INBOX_LIMIT:
            try:
                count = self.sock.recv_into(self.decoder.space())
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                return arrived
            except OSError:
                count = 0
            if count == 0:
                self.ended = True
                return arrived
            arrived = True
            frame = self.decoder.advance(count)
            if frame is not None:
                self.inbox.append(frame)
                self.inbox_bytes += frame.header.length
        return arrived

    def take(self) -> Frame:
        frame = self.inbox.popleft()
        self.inbox_bytes -= frame.header.length
        return frame

    def _lost(self) -> PeerLostError:
        return PeerLostError(self.peer.title, "closed the connection in the middle of the computation")

    def check_alive(self) -> None:
        if self.ended:
            raise self._lost()


class TlsTransport:
    """The connected links of one party."""

    def __init__(self, role: Role, sockets: dict[Role, ssl.SSLSocket], timeout: float) -> None:
        self.role = role
        self._timeout = timeout
        self._links = {peer: _Link(peer, sock) for peer, sock in sockets.items()}
        self._poll = select.poll()
        self._by_descriptor: dict[int, _Link] = {}
        for link in self._links.values():
            link.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            link.sock.setblocking(False)
            self._by_descriptor[link.sock.fileno()] = link

    def put(self, to: Role, buffers: Sequence[Buffer]) -> None:
        link = self._links[to]
        link.queue(buffers)
        link.flush()
        if link.outbox_bytes > OUTBOX_LIMIT:
            self._wait(link, lambda: link.outbox_bytes <= OUTBOX_LIMIT // 2, "received nothing")

    def get(self, sender: Role) -> Frame:
        link = self._links[sender]
        if not link.inbox:
            link.fill()
        if not link.inbox:
            self._wait(link, lambda: bool(link.inbox), "sent nothing")
        return link.take()

    def _wait(self, link: _Link, done: Callable[[], bool], complaint: str) -> None:
        """Move bytes on all links until `done`; `link` is the peer that we wait for."""
        last_sign_of_life = time.monotonic()
        while not done():
            link.check_alive()
            wait_for = last_sign_of_life + self._timeout - time.monotonic()
            if wait_for <= 0:
                raise PeerTimeoutError(link.peer.title, f"{complaint} for {self._timeout:g} seconds")
            for descriptor in self._poll_once(link, wait_for):
                moving = self._by_descriptor[descriptor]
                before = moving.outbox_bytes
                moving.flush()
                if (moving.fill() or moving.outbox_bytes < before) and moving is link:
                    last_sign_of_life = time.monotonic()

    def _poll_once(self, wanted: _Link, seconds: float) -> list[int]:
        for descriptor, link in self._by_descriptor.items():
            events = select.POLLOUT if link.outbox else 0
            if not link.ended and (link is wanted or link.inbox_bytes < INBOX_LIMIT):
                events |= select.POLLIN
            if events:
                self._poll.register(descriptor, events)
            else:
                with contextlib.suppress(KeyError):
                    self._poll.unregister(descriptor)
        return [descriptor for descriptor, _ in self._poll.poll(seconds * 1000)]

    def close(self) -> None:
        """Deliver what is still queued, then close. A peer that has gone away is no error here."""
        deadline = time.monotonic() + min(self._timeout, 10.0)
        for link in self._links.values():
            with contextlib.suppress(PeerLostError, OSError):
                while link.outbox and time.monotonic() < deadline:
                    select.select([], [link.sock], [], 0.1)
                    link.fill()
                    link.flush()
            with contextlib.suppress(OSError):
                link.sock.close()
