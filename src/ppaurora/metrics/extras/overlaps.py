"""Levels of two variables that differ by a few people must not be subtracted from each other.

A publication has no number about few people. But where a level u of one variable and a level v of another
have nearly the same people, their numbers differ by those of the few; and where v has nearly all that u has
not, all people less u differ from v likewise. So with d people who are in one of both and not in the other,
and n in all, d and n - d must each be 0, or as many as a cell needs, without any one owner. Else the later
variable is withheld: one of its levels would not be enough, as it follows from all people less the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from ppaurora.data.design import Design
from ppaurora.data.samples import Samples
from ppaurora.metrics.extras.base import Statement, StudySecrets
from ppaurora.metrics.query import Query
from ppaurora.metrics.small_levels import Overlap
from ppaurora.sharing.shares import RingShare, stack


@dataclass(frozen=True)
class SharedRows(Statement):
    """How many rows are in each level of one variable and in each of another: a table, row after row."""

    variables: tuple[str, str]
    shape: tuple[int, int]

    @property
    def words(self) -> int:  # type: ignore[override]
        """The number of pairs of levels."""
        return self.shape[0] * self.shape[1]

    def of(self, samples: Samples) -> Sequence[int]:
        if samples.further is None:
            return [0] * self.words
        first, second = (samples.further.levels[one].astype(np.int64) for one in self.variables)
        counts: list[int] = np.bincount(first * self.shape[1] + second, minlength=self.words).tolist()
        return counts

    def checks(self, words: RingShare, study: StudySecrets) -> list[RingShare]:
        """None is negative or more than its level has, and they add up to the rows of every level."""
        numbers = [row + 1 for row in words.rows()]
        design, whole = study.layout.design, study.layout.design.wholes[0]
        for place, row in enumerate(words.rows()):
            level = design.levels_of(whole, self.variables[0])[place // self.shape[1]]
            numbers.append(study.parts[level].inputs.list_counts.secret_sizes - row + 1)
        margins = zip(self.variables, self.margins(words), strict=True)
        for variable, sizes in margins:
            for slice_, size in zip(design.levels_of(whole, variable), sizes, strict=True):
                own = study.parts[slice_].inputs.list_counts
                numbers += [size - own.secret_sizes + 1, own.secret_sizes - size + 1]
        return numbers

    def margins(self, words: RingShare) -> tuple[list[RingShare], list[RingShare]]:
        """Return how many rows each level has, of both variables, by owner."""
        rows, (first, second) = words.rows(), self.shape
        table = [rows[place * second : (place + 1) * second] for place in range(first)]
        return (
            [sum(own[1:], own[0]) for own in table],
            [sum((own[place] for own in table[1:]), table[0][place]) for place in range(second)],
        )


def overlaps_of(query: Query, design: Design) -> tuple[SharedRows, ...]:
    """Return what owners state of every two variables; nothing where noise protects."""
    if query.policy.is_private:
        return ()
    return tuple(
        SharedRows(pair, (len(design.subgroups[pair[0]].levels), len(design.subgroups[pair[1]].levels)))
        for pair in combinations(design.variables, 2)
    )


def overlap_conditions(study: StudySecrets, query: Query) -> list[Overlap]:
    """Return, of every two levels of two variables, numbers that are above 0 if both may be released.

    With x the rows in one of both only, or all others, and m the fewest of a cell, which is what no fewer
    people can have, x·(x - m) + 1 is.
    """
    if not query.withholds_cells:
        return []
    design = study.layout.design
    m = study.parts[design.wholes[0]].query.least_per_cell
    sizes = np.array(query.sizes, dtype=np.uint64)
    others = int(sizes.sum()) - sizes  # without any one owner
    found = []
    for statement in overlaps_of(query, design):
        firsts, seconds = (
            [(variable, level) for level in design.subgroups[variable].levels]
            for variable in statement.variables
        )
        apart = [one.sum() - one for one in _apart(statement, study.words[statement])]
        numbers = stack([number for one in apart for number in (one, others - one)])
        products = iter((study.suite.mul(numbers, numbers - m) + 1).rows())
        for earlier, later in product(firsts, seconds):
            found.append(Overlap(earlier, later, (next(products), next(products)), -m * m))
    return found


def _apart(statement: SharedRows, words: RingShare) -> Iterator[RingShare]:
    """Yield, of every two levels, how many rows are in one of both only, by owner."""
    firsts, seconds = statement.margins(words)
    shared = iter(words.rows())
    for first in firsts:
        for second in seconds:
            yield first + second - next(shared) * 2
