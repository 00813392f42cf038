"""Workers that are processes of one machine: each pair of them has a pair of sockets.

The sockets have no name that anybody else could open: the process that starts the workers makes them and
passes them on.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import struct
import time
from collections.abc import Sequence

import numpy as np

from ppaurora.channel.base import Buffer
from ppaurora.channel.intra_party import LostWorkerError
from ppaurora.session import Worker

_LENGTH = struct.Struct(">Q")
_PIECE = 1 << 20


class SocketChannel:
    """One worker's end of the channel within its party; `others` lead to all others, by number."""

    def __init__(self, party: str, worker: Worker, others: Sequence[socket.socket], timeout: float) -> None:
        self._party = party
        self._worker = worker
        self._timeout = timeout
        numbers = [number for number in range(worker.count) if number != worker.index]
        self._others = dict(zip(numbers, others, strict=True))
        for other in self._others.values():
            other.setblocking(False)

    def all_to_all(self, outgoing: Sequence[Buffer]) -> list[Buffer]:
        """Send and receive side by side, so that nobody waits for one who waits."""
        exchanges = {number: _Exchange(sock, outgoing[number]) for number, sock in self._others.items()}
        with selectors.DefaultSelector() as selector:
            for number, exchange in exchanges.items():
                selector.register(exchange.socket, exchange.wants, number)
            deadline = time.monotonic() + self._timeout
            while selector.get_map():
                ready = selector.select(max(deadline - time.monotonic(), 0))
                if not ready:
                    number = next(iter(selector.get_map().values())).data
                    raise LostWorkerError(
                        self._party, number, f"handed on nothing for {self._timeout:g} seconds"
                    )
                deadline = time.monotonic() + self._timeout
                for key, events in ready:
                    self._move(exchanges[key.data], key.data, events)
                    if exchanges[key.data].wants:
                        selector.modify(key.fileobj, exchanges[key.data].wants, key.data)
                    else:
                        selector.unregister(key.fileobj)
        received: list[Buffer] = list(outgoing)
        for number, exchange in exchanges.items():
            received[number] = exchange.received
        return received

    def _move(self, exchange: _Exchange, number: int, events: int) -> None:
        try:
            exchange.move(events)
        except BlockingIOError:
            pass
        except OSError:
            raise LostWorkerError(self._party, number, "is gone") from None

    def close(self) -> None:
        for other in self._others.values():
            with contextlib.suppress(OSError):
                other.close()


class _Exchange:
    """The exchange with one other worker: a length and as many bytes, both ways."""

    def __init__(self, sock: socket.socket, outgoing: Buffer) -> None:
        self.socket = sock
        content = memoryview(outgoing).cast("B") if memoryview(outgoing).nbytes else memoryview(b"")
        self._leaving = [memoryview(_LENGTH.pack(content.nbytes)), content]
        self._header = bytearray(_LENGTH.size)
        self._arriving = memoryview(self._header)
        self._has_length = False
        self.received: Buffer = b""

    @property
    def wants(self) -> int:
        """Return the events to wait for; none once all was sent and all is here."""
        reads = selectors.EVENT_READ if self._arriving.nbytes or not self._has_length else 0
        return reads | (selectors.EVENT_WRITE if self._leaving else 0)

    def move(self, events: int) -> None:
        if events & selectors.EVENT_WRITE:
            self._send()
        if events & selectors.EVENT_READ:
            self._receive()

    def _send(self) -> None:
        sent = self.socket.send(self._leaving[0][:_PIECE]) if self._leaving[0].nbytes else 0
        self._leaving[0] = self._leaving[0][sent:]
        while self._leaving and not self._leaving[0].nbytes:
            self._leaving.pop(0)

    def _receive(self) -> None:
        count = self.socket.recv_into(self._arriving)
        if not count:
            raise ConnectionResetError
        self._arriving = self._arriving[count:]
        if not self._arriving.nbytes and not self._has_length:
            self._has_length = True
            (length,) = _LENGTH.unpack(self._header)
            self.received = np.empty(length, dtype=np.uint8).data
            self._arriving = memoryview(self.received)
