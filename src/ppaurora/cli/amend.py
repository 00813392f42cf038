"""`ppaurora amend`, and `ppaurora accept` where it is about amendments."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from ppaurora.cli.asking import ask
from ppaurora.cli.examples import example
from ppaurora.cli.options import force_option
from ppaurora.cli.paths import FILE, FOLDER
from ppaurora.errors import InputError
from ppaurora.io.text import listed, printable
from ppaurora.node.operating import note_of_stopped
from ppaurora.owner.study import Study
from ppaurora.setup.acceptance import accept_amendments, review_amendments
from ppaurora.study.amending import amend
from ppaurora.study.amendments import Amendments, Change
from ppaurora.study.kit import NodeKit, OwnerKit
from ppaurora.study.organisations import check_nodes_apart


@click.command(
    "amend",
    epilog=example(
        "ppaurora amend study.toml kits --reason 'the ethics vote came late'",
        "ppaurora amend study.toml kits --new-key hospital-c",
    ),
)
@click.argument("plan", type=FILE)
@click.argument("kits", type=FOLDER)
@click.option("--reason", default="", help="Why: shown to all who agree, and kept in the receipt.")
@click.option(
    "--new-key",
    "new_keys",
    multiple=True,
    metavar="NAME",
    help="Make another key and kit for this participant, who has lost theirs; may be repeated.",
)
@force_option
def amend_command(plan: Path, kits: Path, reason: str, new_keys: tuple[str, ...], force: bool) -> None:
    """Amend a study before anything is computed: by what PLAN says other than the study in KITS.

    The last day, owners who take part no longer, addresses and keys, limits and rules of the policy can be
    amended. All operators accept the file that this writes; owners are asked, unless they agreed beforehand.
    """
    made = amend(plan, kits, reason=reason, new_keys=new_keys, force=force)
    number = len(made.amendments.steps)
    show_changes(made.amendments.changes(number - 1), [reason])
    click.echo(f"amendment {number}: {made.file}, hash {made.amendments.latest.hash}")
    click.echo(f"send it to all operators: each runs 'ppaurora accept KIT {made.file.name}'")
    asked = made.amendments.asked(number - 1)
    agreeing = f"'ppaurora accept KIT --study {made.amendments.latest.study}'"
    if asked:
        click.echo(f"and to {', '.join(asked)}, who have to agree: each runs {agreeing}")
    else:
        click.echo(f"owners have agreed to this beforehand; {agreeing} shows it to them")
    names = [manifest.owner_names for manifest in made.amendments.manifests[-2:]]
    for dropped in sorted(set(names[0]) - set(names[1])):
        click.echo(f"tell {dropped} that it takes part no longer; what it submitted is deleted")
    for packed in made.kits:
        click.echo(f"to hand over to one person, who unpacks it: {packed}; it is secret")


def accept_amended(
    own: NodeKit | OwnerKit,
    file: Path | None,
    study: str | None,
    expect_hash: str | None,
    *,
    yes: bool,
    force: bool,
) -> None:
    """Show amendments and, once confirmed, accept them at a node or agree to them as an owner."""
    if isinstance(own, NodeKit):
        if file is None:
            raise InputError(f"name a manifest, or amendments: ppaurora accept {own.folder} MANIFEST")
        _accept_at_node(own, Amendments.read(file), expect_hash, yes=yes, force=force)
        return
    if study is None and file is not None:
        study = Amendments.read(file).first.study
    _agree_as_owner(Study(own.folder, study), file, expect_hash, yes=yes, force=force)


def _accept_at_node(
    own: NodeKit, amendments: Amendments, expect_hash: str | None, *, yes: bool, force: bool
) -> None:
    latest = amendments.latest
    own.expect(latest, expect_hash)
    found = review_amendments(own, amendments)
    if found.is_new_study:
        click.echo(f"the study {latest.study} is new at this node; as it is now:", err=True)
        for label, text in latest.describe():
            click.echo(f"  {label}: {text}" if label else f"  {text}", err=True)
    show_changes(found.changes, found.reasons, found.new_keys)
    ask("Accept this amendment?", yes=yes, declined="not accepted; nothing was changed")
    new = accept_amendments(own, amendments, force=force)
    what = "accepted" if new else "was accepted before"
    click.echo(f"{what}: amendment {found.number}, {latest.study} {latest.hash}")
    click.echo(
        "it counts once all operators have accepted it and owners have agreed: 'ppaurora studies' shows for "
        "whom it waits"
    )
    if note := note_of_stopped(own, latest.study):
        click.echo(f"the study has stopped here: {printable(note)}")
        click.echo(f"if this amendment mends that, next: ppaurora retry {own.folder} {latest.study}")


def _agree_as_owner(
    own: Study, file: Path | None, expect_hash: str | None, *, yes: bool, force: bool
) -> None:
    found = own.proposal(file)
    if found is None:
        told = own.tell_agreement()
        click.echo("agreed to before; the servers have it" if told else "there is nothing to agree to")
        return
    own.kit.expect(found.amendments.latest, expect_hash)
    show_changes(found.changes, found.reasons, found.new_keys)
    if found.is_dropped:
        raise InputError(
            f"with amendment {found.number}, {own.kit.name} takes part no longer; what it submitted is "
            "deleted. Ask the coordinator if that is not meant"
        )
    check_nodes_apart(found.amendments.latest, force=force)
    question = "Agree to this amendment?"
    if not found.needs_agreement:
        question = "You have agreed to such changes beforehand. Take them into your kit?"
    ask(question, yes=yes, declined="not agreed; nothing was changed")
    own.agree(found)
    latest = found.amendments.latest
    click.echo(f"amendment {found.number} is in {own.kit.folder}: {latest.study} {latest.hash}")
    click.echo("what was submitted stands; 'ppaurora status' shows how far the study is")


def show_changes(changes: Sequence[Change], reasons: Sequence[str], new_keys: Sequence[str] = ()) -> None:
    """Print line by line what is another than it was agreed on before, and whose new key to ask for."""
    for reason in filter(None, reasons):
        click.echo(f"reason: {printable(reason)}", err=True)
    for change in changes:
        click.echo(change.what, err=True)
        for sign, text in (("-", change.before), ("+", change.after)):
            if text:
                click.echo(f"  {sign} {text}", err=True)
    if new_keys:
        click.echo(
            f"warning: {listed(new_keys)}: another key. Whoever has it takes their place; before you agree, "
            "ask them by phone, at a number that you know, whether it is theirs",
            err=True,
        )
