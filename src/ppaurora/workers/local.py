"""Workers as processes on this machine."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import queue
import socket
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from ppaurora.channel.base import Buffer
from ppaurora.channel.tls import pass_socket
from ppaurora.errors import PartyFailedError
from ppaurora.messages.process import Event, Failed, Order, Placed
from ppaurora.messages.workers import Endpoint
from ppaurora.party.driver import ServerProcess
from ppaurora.session.worker import MOST_WORKERS
from ppaurora.workers.engine import Ended

MODULE = "ppaurora.workers.process"
_SECONDS_TO_START = 120.0
_SPARE_DESCRIPTORS = 256
_BYTES_PER_WORKER = 128 << 20  # an interpreter and what it loads, with some room


def workers_here(bytes_needed: int = 0, servers: int = 1) -> int:
    """Return the largest power of two of workers that this machine has cores and memory for.

    `servers` is how many servers run on this machine at once.
    """
    room = (_available_bytes() - bytes_needed) // _BYTES_PER_WORKER
    most = max(min(_cores(), room) // servers, 1)
    return int(min(1 << (most.bit_length() - 1), MOST_WORKERS))


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _available_bytes() -> int:
    try:
        told = Path("/proc/meminfo").read_text("utf-8")
        return int(told.split("MemAvailable:")[1].split()[0]) * 1024
    except (OSError, IndexError, ValueError):  # a system that does not tell
        return 1 << 40


class LocalEngine:
    """A process for every worker; whatever ends this process ends them."""

    def __init__(self, title: str, count: int) -> None:
        self._title = title
        self._count = count
        self._events: queue.Queue[tuple[int, Event | None]] = queue.Queue()
        self._workers: list[ServerProcess] = []
        self._listeners: list[socket.socket] = []

    def place(self) -> Sequence[Endpoint]:
        descriptors = 2 * self._count**2 + _SPARE_DESCRIPTORS
        _allow_descriptors(descriptors)
        try:
            self._start_all()
        except OSError as error:
            raise PartyFailedError(
                f"{self._count} workers could not be connected to each other: {error.strerror}; let this "
                f"node open {descriptors} files (ulimit -n), or have fewer workers"
            ) from None
        return self._endpoints()

    def _start_all(self) -> None:
        with contextlib.ExitStack() as passed:
            between: dict[tuple[int, int], socket.socket] = {}
            for low, high in itertools.combinations(range(self._count), 2):
                between[low, high], between[high, low] = map(passed.enter_context, socket.socketpair())
            for number in range(self._count):
                ours, theirs = socket.socketpair()
                self._listeners.append(ours)
                passed.enter_context(theirs)
                beside = [between[number, other].fileno() for other in range(self._count) if other != number]
                self._workers.append(self._start(number, theirs, beside))

    def _start(self, number: int, listener: socket.socket, beside: Sequence[int]) -> ServerProcess:
        title = f"{self._title}, worker {number}"
        hear = functools.partial(self._hear, number)
        try:
            return ServerProcess(MODULE, title, hear, listener.fileno(), beside=beside)
        except (OSError, RuntimeError) as error:
            raise PartyFailedError(f"worker {number} could not be started: {error}") from None

    def _hear(self, number: int, event: Event | None) -> None:
        self._events.put((number, event))

    def _endpoints(self) -> list[Endpoint]:
        endpoints: dict[int, Endpoint] = {}
        deadline = time.monotonic() + _SECONDS_TO_START
        while len(endpoints) < self._count:
            heard = self.next_event(max(deadline - time.monotonic(), 0))
            match heard:
                case None:
                    late = min(set(range(self._count)) - endpoints.keys())
                    raise PartyFailedError(
                        f"worker {late} did not start within {_SECONDS_TO_START:g} seconds"
                    )
                case number, Placed() as event:
                    endpoints[number] = event.endpoints[0]
                case number, Failed() as event:
                    raise PartyFailedError(f"worker {number}: {event.message}")
                case number, Ended() as event:
                    raise PartyFailedError(f"worker {number} {event.how}")
        return [endpoints[number] for number in range(self._count)]

    def begin(self, order: Order, inputs: Sequence[Buffer]) -> None:
        self._workers[order.worker].send(order, *map(bytes, inputs))

    def admit(self, worker: int, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):  # that it is gone is heard elsewhere
            pass_socket(self._listeners[worker], connection)

    def next_event(self, seconds: float) -> tuple[int, Event | Ended] | None:
        try:
            number, event = self._events.get(timeout=seconds)
        except queue.Empty:
            return None
        return number, Ended(self._workers[number].end()) if event is None else event

    def close(self) -> None:
        for worker in self._workers:
            worker.kill()
        for worker in self._workers:
            worker.close()
        for listener in self._listeners:
            listener.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _allow_descriptors(count: int) -> None:
    import resource  # a node's, and Windows has none

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(count, hard)), hard))
