"""What there is in secret on the way to a release, and what formulas are given of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from ppaurora.algorithms.pooled_table import OwnerTables
from ppaurora.errors import MisuseError
from ppaurora.metrics.outputs import Ratio
from ppaurora.metrics.query import Query
from ppaurora.metrics.sums import STEPS_PER_ONE, ListCounts, OwnerSum
from ppaurora.sharing.shares import RingShare, WideShare, concat
from ppaurora.suites.base import Suite

if TYPE_CHECKING:
    from ppaurora.metrics.base import Metric


@dataclass(frozen=True)
class Inputs:
    """What there is before the merge, in secret: checks of the lists, and what owners summed up."""

    ascents: RingShare | None = field(repr=False)  # per owner, places out of order; None: not checked
    counts: ListCounts | None = field(repr=False)  # None: nothing needs them
    sums: RingShare | None = field(repr=False)  # a row per sum, a column per owner
    tables: OwnerTables | None = field(default=None, repr=False)  # None: none are submitted
    rows: ListCounts | None = field(
        default=None, repr=False
    )  # where samples weigh more than one, their numbers

    @property
    def floor_counts(self) -> ListCounts | None:
        """The numbers of people by class that floors are about."""
        return self.counts if self.rows is None else self.rows

    @property
    def list_counts(self) -> ListCounts:
        """The counts of every list, where something needs them."""
        if self.counts is None:
            raise MisuseError("positives were not counted by owner")
        return self.counts

    @property
    def owner_tables(self) -> OwnerTables:
        """The owners' tables, where they submit some."""
        if self.tables is None:
            raise MisuseError("no tables were submitted")
        return self.tables

    def by_owner(self, query: Query) -> dict[OwnerSum, RingShare]:
        """Return what owners summed up, sum by sum."""
        return {} if self.sums is None else dict(zip(query.sums, self.sums.rows(), strict=True))


@dataclass(frozen=True)
class Found:
    """What the curve gave, each a list of one."""

    samples: RingShare | int = field(repr=False)
    positives: RingShare = field(repr=False)
    class_product: RingShare = field(repr=False)
    secrets: Mapping[Metric, list[RingShare]] = field(repr=False)

    @property
    def negatives(self) -> RingShare:
        return self.samples - self.positives


@dataclass(frozen=True)
class CalledByOwner:
    """How many samples every owner has on either side of a threshold."""

    positive: RingShare = field(repr=False)
    negative: RingShare = field(repr=False)


@dataclass(frozen=True)
class Evidence:
    """Lists of one, but for what is by owner."""

    suite: Suite
    query: Query
    inputs: Inputs
    found: Found
    samples: WideShare | int = field(repr=False)  # a number where it is public
    positives: WideShare = field(repr=False)
    class_product: WideShare = field(repr=False)
    totals: Mapping[OwnerSum, WideShare] = field(repr=False)  # over all owners
    by_owner: Mapping[OwnerSum, RingShare] = field(repr=False)
    # By threshold, how many samples are called positive and how many negative, by owner.
    called: Mapping[float, CalledByOwner] = field(default_factory=dict, repr=False)
    # By threshold, above 0 if enough samples lie between it and other cuts of tables, without any one owner.
    between: Mapping[float, tuple[RingShare, ...]] = field(default_factory=dict, repr=False)
    secrets: Mapping[Metric, list[WideShare]] = field(
        default_factory=dict, repr=False
    )  # of the curve or table

    def multiply(self, pairs: Sequence[tuple[WideShare, WideShare]]) -> list[WideShare]:
        """Multiply all pairs in one round."""
        products = self.suite.mul(concat([x for x, _ in pairs]), concat([y for _, y in pairs]))
        return [products[place] for place in range(len(products))]

    def quotients(self, pairs: Sequence[tuple[WideShare, WideShare]], bits: int, bound: int) -> WideShare:
        """Return floor(2^bits·n / d) of all pairs, for 0 <= n <= d < bound and d > 0."""
        n, d = (concat(parts) for parts in zip(*pairs, strict=True))
        found = self.suite.grid_steps(n * (1 << bits), d, d * 0, 1 << bits, (bound << bits) + 1)
        return self.suite.widen(found)

    @property
    def negatives(self) -> WideShare:
        return self.samples - self.positives

    def variances_of_means(self, sums: Sequence[tuple[WideShare, WideShare]]) -> list[Ratio]:
        """Return the variance of the mean of numbers x over all samples, from sums of x and of x² in steps.

        With X and Q these sums, over n samples, it is (n·Q - X²) / (n²·(n - 1)). Where owners have rounded
        them it may be slightly negative.
        """
        n = self.samples
        squares = self.multiply([(total, total) for total, _ in sums])
        if isinstance(n, int):
            n_squares, n_n_n = [q * n for _, q in sums], n * n * (n - 1)
            return [
                Ratio(n_q - x_x, n_n_n * STEPS_PER_ONE**2)
                for n_q, x_x in zip(n_squares, squares, strict=True)
            ]
        n_n, *products = self.multiply([(n, n), *((q, n) for _, q in sums)])
        (cubes,) = self.multiply([(n_n, n - 1)])
        return [
            Ratio(n_q - x_x, cubes * STEPS_PER_ONE**2) for n_q, x_x in zip(products, squares, strict=True)
        ]

    def enough_of(self, by_owner: RingShare, rate: Fraction) -> RingShare:
        """Positive where a fraction of them is enough for a cell, in all and without any one owner."""
        others = by_owner.sum() - by_owner
        return others * rate.numerator - (self.query.least_per_cell * rate.denominator - 1)


@dataclass(frozen=True)
class EvaluatedPart:
    """A slice with all its secret numbers, before it is decided what of them leaves."""

    query: Query
    inputs: Inputs
    found: Found
    evidence: Evidence | None = field(default=None, repr=False)  # where a ratio takes more than 64 bits
    ratios: tuple[Ratio, ...] = field(default=(), repr=False)

    def sums_by_owner(self, total: OwnerSum) -> RingShare:
        """Return what every owner summed up."""
        return self.inputs.by_owner(self.query)[total]
