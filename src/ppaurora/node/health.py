"""Whether a node can do its work, for its operator, owners and the other nodes; kept in memory.

It is asked when the disk is full or the database locked, so the answer is not looked up there.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence

from ppaurora.messages.findings import Finding
from ppaurora.node.peers import Silence
from ppaurora.node.store.trouble import known_trouble

_LONGEST_SILENCE = 60.0  # seconds within which the watcher looks at all studies, and other nodes answer
_MOST_SHOWN = 10

log = logging.getLogger(__name__)


class Health:
    """The known health of a node, written by whoever notices something, from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._trouble = ""
        self._looked = time.monotonic()
        self.clock = ""  # what is wrong with the machine's clock
        self.forgotten_releases: tuple[str, ...] = ()  # studies of which others know a release
        self.silences: Sequence[Silence] = ()  # of other nodes, the longest first
        self.awaiting_operator: Sequence[Finding] = ()  # studies to accept, a certificate to renew

    @property
    def trouble(self) -> str:
        """Return why nothing can be written here; empty if it can."""
        return self._trouble

    def note_trouble(self, trouble: str) -> str:
        """Keep what a trial to write has shown, log a change, and return the trouble as it was given."""
        with self._lock:
            before, self._trouble = self._trouble, trouble
        if trouble and trouble != before:
            log.warning("not ready", extra={"reason": trouble})
        elif before and not trouble:
            log.info("ready again", extra={"reason": before})
        return trouble

    def note_error(self, error: Exception) -> str:
        """Note the trouble that an error tells of, if it tells of any, and return it.

        Another error does not say that an earlier trouble is over.
        """
        trouble = known_trouble(error)
        return self.note_trouble(trouble) if trouble else ""

    def looked(self) -> None:
        """Note that the watcher has looked at all studies."""
        self._looked = time.monotonic()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return what is wrong with this node; a bad finding keeps it from working."""
        silent = time.monotonic() - self._looked
        stuck = f"no study was looked after for {silent:.0f} s" if silent > _LONGEST_SILENCE else ""
        found = (
            Finding.bad("database and disk", self._trouble),
            Finding.bad("watcher", stuck),
            Finding.warn("clock", self.clock),
            Finding.warn("records", forgotten(self.forgotten_releases)),
            *(Finding.warn("other nodes", said) for said in _told_of_silence(self.silences)),
            *self.awaiting_operator,
        )
        return tuple(finding for finding in found if finding.detail)


def forgotten(studies: Sequence[str]) -> str:
    """Return what is said of studies that were released without this node's knowledge."""
    names = ", ".join(studies)
    return f"released elsewhere, and not known here: {names}; this node was rolled back" if studies else ""


def _told_of_silence(silences: Sequence[Silence]) -> list[str]:
    """Return what is said of other nodes that have not answered for a while, a line for each."""
    lines = [str(silence) for silence in silences if silence.seconds > _LONGEST_SILENCE]
    more = len(lines) - _MOST_SHOWN
    return [*lines[:_MOST_SHOWN], f"{more} more nodes do not answer"] if more > 0 else lines


def not_ready(trouble: str, title: str) -> str:
    """Return the note by which everybody is told of a node that cannot write."""
    return f"not ready: {trouble} at {title}"
