"""One attempt at a job as one party sees it: its channel, keys that were agreed on, progress."""

from ppaurora.session.context import Context, open_session
from ppaurora.session.progress import Progress, Work, no_progress, throttled, weight

__all__ = ["Context", "Progress", "Work", "no_progress", "open_session", "throttled", "weight"]
