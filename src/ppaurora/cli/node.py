"""`ppaurora serve`, `studies` and `retry`."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ppaurora.cli.study import FOLDER
from ppaurora.errors import InputError
from ppaurora.node.store import Store, describe_progress
from ppaurora.study.kit import NodeKit
from ppaurora.suites.role import Role
from ppaurora.text import printable


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
    with Store(NodeKit.read(kit).data) as store:
        found = [
            {**describe_progress(study, store.submissions(study)), "attempt": store.last_attempt(study.hash)}
            for study in store.studies()
        ]
    if output == "json":
        click.echo(json.dumps(found, indent=2))
        return
    for one in found:
        waiting = (
            f", waiting for {', '.join(one['missing'])}"
            if one["state"] == "collecting" and one["missing"]
            else ""
        )
        click.echo(f"{one['name']}: {one['state']}{waiting}; attempts: {one['attempt']}")
        click.echo(f"    {one['study']}")
        if one["note"]:
            click.echo(f"    {printable(one['note'])}")
    if not found:
        click.echo("no study was accepted yet: ppaurora accept")


@click.command("retry")
@click.argument("kit", type=FOLDER)
@click.argument("study")
def retry_command(kit: Path, study: str) -> None:
    """Let a stopped STUDY go on, at proxy 0, which leads the attempts."""
    own = NodeKit.read(kit)
    if own.role is not Role.PROXY_0:
        raise InputError(f"{kit}: is of {own.role.title}; only proxy 0 leads, so retry there")
    with Store(own.data) as store:
        accepted = {known.manifest.study: known for known in store.studies()}
        if study in accepted:
            store.retry(accepted[study].hash)
            note = printable(accepted[study].note)
            click.echo(f"{study} is tried again; it had stopped because: {note}")
            return
    names = ", ".join(accepted) or "none"
    raise InputError(f"{kit}: has not accepted a study '{study}'; there are: {names}")
