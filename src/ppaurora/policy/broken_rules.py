"""A public rule that numbers of samples or owners' floors break, in words, with who can do what about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

_REPLACING = "with 'ppaurora submit --replace'"
_AMENDING = "the coordinator can amend the study"
_NEW_STUDY = "the owners need a new study"


class Cure(Enum):
    """The change to numbers of samples that would mend a broken rule."""

    NONE = "none"
    LARGER = "larger"
    SMALLER = "smaller"
    BALANCED = "one smaller, or the others larger"


@dataclass(frozen=True)
class BrokenRule:
    """A rule that submissions break. Places are those in the list of numbers that it was found in.

    Attributes
    ----------
    subject, predicate
        The problem in words, without a name. The first may be empty.
    cure
        What would mend it, apart from other floors or terms.
    place
        The owner whose number of samples breaks it, if it is one owner's.
    demanded_by
        The owner whose floors ask for it, if the study's policy does not.
    is_amendable
        Whether an amendment can loosen it: not what comes with the kind of a policy.
    """

    subject: str
    predicate: str
    cure: Cure = Cure.NONE
    place: int | None = None
    demanded_by: int | None = None
    is_amendable: bool = True

    def __str__(self) -> str:
        return f"{self.subject} {self.predicate}".lstrip()

    def advice(self) -> str:
        """Say it to the owner that breaks it alone, before anything is sent, with what to do."""
        ways = []
        if self.cure is not Cure.NONE:
            ways.append(f"submit {'more' if self.cure is Cure.LARGER else 'fewer'} samples")
        if self.demanded_by is not None:
            ways.append("lower your floors ([floors] in owner.toml)")
        if self._helps_to_amend:
            ways.append("ask the coordinator to amend the study")
        return f"{self}; {', or '.join(ways or [_NEW_STUDY])}"

    def note(self, owners: Sequence[str], *, too_late: str = "") -> str:
        """Say it with owners' names, and who can do what; `too_late` says why nothing can be replaced."""
        problem = str(self) if self.place is None else f"{owners[self.place]} {self.predicate}"
        if self.demanded_by is not None:
            problem += f", as the floors of {owners[self.demanded_by]} demand"
        if too_late:
            return f"{problem}; {too_late}, so {_AMENDING}, or {_NEW_STUDY}"
        ways = [*self._replacements(owners), *([_AMENDING] if self._helps_to_amend else [])]
        return f"{problem}; {'; or '.join(ways or [_NEW_STUDY])}"

    @property
    def _helps_to_amend(self) -> bool:
        return self.is_amendable and self.demanded_by is None

    def _replacements(self, owners: Sequence[str]) -> list[str]:
        ways = []
        if self.cure is Cure.BALANCED and self.place is not None:
            ways.append(
                f"{owners[self.place]} can replace its submission by a smaller one, or the others theirs by "
                f"larger ones, {_REPLACING}"
            )
        elif self.cure is not Cure.NONE and self.place is not None:
            ways.append(
                f"{owners[self.place]} can replace its submission by a {self.cure.value} one {_REPLACING}"
            )
        elif self.cure is not Cure.NONE:
            ways.append(f"owners can replace their submissions by {self.cure.value} ones {_REPLACING}")
        if self.demanded_by is not None:
            ways.append(
                f"{owners[self.demanded_by]} can lower its floors ([floors] in owner.toml) and submit again "
                f"{_REPLACING}"
            )
        return ways
