"""The work that is under way at a node. Its parts share it; it is forgotten when the node stops."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection
from dataclasses import dataclass

from ppaurora.node.attempt import Attempt
from ppaurora.node.health import Health
from ppaurora.node.peers import Peers, next_pause
from ppaurora.node.waiting import WaitReason


@dataclass(frozen=True)
class _Pause:
    seconds: float
    until: float
    reason: WaitReason


class Pauses:
    """Studies that rest for a while, longer every time; from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pauses: dict[str, _Pause] = {}

    def pause(self, study: str, reason: WaitReason) -> None:
        """Let it rest, twice as long as the last time."""
        with self._lock:
            before = self._pauses.get(study)
            seconds = next_pause(0.0 if before is None else before.seconds)
            self._pauses[study] = _Pause(seconds, time.monotonic() + seconds, reason)

    def is_paused(self, study: str) -> bool:
        with self._lock:
            pause = self._pauses.get(study)
        return pause is not None and time.monotonic() < pause.until

    def reasons(self) -> dict[str, WaitReason]:
        """Return why studies rest, or have rested until now and are tried again."""
        with self._lock:
            return {study: pause.reason for study, pause in self._pauses.items()}

    def forget(self, study: str) -> None:
        with self._lock:
            self._pauses.pop(study, None)

    def forget_all(self) -> None:
        with self._lock:
            self._pauses.clear()


class Activity:
    """Attempts that run, studies that rest for a while, other nodes that are silent; from any thread."""

    def __init__(self) -> None:
        self.health = Health()
        self.stopping = threading.Event()
        self.news = threading.Event()  # something happened that the watcher should look at
        self._lock = threading.Lock()
        self._attempts: dict[str, Attempt] = {}  # by study, as everything here
        self.pauses = Pauses()
        self.peers = Peers(self.go_on)

    def stop(self) -> None:
        """Let nothing new begin, and cut off what runs."""
        self.stopping.set()
        self.news.set()
        with self._lock:
            attempts = list(self._attempts.values())
        for attempt in attempts:
            attempt.abort("the node was stopped")

    # Attempts

    def add(self, study: str, attempt: Attempt) -> None:
        with self._lock:
            self._attempts[study] = attempt
        if self.stopping.is_set():
            attempt.abort("the node was stopped")

    def remove(self, study: str, attempt: Attempt) -> None:
        with self._lock:
            if self._attempts.get(study) is attempt:  # and not a later one
                del self._attempts[study]

    def attempt(self, study: str) -> Attempt | None:
        with self._lock:
            return self._attempts.get(study)

    def studies_computed(self) -> frozenset[str]:
        """Return the studies of which an attempt runs."""
        with self._lock:
            return frozenset(self._attempts)

    def attempts_of_others(self, study: str) -> int:
        """Return how many attempts run for other studies."""
        with self._lock:
            return len(self._attempts.keys() - {study})

    def wait_until_idle(self) -> None:
        while True:
            with self._lock:
                if not self._attempts:
                    return
            time.sleep(0.05)

    def progress(self, study: str) -> str:
        """Return how far a running attempt is, for people."""
        attempt = self.attempt(study)
        return "" if attempt is None else f"attempt {attempt.number}: {attempt.progress or 'starting'}"

    def all_progress(self) -> dict[str, str]:
        """Return the progress of every attempt that runs, by study."""
        with self._lock:
            studies = list(self._attempts)
        return {study: said for study in studies if (said := self.progress(study))}

    # Studies that rest for a while

    def go_on(self, studies: Collection[str]) -> None:
        """Let studies go on at once that have waited for another node."""
        for study in studies:
            self.pauses.forget(study)
        self.news.set()
