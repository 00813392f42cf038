"""`ppaurora app` as a process with a terminal, in which Enter prints another link."""

from __future__ import annotations

import os
import queue
import re
import subprocess
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from ppaurora.errors import PartyFailedError
from ppaurora.poc.machine import program

_LINK = re.compile(r"http://127\.0\.0\.1:(\d+)/\S+")
_SECONDS_TO_END = 180  # of one that has nodes to end first, on a machine that is busy


class RunningApp:
    """Ended by leaving the `with` block."""

    def __init__(
        self, kit: Path | None = None, *, seconds: float = 180.0, environment: Mapping[str, str] | None = None
    ) -> None:
        self.began = time.perf_counter()
        self._seconds = seconds
        self._terminal, intra_party = os.openpty()
        self.process = subprocess.Popen(  # noqa: S603 (this interpreter, our own words)
            program("app", *([] if kit is None else [str(kit)]), "--no-browser"),
            stdin=intra_party,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        os.close(intra_party)
        self.said: list[str] = []
        self._links: queue.Queue[str | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._first: str | None = self._next_link()
        self.origin = self._first[: self._first.index("/", len("http://"))]

    def link(self) -> str:
        """One that nobody has used: the first one that was printed, then one more for each Enter."""
        first, self._first = self._first, None
        if first is not None:
            return first
        os.write(self._terminal, b"\n")
        return self._next_link()

    def stop(self) -> int:
        """The exit code after SIGTERM."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            return self.process.wait(timeout=_SECONDS_TO_END)
        finally:  # also of one that does not end, so that nothing of it is left
            self.process.kill()
            self.process.wait()
            self._reader.join()
            if self.process.stderr is not None and not self.process.stderr.closed:
                self.process.stderr.close()
                os.close(self._terminal)

    def __enter__(self) -> RunningApp:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _read(self) -> None:
        for line in self.process.stderr or ():
            self.said.append(line.rstrip("\n"))
            found = _LINK.search(line)
            if found:
                self._links.put(found[0])
        self._links.put(None)

    def _next_link(self) -> str:
        try:
            link = self._links.get(timeout=self._seconds)
        except queue.Empty:
            link = None
        if link is None:
            self.stop()
            raise PartyFailedError("the app printed no link: " + " / ".join(self.said))
        return link
