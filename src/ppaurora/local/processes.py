"""Three parties as three processes on this machine, talking over mutual TLS on loopback.

They are started as `python -m ppaurora.party`, so this works from a notebook, a REPL or a script
without a main guard. Whatever ends the driver ends them: an error, Ctrl-C, or a kill.
"""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import tempfile
import threading
import time
from collections.abc import Container, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

import numpy as np

from ppaurora.channel.shaped import Network
from ppaurora.errors import PartyFailedError, PeerError, PpauroraError
from ppaurora.local.certificates import make_identities
from ppaurora.local.threads import root_cause
from ppaurora.party.driven import Meeting, start_server, told_error
from ppaurora.party.job import Job
from ppaurora.party.run import Outcome
from ppaurora.servers import Server
from ppaurora.session import Progress
from ppaurora.sharing.stages import InputShare, ResultShare
from ppaurora.suites.role import Role

_SECONDS_TO_START = 30.0
_SECONDS_FOR_LAST_WORDS = 2.0


def run_in_processes(
    job: Job,
    inputs: dict[Role, Sequence[InputShare]],
    progress: Progress,
    timeout: float,
    network: Network | None = None,
) -> list[Outcome]:
    """One outcome per role, or the error that stopped the run."""
    with tempfile.TemporaryDirectory(prefix="ppaurora-") as folder:
        identities = make_identities(Path(folder), Role)
        parties = _Parties()
        try:
            parties.start()
            ports = parties.ports(max(timeout, _SECONDS_TO_START))
            addresses: dict[Server, tuple[str, int]] = {
                role: ("127.0.0.1", port) for role, port in ports.items()
            }
            for role in Role:
                order = {
                    "job": job.to_json(),
                    "meeting": Meeting(identities[role], addresses, timeout).to_dict(),
                    "network": None if network is None else asdict(network),
                }
                parties.order(role, order, inputs.get(role, ()))
            return parties.outcomes(progress, timeout)
        finally:
            parties.stop()


class _Parties:
    """The three child processes and what they say."""

    def __init__(self) -> None:
        self._processes: dict[Role, subprocess.Popen[bytes]] = {}
        self._events: queue.Queue[tuple[Role, dict[str, Any] | None]] = queue.Queue()
        self._last_heard: dict[Role, float] = {}
        self._couriers: list[threading.Thread] = []

    def start(self) -> None:
        for role in Role:
            process = start_server(
                "ppaurora.party", role.title, stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
            self._processes[role] = process
            self._last_heard[role] = time.monotonic()
            threading.Thread(target=self._listen, args=(role, process), daemon=True).start()

    def _listen(self, role: Role, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None  # noqa: S101
        with process.stdout as lines:
            for line in lines:
                try:
                    event = json.loads(line)
                except ValueError:
                    break
                self._events.put((role, event))
        self._events.put((role, None))

    def _next_event(self, heard_out: Container[Role], timeout: float) -> tuple[Role, dict[str, Any] | None]:
        """What any server says next; all but those heard out must say something every `timeout` seconds."""
        quietest = min((role for role in Role if role not in heard_out), key=self._last_heard.__getitem__)
        patience = self._last_heard[quietest] + timeout - time.monotonic()
        try:
            role, event = self._events.get(timeout=max(patience, 0))
        except queue.Empty:
            raise PartyFailedError(
                f"{quietest.title} gave no sign of life for {timeout:g} seconds; the run was stopped"
            ) from None
        self._last_heard[role] = time.monotonic()
        return role, event

    def ports(self, timeout: float) -> dict[Role, int]:
        ports: dict[Role, int] = {}
        while len(ports) < len(Role):
            role, event = self._next_event(ports, timeout)
            if event is None or event["event"] != "listening":
                raise self._failure(role, event)
            ports[role] = event["port"]
        return ports

    def order(self, role: Role, order: dict[str, Any], shares: Sequence[InputShare]) -> None:
        """Returns at once: a server that does not read its order must not hold up the driver."""
        commands = self._processes[role].stdin
        assert commands is not None  # noqa: S101
        parcel = [json.dumps(order).encode() + b"\n", *(share.to_bytes() for share in shares)]
        courier = threading.Thread(target=_deliver, args=(commands, parcel), daemon=True)
        self._couriers.append(courier)
        self._last_heard[role] = time.monotonic()  # it had nothing to say before
        courier.start()

    def outcomes(self, progress: Progress, timeout: float) -> list[Outcome]:
        outcomes: dict[Role, Outcome] = {}
        while len(outcomes) < len(Role):
            role, event = self._next_event(outcomes, timeout)
            if event is None and role in outcomes:
                continue
            if event is None or event["event"] == "error":
                raise self._root_cause(self._failure(role, event), role)
            if event["event"] == "progress" and role is Role.PROXY_0:
                progress(event["step"], event["done"], event["total"])
            if event["event"] == "outcome":
                words = event["result"]
                result = None if words is None else ResultShare(np.array(words, dtype=np.uint64))
                outcomes[role] = Outcome(
                    result, (), event["seconds"], event["meter"], event["openings"], event["peak_bytes"]
                )
        return [outcomes[role] for role in Role]

    def _root_cause(self, failure: PpauroraError, reporter: Role) -> BaseException:
        """Who lost a peer only echoes what happened there: hear the others before blaming anyone."""
        failures: dict[Server, PpauroraError] = {reporter: failure}
        deadline = time.monotonic() + _SECONDS_FOR_LAST_WORDS
        while isinstance(root_cause(failures), PeerError) and len(failures) < len(Role):
            try:
                role, event = self._events.get(timeout=max(deadline - time.monotonic(), 0))
            except queue.Empty:
                break
            if role not in failures and (event is None or event["event"] == "error"):
                failures[role] = self._failure(role, event)
        return root_cause(failures)

    def _failure(self, role: Role, event: dict[str, Any] | None) -> PpauroraError:
        if event is None:
            how = self._end_of(self._processes[role])
            return PartyFailedError(
                f"{role.title} {how} before it was done; the run was stopped (see more with PPAURORA_DEBUG=1)"
            )
        return told_error(event, role.title)

    @staticmethod
    def _end_of(process: subprocess.Popen[bytes]) -> str:
        try:
            code = process.wait(_SECONDS_FOR_LAST_WORDS)
        except subprocess.TimeoutExpired:
            return "could no longer be understood"
        return f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"

    def stop(self) -> None:
        """No process is left behind."""
        for process in self._processes.values():
            process.kill()
        for courier in self._couriers:
            courier.join()
        for process in self._processes.values():
            process.wait()
            if process.stdin is not None:
                with contextlib.suppress(BrokenPipeError):
                    process.stdin.close()


def _deliver(commands: IO[bytes], parcel: Sequence[bytes]) -> None:
    # That a server has gone is heard on its other pipe.
    with contextlib.suppress(BrokenPipeError):
        for part in parcel:
            commands.write(part)
        commands.flush()
