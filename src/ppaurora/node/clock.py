"""A node's time: the machine's clock, unless that jumps.

A clock that is wrong for two seconds must not delete what is kept for thirty days. So a node counts: while
it runs, by a steady clock that nobody sets; across a restart, from the last time that it wrote down. As long
as the machine's clock is where it can be, it is the node's time. If it is further ahead than time can have
passed, or further back than a correction is, the node counts on by itself, and says so, until the machine's
clock is back or the operator confirms it.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time

from ppaurora.node.store import STORAGE_ERRORS, Store

_CORRECTION = 3_600.0  # seconds by which a clock may be put right without a question
_LONGEST_STOP = 7 * 86_400.0  # a node that was stopped for longer asks its operator
_SECONDS_BETWEEN_NOTES = 60.0
_SECONDS_BETWEEN_TRIALS = 5.0

log = logging.getLogger(__name__)


def steady_seconds() -> float:
    """Return seconds of a steady clock, also while the machine is suspended, where the system can tell."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if clock is None else time.clock_gettime(clock)


class Clock:
    """One node's; `now` from any thread. Whatever its store stamps has this time."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        seen = store.seen_time()
        wall = time.time()
        self._time = wall if seen is None else seen.at
        self._steady = steady_seconds()
        self._confirmations = 0 if seen is None else seen.confirmations
        self._allowance = _allowance_after_a_stop(0.0 if seen is None else seen.ahead)
        self._ahead = 0.0
        self._told = False
        self._noted = float("-inf")
        self.look()
        store.now = self.now

    def now(self) -> float:
        with self._lock:
            return self._advance()

    @property
    def problem(self) -> str:
        """Return the problem with the machine's clock; empty if there is none."""
        with self._lock:
            self._advance()
            return clock_problem(self._ahead)

    def look(self) -> None:
        """Write down the time, and hear what the operator says; to be called from time to time."""
        with contextlib.suppress(*STORAGE_ERRORS):  # without a disk it counts on all the same
            seen = self._store.seen_time()
            if seen is not None and seen.confirmations != self._confirmations:
                self._confirm(seen.confirmations)
        with self._lock:
            now = self._advance()
            ahead, steady = self._ahead, self._steady
        if self._told != bool(ahead):
            self._tell(ahead)
        elif steady < self._noted + _SECONDS_BETWEEN_NOTES:
            return
        self._note(now, ahead)

    def close(self) -> None:
        with self._lock:
            now, ahead = self._advance(), self._ahead
        self._note(now, ahead)

    def _advance(self) -> float:
        """Return the node's time now; the caller has the lock."""
        steady, wall = steady_seconds(), time.time()
        counted = self._time + steady - self._steady
        ahead = wall - counted
        if -_CORRECTION <= ahead <= self._allowance:
            self._time, self._ahead, self._allowance = wall, 0.0, _CORRECTION
        else:
            self._time, self._ahead = counted, ahead
        self._steady = steady
        return self._time

    def _confirm(self, confirmations: int) -> None:
        with self._lock:
            self._confirmations = confirmations
            self._time, self._steady = time.time(), steady_seconds()
            self._allowance = _CORRECTION

    def _note(self, now: float, ahead: float) -> None:
        self._noted = self._steady
        try:
            self._store.see_time(now, ahead, self._confirmations)
        except STORAGE_ERRORS:
            self._noted += _SECONDS_BETWEEN_TRIALS - _SECONDS_BETWEEN_NOTES

    def _tell(self, ahead: float) -> None:
        self._told = bool(ahead)
        if ahead:
            log.warning("the clock is not trusted", extra={"reason": clock_problem(ahead)})
        else:
            log.info("the clock is trusted again")


def _allowance_after_a_stop(ahead: float) -> float:
    """Return how far the clock may be ahead at a start: nobody knows how long the node was stopped.

    If the clock was not trusted before the stop, it is trusted again only if it has gone back since.
    """
    return min(_LONGEST_STOP, ahead - _CORRECTION) if ahead > 0 else _LONGEST_STOP


def clock_problem(ahead: float) -> str:
    """Return in words what is wrong with a clock that is so many seconds ahead of a node's own count."""
    if not ahead:
        return ""
    way = "ahead of" if ahead > 0 else "behind"
    return (
        f"the machine's clock is {_duration(abs(ahead))} {way} this node's count; nothing is deleted "
        "because of it. Set it, or if it is right: ppaurora confirm-clock"
    )


def _duration(seconds: float) -> str:
    return f"{seconds / 86_400:.1f} days" if seconds >= 86_400 else f"{seconds / 3_600:.1f} hours"
