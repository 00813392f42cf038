"""A machine that has no more descriptors or threads for workers: a sentence, and nobody is forgotten."""

from __future__ import annotations

import contextlib
import errno
import resource
import socket
import ssl
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from ppaurora.channel.tls import listen
from ppaurora.errors import PartyFailedError
from ppaurora.workers.listener import WorkerListener
from ppaurora.workers.local import LocalEngine


@pytest.fixture
def few_descriptors(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the system gave none after the first twenty pairs."""
    left = iter(range(20))
    real = socket.socketpair

    def socketpair() -> tuple[socket.socket, socket.socket]:
        if next(left, None) is None:
            raise OSError(errno.EMFILE, "Too many open files")
        return real()

    monkeypatch.setattr(socket, "socketpair", socketpair)
    monkeypatch.setattr(resource, "setrlimit", lambda *_: None)


@pytest.mark.usefixtures("few_descriptors")
def test_too_few_descriptors_for_all_workers_are_told_of() -> None:
    with (
        pytest.raises(PartyFailedError, match=r"8 workers could not .*Too many open files; .*ulimit -n"),
        LocalEngine("proxy 0", 8) as engine,
    ):
        engine.place()


@contextlib.contextmanager
def open_listener() -> Iterator[tuple[WorkerListener, list[int], threading.Event]]:
    """Of two workers, who note who comes, and that somebody has."""
    admitted: list[int] = []
    came = threading.Event()

    def admit(worker: int, connection: socket.socket) -> None:
        admitted.append(worker)
        connection.close()
        came.set()

    worker_listener = WorkerListener(listen(), 2, admit, passed=False)
    try:
        yield worker_listener, admitted, came
    finally:
        worker_listener.close()


def call(worker_listener: WorkerListener, name: str) -> None:
    """Somebody who asks for a worker, and is gone before any handshake ends."""
    context = ssl.create_default_context()
    with (
        socket.create_connection(worker_listener._socket.getsockname(), timeout=60) as raw,
        contextlib.suppress(OSError),
        context.wrap_socket(raw, server_hostname=name),
    ):
        pass


def test_a_listener_lets_in_again_once_there_are_descriptors(monkeypatch: pytest.MonkeyPatch) -> None:
    with open_listener() as (worker_listener, admitted, came):
        accepting = worker_listener._listener
        monkeypatch.setattr(accepting, "_listener", FailsOnce(accepting._listener))
        call(worker_listener, "worker-1.x")
        assert came.wait(120)
        assert admitted == [1]


class FailsOnce:
    """A listener that has no descriptor for its first connection yet."""

    def __init__(self, real: Any) -> None:
        self._real = real
        self._failed = False

    def fileno(self) -> int:
        return int(self._real.fileno())

    def accept(self) -> Any:
        if not self._failed:
            self._failed = True
            raise OSError(errno.EMFILE, "Too many open files")
        return self._real.accept()


def test_a_listener_lets_in_again_once_there_are_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    real, refused = threading.Thread, threading.Event()

    def thread(*arguments: Any, **options: Any) -> Any:
        if options.get("name") != "listener" and not refused.is_set():
            refused.set()
            raise RuntimeError("can't start new thread")
        return real(*arguments, **options)

    monkeypatch.setattr(threading, "Thread", thread)
    with open_listener() as (worker_listener, admitted, came):
        call(worker_listener, "worker-0.x")
        assert refused.is_set()
        call(worker_listener, "worker-1.x")
        assert came.wait(120)
        assert admitted == [1]


@pytest.mark.parametrize("name", ["worker-2.x", "worker-64.x", "worker--1.x", "x", "worker-0001.x"])
def test_who_asks_for_a_worker_that_there_is_not_is_sent_away(name: str) -> None:
    with open_listener() as (worker_listener, admitted, came):
        call(worker_listener, name)
        call(worker_listener, "worker-0.x")
        assert came.wait(120)
        assert admitted == [0]
