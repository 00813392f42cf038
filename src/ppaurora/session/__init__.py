"""One attempt at a job as one party sees it: its channel, keys that were agreed on, progress."""

from ppaurora.session.context import Context, open_session
from ppaurora.session.progress import Progress, Work, no_progress, throttled, weight
from ppaurora.session.worker import SINGLE, Worker

__all__ = [
    "SINGLE",
    "Context",
    "Progress",
    "Work",
    "Worker",
    "no_progress",
    "open_session",
    "throttled",
    "weight",
]
