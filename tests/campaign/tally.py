"""What a campaign tried, and what happened."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

_SECONDS_BETWEEN_LINES = 60
RIGHT = "right result"
NOTICED = "noticed"
HEALED = "healed by submit, then right"
RESTORED = "clear stop; right after the backup was restored"
NOT_REACHED = "right result; the fault was not reached"
RECOVERED_TO_THE_END = "clear stop; right after `recover`"
NEW_STUDY = "clear stop, or told; right in a new study"
NOTHING_LOST = "nothing was lost"
RECOVERED = "clear stop: rolled back; the backup and `recover` lead on"
DAMAGED = "clear stop: the database is damaged; the backup and `recover` lead on"


class BreachError(Exception):
    """Something happened that never may: a wrong number, an accused owner, a loss, a second release."""


class LossError(BreachError):
    """Something was lost that had been acknowledged, and nobody was told."""


@dataclass
class Tally:
    """The counts of one kind of trial."""

    kind: str
    outcomes: Counter[str] = field(default_factory=Counter)
    details: Counter[str] = field(default_factory=Counter)  # what was hit, how often
    breaches: list[str] = field(default_factory=list)
    seconds: float = 0.0
    told: float = field(default_factory=time.monotonic)  # when it was last said how far it is

    @property
    def trials(self) -> int:
        return self.outcomes.total() + len(self.breaches)

    def count(self, outcome: str, detail: str = "") -> None:
        self.outcomes[outcome] += 1
        if detail:
            self.details[detail] += 1

    def breach(self, what: str) -> None:
        self.breaches.append(what)

    def happened(self) -> str:
        """For people, in a line."""
        parts = [f"{count:,} {outcome}" for outcome, count in self.outcomes.most_common()]
        parts += [f"**{len(self.breaches)} that must not be**"] if self.breaches else []
        return "; ".join(parts) or "nothing"

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "trials": self.trials,
            "outcomes": dict(self.outcomes),
            "details": dict(self.details),
            "breaches": self.breaches,
            "seconds": round(self.seconds, 1),
        }

    def trial(self, what: str, run: Callable[[], str]) -> None:
        """One trial; an error that nobody foresaw is one that must not be."""
        try:
            outcome = run()
        except BreachError as error:
            self.breach(f"{what}: {error}")
        except Exception as error:
            self.breach(f"{what}: {type(error).__name__}: {error}")
        else:
            self.count(outcome, what)
        if time.monotonic() > self.told + _SECONDS_BETWEEN_LINES:
            self.told = time.monotonic()
            print(f"{self.kind}: {self.trials:,} so far: {self.happened()}", file=sys.stderr, flush=True)

    def trial_of(self, sort: str, variant: str, run: Callable[[], str]) -> None:
        """One trial of a kind that has sorts, of which each has its own counts."""
        outcome = "must not be"

        def told() -> str:
            nonlocal outcome
            try:
                outcome = run()
            except LossError:
                outcome = "silently lost"
                raise
            return outcome

        self.trial(f"{sort} ({variant})", told)
        self.details[f"{sort}: {outcome}"] += 1
