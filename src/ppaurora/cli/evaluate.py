"""`ppaurora evaluate`: one file per owner, all servers on this machine."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import click
from msgspec import structs

from ppaurora.cli.examples import example
from ppaurora.cli.options import (
    chosen_metrics,
    chosen_policy,
    column_options,
    design_options,
    format_option,
    metric_options,
    metric_parameters,
    policy_options,
    protocol_options,
)
from ppaurora.cli.progress import progress_bar
from ppaurora.cli.tables import print_metrics
from ppaurora.data import Columns, designed_samples
from ppaurora.errors import SUPPRESSED_EXIT_CODE, InputError
from ppaurora.evaluation.evaluate import TRANSPORTS, evaluate_samples
from ppaurora.evaluation.report import Report
from ppaurora.metrics import DEFAULT_METRICS, default_metrics, described_metrics
from ppaurora.party.starting import WarmPool
from ppaurora.policy.rules import Policy
from ppaurora.protocols import find_protocol
from ppaurora.session.worker import MOST_WORKERS

AUTO = "auto"
WORKERS = (*(str(1 << power) for power in range(MOST_WORKERS.bit_length())), AUTO)


@click.command(
    "evaluate",
    epilog=example(
        "ppaurora evaluate a.csv b.csv c.csv --metrics auroc,ap --confidence-level 0.95",
        "ppaurora evaluate a.csv b.csv c.csv --protocol grid --decimals 4 --confidence-level 0.95",
        "ppaurora evaluate a.parquet b.parquet --score risk --label died --policy publication",
        "ppaurora evaluate a.csv b.csv c.csv --score old=risk_1 --score new=risk_2 --compare old,new",
    ),
)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@column_options
@design_options
@click.option(
    "--metrics",
    show_default=f"{','.join(DEFAULT_METRICS)}, or those of them that --policy allows",
    help=f"Any of {described_metrics()}.",
)
@metric_options
@policy_options
@protocol_options
@click.option(
    "--transport",
    type=click.Choice(TRANSPORTS),
    default="tls",
    show_default=True,
    help="Servers as threads in memory, or as processes over TLS.",
)
@click.option(
    "--timeout",
    type=float,
    default=120.0,
    show_default=True,
    help="Seconds to wait for a server that does not respond.",
)
@click.option(
    "--workers",
    type=click.Choice(WORKERS),
    default=WORKERS[0],
    show_default=True,
    help="Workers of each server: 1, 2, 4, ... or auto, as many as there are cores for.",
)
@format_option
@click.pass_context
def evaluate_command(
    context: click.Context,
    /,
    files: tuple[Path, ...],
    columns: Columns,
    design: dict[str, Any],
    metrics: str | None,
    confidence_level: float | None,
    protocol: str,
    parameters: dict[str, Any],
    transport: str,
    timeout: float,
    workers: str,
    output: str,
    **of_options: Any,
) -> None:
    """Evaluate a model on several owners' FILES together, one per owner: CSV, Excel, Parquet, Arrow or .npz.

    The servers are started on this machine; they compute on shares of the data.
    """
    if "weight" in design and columns.weight is None:
        raise InputError("--most-weight: goes with --weight COLUMN, the column of the weights; add it")
    of_metrics = {name: of_options.pop(name) for name in metric_parameters()}
    of_policy = {name: of_options.pop(name, None) for name in Policy.__struct_fields__}
    policy = chosen_policy(of_policy)
    warm_pool = context.with_resource(closing(WarmPool()))
    if transport == "tls":
        chosen = find_protocol(protocol)
        for server in chosen.servers:  # they load their modules while the files are read
            warm_pool.keep(chosen.process, server.title)
    grid = find_protocol(protocol)(**parameters).counting_grid
    owners, agreed = designed_samples(files, (), columns, grid, design)
    with progress_bar() as progress:
        report = evaluate_samples(
            owners,
            metrics=chosen_metrics(metrics or ",".join(default_metrics(policy)), of_metrics),
            confidence_level=confidence_level,
            policy=policy,
            protocol=protocol,
            parameters=parameters,
            transport=transport,
            progress=progress,
            timeout=timeout,
            warm_pool=warm_pool,
            workers=workers if workers == AUTO else int(workers),
            **({} if agreed.is_plain else structs.asdict(agreed)),
        )
    if output == "json":
        click.echo(report.to_json())
    else:
        print_report(report)
    if report.suppressed:
        context.exit(SUPPRESSED_EXIT_CODE)


def print_report(report: Report) -> None:
    print_metrics(report, report.samples, report.owners)
    cost = report.cost
    kind, shared = find_protocol(report.protocol), report.shared_parameters
    protocol = kind(**shared) if shared == report.parameters else kind.name
    click.echo(
        f"protocol {protocol}, transport {report.transport}: "
        f"{cost.seconds:.2f} s, {cost.bytes / 1e6:.2f} MB, {cost.rounds} rounds"
    )
    opened = "; ".join(f"{name}: {count}" for name, count in report.openings.items())
    click.echo(f"opened to the servers: {opened or 'nothing'}")
    if report.hint:
        click.echo(f"hint: {report.hint}")
