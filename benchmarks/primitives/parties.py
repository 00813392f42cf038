"""Three server processes on loopback TLS, as in a real run, that take one task after another.

Threads would share the interpreter's lock, and a job of the real servers is a whole evaluation.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Self, TypeVar

from ppaurora.party.driven import start_server

from ppaurora.errors import PartyFailedError
from ppaurora.local.certificates import make_identities
from ppaurora.local.threads import root_cause
from ppaurora.servers import Server
from ppaurora.suites.role import Role

T = TypeVar("T")
_SECONDS_OF_SILENCE = 60.0


class Parties:
    """A context: no process is left behind."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="ppaurora-")
        self._processes: list[subprocess.Popen[bytes]] = []
        self._pipes: dict[Role, Connection[Any, Any]] = {}

    def __enter__(self) -> Self:
        try:
            for role in Role:
                self._start(role)
            addresses = dict(zip(Role, self._answers(), strict=True))
            identities = make_identities(Path(self._folder.name), Role)
            for role, pipe in self._pipes.items():
                pipe.send((identities[role], addresses, _SECONDS_OF_SILENCE))
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def ask(self, task: Callable[..., T], *arguments: Any) -> list[T]:
        """`task(transport, *arguments)` at every party; a module's function, for it travels by name."""
        for pipe in self._pipes.values():
            pipe.send((task, arguments))
        return self._answers()

    def _start(self, role: Role) -> None:
        ours, theirs = Pipe()
        self._pipes[role] = ours
        with theirs:
            self._processes.append(
                start_server(
                    "benchmarks.primitives.party",
                    str(int(role)),
                    str(theirs.fileno()),
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                )
            )

    def _answers(self) -> list[Any]:
        """Every party's, or the error that stopped them."""
        answers = {role: _answer(role, pipe) for role, pipe in self._pipes.items()}
        failures: dict[Server, BaseException] = {
            role: answer for role, answer in answers.items() if isinstance(answer, Exception)
        }
        if failures:
            raise root_cause(failures)
        return [answers[role] for role in Role]

    def _stop(self) -> None:
        for process in self._processes:
            process.kill()
            process.wait()
        for pipe in self._pipes.values():
            pipe.close()
        self._folder.cleanup()


def _answer(role: Role, pipe: Connection[Any, Any]) -> Any:
    # A server that waits for a silent peer gives up earlier, and says so.
    if not pipe.poll(2 * _SECONDS_OF_SILENCE):
        return PartyFailedError(f"{role.title} gave no sign of life; the measurement was stopped")
    try:
        return pipe.recv()
    except (EOFError, ConnectionResetError):
        return PartyFailedError(f"{role.title} ended before it was done (see more with PPAURORA_DEBUG=1)")
