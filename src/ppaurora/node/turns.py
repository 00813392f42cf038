"""Whose turn it is among the studies that a node leads.

Studies stand in line, and the one that has waited longest goes first. A slot is taken for an attempt alone,
from its beginning to its end; to ask other nodes takes none. As many studies ask for a slot at a time as are
free, so that few ask in vain. One whose answer is late counts no longer, so it holds up nobody.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ppaurora.channel.servers import Server
from ppaurora.errors import PpauroraError
from ppaurora.node.store import StudyRecord

MOST = 320  # studies at a time, each in a thread, which mostly waits
_KEPT = 64  # of these, for studies whose nodes are known to answer


@dataclass(frozen=True)
class Step:
    """What comes next for a study, and which other nodes it cannot do without."""

    study: StudyRecord
    take: Callable[[StudyRecord], None]
    peers: Sequence[Server] = ()
    computes: bool = False  # it needs a slot


class NoSlotError(PpauroraError):
    """Another study has begun an attempt meanwhile; this one keeps its place in line."""


class Turns:
    """The line, and who has a turn; from any thread. `is_late` says of a study that an answer is late."""

    def __init__(self, slots: int, is_late: Callable[[str], bool]) -> None:
        self._slots = slots
        self._is_late = is_late
        self._lock = threading.Lock()
        self._line: dict[str, Step] = {}  # by study; the one that has waited longest first
        self._turns: set[str] = set()
        self._asking: set[str] = set()  # of these, those that ask for a slot and are to be answered at once
        self._computing: set[str] = set()

    def wait(self, step: Step) -> None:
        """Put a study at the end of the line; one that stands in it keeps its place."""
        with self._lock:
            self._line[step.study.hash] = step

    def leave(self, study: str) -> None:
        """Take a study out of the line, unless it has its turn."""
        with self._lock:
            if study not in self._turns:
                self._line.pop(study, None)

    def line(self) -> list[Step]:
        """Return what comes next for the studies that wait, the one that has waited longest first."""
        with self._lock:
            return [step for study, step in self._line.items() if study not in self._turns]

    def begin(self, step: Step, *, answered: bool) -> bool:
        """Give a study its turn, if there is room; `answered` says that its nodes are known to answer."""
        study = step.study.hash
        with self._lock:
            if len(self._turns) >= (MOST if answered else MOST - _KEPT):
                return False
            asking = sum(not self._is_late(other) for other in self._asking) if answered else 0
            if step.computes and len(self._computing) + asking >= self._slots:
                return False
            self._turns.add(study)
            if step.computes and answered:
                self._asking.add(study)
        return True

    def end(self, study: str, *, keeps_place: bool = False) -> None:
        """End a study's turn. When it waits again, it comes to the end of the line."""
        with self._lock:
            self._turns.discard(study)
            self._asking.discard(study)
            if not keeps_place:
                self._line.pop(study, None)

    @contextlib.contextmanager
    def slot(self, study: str) -> Iterator[None]:
        """Hold a slot, for an attempt; raise `NoSlotError` if none is free."""
        with self._lock:
            if len(self._computing) >= self._slots:
                raise NoSlotError("all slots are taken")
            self._computing.add(study)
            self._asking.discard(study)
        try:
            yield
        finally:
            with self._lock:
                self._computing.discard(study)
