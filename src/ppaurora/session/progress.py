"""How far a long computation is, for whoever watches.

A run is measured as one piece of work. Its total is known before it starts, and `done` grows with the time
that passes, about: after a tenth of the work, elapsed / done·total tells within a fifth how long all takes.
Both depend on what is public only.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from ppaurora.channel.meter import Cost

Progress = Callable[[str, int, int], None]  # step, done, total
_SECONDS_BETWEEN_REPORTS = 0.1


def weight(cost: Cost, bytes_per_round: int) -> int:
    """Of a step, from what it declares to cost: time follows the bytes, and a round takes some by itself."""
    return cost.bytes + bytes_per_round * cost.rounds


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


class Work:
    """All steps of a run as one piece of work, with the weights that they have in it.

    To be called as a step reports: with its name, how much of it is done, and how much it is. Passes on the
    name, what is done of all steps, and what they are in all.
    """

    def __init__(self, weights: Mapping[str, int], report: Progress) -> None:
        self._weights = weights
        self._done = dict.fromkeys(weights, 0)
        self._total = sum(weights.values())
        self._report = report
        report(next(iter(weights), ""), 0, self._total)

    def __call__(self, step: str, done: int, total: int) -> None:
        before = self._done.get(step, 0)
        now = self._weights.get(step, 0) * done // max(total, 1)
        if now > before:
            self._done[step] = now
            self._report(step, sum(self._done.values()), self._total)
