"""All parties in one process: frames through mailboxes, encoded and decoded as on a wire."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence

from ppaurora.channel.base import Buffer
from ppaurora.channel.frames import HEADER_BYTES, MAX_PAYLOAD_BYTES, Frame, Header
from ppaurora.channel.servers import Server
from ppaurora.errors import PeerLostError, PeerMisbehavedError, PeerTimeoutError

MAILBOX_LIMIT = 64 << 20


class _Mailbox:
    """One direction between two parties."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._frames: deque[bytes] = deque()
        self._bytes = 0
        self._sender_left = False
        self._receiver_left = False

    def put(self, raw: bytes) -> None:
        with self._changed:
            self._frames.append(raw)
            self._bytes += len(raw)
            self._changed.notify_all()

    def wait_for_room(self, timeout: float) -> bool:
        """False if the receiver read nothing that would make room in time; one that left needs no room."""
        with self._changed:
            return self._changed.wait_for(
                lambda: self._bytes <= MAILBOX_LIMIT or self._receiver_left, timeout
            )

    def get(self, timeout: float) -> bytes | None:
        """Return the next frame, or None if the sender left; raise TimeoutError if it is silent."""
        with self._changed:
            if not self._changed.wait_for(lambda: bool(self._frames) or self._sender_left, timeout):
                raise TimeoutError
            if not self._frames:
                return None
            raw = self._frames.popleft()
            self._bytes -= len(raw)
            self._changed.notify_all()
            return raw

    def leave(self, *, sender: bool) -> None:
        with self._changed:
            self._sender_left |= sender
            self._receiver_left |= not sender
            self._changed.notify_all()


class MemoryTransport:
    """One party's end of the mailboxes."""

    def __init__(
        self, role: Server, mailboxes: dict[tuple[Server, Server], _Mailbox], timeout: float
    ) -> None:
        self.role = role
        self._mailboxes = mailboxes
        self._timeout = timeout

    def put(self, to: Server, buffers: Sequence[Buffer]) -> None:
        mailbox = self._mailboxes[self.role, to]
        mailbox.put(b"".join(buffers))
        # Servers that answer each other never run ahead; two that waited here could wait for ever.
        if self.role.runs_ahead and not mailbox.wait_for_room(self._timeout):
            raise PeerTimeoutError(to.title, f"received nothing for {self._timeout:g} seconds")

    def get(self, sender: Server, due: int = MAX_PAYLOAD_BYTES) -> Frame:
        try:
            raw = self._mailboxes[sender, self.role].get(self._timeout)
        except TimeoutError:
            raise PeerTimeoutError(sender.title, f"sent nothing for {self._timeout:g} seconds") from None
        if raw is None:
            raise PeerLostError(sender.title, "closed the connection in the middle of the computation")
        if len(raw) < HEADER_BYTES:
            raise PeerMisbehavedError(sender.title, "sent bytes that are not a ppaurora frame")
        header = Header.unpack(raw[:HEADER_BYTES], sender)
        header.check_due(due, sender)
        if header.length != len(raw) - HEADER_BYTES:
            raise PeerMisbehavedError(sender.title, "sent a frame whose length is not the one it announces")
        return Frame(header, memoryview(raw)[HEADER_BYTES:])

    def finish(self) -> None:
        """Nothing to wait for: a frame is in the mailbox as soon as it is put."""

    def close(self) -> None:
        for peer in self.role.peers:
            self._mailboxes[self.role, peer].leave(sender=True)
            self._mailboxes[peer, self.role].leave(sender=False)


def memory_transports(servers: type[Server], timeout: float = 120.0) -> tuple[MemoryTransport, ...]:
    """Return the connected ends, in the order of the servers."""
    mailboxes = {(sender, receiver): _Mailbox() for sender in servers for receiver in sender.peers}
    return tuple(MemoryTransport(server, mailboxes, timeout) for server in servers)
