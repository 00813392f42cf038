"""What is withheld, decided inside: rules on secret counts, and checks of what owners sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ppaurora.algorithms.crossing import last_set
from ppaurora.metrics.evidence import Found, Inputs
from ppaurora.metrics.outputs import Form, Output, Ratio
from ppaurora.metrics.query import Query
from ppaurora.policy.rules import SAMPLES_PER_STEP
from ppaurora.sharing.shares import RingShare, concat, stack
from ppaurora.sharing.spans import spans
from ppaurora.suites.base import Suite


class Conditions:
    """Secret numbers that must be above 0, in groups; a number may be in several."""

    def __init__(self) -> None:
        self._numbers: list[RingShare] = []
        self._count = 0

    def add(self, *lists: RingShare) -> list[int]:
        """Return the places of these numbers."""
        start = self._count
        for numbers in lists:
            self._numbers.append(numbers)
            self._count += len(numbers)
        return list(range(start, self._count))

    def hold(self, suite: Suite, groups: Sequence[Sequence[int]]) -> RingShare:
        """1 for every group of which all hold, else 0."""
        return suite.all_positive(concat(self._numbers), groups)


@dataclass(frozen=True)
class Decided:
    """Secret bits, as numbers 0 and 1."""

    released: RingShare = field(repr=False)  # whether there is a result
    there: RingShare | None = field(repr=False)  # outputs that may be withheld by themselves, in their order
    fitting: RingShare | None = field(repr=False)  # owners
    levels: RingShare | None = field(repr=False)  # 1 at the number of decimals, where that is decided inside


def decide(suite: Suite, query: Query, inputs: Inputs, found: Found, ratios: Sequence[Ratio]) -> Decided:
    """Decide all conditions in one batch of sign tests."""
    conditions = Conditions()
    everything = conditions.add(*_on_classes(query, inputs, found))
    fitting = [conditions.add(number) for number in _on_owners(query, inputs)]  # check by check
    by_owner = [list(places) for places in zip(*fitting, strict=True)]
    if inputs.ascents is not None:
        everything += conditions.add(1 - inputs.ascents.sum())  # one place instead of the owners'
        everything += [place for check in fitting[1:] for place in check]
    cells = [
        conditions.add(*_on_cell(query, output, ratios[place]))
        for place, output in enumerate(query.outputs)
        if output.conditional
    ]
    finer = [conditions.add(*_on_level(level, inputs)) for level in query.levels[1:]]
    groups = [[everything], cells, by_owner, finer]
    holds = conditions.hold(suite, [group for some in groups for group in some])
    released, cell_flags, owner_flags, finer_flags = (holds[place] for place in spans(map(len, groups)))
    there = suite.mul(released, cell_flags) if cells else None
    levels = last_set(concat([suite.constant(1), finer_flags])) if finer else None
    return Decided(released, there, owner_flags if by_owner else None, levels)


def withhold(suite: Suite, query: Query, decided: Decided, values: RingShare) -> RingShare:
    """Return the columns of a result; what is withheld is 0."""
    gates = [decided.released] * (1 + len(query.outputs))
    conditional = [place for place, output in enumerate(query.outputs) if output.conditional]
    if decided.there is not None:
        for number, place in enumerate(conditional):
            gates[1 + place] = decided.there[number]
    granted = suite.constant(0)
    if decided.levels is not None:
        granted = (decided.levels * np.array(query.levels)).sum()
    columns = concat([stack([suite.constant(1), granted]), values])
    columns = suite.mul(concat(gates), columns)
    flags = [flags for flags in (decided.there, decided.fitting) if flags is not None]
    told = concat(flags or [decided.released[:0]])
    return concat([columns, stack([told, told * 0])])


def _on_level(level: int, inputs: Inputs) -> list[RingShare]:
    """So many decimals want as many positives, and negatives, as there are samples for a step of the grid."""
    counts, least = inputs.list_counts, SAMPLES_PER_STEP * 10**level
    return [enough(by_owner, least) for by_owner in (counts.positives, counts.negatives)]


def _on_classes(query: Query, inputs: Inputs, found: Found) -> list[RingShare]:
    """Both classes are there; and enough of each, in all and without any one owner."""
    numbers = [found.class_product]
    if inputs.counts is not None:
        policy = query.policy
        by_class = (
            (policy.minimum_positives, inputs.counts.positives),
            (policy.minimum_negatives, inputs.counts.negatives),
        )
        numbers += [enough(by_owner, least) for least, by_owner in by_class if least]
    return numbers


def enough(by_owner: RingShare, least: int) -> RingShare:
    """Positive where there are at least so many without an owner, for every owner; so there are in all."""
    return by_owner.sum() - by_owner - (least - 1)


def _on_owners(query: Query, inputs: Inputs) -> list[RingShare]:
    """Per check a number for every owner: its list is sorted, and its sums are what a list can give."""
    if inputs.ascents is None:
        return []
    numbers, submitted = [1 - inputs.ascents], inputs.by_owner(query)
    for total, by_owner in submitted.items():
        numbers += [by_owner + 1, total.most(inputs.list_counts) - by_owner + 1]
    return [*numbers, *(fit.room(submitted, inputs.list_counts) + 1 for fit in query.fits)]


def _on_cell(query: Query, output: Output, ratio: Ratio) -> list[RingShare]:
    """Return what a number of a table needs: enough samples behind it, and a denominator above 0."""
    numbers = [] if ratio.positive is None else [ratio.positive]
    least = query.policy.minimum_per_cell
    if ratio.behind is not None and least > 1:
        numbers.append(enough(ratio.behind, least))
    elif ratio.behind is not None and output.form is not Form.COUNT:
        numbers.append(ratio.behind.sum())
    return numbers
