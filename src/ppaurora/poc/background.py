"""Processes that outlive the command that started them, and are found again."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from ppaurora.errors import InputError
from ppaurora.io.locks import lock

_SIGNALS = [signal.SIGINT, signal.SIGTERM]
if sys.platform != "win32":  # where this is loaded, and does nothing
    _SIGNALS.append(signal.SIGHUP)
_POLL = 0.05
_SECONDS_TO_END = 30.0


class Background:
    """One process, by its file. The file has its number, and the process holds a lock on it while it lives.

    So a number that now belongs to another process is never taken for it: the lock is free then.
    """

    def __init__(self, file: Path, log: Path) -> None:
        self._file = file
        self._log = log
        self._started: subprocess.Popen[bytes] | None = None

    def start(self, arguments: Sequence[str]) -> None:
        """Start the process in a session of its own, so that no Ctrl-C meant for the command reaches it."""
        with self._file.open("ab") as file, self._log.open("ab") as log:
            _take(file)
            file.truncate(0)
            self._started = subprocess.Popen(  # noqa: S603 (this interpreter, our own words)
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                pass_fds=[file.fileno()],
            )
            file.write(str(self._started.pid).encode())

    @property
    def process_id(self) -> int | None:
        """Return the number of the process, if it runs."""
        try:
            with self._file.open("rb") as file:
                if _is_free(file):
                    return None
                return int(file.read() or 0) or None
        except FileNotFoundError:
            return None

    def stop(self) -> bool:
        """Stop the process by SIGTERM, after half a minute by SIGKILL, and return whether it ran."""
        deadline = time.monotonic() + _SECONDS_TO_END
        number = self.process_id
        if number is not None:
            with contextlib.suppress(ProcessLookupError):  # it may end by itself meanwhile
                os.kill(number, signal.SIGTERM)
                while self.process_id == number:
                    if time.monotonic() > deadline:
                        os.kill(number, signal.SIGKILL)
                    time.sleep(_POLL)
        if self._started is not None:
            self._started.wait()
        return number is not None


def _take(file: IO[bytes]) -> None:
    """Whoever only looks has the lock for a moment, too."""
    for _ in range(20):
        with contextlib.suppress(BlockingIOError):
            lock(file)
            return
        time.sleep(_POLL)
    raise InputError(f"{file.name}: the process of this file runs already")


def _is_free(file: IO[bytes]) -> bool:
    try:
        lock(file, shared=True)
    except BlockingIOError:
        return False
    return True


@contextlib.contextmanager
def only_one(path: Path, told: str) -> Iterator[None]:
    """Refuses, in these words, while somebody else is inside."""
    with path.open("ab") as file:
        try:
            lock(file)
        except BlockingIOError:
            raise InputError(told) from None
        yield


@contextlib.contextmanager
def interruptions() -> Iterator[Callable[[], None]]:
    """Meanwhile Ctrl-C and requests to end are noted only; the function that is given raises them.

    So nothing is cut off between a process and the note of it.
    """
    noted: list[int] = []
    if threading.current_thread() is not threading.main_thread():  # only there signals can be handled
        yield lambda: None
        return

    def note(number: int, _: Any) -> None:
        noted.append(number)

    def raise_them() -> None:
        if noted:
            raise KeyboardInterrupt

    before = {number: signal.signal(number, note) for number in _SIGNALS}
    try:
        yield raise_them
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
