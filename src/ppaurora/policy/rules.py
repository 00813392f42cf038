"""The release policy: what may leave a computation, agreed on by all.

A policy is of one of three kinds, and says by it what it promises. Rules on what is public are checked by
every node for itself; rules on secrets are enforced inside the computation, before any part of a result
leaves a server.
"""

from __future__ import annotations

import fractions
import math
import warnings
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Annotated, Any, Literal, Self, get_args, get_type_hints

import msgspec
from msgspec import Meta

from ppaurora.errors import InputError
from ppaurora.io.models import StrictModel, checked, to_builtins
from ppaurora.policy.broken_rules import BrokenRule, Cure

Kind = Literal["publication", "private", "exact"]

KINDS: tuple[Kind, ...] = get_args(Kind)
PUBLICATION: Kind = "publication"
PRIVATE: Kind = "private"
EXACT: Literal["exact"] = "exact"
HIDDEN: Literal["hidden"] = "hidden"
ROUNDED: Literal["rounded"] = "rounded"

PROMISES: dict[Kind, str] = {
    PUBLICATION: "for owners bound by an agreement: rounded, with floors, as output checkers ask for; it "
    "does not hold against an owner that makes samples up, nor against someone who knows all the rest",
    PRIVATE: "for owners who do not trust each other's data: noise drawn inside protects every person, "
    "against all other owners together and whatever else is known",
    EXACT: "for one's own data, or full trust: nothing is held back, so nothing is promised",
}

MOST_DIGITS = 6
COUNT_STEP = 5  # what rounded counts are multiples of
EPSILON = 2.0  # of a private study that names none
MOST_EPSILON = 16.0  # more protects nobody

# What no study has. More is refused: inside, numbers of samples are compared modulo 2^64.
MOST_DEMANDED = 1 << 40

Least = Annotated[int, Meta(ge=0, le=MOST_DEMANDED)]
Fraction = Annotated[float, Meta(gt=0, le=1)]
Digits = Annotated[
    Annotated[int, Meta(ge=1, le=MOST_DIGITS)] | Literal["exact"],
    Meta(extra={"expected": f'"exact", or a whole number from 1 to {MOST_DIGITS}'}),
]
Counts = Annotated[
    Literal["hidden", "rounded", "exact"], Meta(extra={"expected": '"hidden", "rounded" or "exact"'})
]
Epsilon = Annotated[float, Meta(gt=0, le=MOST_EPSILON)]
Weight = Annotated[float, Meta(gt=0, le=1000)]

OF_KIND: Any = None  # a rule that is not given is that of the policy's kind


class Floors(StrictModel):
    """What one owner demands of every study it submits to, in its kit. What is left out is not demanded.

    They travel with its submission, and are public; of all owners' floors and the study's policy the
    strictest rule wins. In a private study, noise takes the place of floors on secrets: as much of it as the
    floor on epsilon says, or the default of a private study if there is none.
    """

    minimum_owners: Least = 0
    largest_owner_fraction: Fraction = 1.0
    minimum_samples: Least = 0
    minimum_positives: Least = 0
    minimum_negatives: Least = 0
    minimum_per_cell: Least = 0
    digits: Digits = EXACT
    counts: Counts = EXACT
    epsilon: Epsilon | None = None  # the most that all studies on the same data may spend together

    @property
    def are_on_secrets(self) -> bool:
        """Return whether they demand anything that noise takes the place of."""
        return any(getattr(self, rule) != getattr(_NO_FLOORS, rule) for rule in _SECRET_FLOORS)

    def most_spent_by(self, policy: Policy) -> float | None:
        """Return the most epsilon that they let a study of this policy spend; None if they do not say."""
        if self.epsilon is None and policy.is_private and self.are_on_secrets:
            return EPSILON
        return self.epsilon


class Weights(StrictModel):
    """How a private study divides its epsilon: each mechanism that it uses gets a part in proportion."""

    auroc: Weight = 1.0
    table: Weight = 1.0
    sums: Weight = 1.0


class Policy(StrictModel):
    """What may be released. Fields are the rules of a plan's `[policy]`.

    A rule that is not given is that of the kind. It may be stricter than that, and not looser: a plan that
    wants other rules begins with "exact", which promises nothing, and adds what it wants.

    Attributes
    ----------
    kind
        "publication": rounded, with floors, as output checkers ask for. "private": with noise that protects
        every person. "exact": everything, at full precision.
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
        How many samples must be behind each number in a table, on both sides of each threshold, and in the
        part of a curve that a number is about, likewise.
    whole_tables
        Whether no table is released if a number of any of them would be withheld; with a minimum of one per
        cell, none is.
    digits
        Decimals of each released number, or "exact". A standard error, and numbers whose scale is small, have
        one more.
    counts
        Numbers of positives and negatives: "hidden", "rounded" to fives, or "exact".
    epsilon
        Of a private study: how much it may tell of any one person.
    rows_per_person
        How many rows one person has at most: noise protects that many, and where a study names patients,
        rules on cells count so many rows as one person.
    weights
        Of a private study: how epsilon is divided.

    Examples
    --------
    >>> import ppaurora
    >>> many = ([0, 1, 0, 1] * 30, [0.2, 0.4, 0.6, 0.7] * 30)
    >>> ppaurora.evaluate([many] * 3, policy=ppaurora.Policy(digits=1)).auroc  # rounded from 0.75
    0.8
    >>> few = ([1, 0], [0.9, 0.4])
    >>> floors = ppaurora.Policy.exact(minimum_positives=10)
    >>> ppaurora.evaluate([many, few, few], policy=floors).suppressed
    True
    """

    kind: Annotated[Kind, Meta(extra={"expected": '"publication", "private" or "exact"'})] = PUBLICATION
    minimum_owners: Annotated[int, Meta(ge=2, le=MOST_DEMANDED)] = OF_KIND
    largest_owner_fraction: Fraction = OF_KIND
    minimum_samples: Annotated[int, Meta(ge=2, le=MOST_DEMANDED)] = OF_KIND
    minimum_samples_per_owner: Annotated[int, Meta(ge=1, le=MOST_DEMANDED)] = OF_KIND
    minimum_positives: Least = OF_KIND
    minimum_negatives: Least = OF_KIND
    minimum_per_cell: Annotated[int, Meta(ge=1, le=MOST_DEMANDED)] = OF_KIND
    whole_tables: bool = OF_KIND
    digits: Digits = OF_KIND
    counts: Counts = OF_KIND
    epsilon: Epsilon | None = OF_KIND
    rows_per_person: Annotated[int, Meta(ge=1, le=1_000_000)] = 1
    weights: Weights = Weights()

    def __post_init__(self) -> None:
        """Take the kind's rules where none is given. What is built in Python has not been checked yet."""
        rules = _RULES[checked(_TYPES["kind"], self.kind, "kind")]
        for rule, default in rules.items():
            if getattr(self, rule) is OF_KIND:
                msgspec.structs.force_setattr(self, rule, default)
        for rule, expected in _TYPES.items():
            msgspec.structs.force_setattr(self, rule, checked(expected, getattr(self, rule), rule))
        for rule in _NO_RULES:
            if _looseness(rule, getattr(self, rule)) > _looseness(rule, rules[rule]):
                raise InputError(
                    f"{rule}: kind = '{self.kind}' has {rules[rule]!r}, and a plan may only be stricter; for "
                    "looser rules take kind = 'exact', which promises nothing, and add those that you want"
                )
        self._check_noise()

    def _check_noise(self) -> None:
        if self.kind == PRIVATE:
            own = _RULES[PRIVATE]
            for rule in _ON_SECRETS:
                if getattr(self, rule) != own[rule]:
                    raise InputError(
                        f"{rule}: kind = 'private' withholds and rounds nothing, as that would tell of "
                        "secrets; its noise takes the place of this rule"
                    )
        elif self.epsilon is not None or self.weights != Weights():
            raise InputError("epsilon and weights are rules of kind = 'private'")

    @classmethod
    def publication(cls, **stricter: Any) -> Self:
        """Return the policy of a study whose result is to be published: rounded, with floors."""
        return cls(kind=PUBLICATION, **stricter)

    @classmethod
    def private(cls, epsilon: float = EPSILON, **stricter: Any) -> Self:
        """Return the policy by which noise protects every person, however much else is known."""
        return cls(kind=PRIVATE, epsilon=epsilon, **stricter)

    @classmethod
    def exact(cls, **stricter: Any) -> Self:
        """Return the policy that releases everything at full precision, but for the rules given."""
        return cls(kind=EXACT, **stricter)

    @classmethod
    def none(cls) -> Self:
        """Return the policy `exact`, by its former name."""
        warnings.warn("Policy.none() is Policy.exact() now", DeprecationWarning, stacklevel=2)
        return cls.exact()

    def given(self) -> dict[str, Any]:
        """Return the kind, and the rules that are not those of the kind: what a plan has to say."""
        kind = to_builtins(Policy(kind=self.kind))
        return {"kind": self.kind} | {
            rule: value for rule, value in to_builtins(self).items() if value != kind[rule]
        }

    @property
    def has_floors(self) -> bool:
        """Return whether there are rules on secret numbers of positives or negatives."""
        return self.minimum_positives > 0 or self.minimum_negatives > 0

    @property
    def withholds_cells(self) -> bool:
        """Return whether single numbers are withheld that few samples are behind."""
        return self.minimum_per_cell > 1

    @property
    def withholds(self) -> bool:
        """Return whether rules on secret counts may withhold numbers; else what has no value is undefined."""
        return self.has_floors or self.withholds_cells

    @property
    def is_private(self) -> bool:
        """Return whether numbers are released with noise, instead of being rounded or withheld."""
        return self.kind == PRIVATE

    @property
    def decimals(self) -> int | None:
        """Return how many decimals a released number has; None if it is not rounded."""
        return None if self.digits == EXACT else int(self.digits)

    @property
    def count_step(self) -> int:
        """Return what released numbers of samples and rows are multiples of; of rows left out, fives as well
        where the numbers of classes are hidden."""
        return 1 if self.counts == EXACT else COUNT_STEP

    @property
    def spent(self) -> float:
        """Return how much of a budget a study spends: epsilon; without noise there is no bound."""
        return math.inf if self.epsilon is None else self.epsilon

    def problem_with(self, sizes: Sequence[int], *, awaited: int = 0, most: int = MOST_DEMANDED) -> str:
        """Return which public rule the owners' numbers of samples break; empty if none.

        While further owners are awaited, who have so many samples at `most`, only what can no longer become
        right is a problem.
        """
        broken = self.broken_rule(sizes, awaited=awaited, most=most)
        return "" if broken is None else str(broken)

    def broken_rule(
        self, sizes: Sequence[int], *, awaited: int = 0, most: int = MOST_DEMANDED
    ) -> BrokenRule | None:
        """Return the public rule that `problem_with` tells of, with whose it is and what would mend it."""
        owners, possible = len(sizes) + awaited, sum(sizes) + awaited * most
        for place, size in enumerate(sizes):
            if size < self.minimum_samples_per_owner:
                few = f"has fewer than {self.minimum_samples_per_owner:,} samples"
                return self._broken("minimum_samples_per_owner", "an owner", few, Cure.LARGER, place)
        if owners < self.minimum_owners:
            few = f"asks for at least {self.minimum_owners} owners, there are {owners}"
            return self._broken("minimum_owners", "the policy", few)
        if possible < self.minimum_samples:
            if awaited:
                few = (
                    f"can be no {self.minimum_samples:,} samples in all, with at most {most:,} of every owner"
                )
            else:
                few = f"are fewer than {self.minimum_samples:,} samples in all: {possible:,}"
            return self._broken("minimum_samples", "there", few, Cure.LARGER)
        fraction, largest = Decimal(str(self.largest_owner_fraction)), max(sizes, default=0)
        if largest > fraction * possible:
            too_large = f"has more than {self.largest_owner_fraction} of all samples"
            return self._broken(
                "largest_owner_fraction",
                "one owner",
                too_large if awaited else f"{too_large}: {largest:,} of {possible:,}",
                Cure.BALANCED,
                sizes.index(largest),
            )
        if fraction * owners < 1:
            always = f"of {owners} owners always has more than {self.largest_owner_fraction} of all samples"
            return self._broken("largest_owner_fraction", "one", always)
        return None

    def _broken(
        self, rule: str, subject: str, predicate: str, cure: Cure = Cure.NONE, place: int | None = None
    ) -> BrokenRule:
        """Return a rule that is broken: one that is stricter than the kind's own can be amended."""
        is_stricter = getattr(self, rule) != getattr(Policy(kind=self.kind), rule)
        is_amendable = is_stricter and not self.is_private
        return BrokenRule(subject, predicate, cure, place, is_amendable=is_amendable)

    def asked_of_others(self, samples: int, others: int) -> str:
        """Say how many samples others need together beside one with so many; empty if any number will do."""
        fraction = fractions.Fraction(str(self.largest_owner_fraction))
        by_fraction = math.ceil(samples / fraction) - samples
        least = max(by_fraction, self.minimum_samples - samples)
        if least <= others * self.minimum_samples_per_owner:
            return ""
        why = f"no owner may have more than {self.largest_owner_fraction} of all"
        if least > by_fraction:
            why = f"the study needs {self.minimum_samples:,} in all"
        return f"at least {least:,} samples together, as {why}"

    def strictest(self, floors: Iterable[Floors]) -> Policy:
        """Return the strictest rules of this policy and all owners' floors.

        Raises InputError if the study spends more of an owner's budget than it lets any study spend. An owner
        that demands something of secrets and names no epsilon lets it spend the default: hardly any noise
        would take the place of its floors otherwise. A floor on cells that is above the policy's withholds
        whole tables: cell by cell, its owner would learn how many samples each of them has.
        """
        policy = self
        for floor in floors:
            most = floor.most_spent_by(self)
            if most is not None and self.spent > most:
                raise InputError(_too_much(self, floor, most))
            public = {
                "minimum_owners": max(policy.minimum_owners, floor.minimum_owners),
                "largest_owner_fraction": min(policy.largest_owner_fraction, floor.largest_owner_fraction),
                "minimum_samples": max(policy.minimum_samples, floor.minimum_samples),
            }
            secret: dict[str, Any] = {
                "minimum_positives": max(policy.minimum_positives, floor.minimum_positives),
                "minimum_negatives": max(policy.minimum_negatives, floor.minimum_negatives),
                "minimum_per_cell": max(policy.minimum_per_cell, floor.minimum_per_cell),
                "whole_tables": policy.whole_tables or floor.minimum_per_cell > self.minimum_per_cell,
                "digits": min(policy.digits, floor.digits, key=lambda digits: _looseness("digits", digits)),
                "counts": min(policy.counts, floor.counts, key=lambda counts: _looseness("counts", counts)),
            }
            policy = msgspec.structs.replace(policy, **public, **({} if self.is_private else secret))
        return policy

    def described(self) -> list[tuple[str, str]]:
        """Return the kind, what it promises, and the rules in words."""
        largest = self.largest_owner_fraction
        share = "each with any fraction" if largest == 1 else f"none with more than {largest}"
        per_owner = self.minimum_samples_per_owner
        lines = [
            ("kind", f"{self.kind}, {PROMISES[self.kind]}"),
            ("owners", f"at least {self.minimum_owners}, {share} of all samples"),
            ("samples", f"at least {self.minimum_samples:,} in all and {per_owner:,} of every owner"),
        ]
        return lines + (self._noise_described() if self.is_private else self._secrets_described())

    def _secrets_described(self) -> list[tuple[str, str]]:
        counts = {
            HIDDEN: "hidden",
            ROUNDED: f"rounded, to multiples of {COUNT_STEP}",
            EXACT: "exact: released as they are",
        }
        digits = "exact: numbers are released at full precision, which can tell class counts and labels"
        behind = "1 sample" if self.minimum_per_cell == 1 else f"{self.minimum_per_cell:,} samples"
        tables = "; if a table lacks them, none is released" if self.whole_tables else ""
        return [
            (
                "positives, negatives",
                f"at least {self.minimum_positives:,} and {self.minimum_negatives:,}, "
                "in all and without any one owner",
            ),
            ("cells and tails", f"at least {behind}, likewise{tables}"),
            *self._rows_described(),
            ("digits", digits if self.digits == EXACT else f"{self.digits}, one more of small numbers"),
            ("class counts", counts[self.counts]),
        ]

    def _rows_described(self) -> list[tuple[str, str]]:
        if self.rows_per_person == 1:
            return []
        return [("rows of a person", f"at most {self.rows_per_person:,}; cells need so many times as many")]

    def _noise_described(self) -> list[tuple[str, str]]:
        rows = "" if self.rows_per_person == 1 else f", who has at most {self.rows_per_person:,} rows"
        lines = [("epsilon", f"{self.epsilon:g} for every person{rows}: {guesses(self.spent)}")]
        if self.weights != Weights():
            parts = ", ".join(f"{name} {weight:g}" for name, weight in to_builtins(self.weights).items())
            lines.append(("epsilon's parts", f"in proportion, of what the study has of them: {parts}"))
        return lines


def guesses(epsilon: float) -> str:
    """Return in words what epsilon bounds: any attacker's success with one of two cases, equally likely."""
    right = 100 / (1 + math.exp(-epsilon))
    shown = f"{right:.0f}" if right < 99.5 else f"{right:.4g}"
    return f"whoever knows everything else guesses one person's outcome right at most {shown} times in 100"


_TYPES: dict[str, Any] = get_type_hints(Policy, include_extras=True)

_ON_SECRETS = (
    "minimum_positives",
    "minimum_negatives",
    "minimum_per_cell",
    "whole_tables",
    "digits",
    "counts",
)

_NO_FLOORS = Floors()
_SECRET_FLOORS = [rule for rule in _ON_SECRETS if rule in Floors.__struct_fields__]

_NO_RULES: dict[str, Any] = {
    "minimum_owners": 2,
    "largest_owner_fraction": 1.0,
    "minimum_samples": 2,
    "minimum_samples_per_owner": 1,
    "minimum_positives": 0,
    "minimum_negatives": 0,
    "minimum_per_cell": 1,
    "whole_tables": False,
    "digits": EXACT,
    "counts": EXACT,
}

_RULES: dict[Kind, dict[str, Any]] = {
    PUBLICATION: {
        "minimum_owners": 3,
        "largest_owner_fraction": 0.5,
        "minimum_samples": 2,
        "minimum_samples_per_owner": 20,
        "minimum_positives": 10,
        "minimum_negatives": 10,
        "minimum_per_cell": 10,
        "whole_tables": False,
        "digits": 3,
        "counts": ROUNDED,
    },
    PRIVATE: {**_NO_RULES, "epsilon": EPSILON},
    EXACT: _NO_RULES,
}


def _looseness(rule: str, value: Any) -> float:
    """Return a number that grows the more a rule lets out."""
    if rule == "digits":
        return math.inf if value == EXACT else float(value)
    if rule == "counts":
        return (HIDDEN, ROUNDED, EXACT).index(value)
    return float(value) if rule == "largest_owner_fraction" else -float(value)


def _too_much(policy: Policy, floor: Floors, most: float) -> str:
    if floor.epsilon is None:
        return (
            "an owner has floors on secrets, which noise takes the place of, and none on epsilon: a study "
            f"may then spend {most:g}, the default, and this one spends {policy.spent:g}"
        )
    if policy.epsilon is None:
        return (
            f"an owner's floor allows an epsilon of {most:g} at most, and a study of kind '{policy.kind}' "
            "has no noise that would bound what it tells of a person; take kind = 'private'"
        )
    return f"an owner's floor allows an epsilon of {most:g} at most, and the study spends {policy.epsilon:g}"
