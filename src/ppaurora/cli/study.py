"""`ppaurora provision`, `accept` and `renew`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
from rich.text import Text

from ppaurora.agreement.disclosure import Comparison, compare, disclosure, example_sizes
from ppaurora.cli.amend import accept_amended
from ppaurora.cli.asking import ask
from ppaurora.cli.examples import example
from ppaurora.cli.options import expect_hash_option, force_option, study_option, yes_option
from ppaurora.cli.paths import FILE, FOLDER, KIT
from ppaurora.errors import InputError
from ppaurora.io.system import quoted
from ppaurora.io.text import printable
from ppaurora.messages import VERSION, VERSIONS
from ppaurora.node.admin_client import find_running
from ppaurora.node.operating import note_of_stopped
from ppaurora.setup.acceptance import accept, review, said_of_sizes
from ppaurora.study.kit import AMENDMENTS, NodeKit, OwnerKit, check_first, read_kit
from ppaurora.study.manifest import Manifest
from ppaurora.study.organisations import check_nodes_apart, organisation_warnings
from ppaurora.study.plan import SAMPLE, read_plan
from ppaurora.study.provision import PASSPHRASES, provision, renew
from ppaurora.study.units import COMPOSE, SYSTEMD


def as_told(text: object) -> Text:
    """Return what another machine said, without markup and without control of the terminal."""
    return Text(printable(text))


def show(manifest: Manifest, sizes: Sequence[int] | None = None) -> None:
    """Print what a person agrees to, in full, what owners will learn, and what is questionable about it.

    Without numbers of samples, of an example.
    """
    found = review(manifest, sizes)
    lines = manifest.describe()
    width = max(len(name) for name, _ in lines)
    for name, value in lines:
        click.echo(f"{name:<{width}}  {value}", err=True)
    _show_told(found.disclosure.told, found.sizes, err=True)
    click.echo("  - 'ppaurora disclosure' says more, and compares kinds of policy", err=True)
    for said in found.warnings:
        click.echo(f"warning: {said}", err=True)


def _show_told(told: Sequence[str], sizes: Sequence[int], *, err: bool) -> None:
    """Print what owners will learn from the release."""
    click.echo(f"what the release discloses to the owners, if {said_of_sizes(sizes)} samples:", err=err)
    for sentence in told:
        click.echo(f"  - {sentence}", err=err)


@click.command("disclosure", epilog=example("ppaurora disclosure study.toml --samples 1000,800,600"))
@click.argument("plan", type=FILE)
@click.option("--samples", help="Samples of each owner, separated by commas; by default 1,000 of each.")
@click.option("--all", "everything", is_flag=True, help="Also say how the figures are meant.")
def disclosure_command(plan: Path, samples: str | None, everything: bool) -> None:
    """Show what a study's release will disclose, beside what other kinds of policy would.

    PLAN is a study.toml, or a manifest.
    """
    study = Manifest.read(plan) if plan.suffix == ".json" else read_plan(plan)
    terms, owners = study.terms, len(study.owners)
    sizes = example_sizes(terms, owners)
    if samples is not None:
        try:
            sizes = tuple(int(part) for part in samples.replace("_", "").split(","))
        except ValueError:
            raise InputError("--samples: write whole numbers separated by commas") from None
        if len(sizes) != owners or min(sizes) < 1:
            raise InputError(f"--samples: give a number for each of the {owners} owners")
    _show_comparison(compare(terms, sizes))
    found = disclosure(terms, sizes)
    _show_told((*found.told, *(found.more if everything else ("--all says more",))), sizes, err=False)
    for said in (*found.warnings, *organisation_warnings(study)):
        click.echo(f"warning: {said}")


def _show_comparison(found: Comparison) -> None:
    """Print kinds of policy side by side."""
    lines = [("", found.columns), *found.rows]
    widths = [max(map(len, cells)) for cells in zip(*(cells for _, cells in lines if cells), strict=True)]
    first = max(len(title) for title, cells in lines if cells)
    for title, cells in lines:
        padded = (f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=False))
        click.echo("  ".join([f"{title:<{first}}", *padded]).rstrip())
    for note in found.notes:
        click.echo(note)
    click.echo()


@click.command(
    "provision",
    epilog=example(
        "ppaurora provision --sample > study.toml", "ppaurora provision study.toml --out kits --pack"
    ),
)
@click.argument("plan", type=FILE, required=False)
@click.option("--out", type=FOLDER, help="New folder for the kits.")
@click.option(
    "--reuse", type=FOLDER, help="Folder of earlier kits, whose participants keep their certificates."
)
@click.option("--sample", is_flag=True, help="Print a commented study.toml to start from.")
@click.option("--pack", is_flag=True, help="Also pack one file per participant, to hand over: NAME.kit.")
@click.option("--encrypt", is_flag=True, help="With --pack: protect each file with its own pass phrase.")
@click.option("--systemd", is_flag=True, help=f"Add a systemd unit to the nodes' kits: {SYSTEMD}.")
@click.option(
    "--compose", is_flag=True, help=f"Add a compose file for containers to the nodes' kits: {COMPOSE}."
)
@click.option(
    "--wire-version",
    type=click.IntRange(min(VERSIONS), VERSION),
    default=VERSION,
    show_default=True,
    help="Version of the protocol between participants; an earlier one while some have not upgraded.",
)
@force_option
def provision_command(
    plan: Path | None,
    out: Path | None,
    reuse: Path | None,
    sample: bool,
    pack: bool,
    encrypt: bool,
    systemd: bool,
    compose: bool,
    wire_version: int,
    force: bool,
) -> None:
    """Make the manifest and a kit per participant from PLAN, a study.toml."""
    if sample:
        click.echo(SAMPLE, nl=False)
        return
    if plan is None or out is None:
        raise InputError("name a plan and a folder: ppaurora provision study.toml --out kits/")
    if encrypt and not pack:
        raise InputError("--encrypt: is for the files that --pack writes; add --pack")
    units = [unit for unit, wanted in ((SYSTEMD, systemd), (COMPOSE, compose)) if wanted]
    manifest = provision(
        plan, out, reuse, force=force, packed=pack, encrypted=encrypt, units=units, version=wire_version
    )
    show(manifest)
    click.echo(f"{out / manifest.study}.json and one folder per participant in {out}")
    if pack:
        _say_what_is_packed(out, reuse)
    click.echo(f"keep {out / 'authority'} to yourself; it renews certificates and makes the next study")


def _say_what_is_packed(out: Path, reuse: Path | None) -> None:
    packed = sorted(out.glob("*.kit"))
    if not packed:
        click.echo(f"nothing is packed: all have their kits from {reuse}; send them the manifest")
        return
    click.echo(f"to hand over, each to one person: {', '.join(map(str, packed))}")
    if (out / PASSPHRASES).exists():
        click.echo(f"their pass phrases: {out / PASSPHRASES}; tell each person theirs, by another channel")
    else:
        click.echo("they are secret: each holds a private key in the clear, if the key was made here")
    click.echo("each is set up with 'ppaurora unpack NAME.kit'; delete them here when all have arrived")


@click.command("accept", epilog=example("ppaurora accept kit sepsis-2027.json --expect-hash 2f1c90aa63d7"))
@click.argument("kit", type=KIT)
@click.argument("manifest", type=FILE, required=False)
@study_option
@expect_hash_option
@yes_option
@force_option
def accept_command(
    kit: Path, manifest: Path | None, study: str | None, expect_hash: str | None, yes: bool, force: bool
) -> None:
    """Agree to a study: show MANIFEST and, once confirmed, add it to KIT. A node may be running.

    In the place of a manifest, STUDY.amendments.json shows and accepts amendments to a study. Owners may
    leave it out: then the servers are asked for amendments.
    """
    own = read_kit(kit)
    if manifest is None or manifest.name.endswith(AMENDMENTS):
        accept_amended(own, manifest, study, expect_hash, yes=yes, force=force)
        return
    found = Manifest.read(manifest)
    check_first(found)
    own.expect(found, expect_hash)
    own.check_own(found)
    show(found)
    check_nodes_apart(found, force=force)
    ask("Accept this study?", yes=yes, declined="not accepted; nothing was changed")
    new = accept(own, found, force=force)
    click.echo(f"{'accepted' if new else 'was accepted before'}: {found.study} {found.hash}")
    if isinstance(own, NodeKit) and (note := note_of_stopped(own, found.study)):
        click.echo(f"it has stopped here: {printable(note)}")
    _say_what_is_next(own, found)


def _say_what_is_next(own: NodeKit | OwnerKit, manifest: Manifest) -> None:
    """Print the commands that follow, to copy."""
    kit = quoted(str(own.folder))
    if isinstance(own, OwnerKit):
        click.echo(f"next: ppaurora preflight {kit} --study {manifest.study}")
        click.echo(f"then: ppaurora check DATA --kit {kit} --study {manifest.study}, or ppaurora app {kit}")
        return
    serving = "the node runs, and lets its participants in within seconds; next: "
    first = serving if find_running(own) else f"next: ppaurora serve {kit}; and while it runs: "
    click.echo(f"{first}ppaurora preflight {kit}")
    nodes = ", ".join(server.title for server in manifest.protocol.servers)
    click.echo(f"owners can submit when all nodes ({nodes}) have accepted it and run")


@click.command("renew", epilog=example("ppaurora renew kits hospital-a"))
@click.argument("kits", type=FOLDER)
@click.argument("name")
def renew_command(kits: Path, name: str) -> None:
    """Make a new certificate for the existing key of participant NAME; its studies stay valid."""
    path = renew(kits, name)
    click.echo(f"{path}: put it in place of certificate.pem in {name}'s kit, and restart a node")
