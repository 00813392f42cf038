"""Crowds at the owners' port of a node."""

from __future__ import annotations

import contextlib
import resource
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from ppaurora.testing.consortium import Consortium

HELLO_BEGUN = b"\x16\x03\x01\x02\x00"  # of a TLS record that does not go on


class Crowd:
    """So many connections, held open; one that is hung up on comes again. They say nothing, or `word`."""

    def __init__(self, port: int, size: int, word: bytes = b"") -> None:
        self._port, self._word = port, word
        self._sockets: list[socket.socket | None] = [None] * size
        self._over = threading.Event()
        self.arrived = threading.Event()
        self.came = 0
        self._thread = threading.Thread(target=self._come, daemon=True)
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, size + 1024)), hard))
        self._thread.start()

    def _come(self) -> None:
        while not self._over.is_set():
            for place, sock in enumerate(self._sockets):
                if self._over.is_set():
                    return
                if sock is None or _hung_up(sock):
                    self._take(place)
            self.arrived.set()
            time.sleep(0.05)

    def _take(self, place: int) -> None:
        before = self._sockets[place]
        if before is not None:
            before.close()
        self._sockets[place] = None
        with contextlib.suppress(OSError):
            # From several addresses: one has too few ports for tens of thousands.
            source = (f"127.0.0.{2 + place % 8}", 0)
            sock = socket.create_connection(("127.0.0.1", self._port), timeout=5, source_address=source)
            self._sockets[place] = sock  # to be closed, also if it is hung up on before it has said anything
            sock.setblocking(False)
            if self._word:
                sock.send(self._word)
            self.came += 1

    def leave(self) -> None:
        self._over.set()
        self._thread.join()
        for sock in self._sockets:
            if sock is not None:
                sock.close()


def _hung_up(sock: socket.socket) -> bool:
    try:
        return not sock.recv(1)
    except BlockingIOError:
        return False
    except OSError:
        return True


@contextlib.contextmanager
def crowd(port: int, size: int, word: bytes = b"") -> Iterator[Crowd]:
    found = Crowd(port, size, word)
    try:
        yield found
    finally:
        found.leave()


def start_with_descriptors(consortium: Consortium, name: str, descriptors: int) -> None:
    """A node that may open so many files."""
    command = [sys.executable, "-m", "ppaurora", "serve", str(consortium.kit(name))]
    with (consortium.folder / f"{name}.log").open("ab") as log:
        consortium.processes[name] = subprocess.Popen(
            ["/bin/sh", "-c", f'ulimit -n {descriptors}; exec "$@"', "sh", *command], stdout=log, stderr=log
        )
    consortium.wait_until_healthy(name)


def memory_of(pid: int) -> int:
    """What a process holds now, in bytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) * 1024
