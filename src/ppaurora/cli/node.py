"""`ppaurora serve`, `studies`, `abort`, `stop`, `retry`, `delete`, `confirm-clock` and `recover`."""

from __future__ import annotations

import json
import time
from pathlib import Path

import click

from ppaurora.cli.asking import ask
from ppaurora.cli.examples import example
from ppaurora.cli.options import format_option, yes_option
from ppaurora.cli.paths import FOLDER
from ppaurora.errors import InputError
from ppaurora.io.models import to_builtins
from ppaurora.io.text import printable
from ppaurora.messages.owners import StudyState
from ppaurora.node import operating
from ppaurora.node.audit import StudyEntries
from ppaurora.node.clock import as_people_say
from ppaurora.node.health import not_ready
from ppaurora.node.retention import is_over
from ppaurora.study.kit import NodeKit


@click.command("serve", epilog=example("ppaurora serve kit"))
@click.argument("kit", type=FOLDER)
def serve_command(kit: Path) -> None:
    """Run the node of KIT until it is told to stop. Logs are JSON lines on standard error."""
    try:
        from ppaurora.node.serve import serve
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] not in ("aiohttp", "prometheus_client"):
            raise
        raise InputError(
            "a node needs more packages: those of requirements-node.lock, see docs/deploying.md"
        ) from None
    serve(NodeKit.read(kit))


@click.command("studies", epilog=example("ppaurora studies kit --format json"))
@click.argument("kit", type=FOLDER)
@format_option
def studies_command(kit: Path, output: str) -> None:
    """List the studies that the node of KIT has accepted, with their state. The node may be running."""
    own = NodeKit.read(kit)
    records = operating.look_at_records(own)
    trouble, clock, found = records.trouble, records.clock, records.studies
    unclaimed = [
        f"{shares} shares of the study {hash_}, which is not on record here; 'ppaurora accept' with its "
        f"manifest takes them back in, 'ppaurora delete {kit} {hash_}' deletes them"
        for hash_, shares in records.unclaimed.items()
    ]
    if output == "json":
        click.echo(json.dumps(to_builtins(found), indent=2))
        for warning in filter(None, (clock, *unclaimed)):
            click.echo(f"warning: {warning}", err=True)
        return
    if trouble:
        click.echo(not_ready(trouble, own.title))
    if clock:
        click.echo(clock)
    for one in found:
        awaited = one.missing if one.state == StudyState.COLLECTING else ()
        waiting = f", waiting for {', '.join(awaited)}" if awaited else ""
        click.echo(f"{one.name}: {one.state}{waiting}; attempts: {one.attempt}")
        click.echo(f"    {one.study}")
        if one.note:
            click.echo(f"    {printable(one.note)}")
    for line in unclaimed:
        click.echo(line)
    if not found:
        click.echo("no study was accepted yet: ppaurora accept")


@click.command("retry", epilog=example("ppaurora retry kit sepsis-2026"))
@click.argument("kit", type=FOLDER)
@click.argument("study")
def retry_command(kit: Path, study: str) -> None:
    """Resume a STUDY that has stopped at this node. Each operator decides for their own node."""
    before = operating.retry(NodeKit.read(kit), study)
    click.echo(f"{study} goes on at this node; it had stopped because: {printable(before.note)}")


@click.command("abort", epilog=example("ppaurora abort kit sepsis-2026"))
@click.argument("kit", type=FOLDER)
@click.argument("study")
def abort_command(kit: Path, study: str) -> None:
    """Abort the current attempt at STUDY at this node. The study stops here until 'ppaurora retry'."""
    number = operating.abort(NodeKit.read(kit), study)
    click.echo(f"attempt {number} at {study} was aborted; 'ppaurora retry' lets the study go on at this node")


@click.command("stop", epilog=example("ppaurora stop kit sepsis-2026"))
@click.argument("kit", type=FOLDER)
@click.argument("study")
def stop_command(kit: Path, study: str) -> None:
    """Stop STUDY at this node, including the current attempt, until 'ppaurora retry'."""
    operating.stop(NodeKit.read(kit), study)
    click.echo(f"{study} has stopped at this node; 'ppaurora retry' lets it go on here")


@click.command("delete", epilog=example("ppaurora delete kit sepsis-2026"))
@click.argument("kit", type=FOLDER)
@click.argument("study")
@yes_option
def delete_command(kit: Path, study: str, yes: bool) -> None:
    """End STUDY at this node permanently: shares and parts of the result are deleted immediately.

    After a recovery, a hash that 'ppaurora studies' shows: what is left of a study that is not on record.
    """
    own = NodeKit.read(kit)
    if unclaimed := operating.unclaimed_shares(own, study):
        click.echo(f"{unclaimed} shares of a study that is not on record here will be deleted")
        ask("Delete them? This cannot be undone.", yes=yes, declined="not deleted; nothing was changed")
        click.echo(f"{operating.delete_unclaimed_shares(own, study)} shares are deleted")
        return
    state = operating.state_to_delete(own, study)
    click.echo(f"{study} is {state} here; its shares and results at this node will be deleted")
    question = "Delete them? This cannot be undone, and the study ends."
    ask(question, yes=yes, declined="not deleted; nothing was changed")
    files = operating.delete(own, study)
    click.echo(f"{study} is deleted at this node, with {files} shares; a new study takes a new name")


@click.command("confirm-clock", epilog=example("ppaurora confirm-clock kit"))
@click.argument("kit", type=FOLDER)
@yes_option
def confirm_clock_command(kit: Path, yes: bool) -> None:
    """Confirm that this machine's clock is right. What has expired by it is deleted at the node of KIT."""
    own = NodeKit.read(kit)
    with operating.opened(own) as store:
        now = time.time()
        click.echo(f"this machine's clock says {as_people_say(now)}")
        for study in store.studies():
            if is_over(store, study, now):
                click.echo(
                    f"shares and results of {study.manifest.study} will be deleted: their time is over"
                )
        ask(
            "Is it right?",
            yes=yes,
            declined="not confirmed; set the clock, and the node trusts it again by itself",
        )
        store.confirm_time(time.time())
    click.echo("confirmed")


@click.command("recover", epilog=example("ppaurora recover kit"))
@click.argument("kit", type=FOLDER)
@yes_option
def recover_command(kit: Path, yes: bool) -> None:
    """Let the node of KIT go on whose database was put back in time or damaged, if there is no backup."""
    own = NodeKit.read(kit)
    rollback = operating.find_rollback(own)
    if rollback.is_damaged:
        click.echo("the database of this node is damaged, and will be set aside; by the audit log it said:")
    else:
        click.echo("this node was put back in time; its audit log tells what its database lacks:")
    for line in rollback.told() or ["nothing"]:
        click.echo(f"    {printable(line)}")
    if not rollback.is_told:
        click.echo("the log itself lacks entries: what else was lost, nobody can tell; all studies stop here")
    ask(
        "Is there no newer backup of the kit, and shall the node go on without all this?",
        yes=yes,
        declined="not recovered; nothing was changed",
    )
    recovered = operating.recover(own)
    for study in recovered.studies:
        name = study.manifest.study
        if rollback.entries_of(name).texts or not rollback.is_told:
            click.echo(f"{name}: {study.state} here; {_advice(study.state, kit, name)}")
    names = [study.manifest.study for study in recovered.studies]
    for name in (name for name in rollback.accepted if name not in names):
        click.echo(f"{name}: {_advice_on_lost(rollback.entries_of(name), kit)}")
    click.echo(
        f"what was there before is kept in {recovered.before}, until a study ends here whose data it may hold"
    )
    click.echo("shares that are on disk are taken back in when the node starts: ppaurora serve")


def _advice_on_lost(entries: StudyEntries, kit: Path) -> str:
    """Return what is to be done about a study of which only the audit log tells."""
    if entries.deletion or entries.release:
        return f"it is over ({entries.deletion or entries.release}); owners without a result need a new study"
    return f"not accepted here any longer; run 'ppaurora accept {kit} MANIFEST'"


def _advice(state: StudyState, kit: Path, study: str) -> str:
    """Return what is to be done about a study at a node that was put back in time."""
    if state is StudyState.STOPPED:
        return (
            "owners who have withdrawn or replaced something since then run that command again; "
            f"then 'ppaurora retry {kit} {study}'"
        )
    if state is StudyState.DELETED:
        return "its release was lost; owners who have no result yet need a new study"
    return "owners whom 'ppaurora status' shows as missing run 'ppaurora submit' again, with the same file"
