"""How far a run is, for whoever watches several of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ppaurora.cli.progress import progress_bar
from ppaurora.session import Progress


@contextmanager
def progress_of(run: object) -> Iterator[Progress]:
    """A bar per step, with the run's name before it."""
    with progress_bar() as progress:
        yield lambda step, done, total: progress(f"{run}: {step}", done, total)
