"""A study with a design, as a whole: what owners state, what is checked, and what leaves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import msgspec
import numpy as np

from ppaurora.algorithms.joint_placements import in_cells, margins
from ppaurora.algorithms.pooled_table import OwnerTables
from ppaurora.data.layout import (
    MOST_PRODUCTS,
    ClassBlock,
    ClusterBlock,
    JointBlock,
    Layout,
    TableBlock,
)
from ppaurora.data.samples import Samples
from ppaurora.data.slices import Slice
from ppaurora.metrics.evidence import EvaluatedPart, Inputs
from ppaurora.metrics.extras.base import Extra, ExtrasQuery, Statement, StudySecrets
from ppaurora.metrics.extras.clusters import ClusteredError
from ppaurora.metrics.extras.comparisons import comparisons_of
from ppaurora.metrics.extras.left_out import LeftOutCounts, LeftOutMechanism, LeftOutRows
from ppaurora.metrics.extras.overlaps import overlap_conditions, overlaps_of
from ppaurora.metrics.extras.site_effects import site_extras
from ppaurora.metrics.parts import designed, epsilon_of, layout_of, parts_of
from ppaurora.metrics.query import Query, unique
from ppaurora.metrics.release import evaluate_part, release_parts
from ppaurora.metrics.roc import Auroc
from ppaurora.metrics.sums import ListCounts, OwnerSum, sums_of, weights_on
from ppaurora.sharing.shares import RingShare, Words, concat, stack
from ppaurora.suites.base import Records, Suite


def extras_of(query: Query) -> tuple[ExtrasQuery, ...]:
    """Return the query of every outcome's extras; none where there are none."""
    design = designed(query)
    found = []
    for number, outcome in enumerate(design.outcome_names):
        extras: list[Extra] = []
        if not query.policy.is_private:
            wholes = [whole for whole in design.wholes if whole.outcome == outcome]
            for pair in design.pairs:
                if pair.a.outcome == outcome:
                    extras += comparisons_of(query, pair)
            for whole in wholes:
                if (
                    design.is_clustered
                    and query.interval
                    and any(isinstance(m, Auroc) for m in query.metrics)
                ):
                    extras.append(ClusteredError(whole))
                if design.sites:
                    extras += site_extras(query.metrics, whole)
        if design.left_out and number == 0:
            extras.append(LeftOutRows())
        if extras:
            found.append(_extras_query(query, outcome, tuple(extras)))
    return tuple(found)


def _extras_query(query: Query, outcome: str, extras: tuple[Extra, ...]) -> ExtrasQuery:
    policy = query.policy
    if policy.is_private:
        policy = msgspec.structs.replace(policy, epsilon=epsilon_of(policy, designed(query), None))
    fields = {name: getattr(query, name) for name in query.__dataclass_fields__}
    fields |= {"slice": Slice(outcome=outcome), "policy": policy}
    if policy.is_private:
        return PrivateExtrasQuery(**fields, extras=extras)
    return ExtrasQuery(**fields, extras=extras)


@dataclass(frozen=True)
class PrivateExtrasQuery(ExtrasQuery):
    """The query of the extras of a private study: numbers of rows left out, with noise."""

    @property
    def mechanisms(self) -> tuple[LeftOutMechanism, ...]:
        """The one mechanism of rows left out."""
        return (LeftOutMechanism(),)


def released_parts(query: Query) -> tuple[Query, ...]:
    """Return the queries of all that leaves, in the order of the columns."""
    if query.design is None:
        return (query,)
    return (*parts_of(query), *extras_of(query))


def statements_of(query: Query) -> tuple[Statement, ...]:
    """Return what owners state, each once."""
    if query.design is None:
        return ()
    of_extras = (one for part in extras_of(query) for extra in part.extras for one in extra.statements(part))
    return unique((*of_extras, *overlaps_of(query, query.design)))


def submitted_sums(query: Query) -> tuple[tuple[Slice, OwnerSum], ...]:
    """Return the sums that owners submit beside their lists, slice by slice."""
    return tuple(
        (part.slice, total) for part in parts_of(query) if not part.tabulated for total in part.submitted_sums
    )


def word_count(query: Query) -> int:
    """Return how many words an owner submits: sums, and what it states."""
    return len(submitted_sums(query)) + sum(one.words for one in statements_of(query))


def words_of(samples: Samples, query: Query) -> Words:
    """Return one owner's words, in the order in which they are submitted."""
    words = [int(sums_of(samples.of(slice_), [total])[0]) for slice_, total in submitted_sums(query)]
    words += [number for statement in statements_of(query) for number in statement.of(samples)]
    return np.array(words, dtype=np.uint64)


@dataclass(frozen=True)
class StudyInputs:
    """What servers have of a study with a design: the list of every whole, if any; counts; words."""

    merged: Mapping[Slice, list[Records]] = field(repr=False)
    ascents: Mapping[Slice, RingShare] = field(repr=False)
    positives: Mapping[Slice, RingShare] = field(repr=False)  # by owner, of lists
    counts: RingShare | None = field(repr=False)  # a row for every owner
    words: RingShare | None = field(repr=False)  # a column for every owner


def release_study(suite: Suite, query: Query, inputs: StudyInputs) -> RingShare:
    """Return the columns of all slices and extras, and whose submissions fit.

    Where a party has several workers, all go along the curves, and the first one does the rest.
    """
    layout = layout_of(query)
    of_sums, of_statements = _words(query, inputs.words)
    parts: dict[Slice, EvaluatedPart] = {}
    for part in parts_of(query):
        if part.tabulated and not suite.team.leads:
            continue  # tables are the first worker's
        tables = (
            _tables(layout, inputs.counts, part, negated=query.negated) if part.grid is not None else None
        )
        given = _inputs(layout, query, part, inputs, tables, of_sums)
        widened = not (part.slice.is_level or query.policy.is_private)
        found = evaluate_part(suite, part, inputs.merged.get(part.slice, []), given, widened=widened)
        if found is not None:
            parts[part.slice] = found
    if not suite.team.leads:
        return suite.blank(2, 0)
    study = StudySecrets(suite, layout, query.negated, parts, inputs.counts, of_statements)
    extras = [_evaluated(study, one) for one in extras_of(query)]
    with suite.step("release"):
        overlaps = overlap_conditions(study, query)
        checks = [
            *_table_checks(study, query),
            *_class_checks(study, query),
            *_joint_checks(study, query),
            *(number for one, words in of_statements.items() for number in one.checks(words, study)),
        ]
    return release_parts(suite, [*parts.values(), *extras], checks, overlaps)


def _words(
    query: Query, words: RingShare | None
) -> tuple[dict[Slice, RingShare], dict[Statement, RingShare]]:
    """Divide submitted words between sums of slices and statements."""
    if words is None:
        return {}, {}
    rows = words.rows()
    of_sums: dict[Slice, list[RingShare]] = {}
    for slice_, _ in submitted_sums(query):
        of_sums.setdefault(slice_, []).append(rows.pop(0))
    of_statements = {}
    for statement in statements_of(query):
        of_statements[statement] = stack([rows.pop(0) for _ in range(statement.words)])
    return {slice_: stack(some) for slice_, some in of_sums.items()}, of_statements


def _tables(layout: Layout, counts: RingShare | None, part: Query, *, negated: bool) -> OwnerTables | None:
    """Return the owners' tables of a slice; that of a whole is the sum of one variable's levels."""
    if counts is None or part.grid is None:
        return None
    design, slice_ = layout.design, part.slice
    wanted = {slice_}
    if not slice_.is_level and design.variables:
        wanted = set(design.levels_of(slice_, design.variables[0]))
    found = [
        counts[place]
        for block, place in layout.places.items()
        if isinstance(block, TableBlock) and block.slice in wanted
    ]
    return OwnerTables(part.grid, negated, sum(found[1:], found[0]))


def _inputs(
    layout: Layout,
    query: Query,
    part: Query,
    inputs: StudyInputs,
    tables: OwnerTables | None,
    of_sums: Mapping[Slice, RingShare],
) -> Inputs:
    """Return what there is of a slice before it is evaluated; at further workers, nothing but its list."""
    slice_ = part.slice
    if not part.tabulated:
        counts = None
        if slice_ in inputs.positives:
            counts = ListCounts(np.array(part.sizes, dtype=np.uint64), inputs.positives[slice_])
        rows = _people(layout, query, slice_, inputs.counts)
        return Inputs(inputs.ascents.get(slice_), counts, of_sums.get(slice_), tables, rows)
    if tables is None:
        return Inputs(None, None, None)
    sizes = tables.samples if part.sizes_are_secret else np.array(part.sizes, dtype=np.uint64)
    counts = ListCounts(sizes, tables.positives)
    rows = _people(layout, query, slice_, inputs.counts)
    grid = tables.grid
    sums = tables.weighted(weights_on(grid, part.sums, negated=part.negated)) if part.sums else None
    return Inputs(None, counts, sums, tables, rows)


def _people(layout: Layout, query: Query, slice_: Slice, counts: RingShare | None) -> ListCounts | None:
    """Return by class how many people floors are about: patients, or rows that weigh. None: all samples are.

    A patient with rows of both classes is counted in both.
    """
    design = layout.design
    if counts is None or query.policy.is_private or not design.is_clustered:
        return None
    if not design.patient:
        by_class = counts[layout.places[ClassBlock(2, slice_.outcome)]]
        return ListCounts(np.array(query.sizes, dtype=np.uint64), by_class.column(0))
    clusters = counts[layout.places[ClusterBlock(3, slice_.outcome, slice_.variable, slice_.level)]]
    positives, negatives = (clusters.column(place) for place in (0, 1))
    return ListCounts(positives + negatives, positives)


def _evaluated(study: StudySecrets, query: ExtrasQuery) -> EvaluatedPart:
    """Compute the extras of an outcome; they leave if the first whole of that outcome does."""
    whole = next(one for one in study.layout.design.wholes if one.outcome == query.slice.outcome)
    first = study.parts[whole]
    if query.policy.is_private:
        inputs = Inputs(None, first.inputs.counts, study.words[LeftOutCounts()])
        return EvaluatedPart(query, inputs, first.found)
    inputs = Inputs(None, first.inputs.counts, None, rows=first.inputs.rows)
    with study.suite.step("division"):
        ratios = tuple(ratio for extra in query.extras for ratio in extra.ratios(study, query))
    return EvaluatedPart(query, inputs, first.found, None, ratios)


# Checks of what owners sent: numbers by owner, above 0 if it fits.


def _equal(x: RingShare, y: RingShare | Words) -> list[RingShare]:
    return [x - y + 1, y - x + 1]


def _by_owner(study: StudySecrets, rows: RingShare) -> RingShare:
    """Return, for every owner, 1 less the sum of the squares of its row.

    Squares add up to less than 2^62, as each row is the difference of counts of the same samples, of which
    there are at most 2^30: more would not pass the checks of their sums.
    """
    begun = [study.suite.begin_dot([(row, row)]) for row in rows.rows()]
    return 1 - concat([finish() for finish in begun])


def _table_checks(study: StudySecrets, query: Query) -> list[RingShare]:
    """Levels of every variable add up to the same table; models and outcomes have the same people in each."""
    layout, design = study.layout, study.layout.design
    numbers: list[RingShare] = []
    places = {block.slice: place for block, place in layout.places.items() if isinstance(block, TableBlock)}
    if study.counts is None or not design.variables:
        return []
    for whole in design.wholes:
        wholes = []
        for variable in design.variables:
            levels = [study.counts[places[level]] for level in design.levels_of(whole, variable)]
            wholes.append(sum(levels[1:], levels[0]))
        for other in wholes[1:]:
            numbers += [*_equal(_total(other), _total(wholes[0])), _by_owner(study, other - wholes[0])]
    first = design.model_names[0]
    for part in study.parts.values():
        slice_ = part.query.slice
        if slice_.is_level and slice_.model != first:
            reference = study.parts[replace(slice_, model=first)].inputs.list_counts
            own = part.inputs.list_counts
            numbers += [
                *_equal(own.positives, reference.positives),
                *_equal(own.negatives, reference.negatives),
            ]
        if slice_.is_level and slice_.outcome != design.outcome_names[0]:
            reference = study.parts[replace(slice_, outcome=design.outcome_names[0])].inputs.list_counts
            numbers += _equal(part.inputs.list_counts.secret_sizes, reference.secret_sizes)
    return numbers


def _class_checks(study: StudySecrets, query: Query) -> list[RingShare]:
    """All models have the same classes; rows that weigh have a weight from 1 to the most."""
    design = study.layout.design
    numbers: list[RingShare] = []
    for whole in design.wholes:
        own = study.parts[whole].inputs.list_counts
        first = study.parts[replace(whole, model=design.model_names[0])].inputs.list_counts
        if own is not first:
            numbers += _equal(own.positives, first.positives)
        if design.weight is not None and own is not first:
            numbers += _equal(own.negatives, first.negatives)
        if design.weight is not None:
            rows = study.by_owner(study.block(ClassBlock, outcome=whole.outcome))
            positives, negatives = (rows.column(place) for place in (0, 1))
            sizes = np.array(query.sizes, dtype=np.uint64)
            numbers += _equal(positives + negatives, sizes)
            for count, weight in ((positives, own.positives), (negatives, own.negatives)):
                numbers += [weight - count + 1, count * design.weight.most - weight + 1]
    return numbers


def _joint_checks(study: StudySecrets, query: Query) -> list[RingShare]:
    """Joint counts are of the same samples as lists and tables; products of clusters are not too many."""
    layout = study.layout
    numbers: list[RingShare] = []
    for block in layout.blocks:
        if isinstance(block, JointBlock):
            rows = study.by_owner(block)
            total = _total(rows)
            own = study.parts[block.pair.a].inputs.list_counts
            of_class = own.positives if block.first else own.negatives
            if layout.design.is_clustered:
                other = own.positives if block.second else own.negatives
                numbers += [MOST_PRODUCTS - total + 1, study.suite.mul(of_class, other) - total + 1]
                if block.first == block.second:
                    numbers.append(total - of_class + 1)
                continue
            numbers += _equal(total, of_class)
            if layout.has_tables:
                numbers += _marginal_checks(study, block, rows)
        elif isinstance(block, ClusterBlock):
            model = layout.design.model_names[0]
            slice_ = Slice(model, block.outcome, block.variable, block.level)
            own = study.parts[slice_].inputs.list_counts
            rows = study.by_owner(block)
            positives, negatives, clusters = (rows.column(place) for place in range(3))
            numbers += [own.positives - positives + 1, own.negatives - negatives + 1]
            numbers += [
                clusters - positives + 1,
                clusters - negatives + 1,
                positives + negatives - clusters + 1,
            ]
    return numbers


def _total(rows: RingShare) -> RingShare:
    """Return the sum of every owner's row, as a list."""
    return rows.sum().column(0)


def _marginal_checks(study: StudySecrets, block: JointBlock, rows: RingShare) -> list[RingShare]:
    """Both margins of the joint counts of a class are the tables of both models, cell by cell."""
    numbers = []
    for slice_, margin in zip((block.pair.a, block.pair.b), margins(rows, block.shape), strict=True):
        cells = study.layout.cells_of(slice_.model)
        tables = study.parts[slice_].inputs.owner_tables
        own = slice(0, cells.grid.cells) if block.first else slice(cells.grid.cells, None)
        numbers.append(_by_owner(study, margin - in_cells(tables.counts[own], cells.of_value)))
    return numbers
