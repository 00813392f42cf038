"""One attempt at a job as one party sees it: its channel, keys that were agreed on, progress."""

from ppaurora.session.context import Context, open_session
from ppaurora.session.progress import Progress, no_progress, throttled

__all__ = ["Context", "Progress", "no_progress", "open_session", "throttled"]
