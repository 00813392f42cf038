"""Three parties as three processes on this machine, talking over mutual TLS on loopback.

They are started as `python -m ppaurora.party`, so this works from a notebook, a REPL or a script
without a main guard. Whatever ends the driver ends them: an error, Ctrl-C, or a kill.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ppaurora import errors
from ppaurora.channel.tls import Identity
from ppaurora.errors import PartyFailedError, PeerError, PpauroraError
from ppaurora.local.certificates import make_identities
from ppaurora.local.threads import root_cause
from ppaurora.party.context import Progress
from ppaurora.party.job import Job
from ppaurora.party.outcome import Outcome
from ppaurora.party.role import Role
from ppaurora.sharing.stages import InputShare, ResultShare

_SECONDS_FOR_LAST_WORDS = 2.0
# Arrays of a few hundred kilobytes come and go by the million; keep glibc from giving their pages
# back to the kernel each time. Elsewhere these variables mean nothing.
_ALLOCATOR = {"MALLOC_TRIM_THRESHOLD_": str(1 << 28), "MALLOC_MMAP_THRESHOLD_": str(1 << 26)}


def run_in_processes(
    job: Job, inputs: dict[Role, Sequence[InputShare]], progress: Progress, timeout: float
) -> list[Outcome]:
    """One outcome per role, or the error that stopped the run."""
    with tempfile.TemporaryDirectory(prefix="ppaurora-") as folder:
        identities = make_identities(Path(folder))
        parties = _Parties()
        try:
            parties.start()
            addresses = {role: ("127.0.0.1", port) for role, port in parties.ports(timeout).items()}
            for role in Role:
                parties.order(
                    role, _order(role, job, identities[role], addresses, timeout), inputs.get(role, ())
                )
            return parties.outcomes(progress)
        finally:
            parties.stop()


def _order(
    role: Role, job: Job, identity: Identity, addresses: dict[Role, tuple[str, int]], timeout: float
) -> dict[str, Any]:
    return {
        "role": role,
        "job": job.to_json(),
        "certificate": str(identity.certificate),
        "key": str(identity.key),
        "authority": str(identity.authority),
        "pins": identity.pins,
        "addresses": addresses,
        "timeout": timeout,
    }


class _Parties:
    """The three child processes and what they say."""

    def __init__(self) -> None:
        self._processes: dict[Role, subprocess.Popen[bytes]] = {}
        self._events: queue.Queue[tuple[Role, dict[str, Any] | None]] = queue.Queue()

    def start(self) -> None:
        debugging = bool(os.environ.get("PPAURORA_DEBUG"))
        for role in Role:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "ppaurora.party"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=None if debugging else subprocess.DEVNULL,
                env={**_ALLOCATOR, **os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
            self._processes[role] = process
            threading.Thread(target=self._listen, args=(role, process), daemon=True).start()

    def _listen(self, role: Role, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None  # noqa: S101
        with process.stdout as lines:
            for line in lines:
                self._events.put((role, json.loads(line)))
        self._events.put((role, None))

    def ports(self, timeout: float) -> dict[Role, int]:
        ports: dict[Role, int] = {}
        deadline = time.monotonic() + timeout
        while len(ports) < len(Role):
            try:
                role, event = self._events.get(timeout=max(deadline - time.monotonic(), 0))
            except queue.Empty:
                raise PartyFailedError(
                    f"the embedded servers did not start within {timeout:g} seconds"
                ) from None
            if event is None or event["event"] != "listening":
                raise self._failure(role, event)
            ports[role] = event["port"]
        return ports

    def order(self, role: Role, order: dict[str, Any], shares: Sequence[InputShare]) -> None:
        commands = self._processes[role].stdin
        assert commands is not None  # noqa: S101
        try:
            commands.write(json.dumps(order).encode() + b"\n")
            for share in shares:
                commands.write(share.to_bytes())
            commands.flush()
        except BrokenPipeError:
            raise self._failure(role, None) from None

    def outcomes(self, progress: Progress) -> list[Outcome]:
        outcomes: dict[Role, Outcome] = {}
        while len(outcomes) < len(Role):
            role, event = self._events.get()
            if event is None and role in outcomes:
                continue
            if event is None or event["event"] == "error":
                raise self._root_cause(self._failure(role, event), role)
            if event["event"] == "progress" and role is Role.PROXY_0:
                progress(event["step"], event["done"], event["total"])
            if event["event"] == "outcome":
                words = event["result"]
                result = None if words is None else ResultShare(np.array(words, dtype=np.uint64))
                outcomes[role] = Outcome(result, event["seconds"], event["meter"], event["openings"])
        return [outcomes[role] for role in Role]

    def _root_cause(self, failure: PpauroraError, reporter: Role) -> BaseException:
        """Who lost a peer only echoes what happened there: hear the others before blaming anyone."""
        failures = {reporter: failure}
        deadline = time.monotonic() + _SECONDS_FOR_LAST_WORDS
        while isinstance(root_cause(list(failures.values())), PeerError) and len(failures) < len(Role):
            try:
                role, event = self._events.get(timeout=max(deadline - time.monotonic(), 0))
            except queue.Empty:
                break
            if role not in failures and (event is None or event["event"] == "error"):
                failures[role] = self._failure(role, event)
        return root_cause(list(failures.values()))

    def _failure(self, role: Role, event: dict[str, Any] | None) -> PpauroraError:
        if event is None:
            code = self._processes[role].wait()
            how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
            return PartyFailedError(f"{role.title} {how} before it was done; the run was stopped")
        kind = getattr(errors, event["kind"])
        if event.get("peer"):
            return PeerError(event["peer"], event["message"].removeprefix(event["peer"] + " "))
        error: PpauroraError = kind(f"{role.title}: {event['message']}")
        return error

    def stop(self) -> None:
        """No process is left behind."""
        for process in self._processes.values():
            process.kill()
        for process in self._processes.values():
            process.wait()
            if process.stdin is not None:
                with contextlib.suppress(BrokenPipeError):
                    process.stdin.close()
