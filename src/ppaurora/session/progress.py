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
    """Return a step's weight from its declared cost: time follows the bytes, a round takes some by itself."""
    return cost.bytes + bytes_per_round * cost.rounds


def no_progress(step: str, done: int, total: int) -> None:
    """Report a step's progress to nobody."""


def throttled(progress: Progress, clock: Callable[[], float] = time.monotonic) -> Progress:
    """Passes on a report now and then, the first one of every step, and every last one."""
    last_time, last_step = 0.0, ""

    def report(step: str, done: int, total: int) -> None:
        nonlocal last_time, last_step
        now = clock()
        if done >= total or step != last_step or now - last_time >= _SECONDS_BETWEEN_REPORTS:
            last_time, last_step = now, step
            progress(step, done, total)

    return report


class Work:
    """All steps of a run as one piece of work, with the weights that they have in it.

    To be called as a step reports: with its name, how much of it is done, and how much it is. Passes on the
    name, how much of all steps is done, and how much they are in all.
    """

    def __init__(self, weights: Mapping[str, int], report: Progress) -> None:
        self._weights = weights
        self._done = dict.fromkeys(weights, 0)
        self._total = sum(weights.values())
        self._report = report
        self._step = ""

    def __call__(self, step: str, done: int, total: int) -> None:
        of_step = self._weights.get(step, 0) * done // max(total, 1)
        grown = of_step > self._done.get(step, 0)
        if grown:
            self._done[step] = of_step
        if grown or step != self._step:
            self._step = step
            self._report(step, sum(self._done.values()), self._total)
