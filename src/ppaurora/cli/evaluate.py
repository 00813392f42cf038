"""`ppaurora evaluate`: one file per owner, three servers on this machine."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from ppaurora.cli.progress import progress_bar
from ppaurora.evaluation import DEFAULT_METRICS, TRANSPORTS, evaluate_samples
from ppaurora.owner import KEY_WIDTHS, read_table
from ppaurora.party.job import PROTOCOLS
from ppaurora.report import Report

_METRICS_HELP = "Any of auroc, aupr (trapezoids), ap (average precision), auroc_no_ties (no equal scores)."


@click.command("evaluate")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--score", default="score", show_default=True, help="Column with the model's scores.")
@click.option("--label", default="label", show_default=True, help="Column with the true labels.")
@click.option("--pos-label", default=None, help="The positive label, if labels are not 0/1 or true/false.")
@click.option("--metrics", default=",".join(DEFAULT_METRICS), show_default=True, help=_METRICS_HELP)
@click.option(
    "--protocol",
    type=click.Choice(PROTOCOLS),
    default="fast",
    show_default=True,
    help="'paper' is ppAURORA as printed: slower, scores in [0, 1], and it leaks more to the servers.",
)
@click.option(
    "--delta",
    type=int,
    default=1,
    show_default=True,
    help="For 'paper': records moved per shuffling, odd. Above 1 the servers learn some comparisons.",
)
@click.option(
    "--key-bits",
    type=click.Choice([str(width) for width in KEY_WIDTHS]),
    help="For 'fast': width of the keys; 32 serves float32 scores. By default what the scores need.",
)
@click.option(
    "--transport",
    type=click.Choice(TRANSPORTS),
    default="tls",
    show_default=True,
    help="Three threads in memory, or three processes over TLS.",
)
@click.option(
    "--timeout", type=float, default=120.0, show_default=True, help="Seconds to wait for a silent server."
)
@click.option(
    "--format",
    "output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="A table for people, or JSON alone on standard output.",
)
def evaluate_command(
    files: tuple[Path, ...],
    score: str,
    label: str,
    pos_label: str | None,
    metrics: str,
    protocol: str,
    delta: int,
    key_bits: str | None,
    transport: str,
    timeout: float,
    output: str,
) -> None:
    """Evaluate a model on several owners' FILES together, one CSV file per owner.

    Three servers are started on this machine; they compute on shares of the data.
    """
    owners = [read_table(path, score, label, pos_label) for path in files]
    with progress_bar() as progress:
        report = evaluate_samples(
            owners,
            metrics=[name.strip() for name in metrics.split(",") if name.strip()],
            protocol=protocol,
            delta=delta,
            key_bits=None if key_bits is None else int(key_bits),
            transport=transport,
            progress=progress,
            timeout=timeout,
        )
    if output == "json":
        click.echo(report.to_json())
    else:
        print_report(report)


def print_report(report: Report) -> None:
    console = Console()
    table = Table(title=f"{report.samples} samples of {report.owners} owners", title_justify="left")
    table.add_column("metric")
    table.add_column("value", justify="right")
    for name, value in report.metrics.items():
        table.add_row(name, f"{value:.12f}")
    console.print(table)
    cost = report.cost
    detail = f"delta {report.delta}" if report.protocol == "paper" else f"{report.key_bits}-bit keys"
    console.print(
        f"protocol {report.protocol} ({detail}), transport {report.transport}: "
        f"{cost.seconds:.2f} s, {cost.bytes / 1e6:.2f} MB, {cost.rounds} rounds",
        highlight=False,
    )
    if report.openings:
        opened = "; ".join(f"{name}: {count}" for name, count in report.openings.items())
        console.print(f"opened to the servers: {opened}", highlight=False)
    else:
        console.print("opened to the servers: nothing", highlight=False)
