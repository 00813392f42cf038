"""`ppaurora serve` and `retry`."""

from __future__ import annotations

from pathlib import Path

import click

from ppaurora.cli.study import FOLDER
from ppaurora.errors import InputError
from ppaurora.study.kit import NodeKit


@click.command("serve")
@click.argument("kit", type=FOLDER)
def serve_command(kit: Path) -> None:
    """Run the node of KIT until it is told to stop. Logs are JSON lines on standard error."""
    try:
        from ppaurora.node.serve import serve
    except ImportError:
        raise InputError("a node needs more packages: pip install 'ppaurora[node]'") from None
    serve(NodeKit.read(kit))


@click.command("retry")
@click.argument("kit", type=FOLDER)
@click.argument("study")
def retry_command(kit: Path, study: str) -> None:
    """Let a stopped STUDY go on, at proxy 0, which leads the attempts."""
    from ppaurora.node.store import Store

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
