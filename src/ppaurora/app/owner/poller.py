"""Polls the nodes for a study's status, as long as somebody looks."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ppaurora.owner.agreeing import Proposal
from ppaurora.owner.study import NodeStatus

_SECONDS_BETWEEN_LOOKS = 1.0
_SECONDS_UNWATCHED = 15.0


@dataclass(frozen=True)
class Seen:
    """The last answers, by the nodes' titles; none before the first.

    Attributes
    ----------
    problem
        Why there are no answers.
    proposal
        How the coordinator has amended the study, if this owner has yet to take that into its kit.
    is_untold
        Whether nodes await an agreement that is in the kit.
    refusal
        Why nodes do not take this owner for one of the study's.
    doubt
        Why amendments that nodes tell of are not shown.
    """

    answers: Mapping[str, NodeStatus] = field(default_factory=dict)
    problem: BaseException | None = None
    proposal: Proposal | None = None
    is_untold: bool = False
    refusal: str = ""
    doubt: str = ""


class StatusPoller:
    """`ask` is called in a thread of its own, so that a silent node holds up no page."""

    def __init__(self, ask: Callable[[], Seen]) -> None:
        self._ask = ask
        self._lock = threading.Lock()
        self._first = threading.Event()
        self._looked = 0.0
        self._thread: threading.Thread | None = None
        self._seen = Seen()

    def look(self, patience: float = 0.0) -> Seen:
        """Return what was heard last, after waiting so many seconds for a first answer."""
        with self._lock:
            self._looked = time.monotonic()
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, daemon=True)
                self._thread.start()
        self._first.wait(patience)
        return self._seen

    def _watch(self) -> None:
        while True:
            try:
                self._seen = self._ask()
            except Exception as error:  # told on the page, by its type if it was not foreseen
                self._seen = Seen(problem=error)
            self._first.set()
            time.sleep(_SECONDS_BETWEEN_LOOKS)
            with self._lock:
                if time.monotonic() - self._looked > _SECONDS_UNWATCHED:
                    self._thread = None
                    self._first.clear()  # what is old is not shown as new
                    return
