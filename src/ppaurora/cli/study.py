"""`ppaurora provision`, `accept` and `renew`."""

from __future__ import annotations

from pathlib import Path

import click
from rich.text import Text

from ppaurora.acceptance import accept
from ppaurora.cli.options import FILE, FOLDER, yes_option
from ppaurora.errors import InputError
from ppaurora.study.kit import read_kit
from ppaurora.study.manifest import Manifest
from ppaurora.study.plan import SAMPLE
from ppaurora.study.provision import provision, renew
from ppaurora.text import printable


def as_told(text: object) -> Text:
    """What another machine said: its words, without markup and without control of the terminal."""
    return Text(printable(text))


def show(manifest: Manifest) -> None:
    """What a person agrees to, in full."""
    lines = manifest.describe()
    width = max(len(name) for name, _ in lines)
    for name, value in lines:
        click.echo(f"{name:<{width}}  {value}", err=True)


@click.command("provision")
@click.argument("plan", type=FILE, required=False)
@click.option("--out", type=FOLDER, help="New folder for the kits.")
@click.option("--reuse", type=FOLDER, help="Earlier kits, whose participants keep their certificates.")
@click.option("--sample", is_flag=True, help="Print a commented study.toml to start from.")
def provision_command(plan: Path | None, out: Path | None, reuse: Path | None, sample: bool) -> None:
    """Make the manifest and a start-up kit per participant from PLAN, a study.toml."""
    if sample:
        click.echo(SAMPLE, nl=False)
        return
    if plan is None or out is None:
        raise InputError("name a plan and a folder: ppaurora provision study.toml --out kits/")
    manifest = provision(plan, out, reuse)
    show(manifest)
    click.echo(f"{out / manifest.study}.json and one folder per participant in {out}")
    click.echo(f"keep {out / 'authority'} to yourself; it renews certificates and makes the next study")


@click.command("accept")
@click.argument("kit", type=FOLDER)
@click.argument("manifest", type=FILE)
@yes_option
def accept_command(kit: Path, manifest: Path, yes: bool) -> None:
    """Agree to a study: show MANIFEST and, once confirmed, add it to KIT. A node may be running."""
    found, own = Manifest.read(manifest), read_kit(kit)
    own.check_own(found)
    show(found)
    if not yes and not click.confirm("Accept this study?"):
        raise InputError("not accepted; nothing was changed")
    new = accept(own, found)
    click.echo(f"{'accepted' if new else 'was accepted before'}: {found.study} {found.hash}")


@click.command("renew")
@click.argument("kits", type=FOLDER)
@click.argument("name")
def renew_command(kits: Path, name: str) -> None:
    """Make a new certificate for the key that the participant NAME has; its studies stay valid."""
    path = renew(kits, name)
    click.echo(f"{path}: put it in place of certificate.pem in {name}'s kit, and restart a node")
