"""All servers as processes on this machine, talking over mutual TLS on loopback.

They are started as `python -m`, so this works from a notebook, a REPL or a script without a main guard.
Whatever ends this process ends them: an error, Ctrl-C, or a kill.
"""

from __future__ import annotations

import functools
import queue
import tempfile
import time
from collections.abc import Container, Mapping, Sequence
from pathlib import Path

from ppaurora.channel.shaped import Network
from ppaurora.channel.tls import listen
from ppaurora.errors import PartyFailedError, PeerError, PpauroraError
from ppaurora.local.certificates import make_identities
from ppaurora.local.threads import root_cause
from ppaurora.messages.process import AnyEvent, Failed, Finished, Order, Progressed
from ppaurora.party.driver import ServerProcess, links_for
from ppaurora.party.run import Outcome
from ppaurora.protocols import Protocol
from ppaurora.servers import Server
from ppaurora.session import Progress
from ppaurora.sharing.stages import InputShare
from ppaurora.terms import Job

_SECONDS_TO_START = 30.0
_SECONDS_FOR_LAST_WORDS = 2.0


def run_in_processes(
    job: Job,
    inputs: Mapping[Server, Sequence[InputShare]],
    progress: Progress,
    timeout: float,
    network: Network | None = None,
) -> list[Outcome]:
    """One outcome per server, or the error that stopped the run."""
    protocol = job.terms.protocol
    with tempfile.TemporaryDirectory(prefix="ppaurora-") as folder:
        identities = make_identities(Path(folder), protocol.servers)
        processes = LocalProcesses(protocol)
        try:
            processes.start()
            for server in protocol.servers:
                order = Order(
                    job=job,
                    server=server.file_name,
                    links=links_for(
                        identities[server],
                        processes.addresses,
                        timeout,
                        processes.entrances[server],
                        passed=False,
                    ),
                    network=network,
                )
                processes.order(server, order, inputs.get(server, ()))
            return processes.outcomes(progress, timeout)
        finally:
            processes.stop()


class LocalProcesses:
    """The server processes of one run, and what they say."""

    def __init__(self, protocol: Protocol) -> None:
        self._protocol = protocol
        self._processes: dict[Server, ServerProcess] = {}
        self._events: queue.Queue[tuple[Server, AnyEvent | None]] = queue.Queue()
        self._last_heard: dict[Server, float] = {}
        self._patience = dict.fromkeys(protocol.servers, _SECONDS_TO_START)
        self._listeners = {server: listen() for server in protocol.servers}
        self.entrances = {server: listener.fileno() for server, listener in self._listeners.items()}
        self.addresses = {
            server: ("127.0.0.1", int(listener.getsockname()[1]))
            for server, listener in self._listeners.items()
        }

    def start(self) -> None:
        for server, entrance in self.entrances.items():
            hear = functools.partial(self._hear, server)
            self._processes[server] = ServerProcess(self._protocol.process, server.title, hear, entrance)
            self._last_heard[server] = time.monotonic()

    def _hear(self, server: Server, event: AnyEvent | None) -> None:
        self._events.put((server, event))

    def order(self, server: Server, order: Order, shares: Sequence[InputShare]) -> None:
        self._processes[server].order(order, [share.to_bytes() for share in shares])

    def _next_event(self, heard_out: Container[Server], timeout: float) -> tuple[Server, AnyEvent | None]:
        """What any server says next; all but those heard out must say something every `timeout` seconds.

        One that has not said anything yet may take longer, for it has to start.
        """

        def deadline(server: Server) -> float:
            return self._last_heard[server] + max(timeout, self._patience[server])

        quietest = min((server for server in self._processes if server not in heard_out), key=deadline)
        try:
            server, event = self._events.get(timeout=max(deadline(quietest) - time.monotonic(), 0))
        except queue.Empty:
            seconds = max(timeout, self._patience[quietest])
            raise PartyFailedError(
                f"{quietest.title} gave no sign of life for {seconds:g} seconds; the run was stopped"
            ) from None
        self._last_heard[server] = time.monotonic()
        self._patience[server] = 0.0
        return server, event

    def outcomes(self, progress: Progress, timeout: float) -> list[Outcome]:
        outcomes: dict[Server, Outcome] = {}
        while len(outcomes) < len(self._processes):
            server, event = self._next_event(outcomes, timeout)
            match event:
                case None if server in outcomes:
                    pass
                case None | Failed():
                    raise self._root_cause(self._processes[server].failure(event), server)
                case Progressed() if server is self._protocol.leader:
                    progress(event.step, event.done, event.total)
                case Finished():
                    outcomes[server] = Outcome(
                        event.parts, event.seconds, event.meter, event.openings, event.peak_bytes
                    )
        return [outcomes[server] for server in self._protocol.servers]

    def _root_cause(self, failure: PpauroraError, reporter: Server) -> BaseException:
        """Who lost a peer only echoes what happened there: hear the others before blaming anyone."""
        failures = {reporter: failure}
        deadline = time.monotonic() + _SECONDS_FOR_LAST_WORDS
        while isinstance(root_cause(failures), PeerError) and len(failures) < len(self._processes):
            try:
                server, event = self._events.get(timeout=max(deadline - time.monotonic(), 0))
            except queue.Empty:
                break
            if server not in failures and (event is None or isinstance(event, Failed)):
                failures[server] = self._processes[server].failure(event)
        return root_cause(failures)

    def stop(self) -> None:
        """No process is left behind, and no socket."""
        for process in self._processes.values():
            process.kill()
        for process in self._processes.values():
            process.close()
        for listener in self._listeners.values():
            listener.close()
