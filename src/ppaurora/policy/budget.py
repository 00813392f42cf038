"""The privacy budget of an owner's data: how much all studies together may tell of any one person in it.

Epsilons add up. With epsilon, no outcome of a study is more than exp(epsilon) times as likely with one
person's data as with any other in its place. Studies draw their noise independently, so for what several of
them release these factors multiply: together they have the sum of their epsilons, whatever each of them asks.
A study without noise has no such factor, and then there is no bound on the sum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from ppaurora.errors import BudgetError
from ppaurora.policy.rules import Policy

_WITHDRAW = "'ppaurora withdraw' from a study that has computed nothing"


@dataclass(frozen=True)
class Spending:
    """The part of the budget that a study spends, beside what other studies on the same data have spent.

    Attributes
    ----------
    policy
        That of the study.
    earlier
        Other studies on the same data, by name, with what each spends; infinity if there is no bound. Left
        out where it does not matter.
    most
        The most that all of them may spend together: the owner's floor on epsilon. None if it has none.
    """

    policy: Policy
    earlier: tuple[tuple[str, float], ...] = ()
    most: float | None = None

    @property
    def before(self) -> float:
        """Return what the other studies spend together."""
        return _sum(spent for _, spent in self.earlier)

    @property
    def total(self) -> float:
        """Return what all of them spend, this study among them."""
        return _sum([self.policy.spent, self.before])

    @property
    def is_too_much(self) -> bool:
        """Return whether the study may not have this data, by the owner's floor."""
        return self.most is not None and self.total > self.most

    @property
    def matters(self) -> bool:
        """Return whether there is anything to add up: without noise and floor there is no epsilon at all."""
        return self.policy.is_private or self.most is not None

    def __str__(self) -> str:
        before = _shown(self.before)
        if self.earlier:
            before += f" on this data ({', '.join(name for name, _ in self.earlier)})"
        floor = (
            "without a floor of yours on it" if self.most is None else f"at most {self.most:g} by your floor"
        )
        return f"this study {_shown(self.policy.spent)}, so far {before}, {floor}"

    def check(self) -> None:
        """Raise `BudgetError` if the floor does not let the study have this data."""
        if not self.is_too_much:
            return
        if not self.policy.is_private:
            why = (
                f"a study of kind '{self.policy.kind}' has no noise that would bound what it tells of a "
                "person. Agree on kind = 'private'"
            )
        elif math.isinf(self.before):
            why = (
                "one of these had no noise, so nothing bounds what all tell together. Submit other data, or "
                f"{_WITHDRAW}"
            )
        else:
            why = (
                "together they would spend more. Submit other data, agree on a smaller epsilon, or "
                f"{_WITHDRAW}"
            )
        raise BudgetError(
            f"epsilon: {self}: {why}; [floors] in owner.toml is yours to change. Nothing was sent"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it as in the JSON of a check; null where there is no bound, or no floor."""
        return {
            "study": _finite(self.policy.spent),
            "before": _finite(self.before),
            "studies": [{"study": name, "epsilon": _finite(spent)} for name, spent in self.earlier],
            "most": self.most,
        }


def _sum(parts: Any) -> float:
    """Add as people do: three times 0.1 is 0.3."""
    return float(sum((Decimal(str(part)) for part in parts), Decimal(0)))


def _finite(spent: float) -> float | None:
    return spent if math.isfinite(spent) else None


def _shown(spent: float) -> str:
    return f"{spent:g}" if math.isfinite(spent) else "no bound"
