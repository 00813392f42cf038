"""One worker of a server, as an actor on a Ray cluster."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import ray

from ppaurora.channel.base import Buffer
from ppaurora.channel.intra_party import LostWorkerError
from ppaurora.channel.tls import listen
from ppaurora.errors import PartyFailedError
from ppaurora.io.dumps import forbid_dumps
from ppaurora.io.models import from_json, to_json
from ppaurora.messages.process import Alive, Event, Order, Placed
from ppaurora.messages.workers import Endpoint
from ppaurora.party.process import failed
from ppaurora.session import Worker
from ppaurora.session.freed import keep_large_arrays_apart
from ppaurora.version import __version__
from ppaurora.workers.computing import compute
from ppaurora.workers.credentials import Credentials
from ppaurora.workers.part import Part, Station, longest_wait, worker_of


class RayWorker:
    """Methods are called side by side: `run` takes as long as the work, the others but a moment."""

    part: Part = staticmethod(compute)

    def __init__(self) -> None:
        forbid_dumps()
        keep_large_arrays_apart()
        self._credentials = Credentials.make("ppaurora worker")
        self._mailbox = Mailbox()
        self._news: list[bytes] = []
        self._changed = threading.Condition()

    def place(self, ports: tuple[int, int] | None) -> tuple[str, str, int, bytes]:
        """Return the version of ppaurora here, where this worker listens, and its endpoint."""
        host = ray.util.get_node_ip_address()
        self._listener = _listen(host, ports)
        address = (host, int(self._listener.getsockname()[1]))
        endpoint = Endpoint(
            certificate=self._credentials.certificate.decode(), address=address if ports else None
        )
        return __version__, *address, to_json(Placed(endpoints=(endpoint,)))

    def run(self, order: bytes, others: Sequence[Any], *inputs: Buffer) -> bytes:
        """Do all of this worker's work, and return its last event, whatever it is."""
        told = from_json(Order, order)
        worker = worker_of(told)
        intra_party = RayChannel(told.server.title, worker, others, self._mailbox, longest_wait(told))
        try:
            with self._listener:
                station = Station(told, self._credentials, self._listener, intra_party, self._tell)
                return to_json(self.part(station, inputs))
        except Exception as error:
            return to_json(failed(error))

    def deliver(self, number: int, sender: int, content: Buffer) -> None:
        """Take what another worker of this server hands over."""
        self._mailbox.put(number, sender, content)

    def news(self, seconds: float) -> list[bytes]:
        """Return what this worker has told since the last call; a sign of life if that is nothing."""
        with self._changed:
            self._changed.wait_for(lambda: self._news, seconds)
            told, self._news = self._news, []
        return told or [to_json(Alive())]

    def _tell(self, event: Event) -> None:
        with self._changed:
            self._news.append(to_json(event))
            self._changed.notify()


def _listen(host: str, ports: tuple[int, int] | None) -> Any:
    for port in range(ports[0], ports[1] + 1) if ports else (0,):
        try:
            return listen(host, port)
        except OSError as error:
            problem = error
    raise PartyFailedError(f"cannot listen at {host}: {problem.strerror}; the ports are {ports}")


class Mailbox:
    """Messages of other workers, kept until they are asked for."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._letters: dict[tuple[int, int], Buffer] = {}

    def put(self, number: int, sender: int, content: Buffer) -> None:
        with self._changed:
            self._letters[number, sender] = content
            self._changed.notify_all()

    def take(self, number: int, sender: int, seconds: float) -> Buffer | None:
        with self._changed:
            self._changed.wait_for(lambda: (number, sender) in self._letters, seconds)
            return self._letters.pop((number, sender), None)


class RayChannel:
    """Through Ray's object store: what is handed over is put there once, and read where it is."""

    def __init__(
        self, party: str, worker: Worker, others: Sequence[Any], mailbox: Mailbox, timeout: float
    ) -> None:
        self._party = party
        self._worker = worker
        self._others = others
        self._mailbox = mailbox
        self._timeout = timeout
        self._number = 0

    def all_to_all(self, outgoing: Sequence[Buffer]) -> list[Buffer]:
        number, self._number = self._number, self._number + 1
        numbers = [other for other in range(self._worker.count) if other != self._worker.index]
        sent = {
            other: self._others[other].deliver.remote(
                number, self._worker.index, np.frombuffer(outgoing[other], dtype=np.uint8)
            )
            for other in numbers
        }
        received: list[Buffer] = list(outgoing)
        deadline = time.monotonic() + self._timeout
        for other in numbers:
            content = self._mailbox.take(number, other, max(deadline - time.monotonic(), 0))
            if content is None:
                raise LostWorkerError(self._party, other, f"handed on nothing for {self._timeout:g} seconds")
            received[other] = memoryview(content)
        for other, taken in sent.items():
            try:
                ray.get(taken, timeout=self._timeout)
            except ray.exceptions.RayError:
                raise LostWorkerError(self._party, other, "is gone") from None
        return received

    def close(self) -> None:
        """Do nothing: the engine ends the actor."""
