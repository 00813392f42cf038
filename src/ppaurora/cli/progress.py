"""A progress bar for people, on standard error and only if that is a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from ppaurora.session import Progress

_ALL_THE_TIME = float("inf")


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """One bar for all, which shows the step that reported last; work that begins anew begins a new bar."""
    console = Console(stderr=True)
    columns = [TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()]
    with Bars(
        *columns,
        console=console,
        transient=True,
        disable=not console.is_terminal,
        speed_estimate_period=_ALL_THE_TIME,
    ) as bars:
        task = bars.add_task("", total=None)

        def update(step: str, done: int, total: int) -> None:
            shown = bars.tasks[0]
            if done < shown.completed:
                bars.reset(task)
            bars.update(
                task, description=step, completed=done, total=total, refresh=step != shown.description
            )

        yield update
