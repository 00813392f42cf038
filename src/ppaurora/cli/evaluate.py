"""`ppaurora evaluate`: one file per owner, all servers on this machine."""

from __future__ import annotations

from pathlib import Path

import click

from ppaurora.cli.options import column_options, format_option, protocol_options
from ppaurora.cli.progress import progress_bar
from ppaurora.cli.tables import print_metrics
from ppaurora.data import read_table
from ppaurora.evaluation import TRANSPORTS, evaluate_samples
from ppaurora.metrics import DEFAULT_METRICS, described_metrics
from ppaurora.party.starting import Spares
from ppaurora.protocols import find_protocol
from ppaurora.report import Report


@click.command("evaluate")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@column_options
@click.option(
    "--metrics",
    default=",".join(DEFAULT_METRICS),
    show_default=True,
    help=f"Any of {described_metrics()}.",
)
@protocol_options
@click.option(
    "--transport",
    type=click.Choice(TRANSPORTS),
    default="tls",
    show_default=True,
    help="Servers as threads in memory, or as processes over TLS.",
)
@click.option(
    "--timeout", type=float, default=120.0, show_default=True, help="Seconds to wait for a silent server."
)
@format_option
@click.pass_obj
def evaluate_command(
    spares: Spares | None,
    /,
    files: tuple[Path, ...],
    score: str,
    label: str,
    pos_label: str | None,
    metrics: str,
    protocol: str,
    transport: str,
    timeout: float,
    output: str,
    **parameters: int | None,
) -> None:
    """Evaluate a model on several owners' FILES together, one CSV file per owner.

    The servers are started on this machine; they compute on shares of the data.
    """
    owners = [read_table(path, score, label, pos_label) for path in files]
    with progress_bar() as progress:
        report = evaluate_samples(
            owners,
            metrics=[name.strip() for name in metrics.split(",") if name.strip()],
            protocol=protocol,
            parameters={name: value for name, value in parameters.items() if value is not None},
            transport=transport,
            progress=progress,
            timeout=timeout,
            spares=spares,
        )
    if output == "json":
        click.echo(report.to_json())
    else:
        print_report(report)


def print_report(report: Report) -> None:
    print_metrics(report, report.samples, report.owners)
    cost = report.cost
    protocol = find_protocol(report.protocol)(**report.parameters)
    click.echo(
        f"protocol {protocol}, transport {report.transport}: "
        f"{cost.seconds:.2f} s, {cost.bytes / 1e6:.2f} MB, {cost.rounds} rounds"
    )
    opened = "; ".join(f"{name}: {count}" for name, count in report.openings.items())
    click.echo(f"opened to the servers: {opened or 'nothing'}")
