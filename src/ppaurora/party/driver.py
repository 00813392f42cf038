"""The outside of a server process: how it is started, what it is told, what it says, how it ends."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from typing import IO, Any

from ppaurora import errors
from ppaurora.channel.servers import Server
from ppaurora.channel.tls import Identity
from ppaurora.errors import PartyFailedError, PpauroraError
from ppaurora.io.models import StrictModel, from_json, to_json
from ppaurora.messages.process import AnyEvent, Event, Failed, Links
from ppaurora.party.starting import WarmPool, discard, pass_listener
from ppaurora.party.starting import start_process as start_process

_SECONDS_TO_END = 2.0
# What writing to a process raises that has ended; Windows calls it by various names.
_GONE: type[OSError] = OSError if sys.platform == "win32" else ConnectionError


def links_for(
    identity: Identity,
    addresses: dict[Server, tuple[str, int]],
    timeout: float,
    *,
    passed: bool,
    server_name: str = "ppaurora",
    budget: float | None = None,
) -> Links:
    return Links(
        certificate=str(identity.certificate),
        key=str(identity.key),
        authorities=identity.authorities,
        pins={peer.file_name: pin for peer, pin in identity.pins.items()},
        addresses={server.file_name: address for server, address in addresses.items()},
        timeout=timeout,
        server_name=server_name,
        passed=passed,
        budget=budget,
    )


_PEER_ERRORS: dict[str, type[errors.PeerError]] = {
    kind.__name__: kind
    for kind in (errors.PeerLostError, errors.PeerTimeoutError, errors.PeerMisbehavedError)
}
_OTHER_ERRORS: dict[str, type[PpauroraError]] = {
    kind.__name__: kind for kind in (errors.InputError, errors.ProtocolError, errors.MisuseError)
}


def failure_of(event: Failed, title: str) -> PpauroraError:
    """Return the error that the server of this title told of."""
    if event.peer and event.kind in _PEER_ERRORS:
        return _PEER_ERRORS[event.kind](event.peer, event.message.removeprefix(f"{event.peer} "))
    return _OTHER_ERRORS.get(event.kind, PartyFailedError)(f"{title}: {event.message}")


Hear = Callable[[Event | None], None]  # None: nothing more will be heard


class ServerProcess:
    """A server in a process of its own. `hear` is called with its events, in a thread of their own.

    The others find it at its `listener`: the descriptor of a listening socket, or of one through which
    connections are passed. `events` are the kinds of message that it may tell, for a module that tells
    others. A process that waits in the `warm_pool` is taken, if there is one. `beside` are further
    descriptors that it gets with its listener.
    """

    def __init__(
        self,
        module: str,
        title: str,
        hear: Hear,
        listener: int,
        events: Any = AnyEvent,
        warm_pool: WarmPool | None = None,
        beside: Sequence[int] = (),
    ) -> None:
        self.title = title
        self._hear = hear
        self._kinds = events
        warm = None if warm_pool is None else warm_pool.take(module, title)
        self._process = warm or start_process(module, title)
        self._writer: threading.Thread | None = None
        try:
            with contextlib.suppress(_GONE):  # that it has gone is heard on its other pipe
                pass_listener(self._process, listener, *beside)
            threading.Thread(target=self._listen, daemon=True).start()
        except Exception:  # the machine may have no more threads
            discard(self._process)
            raise

    def _listen(self) -> None:
        assert self._process.stdout is not None  # noqa: S101
        with self._process.stdout as lines:
            for line in lines:
                try:
                    event: Event = from_json(self._kinds, line)
                except ValueError:
                    break
                self._hear(event)
        self._hear(None)

    def send(self, message: StrictModel, *raw: bytes) -> None:
        """Send a line and bytes behind it, and return at once: a server that does not read delays nobody."""
        assert self._process.stdin is not None  # noqa: S101
        content = [to_json(message) + b"\n", *raw]
        before = self._writer
        writer = threading.Thread(target=_write, args=(self._process.stdin, content, before), daemon=True)
        writer.start()
        self._writer = writer

    def kill(self) -> None:
        """Kill the process, from any thread; that it ended is heard as its last event."""
        self._process.kill()

    def end(self) -> str:
        """Return in words how it ended, once nothing more was heard of it."""
        try:
            code = self._process.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            return "could no longer be understood"
        return f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"

    def failure(self, event: Failed | None) -> PpauroraError:
        """Return the error that it told of, or that it ended without telling any."""
        if event is None:
            return PartyFailedError(
                f"{self.title} {self.end()} before it was done; the run was stopped "
                "(see more with PPAURORA_DEBUG=1)"
            )
        return failure_of(event, self.title)

    def close(self) -> None:
        """End the process: none is left behind."""
        self._process.kill()
        if self._writer is not None:
            self._writer.join()
        self._process.wait()
        if self._process.stdin is not None:
            with contextlib.suppress(_GONE):
                self._process.stdin.close()


def _write(commands: IO[bytes], content: Sequence[bytes], before: threading.Thread | None) -> None:
    if before is not None:
        before.join()
    # That a server has gone is heard on its other pipe.
    with contextlib.suppress(_GONE):
        for part in content:
            commands.write(part)
        commands.flush()
