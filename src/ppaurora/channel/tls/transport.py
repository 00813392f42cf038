"""Frames over TLS, on one thread and without blocking sends.

A frame that the kernel does not take at once waits in an outbox. Whenever a party waits, for a
frame or for room in an outbox, it moves bytes in both directions on all of its links. So two
parties that both send large frames before they receive cannot block each other, and a server that
runs ahead of the others is held back by the limits of outbox and inbox.

What nobody has asked for yet is kept up to the inbox's limit; a larger frame waits behind its header until
it is asked for, and one that is longer than was asked for is refused there. While a party waits for room in
an outbox it keeps more, as much as it has sent itself: of parties that wait for each other in a ring, the
one that has sent the most can take all that the one before it has sent, so somebody always goes on.

The workers of a party share its room: each keeps to its part of both limits.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import time
from collections import deque
from collections.abc import Callable, Sequence

from ppaurora.channel.base import Buffer
from ppaurora.channel.frames import HEADER_BYTES, MAX_PAYLOAD_BYTES, Frame, FrameDecoder
from ppaurora.channel.servers import Server
from ppaurora.channel.tls.loss import is_lost
from ppaurora.channel.tls.polling import READABLE, WRITABLE, new_poll
from ppaurora.errors import PeerError, PeerLostError, PeerMisbehavedError, PeerTimeoutError, reason_of

OUTBOX_LIMIT = 16 << 20  # of all workers of a party, for each of its peers
INBOX_LIMIT = 16 << 20
_PIECE = 1 << 18
_JOIN_BELOW = 1 << 14


class _Link:
    """One connected peer: bytes waiting to leave, frames that have arrived."""

    def __init__(self, peer: Server, sock: ssl.SSLSocket, workers: int) -> None:
        self.peer = peer
        self.sock = sock
        self.workers = workers
        self.decoder = FrameDecoder(peer)
        self.outbox: deque[memoryview] = deque()
        self.outbox_bytes = 0
        self.inbox: deque[Frame] = deque()
        self.inbox_bytes = 0
        self.allowance = 0  # how much may be kept beyond the limit
        self.due: int | None = None  # of the next frame, if it is waited for
        self.end: PeerError | None = None  # why nothing more will arrive

    @property
    def outbox_limit(self) -> int:
        return OUTBOX_LIMIT // self.workers

    @property
    def inbox_limit(self) -> int:
        return INBOX_LIMIT // self.workers

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
        """Return whether to take what the peer sends: it is waited for, or there is room to keep it."""
        announced = self.decoder.announced
        if self.end is not None:
            return False
        if announced is None:
            return self.inbox_bytes < self.inbox_limit + self.allowance
        if self.due is not None and not self.inbox:
            return True
        if announced.length <= self.inbox_limit and self.inbox_bytes < self.inbox_limit:
            return True
        return self.inbox_bytes + HEADER_BYTES + announced.length <= self.inbox_limit + self.allowance

    def expect(self, due: int | None) -> None:
        """Note that a frame of at most so many bytes is waited for next; or, with None, that nothing is."""
        self.due = due
        self._check_due()

    def _check_due(self) -> None:
        announced = self.decoder.announced
        if self.due is not None and not self.inbox and announced is not None:
            try:
                announced.check_due(self.due, self.peer)
            except PeerMisbehavedError as error:
                self.end = error

    def fill(self) -> bool:
        """Take what the kernel has; True if anything arrived."""
        arrived = False
        while self.open_to_more:
            try:
                count = self.sock.recv_into(self.decoder.space())
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                break
            except OSError as error:
                if not is_lost(error):
                    self.end = PeerMisbehavedError(
                        self.peer.title, f"broke the TLS connection: {reason_of(error)}"
                    )
                    break
                count = 0
            if count == 0:
                self.end = self._lost()
                break
            arrived = True
            frame = self.decoder.advance(count)
            if frame is not None:
                self.inbox.append(frame)
                self.inbox_bytes += HEADER_BYTES + frame.header.length
            self._check_due()
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

    def __init__(
        self,
        role: Server,
        sockets: dict[Server, ssl.SSLSocket],
        timeout: float,
        budget: float | None = None,
        workers: int = 1,
    ) -> None:
        self.role = role
        self._timeout = timeout
        self._budget = budget
        self._deadline = float("inf") if budget is None else time.monotonic() + budget
        self._sent_bytes = 0
        self._links = {peer: _Link(peer, sock, workers) for peer, sock in sockets.items()}
        self._poll = new_poll()
        self._by_descriptor: dict[int, _Link] = {}
        for link in self._links.values():
            link.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            link.sock.setblocking(False)
            self._by_descriptor[link.sock.fileno()] = link

    def put(self, to: Server, buffers: Sequence[Buffer]) -> None:
        link = self._links[to]
        before = link.outbox_bytes
        link.queue(buffers)
        self._sent_bytes += link.outbox_bytes - before
        link.flush()
        if link.outbox_bytes > link.outbox_limit:
            self._wait_for_room(link, link.outbox_limit // 2)

    def _wait_for_room(self, link: _Link, most: int) -> None:
        """Wait until no more than so many bytes wait to leave, and keep meanwhile what others send."""
        for other in self._links.values():
            other.allowance = self._sent_bytes
        try:
            self._wait(link, lambda link: link.outbox_bytes <= most, "received nothing")
        finally:
            for other in self._links.values():
                other.allowance = 0

    def get(self, sender: Server, due: int = MAX_PAYLOAD_BYTES) -> Frame:
        link = self._links[sender]
        link.expect(due)
        if not link.inbox:
            link.fill()
        if not link.inbox:
            self._wait(link, lambda link: bool(link.inbox), "sent nothing")
        link.expect(None)
        frame = link.take()
        frame.header.check_due(due, sender)
        return frame

    def _wait(self, link: _Link, done: Callable[[_Link], bool], complaint: str) -> None:
        """Move bytes on all links until the one that we wait for is `done`."""
        last_sign_of_life = time.monotonic()
        while not done(link):
            link.check_alive()
            now = time.monotonic()
            if now >= self._deadline:
                problem = (
                    f"{complaint} that would let the computation end in the {self._budget:g} seconds it has"
                )
                raise PeerTimeoutError(link.peer.title, problem)
            wait_for = min(last_sign_of_life + self._timeout, self._deadline) - now
            if now >= last_sign_of_life + self._timeout:
                raise PeerTimeoutError(link.peer.title, f"{complaint} for {self._timeout:g} seconds")
            for descriptor in self._poll_once(wait_for):
                moving = self._by_descriptor[descriptor]
                before = moving.outbox_bytes
                moving.flush()
                if (moving.fill() or moving.outbox_bytes < before) and moving is link:
                    last_sign_of_life = time.monotonic()

    def _poll_once(self, seconds: float) -> list[int]:
        for descriptor, link in self._by_descriptor.items():
            events = WRITABLE if link.outbox else 0
            if link.open_to_more:
                events |= READABLE
            if events:
                self._poll.register(descriptor, events)
            else:
                with contextlib.suppress(KeyError):
                    self._poll.unregister(descriptor)
        return [descriptor for descriptor, _ in self._poll.poll(seconds * 1000)]

    def finish(self) -> None:
        """Wait until the kernel has all that was put; it takes as long as the peers take to read."""
        for link in self._links.values():
            self._wait_for_room(link, 0)

    def close(self) -> None:
        for link in self._links.values():
            link.sock.close()
