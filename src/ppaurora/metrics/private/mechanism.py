"""What a mechanism is: integers made of secrets, how far one person moves them, and noise to hide that.

Two data sets are neighbours if one person of one owner is replaced by another, with any score and any label;
everybody's numbers of samples are public, and stay. A mechanism is a vector of integers c; integer i is in
units of 1/steps_i, and between neighbours

    sum over i of |c_i - c'_i| / steps_i  <=  sensitivity

Each integer gets discrete Laplace noise of its own, of the rate epsilon / (sensitivity·steps_i). By it the
likelihood of any outcome differs between neighbours by at most exp(epsilon), and so does that of whatever is
computed from it. Where a person has up to k rows, k replacements lead from one data set to the other, so that
the sensitivity is k times as large.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Literal, Self

from ppaurora.metrics.sums import Fit, OwnerSum
from ppaurora.sharing.shares import RingShare
from ppaurora.suites.base import Suite

MechanismName = Literal["auroc", "table", "sums", "left_out"]


@dataclass(frozen=True)
class Coordinate:
    """One of the integers that a mechanism releases."""

    name: str
    steps: int = 1  # so many of it are one


@dataclass(frozen=True)
class Ingredients:
    """The secrets that mechanisms are made of, each a list of one."""

    samples: int | RingShare  # secret in a level
    most_samples: int  # for which the arithmetic is made, and so the shape of every message
    positives: RingShare = field(repr=False)
    totals: Mapping[OwnerSum, RingShare] = field(repr=False)  # owners' sums, over all owners
    area: RingShare | None = field(default=None, repr=False)  # twice the area under TP over FP


class Mechanism(ABC):
    """A vector of integers, and how far one person moves it. Public in all its parts."""

    name: ClassVar[MechanismName]
    needs_curve: ClassVar[bool] = False

    @abstractmethod
    def __or__(self, other: Self) -> Self:
        """Return the one that serves what both of a kind serve."""

    @property
    @abstractmethod
    def sensitivity(self) -> Fraction:
        """The most by which replacing one person moves all integers together, each in its units."""

    @property
    @abstractmethod
    def coordinates(self) -> tuple[Coordinate, ...]:
        """The integers, in their order."""

    @property
    def sums(self) -> tuple[OwnerSum, ...]:
        """What every owner sums up and submits beside its list."""
        return ()

    @property
    def fits(self) -> tuple[Fit, ...]:
        """How these sums are related to each other, in any list."""
        return ()

    @abstractmethod
    def integers(self, suite: Suite, given: Ingredients) -> RingShare:
        """Compute the integers, before noise is added; modulo 2^64."""

    @property
    def sensitivity_of_levels(self) -> Fraction:
        """The most by which replacing one person moves the integers of all levels of a variable together.

        The person leaves one level and joins another, or the same one. By default as much as within one.
        """
        return self.sensitivity

    def rates(
        self, epsilon: Fraction, rows_per_person: int, *, of_level: bool = False
    ) -> tuple[Fraction, ...]:
        """Return the rate of every integer's noise, for so much of epsilon."""
        person = (self.sensitivity_of_levels if of_level else self.sensitivity) * rows_per_person
        return tuple(epsilon / (person * one.steps) for one in self.coordinates)
