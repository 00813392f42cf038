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
from typing import Any

from ppaurora.agreement.terms import Job
from ppaurora.channel.servers import Server
from ppaurora.channel.shaped import Network
from ppaurora.channel.tls import Identity, listen
from ppaurora.errors import PartyFailedError, PeerError, PpauroraError
from ppaurora.io.models import StrictModel
from ppaurora.local.certificates import make_identities
from ppaurora.local.threads import root_cause
from ppaurora.messages.process import AnyEvent, Event, Failed, Finished, Links, Placed, Progressed, Task
from ppaurora.messages.workers import Crew, Endpoint, PeerEndpoints
from ppaurora.party.driver import ServerProcess, links_for
from ppaurora.party.process import outcome_of
from ppaurora.party.run import RunOutcome
from ppaurora.party.starting import WarmPool
from ppaurora.session import Progress
from ppaurora.sharing.stages import OwnerShare
from ppaurora.workers import PROCESS as CREW

_SECONDS_TO_START = 30.0
_SECONDS_FOR_LAST_WORDS = 2.0


def run_in_processes(
    job: Job,
    inputs: Mapping[Server, Sequence[OwnerShare]],
    progress: Progress,
    timeout: float,
    network: Network | None = None,
    warm_pool: WarmPool | None = None,
    crews: Mapping[Server, Crew] | None = None,
) -> dict[Server, RunOutcome]:
    """Return every server's outcome, or raise the error that stopped the run; warm processes are used.

    With `crews`, every server has as many workers as its crew says; all have as many.
    """
    protocol = job.terms.protocol
    module = protocol.process if crews is None else CREW
    processes = LocalProcesses(protocol.servers, module, timeout, warm_pool=warm_pool)
    try:
        processes.start()
        for server in protocol.servers:
            task = Task(
                job=job,
                server=server.file_name,
                links=processes.links(server),
                network=network,
                crew=None if crews is None else crews[server],
            )
            processes.send(server, task, *(share.to_bytes() for share in inputs.get(server, ())))
        if crews is not None:
            _tell_endpoints(processes)
        return _outcomes(processes, protocol.leader, progress)
    finally:
        processes.stop()


def _tell_endpoints(processes: LocalProcesses) -> None:
    """Tell all servers where the workers are, once all have placed theirs."""
    endpoints: dict[str, tuple[Endpoint, ...]] = {}
    while len(endpoints) < len(processes.servers):
        server, event = processes.next_event(())
        if isinstance(event, Placed):
            endpoints[server.file_name] = event.endpoints
    for server in processes.servers:
        processes.send(server, PeerEndpoints(endpoints=endpoints))


def _outcomes(processes: LocalProcesses, leader: Server, progress: Progress) -> dict[Server, RunOutcome]:
    """Return the outcome of every server; the leader's progress is passed on."""
    outcomes: dict[Server, RunOutcome] = {}
    while len(outcomes) < len(processes.servers):
        server, event = processes.next_event(outcomes)
        match event:
            case Progressed() if server is leader:
                progress(event.step, event.done, event.total)
            case Finished():
                outcomes[server] = outcome_of(event)
    return outcomes


class LocalProcesses:
    """A process for every server, and what they say."""

    def __init__(
        self,
        servers: type[Server],
        module: str,
        timeout: float,
        events: Any = AnyEvent,
        warm_pool: WarmPool | None = None,
    ) -> None:
        self.servers = servers
        self._module = module
        self._timeout = timeout
        self._kinds = events
        self._warm_pool = warm_pool
        self._processes: dict[Server, ServerProcess] = {}
        self._events: queue.Queue[tuple[Server, Event | None]] = queue.Queue()
        self._last_heard: dict[Server, float] = {}
        self._patience = dict.fromkeys(servers, max(timeout, _SECONDS_TO_START))
        self._folder = tempfile.TemporaryDirectory(prefix="ppaurora-")
        self._identities: dict[Server, Identity] = {}
        self._listeners = {server: listen() for server in servers}

    def start(self) -> None:
        """Certificates are made while the processes load."""
        for server, listener in self._listeners.items():
            hear = functools.partial(self._hear, server)
            self._processes[server] = ServerProcess(
                self._module, server.title, hear, listener.fileno(), self._kinds, self._warm_pool
            )
            self._last_heard[server] = time.monotonic()
        self._identities = make_identities(Path(self._folder.name), self.servers)

    def _hear(self, server: Server, event: Event | None) -> None:
        self._events.put((server, event))

    def links(self, server: Server) -> Links:
        """Return how a server finds the others here."""
        addresses = {
            peer: ("127.0.0.1", int(listener.getsockname()[1])) for peer, listener in self._listeners.items()
        }
        return links_for(self._identities[server], addresses, self._timeout, passed=False)

    def send(self, server: Server, message: StrictModel, *raw: bytes) -> None:
        self._processes[server].send(message, *raw)

    def next_event(self, heard_out: Container[Server]) -> tuple[Server, Event | None]:
        """Return what any server says next; raise the error that one ended with, or that it fell silent.

        All but those heard out must say something in time; one that has not said anything yet may take
        longer, for it has to start. None: a server that was heard out has ended.
        """

        def deadline(server: Server) -> float:
            return self._last_heard[server] + self._patience[server]

        quietest = min((server for server in self._processes if server not in heard_out), key=deadline)
        try:
            server, event = self._events.get(timeout=max(deadline(quietest) - time.monotonic(), 0))
        except queue.Empty:
            raise PartyFailedError(
                f"{quietest.title} gave no sign of life for {self._patience[quietest]:g} seconds; "
                "the run was stopped"
            ) from None
        self._last_heard[server] = time.monotonic()
        self._patience[server] = self._timeout
        if isinstance(event, Failed) or (event is None and server not in heard_out):
            raise self._root_cause(self._processes[server].failure(event), server)
        return server, event

    def _root_cause(self, failure: PpauroraError, reporter: Server) -> BaseException:
        """Return the cause of a failure: who lost a peer only echoes it, so hear the others first."""
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
        """No process is left behind, no socket, and no folder with keys."""
        for process in self._processes.values():
            process.kill()
        for process in self._processes.values():
            process.close()
        for listener in self._listeners.values():
            listener.close()
        self._folder.cleanup()
