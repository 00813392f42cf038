"""Studies on a grid: random ones, whole runs of the protocol in the clear, and exact values from counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from ppaurora.agreement.terms import Job, Terms
from ppaurora.data import Samples
from ppaurora.data.count_table import CountTable
from ppaurora.data.grid import Grid
from ppaurora.metrics.reading import ReleasedResult
from ppaurora.protocols import GridProtocol
from ppaurora.session import Context, no_progress
from ppaurora.sharing.shares import RingShare, Words
from ppaurora.sharing.stages import OwnerShare, ResultShare, TableShare
from ppaurora.suites.base import Suite
from ppaurora.suites.cleartext import CleartextSuite
from tests.support.oracles import Sample

Owner = list[Sample]


def grid_protocol(grid: Grid) -> GridProtocol:
    return GridProtocol(low=grid.low, high=grid.high, decimals=grid.decimals)


# Studies


@dataclass(frozen=True)
class GridStudy:
    """Owners' samples with scores as their sources have them, and how they are read."""

    grid: Grid
    owners: tuple[Samples, ...]

    @property
    def read(self) -> list[Samples]:
        return [self.grid.read(samples) for samples in self.owners]

    @property
    def negated(self) -> bool:
        return self.owners[0].negated

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(map(len, self.owners))

    @property
    def of_probabilities(self) -> bool:
        return self.grid.low >= 0 and self.grid.high <= 1 and not self.negated

    def plain(self, *, read: bool) -> list[Owner]:
        """Return scores, the higher the more positive, and labels."""
        chosen = self.read if read else list(self.owners)
        return [list(zip(one.scores.tolist(), one.labels.tolist(), strict=True)) for one in chosen]

    def pooled(self, *, read: bool) -> Owner:
        return [sample for owner in self.plain(read=read) for sample in owner]

    @property
    def has_both_classes(self) -> bool:
        return {label for _, label in self.pooled(read=False)} == {0, 1}


GRIDS = (
    Grid(decimals=2),
    Grid(decimals=3),
    Grid(low=0.0, high=1.0, decimals=0),  # two values
    Grid(low=0.3, high=0.4, decimals=1),  # two values
    Grid(low=0.0, high=100.0, decimals=0),
    Grid(low=-1.0, high=1.0, decimals=1),
    Grid(low=-30.0, high=-27.5, decimals=1),
    Grid(low=0.25, high=0.75, decimals=2),
    Grid(low=-2.0, high=6.0, decimals=3),
)
FINE = Grid(low=0.0, high=3.2767, decimals=4)  # 2^15 values


def random_study(random: np.random.Generator, grid: Grid | None = None, largest: int = 60) -> GridStudy:
    """Few or many different scores, at values of the grid or between them, both ends empty or not; unequal
    owners, one class only now and then, lower scores the more positive ones now and then."""
    if grid is None:
        grid = FINE if random.random() < 0.03 else GRIDS[random.integers(len(GRIDS))]
    negated = bool(random.random() < 0.25)
    kind = random.integers(5)
    rate, skill = random.choice([0.02, 0.3, 0.5, 0.95]), random.choice([0.0, 0.3, 1.0, -0.5])
    owners = []
    for number in range(int(random.integers(2, 6))):
        size = int(random.choice([1, 2, largest // 4, largest]))
        labels = (random.random(size) < rate).astype(np.uint8)
        if random.random() < 0.1:
            labels[:] = random.integers(2)
        within = np.clip(random.random(size) * 0.8 + skill * labels * 0.2, 0.0, 1.0)
        if kind == 0:
            within = 0.4 + within / 5  # nothing at both ends
        elif kind == 1:
            within[:] = 0.5
        elif kind == 2:
            within = np.round(within)  # at both ends, nothing between
        scores = np.clip(grid.low + within * (grid.high - grid.low), grid.low, grid.high)
        if kind == 3:
            scores = scores.astype(np.float32).clip(grid.low, grid.high).astype(np.float64)
        if kind == 4:
            scores = grid.values[grid.nearest(scores)]
        samples = Samples(f"owner {number + 1}", scores, labels)
        owners.append(Samples(samples.source, 0.0 - scores, labels, negated=True) if negated else samples)
    return GridStudy(grid, tuple(owners))


def studies(seed: int, count: int, **options: Any) -> Iterator[GridStudy]:
    random = np.random.default_rng(seed)
    return (random_study(random, **options) for _ in range(count))


# Whole runs


class WithoutNoise(CleartextSuite):
    """Every bit that should be random is 0, and so is the noise that is made of such bits."""

    def random_bits(self, thresholds: Words) -> RingShare:
        return self._share(np.zeros_like(thresholds))


def in_one(shares: Sequence[OwnerShare]) -> OwnerShare:
    """Return what an owner's shares are together: counts modulo 2^32."""
    tables = [share.table for share in shares if share.table is not None]
    counts = sum((table.parts() for table in tables), np.zeros(tables[0].counts, dtype=np.uint32))
    whole = TableShare(counts.astype("<u4").tobytes(), tables[0].counts, is_seed=False)
    return OwnerShare(None, shares[0].sums, whole)


def run_in_the_clear(
    terms: Terms,
    owners: Sequence[Samples | CountTable],
    *,
    suite: Callable[[], Suite] = WithoutNoise,
) -> Words:
    """Return the columns of a release of the protocol `grid` as it stands, computed on plain numbers."""
    shares = [in_one(terms.share(owner)) for owner in owners]
    return run_shares_in_the_clear(terms, shares, [len(one) for one in owners], owners[0].negated, suite)


def run_shares_in_the_clear(
    terms: Terms,
    shares: Sequence[OwnerShare],
    sizes: Sequence[int],
    negated: bool = False,
    suite: Callable[[], Suite] = WithoutNoise,
) -> Words:
    class InTheClear(GridProtocol):
        def suite(self, context: Context) -> Any:
            return suite()

    def step(name: str) -> AbstractContextManager[None]:
        return nullcontext()

    context = cast(Context, SimpleNamespace(progress=no_progress, step=step))
    protocol = InTheClear(**terms.protocol.settings())
    job = Job(terms=terms, sizes=tuple(sizes), negated=negated)
    (result,) = protocol.run(context, job.query, list(shares), 1)
    return result.words


def released_by_grid(terms: Terms, owners: Sequence[Samples | CountTable], **options: Any) -> ReleasedResult:
    """As an owner reads it; of two servers' parts, one has nothing."""
    words = run_in_the_clear(terms, owners, **options)
    query = terms.query([len(one) for one in owners], negated=owners[0].negated)
    parts = [ResultShare(words), ResultShare(np.zeros_like(words))]
    return terms.protocol.combine(parts, query, [one.source for one in owners])


# Exact values from counts of any size


@dataclass(frozen=True)
class Counted:
    """Positives and negatives at every value, from the most positive one on."""

    positives: tuple[int, ...]
    negatives: tuple[int, ...]

    @classmethod
    def of(cls, tables: Sequence[CountTable]) -> Counted:
        order = 1 if tables[0].negated else -1
        by_class = (
            tuple(sum(map(int, counts)) for counts in zip(*lists, strict=True))[::order]
            for lists in ([one.positives for one in tables], [one.negatives for one in tables])
        )
        return cls(*by_class)

    @property
    def p(self) -> int:
        return sum(self.positives)

    @property
    def n(self) -> int:
        return sum(self.negatives)

    @property
    def points(self) -> list[tuple[int, int]]:
        """Return TP and FP from the start on."""
        tp, fp = (list(accumulate(counts, initial=0)) for counts in (self.positives, self.negatives))
        return list(zip(tp, fp, strict=True))

    def auroc(self) -> Fraction:
        """Count pairs that are in order, ties half."""
        return Fraction(sum(p * self._won(at) for at, p in enumerate(self.positives)), 2 * self.p * self.n)

    def _won(self, at: int) -> int:
        """Return twice the negatives that a positive at this place is before; ties count once."""
        return 2 * sum(self.negatives[at + 1 :]) + self.negatives[at]

    def tied(self) -> Fraction:
        """Return half of the pairs of unlike class that share a value, of all."""
        return Fraction(
            sum(p * n for p, n in zip(self.positives, self.negatives, strict=True)), 2 * self.p * self.n
        )

    def delong_variance(self) -> Fraction:
        """Return the variances of both classes' placements, each over its number."""
        of_positives = [(Fraction(self._won(at), 2 * self.n), k) for at, k in enumerate(self.positives)]
        before = list(accumulate(self.positives, initial=0))
        of_negatives = [
            (Fraction(2 * before[at] + self.positives[at], 2 * self.p), k)
            for at, k in enumerate(self.negatives)
        ]
        total = Fraction(0)
        for placements, size in ((of_positives, self.p), (of_negatives, self.n)):
            mean = sum((v * k for v, k in placements), Fraction(0)) / size
            total += sum(((v - mean) ** 2 * k for v, k in placements), Fraction(0)) / (size - 1) / size
        return total

    def youden(self) -> Fraction:
        return max(Fraction(tp, self.p) - Fraction(fp, self.n) for tp, fp in self.points)

    def average_precision(self) -> Fraction:
        steps = zip(self.points[1:], self.positives, strict=True)
        return sum((Fraction(tp * k, tp + fp) for (tp, fp), k in steps if k), Fraction(0)) / self.p
