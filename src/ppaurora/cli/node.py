"""`ppaurora serve`, `studies`, `abort`, `stop`, `retry`, `delete`, `confirm-clock` and `recover`."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from pathlib import Path

import click

from ppaurora.cli.asking import ask
from ppaurora.cli.examples import example
from ppaurora.cli.options import format_option, yes_option
from ppaurora.cli.paths import KIT
from ppaurora.errors import InputError
from ppaurora.io.models import to_builtins
from ppaurora.io.system import check_posix, quoted
from ppaurora.io.text import printable
from ppaurora.io.times import as_people_say
from ppaurora.messages.owners import StudyState
from ppaurora.node import operating
from ppaurora.node.attention import not_accepted
from ppaurora.node.audit import StudyEntries
from ppaurora.node.health import not_ready
from ppaurora.node.retention import is_over
from ppaurora.node.store import TO_GO_ON
from ppaurora.study.kit import NodeKit
from ppaurora.study.names import Address
from ppaurora.version import Versions


def _as_address(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    """Return an address as it is, if it is one."""
    try:
        return None if value is None else Address.from_plain(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


@click.command("serve", epilog=example("ppaurora serve kit"))
@click.argument("kit", type=KIT)
@click.option(
    "--expose-admin",
    metavar="HOST:PORT",
    callback=_as_address,
    help="Also answer /healthz and /metrics there, without TLS and password, to whoever connects: for "
    "monitoring in a network of containers, such as 0.0.0.0:9464. Otherwise only this machine is answered.",
)
def serve_command(kit: Path, expose_admin: str | None) -> None:
    """Run the node of KIT until it is told to stop. Logs are JSON lines on standard error."""
    check_posix("a node")
    try:
        from ppaurora.node.serve import serve
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] not in ("aiohttp", "prometheus_client"):
            raise
        raise InputError(
            "a node needs more packages: those of requirements-node.lock, see docs/install.md"
        ) from None
    serve(NodeKit.read(kit), expose_admin)


@click.command("studies", epilog=example("ppaurora studies kit --format json"))
@click.argument("kit", type=KIT)
@format_option
def studies_command(kit: Path, output: str) -> None:
    """List the studies that the node of KIT has accepted, with their state. The node may be running."""
    own = NodeKit.read(kit)
    records = operating.look_at_records(own)
    trouble, clock, found = records.trouble, records.clock, records.studies
    unclaimed = [
        f"shares of the study {hash_}: {shares}; it is not on record here: 'ppaurora accept' with its "
        f"manifest takes them back in, 'ppaurora delete {kit} {hash_}' deletes them"
        for hash_, shares in records.unclaimed.items()
    ]
    proposed = [not_accepted(one).sentence for one in records.proposed]
    if output == "json":
        content = {
            "versions": asdict(Versions()),
            "trouble": trouble,
            "clock": clock,
            "unclaimed_shares": records.unclaimed,
            "not_accepted": [
                {"name": one.manifest.study, "study": one.manifest.hash, "file": str(one.path)}
                for one in records.proposed
            ],
            "studies": to_builtins(found),
        }
        click.echo(json.dumps(content, indent=2))
        return
    if trouble:
        click.echo(not_ready(trouble, own.title))
    if clock:
        click.echo(clock)
    for one in found:
        awaited = one.missing if one.state == StudyState.COLLECTING else ()
        waiting = f", waiting for {', '.join(awaited)}" if awaited else ""
        click.echo(
            f"{one.name}: {one.state}{waiting}; attempts: {one.attempt}; wire version {one.protocol_version}"
        )
        click.echo(f"    {one.study}")
        if one.note:
            click.echo(f"    {printable(one.note)}")
    for line in (*unclaimed, *proposed):
        click.echo(line)
    if not found and not proposed:
        click.echo(f"no study was accepted yet: ppaurora accept {quoted(str(kit))} MANIFEST")
    click.echo(str(Versions()))


@click.command("retry", epilog=example("ppaurora retry kit sepsis-2026"))
@click.argument("kit", type=KIT)
@click.argument("study")
def retry_command(kit: Path, study: str) -> None:
    """Resume a STUDY that has stopped at this node. Each operator decides for their own node."""
    retried = operating.retry(NodeKit.read(kit), study)
    if retried.waits:
        click.echo(f"{study} has stopped no longer at this node, but waits: {printable(retried.waits)}")
    else:
        click.echo(f"{study} goes on at this node")
    click.echo(f"it had stopped because: {printable(retried.stopped)}")


@click.command("abort", epilog=example("ppaurora abort kit sepsis-2026"))
@click.argument("kit", type=KIT)
@click.argument("study")
def abort_command(kit: Path, study: str) -> None:
    """Abort the current attempt at STUDY at this node. The study stops here until 'ppaurora retry'."""
    number = operating.abort(NodeKit.read(kit), study)
    click.echo(f"attempt {number} at {study} was aborted; 'ppaurora retry' lets the study go on at this node")


@click.command("stop", epilog=example("ppaurora stop kit sepsis-2026"))
@click.argument("kit", type=KIT)
@click.argument("study")
def stop_command(kit: Path, study: str) -> None:
    """Stop STUDY at this node, including the current attempt, until 'ppaurora retry'."""
    operating.stop(NodeKit.read(kit), study)
    click.echo(f"{study} has stopped at this node; 'ppaurora retry' lets it go on here")


@click.command("delete", epilog=example("ppaurora delete kit sepsis-2026"))
@click.argument("kit", type=KIT)
@click.argument("study")
@yes_option
def delete_command(kit: Path, study: str, yes: bool) -> None:
    """End STUDY at this node permanently: shares and parts of the result are deleted immediately.

    STUDY may be the hash of one that is not on record here, as 'ppaurora studies' shows it after a recovery:
    then its shares are deleted.
    """
    own = NodeKit.read(kit)
    if unclaimed := operating.unclaimed_shares(own, study):
        click.echo(f"shares of a study that is not on record here: {unclaimed}")
        ask("Delete them? This cannot be undone.", yes=yes, declined="not deleted; nothing was changed")
        click.echo(f"deleted shares: {operating.delete_unclaimed_shares(own, study)}")
        return
    state = operating.state_to_delete(own, study)
    click.echo(f"{study} is {state} here; its shares and results at this node will be deleted")
    question = "Delete them? This cannot be undone, and the study ends."
    ask(question, yes=yes, declined="not deleted; nothing was changed")
    files = operating.delete(own, study)
    click.echo(f"{study} is deleted at this node, with {files} shares; a new study takes a new name")


@click.command("confirm-clock", epilog=example("ppaurora confirm-clock kit"))
@click.argument("kit", type=KIT)
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
@click.argument("kit", type=KIT)
@yes_option
def recover_command(kit: Path, yes: bool) -> None:
    """Resume the node of KIT after its database was damaged or rolled back, if there is no backup."""
    own = NodeKit.read(kit)
    rollback = operating.find_rollback(own)
    if rollback.is_damaged:
        click.echo("the database of this node is damaged, and will be set aside; by the audit log, it had:")
    else:
        click.echo("the database of this node is older than it was; by the audit log, it lacks:")
    for line in rollback.told() or ["nothing"]:
        click.echo(f"    {printable(line)}")
    if not rollback.is_told:
        click.echo(
            "the audit log lacks entries, too: nobody can tell what else was lost; all studies stop here"
        )
    ask(
        "Continue without these changes? Only if there is no newer backup of the kit.",
        yes=yes,
        declined="not recovered; nothing was changed",
    )
    recovered = operating.recover(own)
    states = {study.manifest.study: study.state for study in recovered.studies}
    for name in dict.fromkeys((*states, *rollback.accepted)):
        lost = rollback.entries_of(name)
        if lost.texts or not rollback.is_told:
            click.echo(f"{name}: {_advice(states.get(name), lost, kit, name)}")
    click.echo(f"the previous state is kept in {recovered.before} until a study expires or is deleted here")
    click.echo("shares that are on disk are taken back in when the node starts: ppaurora serve")


def _advice(state: StudyState | None, lost: StudyEntries, kit: Path, study: str) -> str:
    """Return what is to be done about a study after a recovery; it has no `state` if it is not on record."""
    match state:
        case StudyState.STOPPED:
            return f"stopped here; {TO_GO_ON} 'ppaurora retry {kit} {study}'"
        case StudyState.COLLECTING | StudyState.RUNNING:
            return (
                f"{state} here; owners whom 'ppaurora status' shows as missing run 'ppaurora submit' again, "
                "with the same file"
            )
        case _ if lost.deletion or lost.release:
            told = lost.deletion or lost.release
            return f"over here ({told}); owners to whom no result is given need a new study"
        case None:
            return f"no longer accepted here; run 'ppaurora accept {kit} MANIFEST'"
    return f"{state} here; nothing is to be done"
