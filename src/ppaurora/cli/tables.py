"""Results in the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table as ScreenTable

from ppaurora.data.slices import WHOLE
from ppaurora.evaluation.designed import (
    NO_INTERVAL,
    Comparison,
    DesignedResults,
    SitesResult,
    SliceResult,
    SubgroupResult,
    without_reason,
)
from ppaurora.evaluation.report import WITHHELD, MetricValues, shown_metrics, shown_value
from ppaurora.metrics import find_metric
from ppaurora.metrics.roc import Auroc
from ppaurora.policy.rules import EXACT, Policy
from ppaurora.policy.sentences import WHY_NO_LEVELS, nearness, shown_count
from ppaurora.statistics.differences import Difference
from ppaurora.statistics.estimates import Estimate, Table

_WHY_WITHHELD = (
    "a policy rule on secret counts was not met, so there is no result. Which rule, and for which class, is "
    "not disclosed."
)


def print_metrics(report: MetricValues, samples: int, owners: int) -> None:
    """A table of the metrics; of every model and outcome, and what there is beside."""
    title = f"{samples:,} samples of {owners} owners"
    results = report.results
    if not results.wholes:
        _print_numbers(title, report.metrics)
        of_all = SliceResult(WHOLE, report.metrics, report.positives, suppressed=report.suppressed)
        _print_below(report.metrics, _counts_of(of_all, report.policy, weighted=False))
    for one in results.wholes:
        _print_numbers(": ".join(filter(None, (str(one.slice), title))), one.metrics)
        _print_below(one.metrics, _counts_of(one, report.policy, weighted=results.weighted))
    _print_design(results, report.policy)
    if report.policy.kind == EXACT:  # a grid that was fitted has the lowest and the highest score as its ends
        _print_grids(results)
    click.echo(report.privacy)


def _print_numbers(title: str, metrics: Mapping[str, Estimate | Table]) -> None:
    """Print a table of metrics; why numbers have no interval stands below it, once."""
    shown = [(name, value, without_reason(interval)) for name, value, interval in shown_metrics(metrics)]
    has_intervals = any(interval for _, _, interval in shown)
    rows = [(name, value, *([interval] if has_intervals else [])) for name, value, interval in shown]
    _print_table(title, ("metric", "value", "interval")[: 2 + has_intervals], rows)


def _print_below(metrics: Mapping[str, Estimate | Table], counts: str) -> None:
    """Print the numbers of positives and negatives, or why there are no numbers, and what else is to know."""
    if counts:
        click.echo(counts)
    for name, found in metrics.items():
        line_title = find_metric(name).line_title
        if line_title and isinstance(found, Estimate) and found.interval is not None:
            click.echo("; ".join(filter(None, (found.line(line_title), found.note))))
    if any(NO_INTERVAL in interval for _, _, interval in shown_metrics(metrics)):
        click.echo(f"others have {NO_INTERVAL}")


def _counts_of(one: SliceResult, policy: Policy, *, weighted: bool) -> str:
    """Return the numbers of positives and negatives, or why there are no numbers at all."""
    if one.suppressed:
        return f"{WITHHELD}: {_WHY_WITHHELD}"
    if one.undefined:
        return f"undefined: {one.undefined}"
    counts = {"positives": one.positives, "negatives": one.negatives}
    by_weight = ", by weight" if weighted else ""
    known = {f"{name}{by_weight}": count for name, count in counts.items() if count is not None}
    return "; ".join(f"{name}: {shown_count(count, policy)}" for name, count in known.items())


def _print_grids(results: DesignedResults) -> None:
    """Print how scores were read, if models have grids that differ."""
    grids = {model: str(grid) for model, grid in results.grids.items()}
    if len(set(grids.values())) > 1:
        click.echo(f"grids: {'; '.join(f'{model}: {grid}' for model, grid in grids.items())}")


def _print_table(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    table = ScreenTable(title=escape(title), title_justify="left")
    for heading in headings:
        numeric = heading in ("value", "positives", "negatives")
        table.add_column(escape(heading), justify="right" if numeric else "left")
    for row in rows:
        table.add_row(*map(escape, row))
    Console().print(table)


def _print_design(results: DesignedResults, policy: Policy) -> None:
    """Print comparisons, subgroups, sites and rows left out, as far as the study has them."""
    for compared in results.comparisons:
        click.echo()
        for line in _compared(compared):
            click.echo(line)
    for found in results.subgroups.values():
        for one in results.wholes:
            click.echo()
            levels = found.of(one.slice.model, one.slice.outcome)
            _print_levels(levels, str(one.slice))
            if not one.suppressed and all(level.suppressed for level in levels.values()):
                click.echo(f"{WITHHELD}: {WHY_NO_LEVELS}")
    for site in results.sites:
        click.echo()
        for line in _between_sites(site):
            click.echo(line)
    if results.left_out:
        click.echo(f"\nrows left out: {_left_out(results.left_out, policy)}")


def _left_out(found: Mapping[str, Estimate], policy: Policy) -> str:
    """Return how many rows were left out for which reason, and how near to the true ones they are."""
    counts = [f"{shown_value(one)} ({reason.replace('_', ' ')})" for reason, one in found.items()]
    return "; ".join(filter(None, (", ".join(counts), nearness(policy))))


def _compared(compared: Comparison) -> Iterator[str]:
    """Give a line for every difference of two models, with what is to be known about it."""
    for name, found in compared.differences.items():
        title = f"{find_metric(name).title} {compared.title}"
        if isinstance(found, Difference):
            yield _difference(title, found)
            continue
        for row in found:
            for number in row.values.values():
                if isinstance(number, Difference):
                    yield _difference(f"{title} at {row.shown_place()}", number)


def _difference(title: str, found: Difference) -> str:
    line = ", ".join(filter(None, (_line(title, found), found.test_line())))
    return "; ".join(filter(None, (line, found.note)))


def _line(title: str, found: Estimate) -> str:
    """Return a number as pROC prints it, or what it is instead of one."""
    return f"{title}: {shown_value(found)}" if found.value is None else found.line(title)


def _print_levels(found: SubgroupResult, whole: str) -> None:
    """Print the levels of a variable: AUROC, or else the first single number, and how far they are apart."""
    names = [name for name, one in next(iter(found.values())).metrics.items() if isinstance(one, Estimate)]
    metric = Auroc.name if Auroc.name in names else next(iter(names), "")
    headings = [found.variable, "positives", "negatives"]
    rows = [
        [level, *(_count(count, one) for count in (one.positives, one.negatives))]
        for level, one in found.items()
    ]
    notes = []
    if metric:
        first, *_ = found
        differences = found.differences(metric)
        numbers = [n for one in found.values() if isinstance(n := one[metric], Estimate)]
        interval = next((f" ({one.shown_level()})" for one in numbers if one.shown_span()), "")
        has_tests = any(one.test_line() for one in differences.values())
        headings += [f"{find_metric(metric).title}{interval}", f"difference from {first}{interval}"]
        headings += ["p"] if has_tests else []
        for row, level, number in zip(rows, found, numbers, strict=True):
            apart = differences.get(level)
            row += [_with_span(number), "reference" if apart is None else _with_span(apart)]
            row += [_p_value(apart)] if has_tests else []
        notes = [NO_INTERVAL] if any(NO_INTERVAL in one.note for one in numbers) else []
        notes += _notes_on(differences)
    title = f"subgroups by {found.variable}"
    _print_table(": ".join(filter(None, (whole, title))), headings, rows)
    undefined = {level: one.undefined for level, one in found.items() if one.undefined}
    for line in (*notes, *(f"{level}: undefined: {why}" for level, why in undefined.items())):
        click.echo(line)


def _notes_on(differences: Mapping[str, Difference]) -> Iterator[str]:
    """Give what is to be known about differences, once; what is not about all of them, with their levels."""
    by_note: dict[str, list[str]] = {}
    known = {level: one for level, one in differences.items() if one.value is not None}
    for level, one in known.items():
        for said in filter(None, one.note.split("; ")):
            by_note.setdefault(said, []).append(level)
    joined: dict[str, list[str]] = {}
    for said, levels in by_note.items():
        joined.setdefault("" if len(levels) == len(known) else f"{', '.join(levels)}: ", []).append(said)
    for about, notes in joined.items():
        yield f"{about}{'; '.join(notes)}"


def _count(count: int | None, one: SliceResult) -> str:
    if count is None:
        return WITHHELD if one.suppressed else ""
    return f"{count:,}"


def _with_span(found: Estimate) -> str:
    span = found.shown_span()
    return shown_value(found, shortly=True) + (f" ({span})" if span else "")


def _p_value(found: Difference | None) -> str:
    return "" if found is None else found.test_line().rpartition("p ")[2].removeprefix("= ")


def _between_sites(found: SitesResult) -> Iterator[str]:
    """Give the heterogeneity in words, and AUROC within sites."""
    if str(found.slice):
        yield f"{found.slice}: differences between sites"
    for effect in found.effects.values():
        if effect.pooled.value is not None:
            yield effect.pooled.line(f"{effect.title} of an average site")
        yield effect.sentence()
    if found.within is not None:
        yield "; ".join(filter(None, (_line("AUROC within sites", found.within), found.within.note)))
