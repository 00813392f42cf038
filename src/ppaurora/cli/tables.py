"""Results in the terminal."""

from __future__ import annotations

import click
from rich.console import Console
from rich.table import Table

from ppaurora.evaluation.report import MetricValues
from ppaurora.metrics import find_metric
from ppaurora.policy.sentences import shown_count
from ppaurora.statistics.estimates import Estimate


def print_metrics(report: MetricValues, samples: int, owners: int) -> None:
    """A table of the metrics."""
    table = Table(title=f"{samples:,} samples of {owners} owners", title_justify="left")
    table.add_column("metric")
    table.add_column("value", justify="right")
    shown = report.shown()
    if any(interval for _, _, interval in shown):
        table.add_column("interval")
    for name, value, interval in shown:
        table.add_row(name, value, *([interval] if len(table.columns) > 2 else []))
    Console().print(table)
    if report.suppressed:
        click.echo(
            "suppressed: a policy rule on secret counts was not met, so there is no result. Which rule, and "
            "for which class, is not disclosed."
        )
    elif report.positives is not None:
        click.echo(f"positives: {shown_count(report.positives, report.policy)}")
    for name, found in report.metrics.items():
        title = find_metric(name).line_title
        if title and isinstance(found, Estimate) and found.interval is not None:
            click.echo("; ".join(filter(None, (found.line(title), found.note))))
    click.echo(report.privacy)
