"""The command `ppaurora app`."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import click

from ppaurora.app.server import run
from ppaurora.cli.examples import example
from ppaurora.cli.paths import KIT
from ppaurora.errors import InputError
from ppaurora.io.system import INSTALL_APP


@click.command("app", epilog=example("ppaurora app kit", "ppaurora app"))
@click.argument("kit", type=KIT, required=False)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="By default any free port.")
@click.option("--no-browser", is_flag=True, help="Print the link without opening a browser.")
def app_command(kit: Path | None, port: int, no_browser: bool) -> None:
    """Work with KIT in a browser on this machine; without KIT, see an example. Ctrl-C to quit."""
    # Looked for only: they are loaded once the link is printed, which is late to find out.
    if any(importlib.util.find_spec(package) is None for package in ("aiohttp", "jinja2", "markupsafe")):
        raise InputError(f'the app needs more packages: {INSTALL_APP}, or pip install "ppaurora[app]"')
    run(kit, port=port, browser=not no_browser, say=lambda line: click.echo(line, err=True))
