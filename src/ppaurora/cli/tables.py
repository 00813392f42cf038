"""Results in the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from ppaurora.report import MetricValues


def print_metrics(report: MetricValues, samples: int, owners: int) -> None:
    """A table of the metrics."""
    table = Table(title=f"{samples} samples of {owners} owners", title_justify="left")
    table.add_column("metric")
    table.add_column("value", justify="right")
    for name, value in report.shown():
        table.add_row(name, value)
    Console().print(table)
