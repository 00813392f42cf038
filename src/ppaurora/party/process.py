"""The inside of a server process: it hears one task on standard input and answers in lines of JSON.

When the process that started it is gone, so is the server. What it says of an unforeseen error is its
type and place: the text might quote data.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from ppaurora.channel.servers import Server
from ppaurora.channel.tls import Identity, PassedSockets, TlsTransport, connect_parties
from ppaurora.channel.tls.polling import new_poll
from ppaurora.errors import PartyFailedError, PpauroraError, place_of
from ppaurora.io.dumps import forbid_dumps
from ppaurora.io.models import from_json, to_json
from ppaurora.messages.process import Alive, Event, Failed, Finished, Links, Opened, Progressed, Task
from ppaurora.party.run import RunOutcome, take_part
from ppaurora.party.shared_socket import read_shared
from ppaurora.session.freed import keep_large_arrays_apart
from ppaurora.sharing.commitment import SALT_BYTES
from ppaurora.sharing.stages import OwnerShare

M = TypeVar("M")
_EXIT_STARTER_GONE = 75
_SECONDS_BETWEEN_LOOKS = 0.2
_FIRST_TO_GO = "800"  # if memory runs out, the kernel takes this process rather than the one that started it


def main() -> int:
    """Compute one server's part of one job."""
    return run_server(_serve)


def run_server(serve: Callable[[Starter], None]) -> int:
    """Serve, and tell of any error. Returns the exit code."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who started this process decides what Ctrl-C means
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_FIRST_TO_GO, encoding="utf-8")
    forbid_dumps()  # afterwards that file is no longer this user's
    keep_large_arrays_apart()
    starter = Starter()
    try:
        starter.tell(Alive())
        serve(starter)
    except PpauroraError as error:
        starter.tell(failed(error))
        return error.exit_code
    except Exception as error:
        starter.tell(failed(error))
        if os.environ.get("PPAURORA_DEBUG"):
            raise
        return 70
    return 0


def failed(error: Exception) -> Failed:
    """Return the event that tells of an error: in its own words if they are ours, else its type and place."""
    if isinstance(error, PpauroraError):
        return Failed(kind=type(error).__name__, message=str(error), peer=getattr(error, "peer", None))
    place = ":".join(map(str, place_of(error)))
    return Failed(kind="MisuseError", message=f"internal error: {type(error).__name__} at {place}")


class Starter:
    """The process that started this one."""

    def __init__(self) -> None:
        self._commands = sys.stdin.buffer
        self._events = os.dup(sys.stdout.fileno())  # whatever becomes of standard output
        self._speaking = threading.Lock()

    def listener(self) -> socket.socket | None:
        """Return the socket at which the other servers will connect; None if it never comes."""
        passed = self.passed_sockets(1)
        return passed[0] if passed else None

    def passed_sockets(self, most: int) -> list[socket.socket]:
        """Return the listening socket and what was passed with it; nothing if they never come."""
        if sys.platform == "win32":
            listener = read_shared(self._commands)
            return [] if listener is None else [listener]
        with socket.socket(fileno=os.dup(self._commands.fileno())) as commands:
            _, descriptors, _, _ = socket.recv_fds(commands, 1, most)
        return [socket.socket(fileno=descriptor) for descriptor in descriptors]

    def hear(self, kind: type[M]) -> M | None:
        """Return the next message, or None if there will be none."""
        line = self._commands.readline()
        return from_json(kind, line) if line else None

    def read(self, length: int) -> bytes:
        return self._commands.read(length)

    def tell(self, event: Event) -> None:
        line = memoryview(to_json(event) + b"\n")
        with self._speaking:
            while line:
                line = line[os.write(self._events, line) :]

    def progress(self, step: str, done: int, total: int) -> None:
        self.tell(Progressed(step=step, done=done, total=total))

    @contextlib.contextmanager
    def giving_signs(self, seconds: float, most: float, late: str) -> Iterator[None]:
        """Signs of life while something is waited for that says nothing.

        What is too late ends all; so does, at once, that the other end is gone.
        """
        done = threading.Event()
        other_end = new_poll()
        other_end.register(self._commands.fileno(), 0)  # that it hung up is told unasked

        def give() -> None:
            start = last = time.monotonic()
            while not done.wait(_SECONDS_BETWEEN_LOOKS):
                now = time.monotonic()
                if other_end.poll(0):
                    os._exit(_EXIT_STARTER_GONE)
                if now > start + most:
                    self.tell(Failed(kind=PartyFailedError.__name__, message=late))
                    os._exit(PartyFailedError.exit_code)
                if now > last + seconds:
                    last = now
                    self.tell(Alive())

        threading.Thread(target=give, daemon=True).start()
        try:
            yield
        finally:
            done.set()

    def stay_in_touch(self, seconds: float) -> None:
        """Give a sign of life now and then from now on, and leave when the other end is gone."""
        threading.Thread(target=self._give_signs, args=(seconds,), daemon=True).start()
        threading.Thread(target=self._leave_with_starter, daemon=True).start()

    def _give_signs(self, seconds: float) -> None:
        with contextlib.suppress(OSError):
            while True:
                time.sleep(seconds)
                self.tell(Alive())
        os._exit(_EXIT_STARTER_GONE)

    def _leave_with_starter(self) -> None:
        # On a bare descriptor: a daemon thread that holds the lock of a buffered stream makes the
        # interpreter abort when it shuts down.
        with contextlib.suppress(OSError):
            while os.read(self._commands.fileno(), 1):
                pass
        os._exit(_EXIT_STARTER_GONE)


def _serve(starter: Starter) -> None:
    listener, task = starter.listener(), starter.hear(Task)
    if listener is None or task is None:
        return
    protocol = task.job.terms.protocol
    server = protocol.server_named(task.server)
    inputs = _read_inputs(task, server, starter)
    starter.stay_in_touch(task.links.timeout / 4)
    transport = connect(server, task.links, listener)
    try:
        outcome = take_part(
            transport,
            task.job,
            inputs,
            starter.progress,
            task.network,
            study=task.study,
            attempt=task.attempt,
            recipients=task.recipients,
            announce=lambda session: starter.tell(Opened(session=session.hex())),
        )
        transport.finish()
    finally:
        transport.close()
    starter.tell(finished(outcome))


def finished(outcome: RunOutcome) -> Finished:
    """Return the event that tells all of an outcome."""
    return Finished(
        parts=outcome.parts,
        seconds=outcome.seconds,
        meter=outcome.meter,
        openings=outcome.openings,
        peak_bytes=outcome.peak_bytes,
    )


def outcome_of(event: Finished) -> RunOutcome:
    """Return the outcome that an event tells of."""
    return RunOutcome(event.parts, event.seconds, event.meter, event.openings, event.peak_bytes)


def _read_inputs(task: Task, server: Server, starter: Starter) -> list[OwnerShare]:
    """Read shares from files, or from the pipe; a server that takes no submissions has none."""
    protocol, sizes, shape = task.job.terms.protocol, task.job.sizes, task.job.terms.shape
    if server not in protocol.input_servers:
        return []
    if task.share_files is None:
        return [
            protocol.read_share(starter.read(protocol.share_bytes(server, size, shape)), server, size, shape)
            for size in sizes
        ]
    files = zip(task.share_files, sizes, strict=True)
    return [protocol.read_share(share_in(Path(path)), server, size, shape) for path, size in files]


def share_in(file: Path) -> bytes:
    """Read a share from a file, as an owner submitted it, behind its salt."""
    with file.open("rb") as opened:
        opened.seek(SALT_BYTES)
        return opened.read()


def connect(server: Server, links: Links, listener: socket.socket) -> TlsTransport:
    """Connect to all peers; the listener is closed behind the last."""
    pins = {peer: links.pins[peer.file_name] for peer in server.peers}
    addresses = {peer: links.addresses[peer.file_name] for peer in server.peers}
    identity = Identity(Path(links.certificate), Path(links.key), links.authorities, pins)
    with listener:
        arriving = PassedSockets(listener) if links.passed else listener
        return connect_parties(
            server, identity, arriving, addresses, links.timeout, links.server_name, links.budget
        )
