"""Numbers on their way out: what is public about each, and the secret ratio that it is."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum

from ppaurora.errors import MisuseError
from ppaurora.policy.rules import MOST_DIGITS
from ppaurora.sharing.shares import RingShare, WideShare


class Form(Enum):
    """What is released of a ratio n / d."""

    QUOTIENT = "n / d"
    ROOT = "the square root of n / d"
    COUNT = "n, a number of samples"


@dataclass(frozen=True)
class Output:
    """A number that is released."""

    name: str
    at: tuple[tuple[str, float], ...] = ()  # the row of a table that it belongs to
    form: Form = Form.QUOTIENT
    highest: int = 1  # it is at most so large, in magnitude
    # Whether the ratio may be negative. A root is then of its magnitude: of a variance that sums of rounded
    # numbers make slightly negative.
    signed: bool = False
    conditional: bool = False  # whether it may be withheld by itself
    most_denominator: int = 0  # of the ratio; 0: no larger than any sum or area of so many samples has
    more_digits: int = 0  # than the policy gives
    most_digits: int = MOST_DIGITS

    @property
    def keeps_sign(self) -> bool:
        return self.signed and self.form is not Form.ROOT

    @property
    def highest_ratio(self) -> int:
        """Return what the ratio is at most, in magnitude."""
        return self.highest**2 if self.form is Form.ROOT else self.highest


# How far a number is at most from that of scores that were not read on a grid. It is a whole number of parts
# of all pairs, as AUROC is: with a digit more, it would tell small numbers of positives.
GRID_BOUND = Output("grid_bound")


def standard_error(
    value: Output, most_denominator: int, *, highest: int | None = None, signed: bool = False
) -> Output:
    """Return the standard error that belongs to a value: with one digit more, and withheld with it."""
    return replace(
        value,
        name="standard_error",
        form=Form.ROOT,
        highest=value.highest if highest is None else highest,
        signed=signed,
        most_denominator=most_denominator,
        more_digits=value.more_digits + 1,
    )


@dataclass(frozen=True)
class Ratio:
    """What an output is, in secret. It is withheld unless all its conditions hold."""

    numerator: WideShare = field(repr=False)
    denominator: WideShare | int = field(default=1, repr=False)
    # How many samples are behind it, by owner: the policy wants enough, in all and without any one owner.
    # Of a count, the first is what it counts.
    behind: tuple[RingShare, ...] = field(default=(), repr=False)
    positive: tuple[RingShare, ...] = field(default=(), repr=False)  # numbers that must be above 0

    @property
    def counted(self) -> RingShare:
        """Return the numbers by owner of which a released count is the sum."""
        if not self.behind:
            raise MisuseError("a count that is released is known by owner")
        return self.behind[0]
