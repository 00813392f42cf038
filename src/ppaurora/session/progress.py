"""How far a long computation is, for whoever watches."""

from __future__ import annotations

import time
from collections.abc import Callable

Progress = Callable[[str, int, int], None]  # step, done, total
_SECONDS_BETWEEN_REPORTS = 0.1


def no_progress(step: str, done: int, total: int) -> None:
    """Reports to nobody."""


def throttled(progress: Progress, clock: Callable[[], float] = time.monotonic) -> Progress:
    """Passes on a report now and then, and every last one."""
    last = 0.0

    def report(step: str, done: int, total: int) -> None:
        nonlocal last
        now = clock()
        if done >= total or now - last >= _SECONDS_BETWEEN_REPORTS:
            last = now
            progress(step, done, total)

    return report
