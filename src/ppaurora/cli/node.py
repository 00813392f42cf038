"""`ppaurora serve`, `studies` and `retry`."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ppaurora.cli.options import FOLDER, format_option
from ppaurora.errors import InputError
from ppaurora.messages.owners import StudyState
from ppaurora.models import to_builtins
from ppaurora.node.status import study_status
from ppaurora.node.store import Store
from ppaurora.study.kit import NodeKit
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
@format_option
def studies_command(kit: Path, output: str) -> None:
    """The studies that the node of KIT has accepted, and how far each is. The node may be running."""
    own = NodeKit.read(kit)
    with Store(own.data) as store:
        found = [study_status(own, store, study) for study in store.studies()]
    if output == "json":
        click.echo(json.dumps(to_builtins(found), indent=2))
        return
    for one in found:
        awaited = one.missing if one.state == StudyState.COLLECTING else ()
        waiting = f", waiting for {', '.join(awaited)}" if awaited else ""
        click.echo(f"{one.name}: {one.state}{waiting}; attempts: {one.attempt}")
        click.echo(f"    {one.study}")
        if one.note:
            click.echo(f"    {printable(one.note)}")
    if not found:
        click.echo("no study was accepted yet: ppaurora accept")


@click.command("retry")
@click.argument("kit", type=FOLDER)
@click.argument("study")
def retry_command(kit: Path, study: str) -> None:
    """Let a STUDY that has stopped at this node go on here. Every operator decides for its own node."""
    with Store(NodeKit.read(kit).data) as store:
        accepted = {known.manifest.study: known for known in store.studies()}
        if study in accepted:
            store.retry(accepted[study].hash)
            note = printable(accepted[study].note)
            click.echo(f"{study} goes on at this node; it had stopped because: {note}")
            return
    names = ", ".join(accepted) or "none"
    raise InputError(f"{kit}: has not accepted a study '{study}'; there are: {names}")
