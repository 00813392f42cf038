"""Results in the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table as ScreenTable

from ppaurora.evaluation.designed import (
    Comparison,
    DesignedResults,
    SitesResult,
    SliceResult,
    SubgroupResult,
)
from ppaurora.evaluation.report import MetricValues, shown_metrics
from ppaurora.metrics import find_metric
from ppaurora.metrics.roc import Auroc
from ppaurora.policy.rules import Policy
from ppaurora.policy.sentences import WHY_NO_LEVELS, nearness, shown_count
from ppaurora.statistics.differences import Difference
from ppaurora.statistics.estimates import Estimate, Table

_SUPPRESSED = (
    "suppressed: a policy rule on secret counts was not met, so there is no result. Which rule, and "
    "for which class, is not disclosed."
)


def print_metrics(report: MetricValues, samples: int, owners: int) -> None:
    """A table of the metrics; of every model and outcome, and what there is beside."""
    title = f"{samples:,} samples of {owners} owners"
    wholes = report.results.wholes
    if not wholes:
        counts = (report.positives, None)
        _print_one(title, report.metrics, counts, report.policy, suppressed=report.suppressed)
    for one in wholes:
        named = ": ".join(filter(None, (str(one.slice), title)))
        both = (one.positives, one.negatives)
        _print_one(named, one.metrics, both, report.policy, suppressed=one.suppressed)
    _print_design(report.results, report.policy)
    click.echo(report.privacy)


def _print_one(
    title: str,
    metrics: Mapping[str, Estimate | Table],
    counts: tuple[int | None, int | None],
    policy: Policy,
    *,
    suppressed: bool,
) -> None:
    """Print a table; numbers of positives and negatives are both there only if they are sums of weights."""
    positives, negatives = counts
    shown = shown_metrics(metrics)
    has_intervals = any(interval for _, _, interval in shown)
    rows = [(name, value, *([interval] if has_intervals else [])) for name, value, interval in shown]
    _print_table(title, ("metric", "value", "interval")[: 2 + has_intervals], rows)
    if suppressed:
        click.echo(_SUPPRESSED)
    elif positives is not None and negatives is not None:
        both = f"{shown_count(positives, policy)}; negatives: {shown_count(negatives, policy)}"
        click.echo(f"positives, by weight: {both}")
    elif positives is not None:
        click.echo(f"positives: {shown_count(positives, policy)}")
    for name, found in metrics.items():
        line_title = find_metric(name).line_title
        if line_title and isinstance(found, Estimate) and found.interval is not None:
            click.echo("; ".join(filter(None, (found.line(line_title), found.note))))


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
                click.echo(f"suppressed: {WHY_NO_LEVELS}")
    for site in results.sites:
        click.echo()
        for line in _between_sites(site):
            click.echo(line)
    if results.left_out:
        click.echo(f"\nrows left out: {_left_out(results.left_out, policy)}")


def _left_out(found: Mapping[str, Estimate], policy: Policy) -> str:
    """Return how many rows were left out for which reason, and how near to the true ones they are."""
    counts = [f"{one.shown()} ({reason.replace('_', ' ')})" for reason, one in found.items()]
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
    line = ", ".join(filter(None, (found.line(title), found.test_line())))
    return "; ".join(filter(None, (line, found.note)))


def _print_levels(found: SubgroupResult, whole: str) -> None:
    """Print the levels of a variable: AUROC, or else the first single number, and how far they are apart."""
    names = [name for name, one in next(iter(found.values())).metrics.items() if isinstance(one, Estimate)]
    metric = Auroc.name if Auroc.name in names else next(iter(names), "")
    headings = [found.variable, "positives", "negatives"]
    rows = [
        [level, *(_count(count, one) for count in (one.positives, one.negatives))]
        for level, one in found.items()
    ]
    if metric:
        first, *_ = found
        differences = found.differences(metric)
        numbers = [n for one in found.values() if isinstance(n := one[metric], Estimate)]
        interval = next((f" ({one.shown_level()})" for one in numbers if one.shown_span()), "")
        has_tests = any(one.test_line() for one in differences.values())
        headings += [f"{find_metric(metric).title}{interval}", f"difference from {first}{interval}"]
        headings += ["p"] if has_tests else []
        for row, level, number in zip(rows, found, numbers, strict=True):
            less = differences.get(level)
            row += [_with_span(number), "" if less is None else _with_span(less)]
            row += [_p_value(less)] if has_tests else []
    title = f"subgroups by {found.variable}"
    _print_table(": ".join(filter(None, (whole, title))), headings, rows)


def _count(count: int | None, one: SliceResult) -> str:
    if count is None:
        return "suppressed" if one.suppressed else ""
    return f"{count:,}"


def _with_span(found: Estimate) -> str:
    span = found.shown_span()
    return found.shown_shortly() + (f" ({span})" if span else "")


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
        yield "; ".join(filter(None, (found.within.line("AUROC within sites"), found.within.note)))
