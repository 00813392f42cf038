"""Where those wait who have come to the owners' port and not yet shown that they are owners.

Whoever says nothing costs a descriptor and little else: TLS begins when a client's first record is there. Of
those who say nothing, of those who have shown no owner's certificate, and of every owner's connections only
so many may stay at a time; when one more comes, the oldest of its kind has to go. So a crowd drives out
itself, and an owner, who needs but a moment to show its certificate, gets in.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import resource
import socket
import ssl
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from ppaurora.channel.tls import peer_pin
from ppaurora.channel.tls.hello import RECORD_HEADER, NotTlsError, first_record_bytes
from ppaurora.errors import reason_of
from ppaurora.node.logs import RefusedConnections

_MOST_SILENT = 2048
_MOST_STRANGERS = 256  # each may hold a TLS session, some hundred kilobytes
_MOST_OF_AN_OWNER = 128
_SECONDS_TO_SPEAK = 10.0
_SECONDS_FOR_EVERYBODY = 0.2  # to begin to speak, however many come
_SECONDS_FOR_A_STRANGER = 30.0
_SECONDS_BETWEEN_LOOKS = 1.0
_SECONDS_WITHOUT_DESCRIPTORS = 0.1
_ACCEPTED_AT_ONCE = 16  # before those who are here already get their turn

log = logging.getLogger(__name__)


@dataclass
class _Visit:
    """A connection from its arrival to its end."""

    sock: socket.socket
    since: float
    awaited: int = 1  # bytes that must be here before there is something to do
    transport: asyncio.Transport | None = None  # once TLS is established

    def end(self) -> None:
        if self.transport is not None:
            self.transport.abort()
            return
        with contextlib.suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)  # whoever holds it notices


class AdmissionControl:
    """Accepts connections from its creation until it is closed; `serve` makes a protocol for each."""

    def __init__(
        self,
        listener: socket.socket,
        context: ssl.SSLContext,
        serve: Callable[[], asyncio.Protocol],
        is_owner: Callable[[str], bool],
    ) -> None:
        descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._most_silent = min(_MOST_SILENT, max(descriptors // 2, 1))
        self._most_strangers = min(_MOST_STRANGERS, max(descriptors // 8, 1))
        self._most_of_an_owner = min(_MOST_OF_AN_OWNER, max(descriptors // 8, 1))
        self._listener = listener
        self._context = context
        self._serve = serve
        self._is_owner = is_owner
        self._loop = asyncio.get_running_loop()
        self._number = 0
        self._silent: dict[int, _Visit] = {}  # by arrival, so the oldest first, as everywhere here
        self._strangers: dict[int, _Visit] = {}
        self._owners: dict[str, dict[int, _Visit]] = defaultdict(dict)  # by pin
        self._refusals = RefusedConnections(log, "owners'")
        self._tasks: set[asyncio.Task[None]] = set()
        listener.setblocking(False)
        self._loop.add_reader(listener, self._accept)
        self._looking = self._loop.create_task(self._look())

    def close(self) -> None:
        self._looking.cancel()
        self._loop.remove_reader(self._listener)
        self._listener.close()
        for number in list(self._silent):
            self._drop_silent(number)
        for visit in self._strangers.values():
            visit.end()

    def _accept(self) -> None:
        for _ in range(_ACCEPTED_AT_ONCE):
            if len(self._silent) >= self._most_silent and not self._make_room():
                return
            try:
                sock, _ = self._listener.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return
            except OSError as error:
                self._run_short(error)
                return
            sock.setblocking(False)
            self._number += 1
            self._silent[self._number] = _Visit(sock, self._loop.time())
            self._loop.add_reader(sock, self._speaks, self._number)

    def _make_room(self) -> bool:
        """Drop the oldest of those who say nothing, once it has had a moment; else accept nobody now."""
        number, visit = next(iter(self._silent.items()))
        left = visit.since + _SECONDS_FOR_EVERYBODY - self._loop.time()
        if left > 0:
            self._pause(left)
            return False
        self._drop_silent(number)
        return True

    def _run_short(self, error: OSError) -> None:
        """There are no more descriptors: let the oldest strangers go, and look again in a moment."""
        self._refusals.tell(reason_of(error))
        for number in list(self._silent)[:_ACCEPTED_AT_ONCE]:
            self._drop_silent(number)
        if not self._silent and self._strangers:
            self._strangers.pop(next(iter(self._strangers))).end()
        self._pause(_SECONDS_WITHOUT_DESCRIPTORS)

    def _pause(self, seconds: float) -> None:
        self._loop.remove_reader(self._listener)
        self._loop.call_later(seconds, self._accept_again)

    def _accept_again(self) -> None:
        if self._listener.fileno() >= 0:
            self._loop.add_reader(self._listener, self._accept)

    def _drop_silent(self, number: int, reason: str = "said nothing") -> None:
        sock = self._silent.pop(number).sock
        self._loop.remove_reader(sock)
        sock.close()
        self._refusals.tell(reason)

    def _speaks(self, number: int) -> None:
        """Go on with a connection: as many bytes as were awaited are here, or it has gone."""
        visit = self._silent[number]
        try:
            seen = visit.sock.recv(max(visit.awaited, RECORD_HEADER), socket.MSG_PEEK)
            whole = len(seen) == visit.awaited > RECORD_HEADER
            if not whole:
                self._wait_for_more(visit, seen)
        except (OSError, NotTlsError) as error:
            self._drop_silent(number, reason_of(error))
            return
        if whole:
            del self._silent[number]
            self._loop.remove_reader(visit.sock)
            self._greet(number, visit)

    def _wait_for_more(self, visit: _Visit, seen: bytes) -> None:
        """Have the kernel call again when the first record is here, or its header as a beginning."""
        if len(seen) < visit.awaited:
            raise NotTlsError("closed before it had said hello")
        visit.awaited = first_record_bytes(seen)
        visit.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, visit.awaited)

    def _greet(self, number: int, visit: _Visit) -> None:
        visit.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)
        self._strangers[number] = visit
        if len(self._strangers) > self._most_strangers:
            self._strangers.pop(next(iter(self._strangers))).end()
            self._refusals.tell("showed no owner's certificate in time")
        task = self._loop.create_task(self._welcome(number, visit))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _welcome(self, number: int, visit: _Visit) -> None:
        """TLS; with an owner's certificate it is a stranger no longer."""
        guest = _Guest(self._serve(), lambda: self._forget(number))
        try:
            transport, _ = await self._loop.connect_accepted_socket(
                lambda: guest, visit.sock, ssl=self._context, ssl_handshake_timeout=_SECONDS_TO_SPEAK
            )
        except OSError as error:
            self._forget(number)
            self._refusals.tell(reason_of(error))
            return
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 (of a stream)
        visit.transport = transport
        if self._strangers.get(number) is not visit:  # it was told to go, or has gone, meanwhile
            transport.abort()
            return
        pin = peer_pin(transport.get_extra_info("ssl_object"))
        if self._is_owner(pin):
            del self._strangers[number]
            visits = self._owners[pin]
            visits[number] = visit
            if len(visits) > self._most_of_an_owner:
                visits.pop(next(iter(visits))).end()
                self._refusals.tell("an owner has too many connections")

    def _forget(self, number: int) -> None:
        self._strangers.pop(number, None)
        for pin in [pin for pin, visits in self._owners.items() if number in visits]:
            del self._owners[pin][number]
            if not self._owners[pin]:
                del self._owners[pin]

    async def _look(self) -> None:
        """Drop those who have stayed too long without showing who they are."""
        while True:
            await asyncio.sleep(_SECONDS_BETWEEN_LOOKS)
            now = self._loop.time()
            for number in _older(self._silent, now - _SECONDS_TO_SPEAK):
                self._drop_silent(number)
            for number in _older(self._strangers, now - _SECONDS_FOR_A_STRANGER):
                self._strangers.pop(number).end()
                self._refusals.tell("showed no owner's certificate in time")
            self._refusals.flush()


def _older(visits: dict[int, _Visit], than: float) -> list[int]:
    found = []
    for number, visit in visits.items():
        if visit.since > than:
            break
        found.append(number)
    return found


class _Guest(asyncio.Protocol):
    """Passes everything on to another protocol, and tells when it is over."""

    def __init__(self, inner: asyncio.Protocol, over: Callable[[], None]) -> None:
        self._inner = inner
        self._over = over

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._inner.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        return self._inner.eof_received()

    def pause_writing(self) -> None:
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._inner.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._over()
        self._inner.connection_lost(exc)
