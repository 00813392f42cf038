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
from ppaurora.io.text import printable
from ppaurora.node.store import Store
from ppaurora.owner.study import Study
from ppaurora.setup.acceptance import accept_amendments
from ppaurora.study.amending import amend
from ppaurora.study.amendments import Amendments, Change
from ppaurora.study.kit import NodeKit, OwnerKit


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
    asked = made.amendments.to_agree(number, dict.fromkeys(made.amendments.latest.owner_names, number - 1))
    agreeing = f"'ppaurora accept KIT --study {made.amendments.latest.study}'"
    if asked:
        click.echo(f"and to {', '.join(asked)}, who have to agree: each runs {agreeing}")
    else:
        click.echo(f"owners have agreed to this beforehand; {agreeing} shows it to them")
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
    _agree_as_owner(Study(own.folder, study), file, expect_hash, yes=yes)


def _accept_at_node(
    own: NodeKit, amendments: Amendments, expect_hash: str | None, *, yes: bool, force: bool
) -> None:
    latest, number = amendments.latest, len(amendments.steps)
    own.expect(latest, expect_hash)
    with Store(own.data) as store:
        record = store.study(amendments.first.hash)
    known = 0 if record is None else len(record.manifests) - 1
    if record is None:
        click.echo(f"the study {latest.study} is new at this node; as it is now:", err=True)
        for label, text in latest.describe():
            click.echo(f"  {label}: {text}" if label else f"  {text}", err=True)
    show_changes(amendments.changes(min(known, number - 1)), _reasons(amendments, known))
    ask("Accept this amendment?", yes=yes, declined="not accepted; nothing was changed")
    new = accept_amendments(own, amendments, force=force)
    what = "accepted" if new else "was accepted before"
    click.echo(f"{what}: amendment {number}, {latest.study} {latest.hash}")
    click.echo(
        "it counts once all operators have accepted it and owners have agreed: 'ppaurora studies' tells"
    )


def _agree_as_owner(own: Study, file: Path | None, expect_hash: str | None, *, yes: bool) -> None:
    found = own.proposal(file)
    if found is None:
        told = own.tell_agreement()
        click.echo("agreed to before; the servers have it" if told else "there is nothing to agree to")
        return
    own.kit.expect(found.amendments.latest, expect_hash)
    show_changes(found.changes, found.reasons)
    if found.is_dropped:
        raise InputError(
            f"with amendment {found.number}, {own.kit.name} takes part no longer; what it submitted is "
            "deleted. Ask the coordinator if that is not meant"
        )
    question = "Agree to this amendment?"
    if not found.needs_agreement:
        question = "You have agreed to such changes beforehand. Take them into your kit?"
    ask(question, yes=yes, declined="not agreed; nothing was changed")
    own.agree(found)
    latest = found.amendments.latest
    click.echo(f"amendment {found.number} is in {own.kit.folder}: {latest.study} {latest.hash}")
    click.echo("what was submitted stands; 'ppaurora status' shows how far the study is")


def show_changes(changes: Sequence[Change], reasons: Sequence[str]) -> None:
    """Print line by line what is another than it was agreed on before."""
    for reason in filter(None, reasons):
        click.echo(f"reason: {printable(reason)}", err=True)
    for change in changes:
        click.echo(change.what, err=True)
        for sign, text in (("-", change.before), ("+", change.after)):
            if text:
                click.echo(f"  {sign} {text}", err=True)


def _reasons(amendments: Amendments, since: int) -> list[str]:
    return [str(step.reason) for step in amendments.steps[since:]]
