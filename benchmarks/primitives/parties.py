"""Three server processes on loopback TLS, as in a real run, that take one task after another.

Threads would share the interpreter's lock, and a job of the real servers is a whole evaluation.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any, Self, TypeVar

from benchmarks.primitives.messages import Answered, MeasuringEvent, Start, Task
from ppaurora.channel.servers import Server
from ppaurora.local.processes import LocalProcesses
from ppaurora.suites.role import Role

T = TypeVar("T")
_SECONDS_OF_SILENCE = 60.0


class Parties:
    """A context: no process is left behind."""

    def __init__(self) -> None:
        module = "benchmarks.primitives.party"
        self._processes = LocalProcesses(Role, module, _SECONDS_OF_SILENCE, MeasuringEvent)

    def __enter__(self) -> Self:
        try:
            self._processes.start()
            for role in Role:
                self._processes.send(role, Start(server=role.file_name, links=self._processes.links(role)))
        except BaseException:
            self._processes.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._processes.stop()

    def ask(self, task: Callable[..., T], *arguments: Any) -> list[T]:
        """`task(transport, *arguments)` at every party; a module's function, for it travels by name."""
        for role in Role:
            self._processes.send(role, Task(call=pickle.dumps((task, arguments))))
        answers: dict[Server, T] = {}
        while len(answers) < len(Role):
            server, event = self._processes.next_event(answers)
            if isinstance(event, Answered):
                answers[server] = pickle.loads(event.value)  # noqa: S301 (from our own process)
        return [answers[role] for role in Role]
