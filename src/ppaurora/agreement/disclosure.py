"""What a release will tell, in words: of one plan, and of the three kinds of policy side by side.

`figures` has how it is computed, docs/disclosure.md the attacks behind it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial

import msgspec

from ppaurora.agreement.figures import CERTAINTY, LARGEST, Figures, figures_at, of_first_model
from ppaurora.agreement.terms import Terms
from ppaurora.errors import InputError
from ppaurora.metrics import Metric, Query
from ppaurora.metrics.facts import Figure, PublicCounts
from ppaurora.metrics.outputs import GRID_BOUND, Form
from ppaurora.metrics.parts import epsilon_of
from ppaurora.metrics.private.budget import epsilons
from ppaurora.policy.rules import COUNT_STEP, EXACT, HIDDEN, KINDS, ROUNDED, Kind, Policy, guesses
from ppaurora.statistics.random_effects import LEAST_SITES

PREVALENCES = (0.02, 0.05, 0.1, 0.2, 0.4)
USUAL = (0.05, 0.2)  # where there is room for two
EXAMPLE_SIZE = 1000  # samples of an owner, where nobody said how many
_STUDIES = 3  # at a prevalence

Found = Mapping[float, Figures]  # by prevalence
Row = tuple[str, tuple[str, ...]]  # what it is, and a cell for every kind


@dataclass(frozen=True)
class Disclosure:
    """What a release tells, sentence by sentence, and what to consider before agreeing.

    Eight lines at most, and one for each part of a design.
    `more` is what else there is to know, one step further.
    """

    told: tuple[str, ...]
    warnings: tuple[str, ...]
    more: tuple[str, ...]


@dataclass(frozen=True)
class Comparison:
    """Kinds of policy side by side: a column for each that the metrics allow, the plan's own among them."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]  # one without cells is the heading of those below
    notes: tuple[str, ...]


@lru_cache(maxsize=64)
def disclosure(terms: Terms, sizes: tuple[int, ...]) -> Disclosure:
    """Return what a release tells for these numbers of samples, of which some may be guesses."""
    query = terms.query(sizes)
    found = {prevalence: figures_at(prevalence, query, _STUDIES) for prevalence in USUAL}
    told = [_precision(query), *_of_design(terms, query), *_withheld(query)]
    if any(figures.released for figures in found.values()):
        told += [*_widths(query, found), _left(query, found), _attacker(query, found)]
    else:
        told.append("so few samples mostly give no result, if 5 or 20 % are positive")
    told += _if_made_smaller(query.samples)
    return Disclosure(tuple(told), tuple(_warnings(query)), tuple(_more(query)))


@lru_cache(maxsize=16)
def compare(terms: Terms, sizes: tuple[int, ...]) -> Comparison:
    """Compare the plan's policy with those of the other kinds."""
    queries: dict[Kind, Query] = {}
    notes = []
    for kind in KINDS:
        try:
            own = terms if kind == terms.policy.kind else _of_kind(kind, terms)
        except InputError as error:
            notes.append(f"{kind} is not possible: {error}")
            continue
        without = [metric.name for metric in terms.metrics if metric not in own.metrics]
        if without:
            notes.append(f"{kind} is without {', '.join(without)}, for which no good noise is known")
        problem = own.problem_with(sizes)
        if problem:
            notes.append(f"{kind}: there will be no result: {problem}")
        queries[kind] = own.query(sizes)
    found = {
        kind: {prevalence: figures_at(prevalence, query, _STUDIES) for prevalence in PREVALENCES}
        for kind, query in queries.items()
    }
    columns = tuple(_column(terms.policy.kind, query.policy) for query in queries.values())
    return Comparison(columns, tuple(_rows(queries, found)), (*notes, *_if_made_smaller(sum(sizes))))


def _of_kind(kind: Kind, terms: Terms) -> Terms:
    """Return the terms under a policy of another kind, with the metrics that it has."""
    policy = Policy(kind=kind)
    possible = [one for one in terms.metrics if not policy.is_private or one.mechanism() is not None]
    return msgspec.structs.replace(terms, policy=policy, metrics=tuple(possible))


def example_sizes(terms: Terms, owners: int) -> tuple[int, ...]:
    """Return numbers of samples to compute with where nobody knows them yet: all alike, and not too few."""
    policy = terms.policy
    least = max(policy.minimum_samples_per_owner, -(-policy.minimum_samples // owners))
    return (max(least, min(EXAMPLE_SIZE, terms.limits.samples_per_owner)),) * owners


# Sentences


def _precision(query: Query) -> str:
    """Return how accurate every number is."""
    if query.policy.is_private:
        names = ", ".join(metric.name for metric in query.metrics)
        first = of_first_model(query)
        parts = zip(first.mechanisms, epsilons(first.policy, first.mechanisms), strict=True)
        shares = ", ".join(f"{float(part):.3g} for {mechanism.name}" for mechanism, part in parts)
        each = "" if query.design is None else " of each model over all samples"
        return (
            f"{names}: with noise that nobody knows; epsilon {query.policy.epsilon:g} in all, {shares}{each}"
        )
    alike: dict[str, list[str]] = {}
    for metric in query.metrics:
        alike.setdefault(_digits(query, metric), []).append(metric.name)
    said = [f"{', '.join(names)}: {digits}" for digits, names in alike.items()]
    if query.policy.decimals is not None and any(output.form is Form.ROOT for output in query.outputs):
        said.append("standard errors with one decimal more")
    if query.grid is not None and GRID_BOUND in query.outputs:
        digits = query.digits_of(GRID_BOUND)
        precision = "at full precision" if digits is None else f"with {digits} decimals"
        said.append(f"what reading scores {query.grid.reading} changed at most, {precision}")
    return f"{'; '.join(said)}; numbers of positives and negatives: {_counts(query)}"


def _digits(query: Query, metric: Metric) -> str:
    if query.policy.is_private:
        return "noise" if metric in query.metrics else "not computed"
    values = [one for one in metric.outputs(query) if one.form is not Form.ROOT and one != GRID_BOUND]
    if all(output.form is Form.COUNT for output in values):
        return _counts(query)
    if query.policy.decimals is None:
        return "full precision"
    digits = max(query.digits_of(value) or 0 for value in values)
    return "1 decimal" if digits == 1 else f"{digits} decimals"


def _counts(query: Query) -> str:
    if query.policy.is_private:
        return "noise"
    return {HIDDEN: "hidden", ROUNDED: f"to the nearest {COUNT_STEP}", EXACT: "exact"}[query.policy.counts]


def _of_design(terms: Terms, query: Query) -> Iterator[str]:
    """Return what a design adds to what is released."""
    if terms.is_plain:
        return
    private = terms.policy.is_private
    if len(terms.wholes) > 1:
        more = "" if private else "; two models that differ for one person tell that person's outcome"
        yield f"all of this for each of: {'; '.join(map(str, terms.wholes))} (figures: the first){more}"
    if terms.comparisons and not private:
        pairs = ", ".join(f"{a} and {b}" for a, b in terms.comparisons)
        yield f"differences of {pairs}, with the decimals of what they are differences of"
    if terms.subgroups:
        yield _of_levels(terms, query)
    if terms.patient and terms.policy.has_floors:
        yield (
            "the positives and negatives that there must be are patients with such rows, not rows; elsewhere "
            f"{terms.policy.rows_per_person:,} rows count as one person"
        )
    if terms.weight is not None:
        yield _of_weights(terms.weight.most, terms.policy)
    if terms.sites:
        yield (
            "how much owners differ, and how many of them count; no owner's own value, but with "
            f"{LEAST_SITES} owners each can nearly compute the others' AUROC, and with more learns of them"
        )
    if terms.left_out:
        rounded = "exactly" if query.count_step == 1 else f"to the nearest {COUNT_STEP}"
        yield f"how many rows all owners left out, by reason, {'with noise' if private else rounded}"
    if private:
        yield _of_epsilon(terms)


def _of_weights(most: int, policy: Policy) -> str:
    """Return what is told where rows have weights."""
    said = "sums of weights; a heavy row counts for as many in every number"
    if not policy.has_floors:
        return f"{said}, and one alone may be most of it"
    least = f"{policy.minimum_positives * most:,} and negatives {policy.minimum_negatives * most:,}"
    return f"{said}; no result unless positives weigh {least} without any one owner"


def _of_levels(terms: Terms, query: Query) -> str:
    """Return what is told of levels of subgroups."""
    names = ", ".join(metric.name for metric in query.metrics if metric.by_level)
    levels = sum(len(subgroup.levels) for subgroup in terms.subgroups.values())
    said = (
        f"{names} for each of {levels} levels of {', '.join(terms.variables)}; who is in which stays secret"
    )
    if terms.policy.is_private:
        return f"{said}, and how many are is told with noise"
    if not terms.policy.has_floors:
        return f"{said}, and how many are may follow from the numbers"
    return (
        f"{said}; numbers of people by class: {_counts(query)}; a level that misses the floors below is "
        "withheld, which tells that it is small"
    )


def _of_epsilon(terms: Terms) -> str:
    """Return how a private study with a design divides its epsilon."""
    wholes, variables = len(terms.wholes), len(terms.variables)
    each = f"{epsilon_of(terms.policy, terms, terms.wholes[0]):.3g}"
    said = [f"{wholes} x {each} for models and outcomes over all samples"]
    if variables:
        said.append(f"{wholes * variables} x {each} for all levels of a variable together")
    if terms.left_out:
        said.append(f"{epsilon_of(terms.policy, terms, None):.3g} for rows left out")
    return f"epsilon {terms.policy.epsilon:g} is divided: {', '.join(said)}"


def _withheld(query: Query) -> Iterator[str]:
    policy = query.policy
    if policy.has_floors:
        yield (
            f"no result at all unless there are {policy.minimum_positives:,} positives and "
            f"{policy.minimum_negatives:,} negatives without any one owner; then only that a rule failed, "
            "not which one"
        )
    if query.withholds_cells and any(output.conditional and output.at for output in query.outputs):
        yield (
            f"a number of a table only if {policy.minimum_per_cell:,} samples are behind it without any one "
            "owner; a withheld one tells that there are fewer, and it may follow from others"
        )


def _widths(query: Query, found: Found) -> Iterator[str]:
    names = _intervals(query, [found])
    if names:
        said = [f"{name} {_usually(found, partial(_width, name))}" for name in names]
        yield f"intervals ({_percent(query.confidence_level or 0)}) about so wide: {'; '.join(said)}"


def _left(query: Query, found: Found) -> str:
    """Return what a reader of all numbers together knows of the number of positives."""
    left = _usually(found, partial(_number_left, query))
    if query.policy.is_private:
        if any(math.isinf(figures.left) for figures in found.values()):
            return "no number of positives; none is excluded"
        return (
            f"the number of positives, or of the smaller class, to within {left} ({_percent(CERTAINTY)} "
            "certain); none is excluded"
        )
    if query.policy.counts == EXACT:
        return "how many positives there are"
    alone = f"; the rounded number alone leaves {COUNT_STEP}" if query.policy.counts == ROUNDED else ""
    return f"numbers of positives that all numbers together leave possible: {left}{alone}"


def _attacker(query: Query, found: Found) -> str:
    said = "whoever knows everything else guesses one person's outcome right so many times in 100"
    if query.policy.is_private:
        said = f"{guesses(query.policy.spent)}; in simulated studies"
    at_median, at_highest = (_usually(found, partial(one, query)) for one in (_at_median, _at_highest))
    return f"{said}: {at_median} if the score is the median, {at_highest} if it is the highest"


def _usually(found: Found, cell: Callable[[Figures], str]) -> str:
    """Return a figure at the usual prevalences, as a part of a sentence."""
    cells = [
        f"{cell(figures) if figures.released else 'no result'} at {_percent(prevalence)}"
        for prevalence, figures in found.items()
    ]
    return f"{' and '.join(cells)} positives"


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.4g} %"


def _warnings(query: Query) -> Iterator[str]:
    if query.policy.is_private:
        return
    if query.policy.decimals is None:
        yield (
            "numbers at full precision: someone who knows much of the data can read individual labels from "
            "them"
        )
    if len(query.thresholds) > 1 and not query.withholds_cells:
        yield (
            f"numbers at {len(query.thresholds)} thresholds: two that are close together tell about the few "
            "samples between them; someone who knows one person's score and chose thresholds around it reads "
            "the label"
        )


def _more(query: Query) -> Iterator[str]:
    yield (
        "figures are of simulated studies of these sizes, in which scores are risks and AUROC is about 0.8; "
        "real studies differ"
    )
    yield (
        "whoever knows everything else is the strongest attacker, such as all other owners together who also "
        "know the person's score and have only the outcome to guess; an attacker who knows less learns less"
    )
    if not query.policy.is_private:
        yield (
            "a number of positives is not possible if no whole numbers of samples give all numbers that are "
            "released; someone who knows how scores are distributed finds more of them unlikely"
        )
        yield (
            "a reader who knows nothing but the result has to guess among the numbers of positives that are "
            "left, and knows of a person what the result says of all people with such a score"
        )
        yield _one_person(query)


def _one_person(query: Query) -> str:
    """Return how far single people are visible in the numbers before these are rounded."""
    public = PublicCounts.of(query)
    bounds = {metric.title: metric.sensitivity_to_one_person(public) for metric in query.metrics}
    bounded = [f"{title} by {bound:.2g}" for title, bound in bounds.items() if bound is not None]
    others = [title for title, bound in bounds.items() if bound is None]
    if not bounded:
        return f"there is no useful bound on how far replacing one person changes {', '.join(others)}"
    said = f"replacing one person changes, before rounding, {', '.join(bounded)} at most, and a count by one"
    return f"{said}; there is no useful bound for {', '.join(others)}" if others else said


def _if_made_smaller(samples: int) -> list[str]:
    """Say that figures are of a smaller study, where they are."""
    if samples <= LARGEST:
        return []
    return [
        f"figures are for {LARGEST:,} samples in all; with more, intervals are narrower and one person "
        "matters less"
    ]


# The table


def _column(kind: Kind, policy: Policy) -> str:
    epsilon = f", epsilon {policy.epsilon:g}" if policy.is_private else ""
    return f"{policy.kind}{epsilon}{' (the plan)' if policy.kind == kind else ''}"


def _rows(queries: Mapping[Kind, Query], found: Mapping[Kind, Found]) -> Iterator[Row]:
    query = max(queries.values(), key=lambda own: len(own.metrics))
    alike: dict[tuple[str, ...], list[str]] = {}
    for metric in query.metrics:
        alike.setdefault(tuple(_digits(own, metric) for own in queries.values()), []).append(metric.name)
    for cells, names in alike.items():
        yield ", ".join(names), cells
    yield "numbers of positives and negatives", tuple(map(_counts, queries.values()))
    for name in _intervals(query, found.values()):
        yield f"width of the {_percent(query.confidence_level or 0)} interval of {name}", ()
        yield from _by_prevalence(found, dict.fromkeys(queries, partial(_width, name)))
    possible = f"numbers of positives that are possible for a reader of all numbers, of {query.samples - 1:,}"
    guessed = "one outcome guessed right, times in 100"
    for title, cell in (
        (possible, _number_left),
        (f"{guessed}, by someone who knows everything else; the median score", _at_median),
        (f"{guessed}, likewise; the highest score", _at_highest),
    ):
        yield title, ()
        yield from _by_prevalence(found, {kind: partial(cell, own) for kind, own in queries.items()})
    yield f"{guessed}, by any attacker at most", tuple(_at_most(own.policy) for own in queries.values())


def _by_prevalence(
    found: Mapping[Kind, Found], cells: Mapping[Kind, Callable[[Figures], str]]
) -> Iterator[Row]:
    for prevalence in PREVALENCES:
        figures = {kind: own[prevalence] for kind, own in found.items()}
        told = (cells[kind](own) if own.released else "no result" for kind, own in figures.items())
        yield f"  at {_percent(prevalence)} positives", tuple(told)


def _intervals(query: Query, found: Iterable[Found]) -> list[str]:
    """Return which intervals are spoken of: that of AUROC, if there is one, and another that all have."""
    by_kind = [dict.fromkeys(name for figures in own.values() for name in figures.widths) for own in found]
    names = sorted(
        dict.fromkeys(name for own in by_kind for name in own),
        key=lambda name: -sum(name in own for own in by_kind),
    )
    drawn = [metric.title for metric in query.metrics if metric.figure is Figure.ROC_CURVE]
    first = [name for name in names if name in drawn]
    return first + [name for name in names if name not in first][:1]


def _at_most(policy: Policy) -> str:
    """Return how often one outcome is guessed right at most, whoever guesses."""
    return f"{100 / (1 + math.exp(-policy.spent)):.0f}"


def _width(name: str, figures: Figures) -> str:
    return f"{figures.widths[name]:.3f}" if name in figures.widths else "none"


def _number_left(query: Query, figures: Figures) -> str:
    if not query.policy.is_private:
        return f"{figures.left:,.0f}"
    return "all" if math.isinf(figures.left) else f"±{figures.left:.1f}"


def _at_median(query: Query, figures: Figures) -> str:
    return f"{100 * figures.at_median:.0f}"


def _at_highest(query: Query, figures: Figures) -> str:
    return f"{100 * figures.at_highest:.0f}"
