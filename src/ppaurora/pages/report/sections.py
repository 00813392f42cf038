"""Parts of a report on a study with a design, as words and tables of texts, for every format alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ppaurora.evaluation.designed import ONE_CLASS
from ppaurora.io.text import listed
from ppaurora.pages.report.designs import (
    ComparisonFacts,
    DesignFacts,
    DifferenceNumber,
    SitesFacts,
    SliceFacts,
    SubgroupFacts,
    main_metric,
)
from ppaurora.pages.report.numbers import (
    Number,
    capitalised,
    place_of,
    tables_of,
    title_of,
    why_without_interval,
)
from ppaurora.policy.rules import PRIVATE, Kind
from ppaurora.policy.sentences import WHY_NO_LEVELS

_One = TypeVar("_One")

_MOST_COLUMNS = 3  # of numbers with intervals, in one table
_EFFECT_HEADINGS = (
    *("quantity", "average institution", "τ²", "τ", "I²"),
    *("a new institution is expected within", "institutions"),
)
_BETWEEN_SITES = "Differences between sites"
MODELS, COMPARISONS, SUBGROUPS, SITES, LEFT_OUT = "models", "comparisons", "subgroups", "sites", "left-out"


@dataclass(frozen=True)
class TextTable:
    """A table as people read it; the first cell of a row is its heading.

    `names` are headings that somebody chose, which are spelt as they are. A table is folded where a page has
    room for a line only, from which it unfolds.
    """

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    names: tuple[str, ...] = ()
    folded: bool = False


@dataclass(frozen=True)
class Section:
    """A part of a report: `key` tells which, `notes` are about numbers of its tables."""

    key: str
    title: str
    words: tuple[str, ...]
    tables: tuple[TextTable, ...]
    notes: tuple[str, ...] = ()


def sections_of(design: DesignFacts, kind: Kind, count_step: int, *, apart: bool) -> tuple[Section, ...]:
    """Return the parts that a study with a design has beside those of a plain one.

    `apart` says that every institution held its own data alone.
    """
    sections = (
        _models(design, kind, count_step),
        _comparisons(design.comparisons),
        _subgroups(design, kind, count_step, apart),
        _sites(design.sites),
        _left_out(design, kind, count_step, apart),
    )
    return tuple(one for one in sections if one is not None)


# Models and outcomes


def _models(design: DesignFacts, kind: Kind, count_step: int) -> Section | None:
    if not design.has_several:
        return None
    tables: list[TextTable] = []
    for outcome in design.outcomes:
        parts = _in_parts(design.of_outcome(outcome))
        tables += [_side_by_side(outcome, some, weighted=design.is_weighted) for some in parts]
    tables += [table for one in design.slices for table in _at_places(one.name, one.numbers)]
    numbers = [(one.name, number) for one in design.slices for number in one.numbers]
    return Section(
        MODELS,
        "Models and outcomes" if len(design.outcomes) > 1 else "Models",
        _counting(kind, count_step, [one.positives for one in design.slices], weighted=design.is_weighted),
        tuple(tables),
        (*_undefined((one.name, one) for one in design.slices), *_notes(numbers)),
    )


def _side_by_side(outcome: str, slices: Sequence[SliceFacts], *, weighted: bool) -> TextTable:
    """Return the single numbers of several models, a column for each."""
    keys = list(dict.fromkeys((number.metric, number.title) for one in slices for number in one.single))
    rows = [
        (capitalised(title), *(_text(one.get(metric)) for one in slices), _methods(metric, slices))
        for metric, title in keys
    ]
    by_weight = ", by weight" if weighted else ""
    if any(one.positives is not None for one in slices):
        rows.append((f"Positives{by_weight}", *(_count(one.positives, one) for one in slices), ""))
    if any(one.negatives is not None for one in slices):
        rows.append((f"Negatives{by_weight}", *(_count(one.negatives, one) for one in slices), ""))
    names = tuple(one.model or one.outcome for one in slices)
    headings = ("number", *names, "interval by")
    title = f"Released numbers, {outcome}" if outcome else "Released numbers"
    return TextTable(title, *without_empty_columns(headings, rows), names)


def _methods(metric: str, slices: Iterable[SliceFacts]) -> str:
    found = [number.method for one in slices for number in one.single if number.metric == metric]
    return ", ".join(dict.fromkeys(filter(None, found)))


def _at_places(name: str, numbers: Iterable[Number]) -> Iterator[TextTable]:
    """Give the tables at thresholds and in bins."""
    for table in tables_of(numbers):
        rows = tuple((place, *map(_text, some)) for place, some in table.rows)
        headings = (table.place, *map(capitalised, table.columns))
        yield TextTable(f"{_at(table.place)}, {name}: {', '.join(table.columns)}", headings, rows)


def _at(place: str) -> str:
    return {"bin": "In bins", "threshold": "At thresholds"}.get(place, f"By {place}")


# Comparisons


def _comparisons(comparisons: Sequence[ComparisonFacts]) -> Section | None:
    if not comparisons:
        return None
    rows = [
        (one.name, _titled(number), number.text, number.test, number.method)
        for one in comparisons
        for number in one.numbers
    ]
    headings = ("models", "difference of", "value", "test", "method")
    numbers = [(one.name, number) for one in comparisons for number in one.numbers]
    return Section(
        COMPARISONS,
        "Comparison of models",
        (
            "Both models of a pair were evaluated on the same samples; a - b is the number of a minus that "
            "of b.",
        ),
        (TextTable("Differences between models", *without_empty_columns(headings, rows)),),
        _notes(numbers),
    )


# Subgroups


def _subgroups(design: DesignFacts, kind: Kind, count_step: int, apart: bool) -> Section | None:
    if not design.subgroups:
        return None
    tables = [table for one in design.subgroups for table in _levels(one)]
    levels = [(f"{_of(one)} = {level.level}", level) for one in design.subgroups for level in one.levels]
    numbers = [(name, number) for name, level in levels for number in level.numbers]
    differences = [
        (f"{_of(one)}, {found.level} - {found.reference}", number)
        for one in design.subgroups
        for found in one.differences
        for number in found.numbers
    ]
    counts = [level.positives for _, level in levels]
    words = "Which sample is in which subgroup was known to its own institution only."
    return Section(
        SUBGROUPS,
        "Subgroups",
        (*([words] if apart else []), *_counting(kind, count_step, counts)),
        tuple(tables),
        (
            *_withheld_variables(design),
            *_undefined(levels),
            *_notes([*numbers, *differences]),
        ),
    )


def _withheld_variables(design: DesignFacts) -> Iterator[str]:
    """Give the reason where all levels of a variable are withheld, and all samples together are not."""
    released = {(one.model, one.outcome) for one in design.slices if not one.suppressed}
    for one in design.subgroups:
        if (one.model, one.outcome) in released and all(level.suppressed for level in one.levels):
            yield f"All levels {_by(one)} are withheld: {WHY_NO_LEVELS}."


def _of(one: SubgroupFacts) -> str:
    return ", ".join(filter(None, (one.name, one.variable)))


def _by(one: SubgroupFacts) -> str:
    return f"by {one.variable}" + (f", {one.name}" if one.name else "")


def _levels(one: SubgroupFacts) -> Iterator[TextTable]:
    """Give the levels with their main number and its difference from the first; then all other numbers."""
    main = main_metric(one.levels)
    others = dict.fromkeys(number.metric for level in one.levels for number in level.single)
    others.pop(main, None)
    differences = {found.level: found for found in one.differences}
    rows = []
    for level in one.levels:
        found = differences.get(level.level)
        apart = next((n.tested for n in found.numbers if n.metric == main), "") if found else "reference"
        counts = [_count(count, level) for count in (level.positives, level.negatives)]
        rows.append((level.level, *counts, _text(level.get(main)), apart))
    headings = (
        *(one.variable, "positives", "negatives", title_of(main)),
        f"difference from {one.levels[0].level}",
    )
    names = (one.variable,)
    yield TextTable(f"{title_of(main)} {_by(one)}", *without_empty_columns(headings, rows), names)
    for some in _in_parts(list(others)):
        titles = [title_of(metric) for metric in some]
        values = [(level.level, *(_text(level.get(metric)) for metric in some)) for level in one.levels]
        differing = [
            (f"{found.level} - {found.reference}", *(_tested(found.numbers, metric) for metric in some))
            for found in one.differences
        ]
        title = f"{capitalised(listed(titles))} {_by(one)}"
        yield TextTable(title, (one.variable, *titles), (*values, *differing), names, folded=True)
    yield from _levels_at_places(one)


def _tested(numbers: Iterable[DifferenceNumber], metric: str) -> str:
    return next((one.tested for one in numbers if one.metric == metric), "")


def _levels_at_places(one: SubgroupFacts) -> Iterator[TextTable]:
    """Give the tables at thresholds and in bins, of all levels below each other."""
    by_level = [(level.level, tables_of(level.numbers)) for level in one.levels]
    for number, table in enumerate(by_level[0][1]):
        rows = tuple(
            (level, place, *map(_text, some))
            for level, tables in by_level
            for place, some in tables[number].rows
        )
        headings = (one.variable, table.place, *map(capitalised, table.columns))
        title = f"{_at(table.place)}, {_by(one)}: {', '.join(table.columns)}"
        yield TextTable(title, headings, rows, (one.variable,), folded=True)


# Sites


def _sites(sites: Sequence[SitesFacts]) -> Section | None:
    if not sites:
        return None
    words = [
        f"{one.name}: {effect.words}" if one.name else effect.words for one in sites for effect in one.effects
    ]
    tables = []
    for one in sites:
        rows: list[tuple[str, ...]] = [
            (
                effect.title,
                effect.pooled.text,
                effect.tau2.shown,
                effect.tau.shown,
                effect.i2.shown,
                effect.shown_prediction,
                "" if effect.sites is None else str(effect.sites),
            )
            for effect in one.effects
        ]
        if one.within is not None:
            rows.append((one.within.title, one.within.text, *[""] * (len(_EFFECT_HEADINGS) - 2)))
        title = f"{_BETWEEN_SITES}, {one.name}" if one.name else _BETWEEN_SITES
        if rows:
            headings_and_rows = without_empty_columns(_EFFECT_HEADINGS, rows)
            tables.append(TextTable(title, *headings_and_rows, names=_EFFECT_HEADINGS[2:5]))
    numbers = [(one.name, number) for one in sites for number in _numbers_of(one)]
    return Section(
        SITES,
        _BETWEEN_SITES,
        (*words, "No institution's own value is released."),
        tuple(tables),
        _notes(numbers),
    )


def _numbers_of(one: SitesFacts) -> list[Number]:
    pooled = [effect.pooled for effect in one.effects if effect.pooled.value is not None]
    return [*pooled, *([] if one.within is None else [one.within])]


# Rows left out


def _left_out(design: DesignFacts, kind: Kind, count_step: int, apart: bool) -> Section | None:
    if not design.left_out:
        return None
    rows = tuple((capitalised(number.title), _whole(number)) for number in design.left_out)
    stated = (
        "Every institution stated how many rows it left out before it submitted the rest; these are the sums."
    )
    return Section(
        LEFT_OUT,
        "Rows left out",
        (
            stated if apart else "These are the sums over all institutions.",
            *_counting(kind, count_step, [one.value for one in design.left_out]),
        ),
        (TextTable("Rows left out", ("reason", "rows"), rows),),
    )


def _whole(number: Number) -> str:
    return number.shown if number.value is None else f"{round(number.value):,}"


# Parts of all of them


def _counting(
    kind: Kind, count_step: int, counts: Iterable[float | None], *, weighted: bool = False
) -> tuple[str, ...]:
    """Tell how near released numbers of samples are to the true ones, if any is released."""
    if all(count is None for count in counts):
        return ()
    counted = "Numbers of positives and negatives by weight" if weighted else "Numbers of samples"
    if kind == PRIVATE:
        return (f"{counted} are released with noise.",)
    return (f"{counted} are released to the nearest {count_step}.",) if count_step > 1 else ()


def _text(number: Number | None) -> str:
    return "" if number is None else number.text


def _titled(number: Number) -> str:
    """Return the title with the place that the number is at."""
    where = f" at {', '.join(number.at)} {place_of(number.at)}" if number.at else ""
    return capitalised(f"{number.title}{where}")


def _count(count: int | None, one: SliceFacts) -> str:
    if count is None:
        return "withheld" if one.suppressed else ""
    return f"{count:,}"


def _undefined(slices: Iterable[tuple[str, SliceFacts]]) -> tuple[str, ...]:
    """Return which models, outcomes and levels have no number at all, and why."""
    return tuple(f"{name}: undefined: {one.undefined}." for name, one in slices if one.undefined)


def _notes(numbers: Sequence[tuple[str, Number]]) -> tuple[str, ...]:
    """Return what is to be known about numbers, each sentence once, with all numbers that it is about.

    Why there is no interval is said once for all numbers, and what is undefined elsewhere.
    """
    by_note: dict[str, list[str]] = {}
    for name, number in numbers:
        if number.remark and number.remark != ONE_CLASS:
            by_note.setdefault(number.remark, []).append(", ".join(filter(None, (_titled(number), name))))
    notes = (f"{'; '.join(dict.fromkeys(about))}: {said}." for said, about in by_note.items())
    return (*why_without_interval(number for _, number in numbers), *notes)


def _in_parts(some: Sequence[_One]) -> list[Sequence[_One]]:
    """Divide columns among tables that are not too wide."""
    return [some[start : start + _MOST_COLUMNS] for start in range(0, len(some), _MOST_COLUMNS)]


def without_empty_columns(
    headings: Sequence[str], rows: Sequence[Sequence[str]]
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """A column in which nothing stands is left out."""
    kept = [place for place in range(len(headings)) if any(row[place] for row in rows)]
    return tuple(headings[place] for place in kept), tuple(
        tuple(row[place] for place in kept) for row in rows
    )
