"""Three parties in one process: frames through queues, encoded and decoded as on a wire."""

from __future__ import annotations

import queue
from collections.abc import Sequence

from ppaurora.channel.base import Buffer
from ppaurora.channel.frames import HEADER_BYTES, Frame, Header
from ppaurora.errors import PeerLostError, PeerMisbehavedError, PeerTimeoutError
from ppaurora.role import Role

_Mailbox = queue.SimpleQueue[bytes | None]


class MemoryTransport:
    """One party's end of six mailboxes."""

    def __init__(self, role: Role, mailboxes: dict[tuple[Role, Role], _Mailbox], timeout: float) -> None:
        self.role = role
        self._mailboxes = mailboxes
        self._timeout = timeout

    def put(self, to: Role, buffers: Sequence[Buffer]) -> None:
        self._mailboxes[self.role, to].put(b"".join(buffers))

    def get(self, sender: Role) -> Frame:
        mailbox = self._mailboxes[sender, self.role]
        try:
            raw = mailbox.get(timeout=self._timeout)
        except queue.Empty:
            raise PeerTimeoutError(sender.title, f"sent nothing for {self._timeout:g} seconds") from None
        if raw is None:
            mailbox.put(None)
            raise PeerLostError(sender.title, "closed the connection in the middle of the computation")
        if len(raw) < HEADER_BYTES:
            raise PeerMisbehavedError(sender.title, "sent bytes that are not a ppaurora frame")
        header = Header.unpack(raw[:HEADER_BYTES], sender)
        if header.length != len(raw) - HEADER_BYTES:
            raise PeerMisbehavedError(sender.title, "sent a frame whose length is not the one it announces")
        return Frame(header, memoryview(raw)[HEADER_BYTES:])

    def finish(self) -> None:
        """Nothing to wait for: a frame is in the mailbox as soon as it is put."""

    def close(self) -> None:
        for peer in self.role.peers:
            self._mailboxes[self.role, peer].put(None)


def memory_transports(timeout: float = 120.0) -> tuple[MemoryTransport, MemoryTransport, MemoryTransport]:
    """The three connected ends, in the order of the roles."""
    mailboxes: dict[tuple[Role, Role], _Mailbox] = {
        (sender, receiver): queue.SimpleQueue() for sender in Role for receiver in sender.peers
    }
    first, second, third = (MemoryTransport(role, mailboxes, timeout) for role in Role)
    return first, second, third
