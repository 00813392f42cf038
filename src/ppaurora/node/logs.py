"""Logs as JSON lines on standard error: time, level, what happened, and a few named facts."""

from __future__ import annotations

import datetime
import json
import logging
import sys
import threading

from ppaurora.errors import place_of
from ppaurora.node.store import StudyRecord

_STANDARD = set(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JsonLines(logging.Formatter):
    """Exceptions appear by type alone, and of other packages' lines only the fixed part.

    The rest might quote what was sent.
    """

    def format(self, record: logging.LogRecord) -> str:
        when = datetime.datetime.fromtimestamp(record.created, datetime.UTC)
        line = {
            "time": when.isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage() if record.name.startswith("ppaurora") else str(record.msg),
        }
        line.update({name: value for name, value in vars(record).items() if name not in _STANDARD})
        if record.exc_info and record.exc_info[0] is not None:
            line["exception"] = record.exc_info[0].__name__
        return json.dumps(line, default=str)


def log_to_stderr() -> None:
    """Everything that this process has to say, ours and that of the libraries."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("ppaurora").setLevel(logging.INFO)
    threading.excepthook = _log_thread_error


def _log_thread_error(error: threading.ExceptHookArgs) -> None:
    reason = {"reason": error.exc_type.__name__}
    logging.getLogger("ppaurora").error("a thread ended with an error", extra=reason)


def about(study: StudyRecord) -> dict[str, object]:
    """The facts that name a study in a line."""
    return {"study": study.manifest.study, "hash": study.hash[:16]}


def log_unforeseen(log: logging.Logger, what: str, error: Exception) -> None:
    """Its type and place only: a traceback with values might quote data."""
    file, line = place_of(error)
    log.error(what, extra={"reason": type(error).__name__, "place": f"{file}:{line}"})
