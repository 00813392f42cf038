"""What is withheld, decided inside: rules on secret counts, and checks of what owners sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ppaurora.metrics.evidence import EvaluatedPart, Found, Inputs
from ppaurora.metrics.outputs import Form, Output, Ratio
from ppaurora.metrics.query import Query
from ppaurora.metrics.small_levels import Overlap, enough, protect_small_levels
from ppaurora.sharing.shares import RingShare, concat, stack
from ppaurora.sharing.spans import spans
from ppaurora.suites.base import Suite


class Conditions:
    """Secret numbers that must be above 0, in groups; a number may be in several."""

    def __init__(self) -> None:
        self._numbers: list[RingShare] = []
        self._count = 0
        # By identity and by what is asked: tested once, asked for often.
        self._known: dict[tuple[int, int], tuple[RingShare, list[int]]] = {}

    def add(self, *lists: RingShare) -> list[int]:
        """Return the places of these numbers."""
        start = self._count
        for numbers in lists:
            self._numbers.append(numbers)
            self._count += len(numbers)
        return list(range(start, self._count))

    def add_once(self, source: RingShare, least: int = 0) -> list[int]:
        """Return the places of conditions on these numbers, which many may ask for.

        They must be above 0; or, with a least number, be as many without any one owner.
        """
        key = id(source), least
        if key not in self._known:
            self._known[key] = source, self.add(enough(source, least) if least else source)
        return self._known[key][1]

    def add_sum_once(self, source: RingShare) -> list[int]:
        """Return the place of the condition that these numbers add up to more than 0."""
        key = id(source), -1
        if key not in self._known:
            self._known[key] = source, self.add(source.sum())
        return self._known[key][1]

    def hold(self, suite: Suite, groups: Sequence[Sequence[int]]) -> RingShare:
        """1 for every group of which all hold, else 0."""
        return suite.all_positive(concat(self._numbers), groups)


@dataclass(frozen=True)
class Decided:
    """Secret bits, as numbers 0 and 1."""

    released: list[RingShare] = field(repr=False)  # of every part, whether it leaves at all
    there: list[RingShare] = field(repr=False)  # of every part, its outputs that may be withheld alone
    fitting: RingShare | None = field(repr=False)  # owners


def decide(
    suite: Suite,
    parts: Sequence[EvaluatedPart],
    further_checks: Sequence[RingShare] = (),
    overlaps: Sequence[Overlap] = (),
) -> Decided:
    """Decide all conditions in one batch of sign tests; levels of subgroups need another one."""
    conditions = Conditions()
    classes = [conditions.add(*_on_classes(part.query, part.inputs, part.found)) for part in parts]
    fitting: list[list[int]] = []  # check by check
    together: list[int] = []
    for part in parts:
        checks = [conditions.add(number) for number in _on_owners(part.query, part.inputs)]
        fitting += checks
        if part.inputs.ascents is not None:
            together += conditions.add(1 - part.inputs.ascents.sum())  # one place instead of the owners'
            checks = checks[1:]
        together += [place for check in checks for place in check]
    further = [conditions.add(number) for number in further_checks]
    together += [place for check in further for place in check]
    by_owner = [list(places) for places in zip(*fitting, *further, strict=True)]
    cells = _on_cells(parts, conditions)
    groups = [[own + together for own in classes], *cells, by_owner]
    holds = conditions.hold(suite, [group for some in groups for group in some])
    flags, *of_cells, owner_flags = (holds[place] for place in spans(map(len, groups)))
    released = [flags[place] for place in range(len(parts))]
    released, of_cells = protect_small_levels(suite, parts, released, of_cells, overlaps)
    gates = [gate for gate, some in zip(released, cells, strict=True) for _ in some]
    there = suite.mul(concat(gates), concat(of_cells)) if gates else concat(of_cells)
    places = spans(map(len, cells))
    return Decided(released, [there[place] for place in places], owner_flags if by_owner else None)


def withhold(
    suite: Suite, parts: Sequence[EvaluatedPart], decided: Decided, values: Sequence[RingShare]
) -> RingShare:
    """Return the columns of a result; what is withheld is 0."""
    gates, columns = [], []
    for part, released, there, own in zip(parts, decided.released, decided.there, values, strict=True):
        flags = iter([there[place] for place in range(len(there))])
        gates += [released, *(next(flags) if one.conditional else released for one in part.query.outputs)]
        columns += [stack([suite.constant(1), suite.constant(0)]), own]
    gated = suite.mul(concat(gates), concat(columns))
    told: list[RingShare] = []
    for place, there in zip(spans(1 + len(part.query.outputs) for part in parts), decided.there, strict=True):
        told += [gated[place], stack([there, there * 0])]
    if decided.fitting is not None:
        told.append(stack([decided.fitting, decided.fitting * 0]))
    return concat(told)


def _on_classes(query: Query, inputs: Inputs, found: Found) -> list[RingShare]:
    """Both classes are there; and enough of each, in all and without any one owner. With noise, no matter.

    Where rows have weights, a class must also weigh as much as so many rows can: no row, and no owner, has
    more than its part of the number then.
    """
    if query.policy.is_private:
        return []
    numbers = [found.class_product]
    weighed = [(inputs.counts, query.most_weight)] if query.most_weight > 1 else []
    for counts, weight in [(inputs.floor_counts, 1), *weighed]:
        if counts is not None:
            policy = query.policy
            by_class = (
                (policy.minimum_positives, counts.positives),
                (policy.minimum_negatives, counts.negatives),
            )
            numbers += [enough(by_owner, least * weight) for least, by_owner in by_class if least]
    return numbers


def _on_owners(query: Query, inputs: Inputs) -> list[RingShare]:
    """Per check a number for every owner, above 0 if its submission fits.

    Its list is sorted, and its sums are what a list can give; its table has as many samples, and where it has
    a list as well, as many positives.
    """
    numbers: list[RingShare] = []
    if inputs.ascents is not None:
        numbers.append(1 - inputs.ascents)
        submitted = inputs.by_owner(query)
        for total, by_owner in submitted.items():
            numbers += [by_owner + 1, total.most(inputs.list_counts) - by_owner + 1]
        numbers += [fit.room(submitted, inputs.list_counts) + 1 for fit in query.fits]
    if inputs.tables is not None and not query.sizes_are_secret:
        surplus = [inputs.tables.samples - inputs.list_counts.sizes]
        if not query.tabulated:
            surplus.append(inputs.tables.positives - inputs.list_counts.positives)
        numbers += [number for one in surplus for number in (1 + one, 1 - one)]
    return numbers


def _on_cells(parts: Sequence[EvaluatedPart], conditions: Conditions) -> list[list[list[int]]]:
    """Return, part by part, the places of what each number needs that may be withheld by itself.

    Where tables are whole, a number of any table needs what all of them need; where no cell is withheld, one
    that is undefined is no reason to withhold others.
    """
    conditional = [
        [
            (output, _on_cell(part.query, output, conditions, part.ratios[place]))
            for place, output in enumerate(part.query.outputs)
            if output.conditional
        ]
        for part in parts
    ]
    tables = sorted({place for own in conditional for output, places in own if output.at for place in places})
    whole = parts[0].query.withholds_cells and parts[0].query.policy.whole_tables
    return [[tables if output.at and whole else places for output, places in own] for own in conditional]


def _on_cell(query: Query, output: Output, conditions: Conditions, ratio: Ratio) -> list[int]:
    """Return what a number of a table needs: enough samples behind it, and a denominator above 0."""
    places: list[int] = []
    for numbers in ratio.positive:
        places = places + conditions.add_once(numbers)
    for by_owner in ratio.behind:
        if query.withholds_cells:
            places = places + conditions.add_once(by_owner, query.least_per_cell)
        elif output.form is not Form.COUNT:
            places = places + conditions.add_sum_once(by_owner)
    return places
