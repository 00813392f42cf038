"""Levels of a subgroup that are too small must not follow from all samples less the other levels.

All levels of a variable together are all samples. So whoever has the numbers of all samples and of all levels
but one has those of that one as well. Hence, where a policy has floors:

1. A level that does not meet them is withheld. The *rest* of a variable is all its withheld levels together.
2. If there is a rest, it must meet the floors as a level must, or every level of the variable is withheld.
3. A number at a threshold is withheld in all levels unless it may leave in each, and no level is withheld.
   As all levels together give that of all samples, enough people must lie between this threshold and other
   cuts of all samples as well, also those of metrics that levels do not have.
4. Levels of two variables that are both released must not differ by a few people, nor one of them from all
   people without the other; or the later variable is withheld. Released is what is so for any outcome, as
   predictions do not depend on it. `extras/overlaps.py` has the arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ppaurora.data.slices import Slice
from ppaurora.metrics.evidence import EvaluatedPart
from ppaurora.sharing.shares import RingShare, concat
from ppaurora.sharing.spans import spans
from ppaurora.suites.base import Suite


@dataclass(frozen=True)
class Overlap:
    """Two levels of two variables, and numbers that are above 0 if they may be subtracted from each other."""

    earlier: tuple[str, str]  # variable and level
    later: tuple[str, str]
    numbers: tuple[RingShare, ...] = field(repr=False)
    lowest: int  # that any of the numbers can be


def enough(by_owner: RingShare, least: int) -> RingShare:
    """Positive where there are at least so many without an owner, for every owner; so there are in all."""
    return by_owner.sum() - by_owner - (least - 1)


def protect_small_levels(
    suite: Suite,
    parts: Sequence[EvaluatedPart],
    released: list[RingShare],
    cells: list[RingShare],
    overlaps: Sequence[Overlap] = (),
) -> tuple[list[RingShare], list[RingShare]]:
    """Return which parts are released, and which of their cells, once levels protect each other."""
    variables, policy = _variables(parts), parts[0].query.policy
    if not variables or policy.is_private or not policy.withholds:
        return released, cells
    numbers: list[list[RingShare]] = []
    hidden = _hidden(suite, parts, released) if overlaps else {}
    for levels in variables:
        withheld = [1 - released[level] for level in levels]
        positives, negatives = _rest(suite, [parts[level] for level in levels], withheld)
        apart = _apart(parts[levels[0]].query.slice.variable, hidden, overlaps)
        floors = ((positives, policy.minimum_positives), (negatives, policy.minimum_negatives))
        numbers.append([*(enough(by_owner, least) for by_owner, least in floors), *apart])
        numbers.append([1 - positives.sum() - negatives.sum(), *apart])
        numbers.append([1 - _sum(withheld), *apart])
        between = _between(parts, parts[levels[0]].query.slice.whole)
        numbers += [
            [1 - _sum([1 - cells[level][cell] for level in levels]), *between.get(threshold, ())]
            for cell, threshold in _at_thresholds(parts[levels[0]]).items()
        ]
    holds = iter(_hold(suite, numbers))
    released, cells = list(released), list(cells)
    for levels in variables:
        meets, is_empty, is_whole = (next(holds) for _ in range(3))
        at_thresholds = _at_thresholds(parts[levels[0]])
        in_all = [next(holds) for _ in at_thresholds]
        allowed = meets + is_empty - suite.mul(meets, is_empty)
        products = suite.mul(
            concat([allowed] * len(levels) + [is_whole] * len(in_all)),
            concat([released[level] for level in levels] + in_all),
        )
        for number, level in enumerate(levels):
            released[level] = products[number]
            if in_all:
                cells[level] = cells[level].put(np.array(list(at_thresholds)), products[len(levels) :])
    return released, cells


def _variables(parts: Sequence[EvaluatedPart]) -> list[list[int]]:
    """Return the places of all levels of every variable, of each model and outcome."""
    found: dict[tuple[Slice, str], list[int]] = {}
    for place, part in enumerate(parts):
        if part.query.slice.is_level:
            found.setdefault((part.query.slice.whole, part.query.slice.variable), []).append(place)
    return list(found.values())


def _between(parts: Sequence[EvaluatedPart], whole: Slice) -> Mapping[float, tuple[RingShare, ...]]:
    """Return, by threshold, what all samples need between it and other cuts."""
    evidence = next(part.evidence for part in parts if part.query.slice == whole)
    return {} if evidence is None else evidence.between


def _hidden(
    suite: Suite, parts: Sequence[EvaluatedPart], released: Sequence[RingShare]
) -> dict[tuple[str, str], RingShare]:
    """Return, for every variable and level, 1 if the level is withheld for all outcomes, else 0."""
    by_level: dict[tuple[str, str], dict[str, RingShare]] = {}
    for part, flag in zip(parts, released, strict=True):
        own = part.query.slice
        if own.is_level:  # models have the same samples, so that one of them tells
            by_level.setdefault((own.variable, own.level), {}).setdefault(own.outcome, 1 - flag)
    by_outcome = zip(*(flags.values() for flags in by_level.values()), strict=True)
    hidden, *others = (concat(flags) for flags in by_outcome)
    for other in others:
        hidden = suite.mul(hidden, other)
    return {level: hidden[place] for place, level in enumerate(by_level)}


def _apart(
    variable: str, hidden: Mapping[tuple[str, str], RingShare], overlaps: Sequence[Overlap]
) -> list[RingShare]:
    """Return numbers that are above 0 if no released level of an earlier variable is too near to a released
    one of this variable: what is withheld cannot be subtracted, and makes its numbers large."""
    return [
        number + (hidden[overlap.earlier] + hidden[overlap.later]) * (1 - overlap.lowest)
        for overlap in overlaps
        if overlap.later[0] == variable
        for number in overlap.numbers
    ]


def _rest(
    suite: Suite, levels: Sequence[EvaluatedPart], withheld: Sequence[RingShare]
) -> tuple[RingShare, RingShare]:
    """Return how many positives and negatives every owner has in withheld levels together.

    A patient with rows in several of them is counted in each.
    """
    counts = [level.inputs.floor_counts or level.inputs.list_counts for level in levels]
    begun = [
        suite.begin_sums_of_products(list(zip(withheld, by_owner, strict=True)))
        for by_owner in ([one.positives for one in counts], [one.negatives for one in counts])
    ]
    positives, negatives = (finish() for finish in begun)
    return positives, negatives


def _at_thresholds(part: EvaluatedPart) -> dict[int, float]:
    """Return which of the outputs that may be withheld by themselves are at thresholds, and at which."""
    conditional = [output for output in part.query.outputs if output.conditional]
    return {place: dict(output.at)["threshold"] for place, output in enumerate(conditional) if output.at}


def _hold(suite: Suite, numbers: Sequence[Sequence[RingShare]]) -> list[RingShare]:
    """Return, for every group, 1 if all its numbers are above 0, else 0."""
    lengths = [sum(map(len, group)) for group in numbers]
    groups = [list(range(place.start, place.stop)) for place in spans(lengths)]
    holds = suite.all_positive(concat([one for group in numbers for one in group]), groups)
    return [holds[place] for place in range(len(groups))]


def _sum(numbers: Sequence[RingShare]) -> RingShare:
    return concat(numbers).sum()
