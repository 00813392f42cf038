"""Work that outlasts a request: in a thread, one piece at a time, with how far it is in words."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from ppaurora.errors import InputError, PpauroraError, text_of


class BusyError(InputError):
    """Something else is under way; nothing was begun."""


class TooLargeError(InputError):
    """A file that a page does not take; nothing of it was read."""


@dataclass
class AppJob:
    """One piece of work. Its thread writes, pages read; a browser that was closed finds it again."""

    title: str  # what is being done, in words: "submitting to sepsis-2026"
    said: str = ""  # how far it is
    fraction: float | None = None  # likewise, if that is known
    error: BaseException | None = None
    _over: threading.Event = field(default_factory=threading.Event, repr=False)

    @property
    def is_over(self) -> bool:
        return self._over.is_set()

    @property
    def problem(self) -> str:
        """The error's sentence; of an unforeseen one the type, since its text might quote data."""
        return "" if self.error is None else sentence_of(self.error)

    @property
    def notes(self) -> tuple[str, ...]:
        """How far it came, and what to do next."""
        return tuple(getattr(self.error, "__notes__", ()))

    def tell(self, said: str, fraction: float | None = None) -> None:
        self.said, self.fraction = said, fraction

    def wait(self, seconds: float) -> bool:
        """Return whether it is over by then."""
        return self._over.wait(seconds)


class Jobs:
    """The jobs of one thing to work on: a second one is refused while one is under way."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.last: AppJob | None = None

    @property
    def running(self) -> AppJob | None:
        return self.last if self.last is not None and not self.last.is_over else None

    def check_idle(self) -> None:
        """Raises if something is under way."""
        running = self.running
        if running is not None:
            raise BusyError(
                f"{running.title} is under way, perhaps started in another tab; nothing was started now. "
                "Wait until it is finished"
            )

    def start(self, title: str, work: Callable[[AppJob], None]) -> AppJob:
        """Begins at once, in a thread that does not keep the app from ending."""
        with self._lock:
            self.check_idle()
            self.last = job = AppJob(title)
        threading.Thread(target=_run, args=(job, work), name=title, daemon=True).start()
        return job

    def forget(self) -> None:
        """Forget a job that is over, once a person has read how it went."""
        with self._lock:
            if self.running is None:
                self.last = None


def _run(job: AppJob, work: Callable[[AppJob], None]) -> None:
    try:
        work(job)
    except BaseException as error:
        job.error = error
        if os.environ.get("PPAURORA_DEBUG") and not isinstance(error, PpauroraError):
            raise
    finally:
        job._over.set()


def sentence_of(error: BaseException) -> str:
    """Return an error's sentence, which a page prints in its own words where it has any."""
    if isinstance(error, PpauroraError):
        return text_of(error)
    return (
        f"internal error: {type(error).__name__}; to see where, set PPAURORA_DEBUG=1, start the app again "
        "and repeat it (what it prints in the terminal may quote data)"
    )
