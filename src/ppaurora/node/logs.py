"""Logs as JSON lines on standard error: time, level, what happened, and a few named facts."""

from __future__ import annotations

import datetime
import json
import logging
import sys
import threading
import time
from collections.abc import Mapping

from aiohttp.http_exceptions import HttpProcessingError

from ppaurora.errors import place_of
from ppaurora.node.store import StudyRecord

_UNTRUSTED = "CERTIFICATE_VERIFY_FAILED"
_IF_UNTRUSTED = (
    "if this is a participant of a study: has it been accepted here ('ppaurora studies KIT'), and is this "
    "machine's clock right?"
)
_STANDARD = set(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JsonLines(logging.Formatter):
    """Exceptions appear by type alone, and of other packages' lines only the fixed part.

    The rest might quote what was sent.
    """

    def format(self, record: logging.LogRecord) -> str:
        when = datetime.datetime.fromtimestamp(record.created, datetime.UTC)
        line = {
            "time": when.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "event": record.getMessage() if record.name.startswith("ppaurora") else str(record.msg),
        }
        line.update({name: value for name, value in vars(record).items() if name not in _STANDARD})
        if record.exc_info and record.exc_info[0] is not None:
            line["exception"] = record.exc_info[0].__name__
        return json.dumps(line, default=str)


def log_to_stderr() -> None:
    """Log everything that this process says, ours and that of the libraries, to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("ppaurora").setLevel(logging.INFO)
    logging.getLogger("aiohttp.server").addFilter(_as_callers_fault)
    threading.excepthook = _log_thread_error


def _as_callers_fault(record: logging.LogRecord) -> bool:
    """Lower the level of a line about a request that is no HTTP: it is no error of this node."""
    kind = record.exc_info[0] if record.exc_info else None
    if kind is not None and issubclass(kind, HttpProcessingError):
        record.levelno, record.levelname = logging.INFO, "INFO"
        record.msg, record.args = "request refused", ()
    return True


def _log_thread_error(error: threading.ExceptHookArgs) -> None:
    reason = {"reason": error.exc_type.__name__}
    logging.getLogger("ppaurora").error("a thread ended with an error", extra=reason)


class RateLimitedLog:
    """Lines about what strangers do: a few in a while, then how many more there were. From any thread."""

    def __init__(
        self, log: logging.Logger, most: int = 20, seconds: float = 10.0, *, level: int = logging.INFO
    ) -> None:
        self._log = log
        self._level = level
        self._most = most
        self._seconds = seconds
        self._lock = threading.Lock()
        self._began = -seconds
        self._told = 0
        self._untold = 0

    def tell(self, event: str, facts: Mapping[str, object]) -> None:
        self.flush()
        with self._lock:
            self._told += 1
            tell = self._told <= self._most
            self._untold += not tell
        if tell:
            self._log.log(self._level, event, extra=facts)

    def flush(self) -> None:
        """Say how many lines were left out, if it is time."""
        with self._lock:
            now = time.monotonic()
            if now < self._began + self._seconds:
                return
            self._began, self._told, left_out, self._untold = now, 0, self._untold, 0
        if left_out:
            self._log.info("more of the like was left out", extra={"lines": left_out})


class RefusedConnections:
    """Lines about connections that a port has refused, which happens all day, and one of them that matters.

    Who shows a certificate that no accepted study vouches for may be a participant of a study that the
    operator has yet to accept. That is a warning, at most every ten minutes.
    """

    def __init__(self, log: logging.Logger, port: str) -> None:
        self._event = f"a connection to the {port} port was refused"
        self._strangers = RateLimitedLog(log)
        self._untrusted = RateLimitedLog(log, most=1, seconds=600.0, level=logging.WARNING)

    def tell(self, reason: str) -> None:
        facts = {"reason": reason}
        if reason.startswith(_UNTRUSTED):
            self._untrusted.tell(self._event, {**facts, "do": _IF_UNTRUSTED})
        else:
            self._strangers.tell(self._event, facts)

    def flush(self) -> None:
        """Say how many lines were left out, if it is time."""
        self._strangers.flush()
        self._untrusted.flush()


def about(study: StudyRecord) -> dict[str, object]:
    """Return the facts that name a study in a line."""
    return {"study": study.manifest.study, "hash": study.hash[:16]}


def log_unforeseen(log: logging.Logger, what: str, error: Exception) -> None:
    """Log an error by its type and place only: a traceback with values might quote data."""
    file, line = place_of(error)
    log.error(what, extra={"reason": type(error).__name__, "place": f"{file}:{line}"})
