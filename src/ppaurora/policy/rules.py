"""The release policy: what may leave a computation, agreed on by all.

Rules on what is public are checked by every node for itself; rules on secrets are enforced inside the
computation, before any part of a result leaves a server.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Annotated, Any, Literal, Self

import msgspec
from msgspec import Meta

from ppaurora.io.models import StrictModel

AUTO: Literal["auto"] = "auto"
EXACT: Literal["exact"] = "exact"
HIDDEN: Literal["hidden"] = "hidden"
ROUNDED: Literal["rounded"] = "rounded"

MOST_AUTO_DIGITS = 4
MOST_DIGITS = 6
SAMPLES_PER_STEP = 4  # of the grid that `auto` rounds to, among those of all owners but the largest
COUNT_STEP = 5  # what rounded counts are multiples of

# What no study has. More is refused: inside, numbers of samples are compared modulo 2^64.
MOST_DEMANDED = 1 << 40

Least = Annotated[int, Meta(ge=0, le=MOST_DEMANDED)]
Fraction = Annotated[float, Meta(gt=0, le=1)]
Digits = Annotated[
    Annotated[int, Meta(ge=1, le=MOST_DIGITS)] | Literal["auto", "exact"],
    Meta(extra={"expected": f'"auto", "exact", or a whole number from 1 to {MOST_DIGITS}'}),
]
Counts = Annotated[
    Literal["hidden", "rounded", "exact"], Meta(extra={"expected": '"hidden", "rounded" or "exact"'})
]


class Floors(StrictModel):
    """What one owner demands of every study it submits to, in its kit. What is left out is not demanded.

    They travel with its submission, and are public; of all owners' floors and the study's policy the
    strictest rule wins.
    """

    minimum_owners: Least = 0
    largest_owner_fraction: Fraction = 1.0
    minimum_samples: Least = 0
    minimum_positives: Least = 0
    minimum_negatives: Least = 0
    minimum_per_cell: Least = 0
    digits: Digits = EXACT
    counts: Counts = EXACT


class Policy(StrictModel):
    """What may be released. Defaults are those of a study; fields are the rules of a plan's `[policy]`.

    Attributes
    ----------
    minimum_owners
        How many owners there must be. With two, each can subtract itself from the result.
    largest_owner_fraction
        The largest fraction of all samples that one owner may have.
    minimum_samples, minimum_samples_per_owner
        How many samples all owners together, and each of them, must have.
    minimum_positives, minimum_negatives
        How many there must be, in total and without any one owner. The counts are secret: the rule is
        enforced inside the computation.
    minimum_per_cell
        How many samples must be behind each number in a table, likewise.
    digits
        Decimals of each released number: "auto", as many as the smaller class allows; "exact"; or a number.
    most_digits
        The most decimals that "auto" gives.
    counts
        Numbers of positives and negatives: "hidden", "rounded" to fives, or "exact".

    Examples
    --------
    >>> import ppaurora
    >>> many = ([0, 1, 0, 1] * 30, [0.2, 0.4, 0.6, 0.8] * 30)
    >>> ppaurora.evaluate([many] * 3, policy=ppaurora.Policy(digits=1)).auroc  # rounded from 0.75
    0.8
    >>> few = ([1, 0], [0.9, 0.4])
    >>> floors = ppaurora.Policy(digits=2, largest_owner_fraction=0.99)
    >>> ppaurora.evaluate([many, few, few], policy=floors).suppressed
    True
    """

    minimum_owners: Annotated[int, Meta(ge=2, le=MOST_DEMANDED)] = 3
    largest_owner_fraction: Fraction = 0.5
    minimum_samples: Annotated[int, Meta(ge=2, le=MOST_DEMANDED)] = 2
    minimum_samples_per_owner: Annotated[int, Meta(ge=1, le=MOST_DEMANDED)] = 1
    minimum_positives: Least = 10
    minimum_negatives: Least = 10
    minimum_per_cell: Annotated[int, Meta(ge=1, le=MOST_DEMANDED)] = 10
    digits: Digits = AUTO
    most_digits: Annotated[int, Meta(ge=1, le=MOST_AUTO_DIGITS)] = MOST_AUTO_DIGITS
    counts: Counts = HIDDEN

    @classmethod
    def none(cls) -> Self:
        """Return the policy that releases everything at full precision: for one person who holds all data."""
        return cls(
            minimum_owners=2,
            largest_owner_fraction=1.0,
            minimum_positives=0,
            minimum_negatives=0,
            minimum_per_cell=1,
            digits=EXACT,
            counts=EXACT,
        )

    @property
    def has_floors(self) -> bool:
        """Return whether there are rules on secret numbers of positives or negatives."""
        return self.minimum_positives > 0 or self.minimum_negatives > 0

    def decimals(self, sizes: Sequence[int]) -> int | None:
        """Return the most decimals of a released number, for these numbers of samples; None if not rounded.

        With `auto`, the number of decimals is decided inside the computation, by the smaller class.
        """
        if self.digits == EXACT:
            return None
        return min(auto_digits(sizes), self.most_digits) if self.digits == AUTO else int(self.digits)

    def problem_with(self, sizes: Sequence[int], *, awaited: int = 0) -> str:
        """Return which public rule the owners' numbers of samples break; empty if none.

        While further owners are awaited, only what can no longer become right is a problem.
        """
        if any(size < self.minimum_samples_per_owner for size in sizes):
            return f"an owner has fewer than {self.minimum_samples_per_owner:,} samples"
        if awaited:
            return ""
        if len(sizes) < self.minimum_owners:
            return f"the policy asks for at least {self.minimum_owners} owners, there are {len(sizes)}"
        if sum(sizes) < self.minimum_samples:
            return f"there are fewer than {self.minimum_samples:,} samples in all"
        if max(sizes) > Decimal(str(self.largest_owner_fraction)) * sum(sizes):
            return f"one owner has more than {self.largest_owner_fraction} of all samples"
        if self.decimals(sizes) == 0:
            least = SAMPLES_PER_STEP * 10
            return (
                f"too few samples for even one decimal: without the largest owner {least:,} are needed, "
                f"there are {sum(sizes) - max(sizes):,}"
            )
        return ""

    def strictest(self, floors: Iterable[Floors]) -> Policy:
        """Return the strictest rules of this policy and all owners' floors."""
        policy = self
        for floor in floors:
            policy = msgspec.structs.replace(
                policy,
                minimum_owners=max(policy.minimum_owners, floor.minimum_owners),
                largest_owner_fraction=min(policy.largest_owner_fraction, floor.largest_owner_fraction),
                minimum_samples=max(policy.minimum_samples, floor.minimum_samples),
                minimum_positives=max(policy.minimum_positives, floor.minimum_positives),
                minimum_negatives=max(policy.minimum_negatives, floor.minimum_negatives),
                minimum_per_cell=max(policy.minimum_per_cell, floor.minimum_per_cell),
                **_fewer_digits(policy, floor.digits),
                counts=min(policy.counts, floor.counts, key=(HIDDEN, ROUNDED, EXACT).index),
            )
        return policy

    def described(self) -> list[tuple[str, str]]:
        """Return the rules in words."""
        counts = {
            HIDDEN: "hidden",
            ROUNDED: f"rounded, to multiples of {COUNT_STEP}",
            EXACT: "exact: released as they are",
        }
        digits = {
            AUTO: f"auto: as the smaller class allows, at most {self.most_digits}",
            EXACT: "exact: numbers are released at full precision, which can tell class counts and labels",
        }
        per_owner = self.minimum_samples_per_owner
        largest = self.largest_owner_fraction
        share = "each with any fraction" if largest == 1 else f"none with more than {largest}"
        behind = "1 sample" if self.minimum_per_cell == 1 else f"{self.minimum_per_cell:,} samples"
        return [
            ("owners", f"at least {self.minimum_owners}, {share} of all samples"),
            ("samples", f"at least {self.minimum_samples:,} in all and {per_owner:,} of every owner"),
            (
                "positives, negatives",
                f"at least {self.minimum_positives:,} and {self.minimum_negatives:,}, "
                "in all and without any one owner",
            ),
            ("cells of tables", f"at least {behind}, likewise"),
            ("digits", digits.get(str(self.digits), str(self.digits))),
            ("class counts", counts[self.counts]),
        ]


def auto_digits(sizes: Sequence[int]) -> int:
    """Return the largest d with 4·10^d samples beside those of the largest owner; at most 4, at least 0.

    The largest owner does not count because it may have made its samples up. From the second decimal on,
    there must be as many positives and as many negatives, which is decided inside.
    """
    others = sum(sizes) - max(sizes)
    digits = 0
    while digits < MOST_AUTO_DIGITS and SAMPLES_PER_STEP * 10 ** (digits + 1) <= others:
        digits += 1
    return digits


def _fewer_digits(policy: Policy, demanded: int | str) -> dict[str, Any]:
    """`auto` stays, as it depends on secrets; a number then says how many it gives at most."""
    if demanded == EXACT:
        return {}
    if policy.digits == EXACT:
        return {"digits": demanded}
    if AUTO not in (policy.digits, demanded):
        return {"digits": min(int(policy.digits), int(demanded))}
    numbers = [int(digits) for digits in (policy.digits, demanded) if digits != AUTO]
    return {"digits": AUTO, "most_digits": min([policy.most_digits, *numbers])}
