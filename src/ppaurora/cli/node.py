"""`ppaurora serve`, `studies` and `retry`."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from ppaurora.cli.study import FOLDER, as_told
from ppaurora.errors import InputError
from ppaurora.node.store import Store, describe_progress
from ppaurora.study.kit import NodeKit


@click.command("serve")
@click.argument("kit", type=FOLDER)
def serve_command(kit: Path) -> None:
    """Run the node of KIT until it is told to stop. Logs are JSON lines on standard error."""
    try:
        from ppaurora.node.serve import serve
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] not in ("aiohttp", "prometheus_client"):
            raise
        raise InputError("a node needs more packages: pip install 'ppaurora[node]'") from None
    serve(NodeKit.read(kit))


@click.command("studies")
@click.argument("kit", type=FOLDER)
@click.option("--format", "output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def studies_command(kit: Path, output: str) -> None:
    """The studies that the node of KIT has accepted, and how far each is. The node may be running."""
    store = Store(NodeKit.read(kit).data)
    try:
        found = [
            {**describe_progress(study, store.submissions(study)), "attempt": store.last_attempt(study.hash)}
            for study in store.studies()
        ]
    finally:
        store.close()
    if output == "json":
        click.echo(json.dumps(found, indent=2))
        return
    table = Table()
    for heading in ("study", "hash", "state", "missing", "attempt", "note"):
        table.add_column(heading)
    for one in found:
        missing = ", ".join(one["missing"]) if one["state"] == "collecting" else ""
        cells = (one["name"], one["study"][:16], one["state"], missing, str(one["attempt"]), one["note"])
        table.add_row(*map(as_told, cells))
    Console().print(table)


@click.command("retry")
@click.argument("kit", type=FOLDER)
@click.argument("study")
def retry_command(kit: Path, study: str) -> None:
    """Let a stopped STUDY go on, at proxy 0, which leads the attempts."""
    store = Store(NodeKit.read(kit).data)
    try:
        for known in store.studies():
            if known.manifest.study == study:
                store.retry(known.hash)
                click.echo(f"{study} is tried again")
                return
        names = ", ".join(known.manifest.study for known in store.studies()) or "none"
    finally:
        store.close()
    raise InputError(f"{kit}: has not accepted a study '{study}'; there are: {names}")
